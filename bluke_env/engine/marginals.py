"""Where each card may be: exact probabilities from the table of a belief, by a forward and a backward pass."""

from __future__ import annotations

import numpy as np

from bluke_env.engine.belief import count_card, count_choices
from bluke_env.engine.bits import lowest
from bluke_env.engine.jit import inlined, kernel
from bluke_env.engine.state import NONE


@kernel
def write_marginals(beliefs, table, chosen, forward, own, out):
    """Writes the probability of every card to be in every hand and in the stock.

    Args:
        beliefs: One `BELIEF` record.
        table: The table that `prepare` wrote.
        chosen: float64 scratch like the table: how many ways there are to go on in which the last group takes one
            certain card that has been left over for it.
        forward: float64 scratch [2, TABLE_SIZE]: how many ways lead to each state, before a card and after it.
        own: Mask of the believing seat's hand.
        out: float64 [seats + 1, 54], written; the last row is the stock.
    """
    belief = beliefs[0]
    size, boundary = belief.size, np.int64(belief.boundary)
    by_group = np.zeros((belief.last + 2, out.shape[1]))
    count_choices(belief, 1, table, chosen)
    for index in range(boundary - 1, -1, -1):
        count_card(belief, index, chosen, index * size)
    _outside_table(belief, table, chosen, by_group)
    forward[0, : size - 1] = 0.0
    forward[0, size - 1] = 1.0
    for index in range(belief.num_cards):
        if index == boundary:
            _pass_choices(belief, table, forward)
        _pass_card(belief, index, table, chosen, forward, by_group)
    _share_out(belief, by_group, own, table[size - 1], out)


@inlined
def _outside_table(belief, table, chosen, by_group):
    """Counts for the cards that no group in the table may hold: they are the last group's or left over."""
    last, start = np.int64(belief.last), belief.size - 1
    cards = belief.masks[last + 1]
    while cards:
        card: int = lowest(cards)
        cards &= cards - 1
        ways = chosen[start] if (belief.masks[last] >> card) & 1 else 0.0
        by_group[last, card] = ways
        by_group[last + 1, card] = table[start] - ways


@inlined
def _pass_choices(belief, table, forward):
    """Goes on past the last group's choice, with the ways it has in each state."""
    start = np.int64(belief.boundary) * belief.size
    for at in range(belief.size):
        after = table[start + belief.size + at]
        forward[0, at] *= table[start + at] / after if after > 0.0 else 0.0


@inlined
def _pass_card(belief, index, table, chosen, forward, by_group):
    """Goes on past a card and counts the ways in which each group gets it."""
    size, last, card = belief.size, np.int64(belief.last), np.int64(belief.cards[index])
    first = index < belief.boundary
    start = (index + 1 if first else index + 2) * size
    by_group[:, card] = 0.0
    forward[1, :size] = 0.0
    for at in range(size):
        ways = forward[0, at]
        if ways == 0.0:
            continue
        forward[1, at] += ways
        by_last = chosen[start + at] if first else 0.0
        by_group[last, card] += ways * by_last
        by_group[last + 1, card] += ways * (table[start + at] - by_last)
        may = np.int64(belief.may[index])
        while may:
            group: int = lowest(may)
            may &= may - 1
            stride = belief.strides[group]
            if (at // stride) % (np.int64(belief.needs[group]) + 1) > 0:
                forward[1, at - stride] += ways
                by_group[group, card] += ways * table[start + at - stride]
    forward[0, :size] = forward[1, :size]


@inlined
def _share_out(belief, by_group, own, total, out):
    """Gives each member of a group, and the stock, its share of the group's cards."""
    seats, unlimited = np.int64(belief.num_seats), np.int64(belief.last) + 1
    stock = np.int64(belief.needs[unlimited])
    out[:, :] = 0.0
    for seat in range(seats):
        group = np.int64(belief.group[seat])
        if group != NONE:
            share = belief.held[seat] / belief.needs[group]
            out[seat] = by_group[group] / total * share
            if group == unlimited:
                stock -= belief.held[seat]
    if stock > 0:
        out[seats] = by_group[unlimited] / total * (stock / belief.needs[unlimited])
    for card in range(out.shape[1]):
        if (own >> card) & 1:
            out[belief.seat, card] = 1.0

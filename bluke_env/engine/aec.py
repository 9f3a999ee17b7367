"""One decision of the AEC environment in one call: check it, apply it and show the next seat its view."""

from __future__ import annotations

import numpy as np

from bluke_env.cards import NUM_CARDS
from bluke_env.engine.encode import encode, encode_mask, order_for, relabel_legal
from bluke_env.engine.jit import kernel, subroutine
from bluke_env.engine.state import BID, NONE, OVER, PLAY
from bluke_env.engine.step import BID_BASE, apply_bit, bid_of, legal_bits
from bluke_env.engine.suits import real_card

ILLEGAL, APPLIED, HAND_ENDED = 0, 1, 2


@subroutine
def action_bit(game, action, canonical, layout):
    """Returns the decision that an action id of the seat to act stands for, NONE if there is none."""
    if game.phase == PLAY and 0 <= action < NUM_CARDS:
        return real_card(action, order_for(game, np.int64(game.seat), canonical))
    if game.phase == BID and BID_BASE <= action < layout.num_actions:
        return bid_of(action, layout.most)
    return np.int64(NONE)


@subroutine
def facts_of(game, seat):
    """Returns what `seat_facts` returns."""
    return (
        np.int64(game.hand_number), np.int64(game.hand_size), np.int64(game.bids[seat]),
        np.int64(game.tricks[seat]), np.int64(game.scores[seat]),
    )  # fmt: skip


@subroutine
def write_view(rules, game, seat, canonical, layout, scale, observation, mask):
    """Writes what a seat sees: the scaled observation and the action mask.

    The mask is all zero for a seat that is not to act, and all one when the match is over: then nothing is
    left to choose, and learners that mask the logits of last observations get finite numbers.
    """
    order = order_for(game, seat, canonical)
    entries = np.empty(len(observation), np.int8)
    encode(rules, game, seat, order, layout, entries, 0)
    for index in range(len(entries)):
        observation[index] = np.float32(entries[index]) * scale[index]
    if game.phase == OVER:
        mask[:] = 1
    elif seat == game.seat:
        encode_mask(game.phase, relabel_legal(game, legal_bits(rules, game), order), layout, mask, 0)
    else:
        mask[:] = 0


@kernel
def advance(rules, games, action, canonical, layout, scale, observation, mask):
    """Applies an action id to a game if it is legal and shows the next seat to act its view.

    Args:
        rules: One `RULES` record.
        games: One `GAME` record.
        action: int64, in the labels of the seat to act.
        canonical: Whether seats see relabelled suits.
        layout: One `LAYOUT` record.
        scale: float32 [size], what the entries are multiplied by.
        observation: float32 [size], written if a seat is to act afterwards.
        mask: int8 [actions], written likewise.

    Returns:
        The outcome (ILLEGAL: nothing was changed or written; APPLIED; or HAND_ENDED), the seat to act and its
        `seat_facts`; NONE and those of seat 0 when the match is over.
    """
    game = games[0]
    bit = action_bit(game, action, canonical, layout[0])
    if bit == NONE or not (legal_bits(rules[0], game) >> bit) & 1:
        return ILLEGAL, np.int64(game.seat), facts_of(game, np.int64(0))
    outcome = HAND_ENDED if apply_bit(rules[0], game, bit) else APPLIED
    seat = np.int64(game.seat)
    if seat != NONE:
        write_view(rules[0], game, seat, canonical, layout[0], scale, observation, mask)
    return outcome, seat, facts_of(game, max(seat, 0))


@kernel
def view(rules, games, seat, canonical, layout, scale, observation, mask):
    """Writes what any seat of a game sees at any time; see `write_view`."""
    write_view(rules[0], games[0], seat, canonical, layout[0], scale, observation, mask)


@kernel
def seat_facts(games, seat):
    """Returns (hand number, hand size, bid, tricks, score) of a seat; the bid is -1 before it is made."""
    return facts_of(games[0], seat)

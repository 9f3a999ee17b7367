"""Writing what one seat knows into one int8 vector; `bluke_env.observation` names the parts."""

from __future__ import annotations

import numpy as np

from bluke_env.cards import BLUKES, FULL_PACK, LO_BLUKE, NUM_CARDS, NUM_RANKS, NUM_SUITS
from bluke_env.engine.bits import highest, spread
from bluke_env.engine.jit import inlined, kernel
from bluke_env.engine.play import legal_cards_of, suit_mask
from bluke_env.engine.state import BID, NONE, OVER, PLAY
from bluke_env.engine.step import BID_BASE, legal_bits
from bluke_env.engine.suits import FIXED_ORDER, canonical_order, relabel_mask, relabel_suits

_PACK = np.int64(FULL_PACK)


@inlined
def order_for(game, seat, canonical):
    """Returns the order of the suits that a seat sees."""
    if canonical:
        return canonical_order(game.hands[seat] | game.played[seat], np.int64(game.trump))
    return np.int64(FIXED_ORDER)


@inlined
def above(card):
    """Returns the mask of all cards with a higher id, all cards for NONE."""
    return ~((np.int64(2) << card) - 1) if card >= 0 else np.int64(-1)


@inlined
def top_cards(hand, unseen):
    """Returns the cards of `hand` that no unseen card of their suit (Blukes: no unseen Bluke) outranks."""
    top = hand & BLUKES & above(highest(unseen & BLUKES))
    for suit in range(NUM_SUITS):
        cards = suit_mask(suit)
        top |= hand & cards & above(highest(unseen & cards))
    return top


@inlined
def winning_cards(best, trump):
    """Returns the mask of all cards that take a trick from the card winning it so far."""
    if best >= LO_BLUKE:
        return BLUKES & above(best)
    suit = best // NUM_RANKS
    winners = BLUKES | (suit_mask(suit) & above(best))
    if trump != NONE and trump != suit:
        winners |= suit_mask(trump)
    return winners


@inlined
def encode(rules, game, seat, order, layout, out):
    """Writes the observation of `seat`.

    Args:
        rules: A `RULES` record.
        game: A `GAME` record.
        seat: The observing seat, absolute.
        order: The order of the suits it sees.
        layout: (seats, most cards, score unit) of the layout.
        out: int8 vector of the layout's size.
    """
    seats = np.int64(rules.num_players)
    room, most, unit = layout
    out[:] = 0
    at = 0
    out[at + game.phase] = 1
    at += 3

    # Cards.
    hand = game.hands[seat]
    seen = hand
    for relative in range(seats):
        cards = game.played[(seat + relative) % seats]
        seen |= cards
        spread(out, at + NUM_CARDS * relative, relabel_mask(cards, order))
    at += NUM_CARDS * room
    spread(out, at, relabel_mask(hand, order))
    at += NUM_CARDS
    table = np.int64(0)
    for place in range(game.num_played - game.in_trick, game.num_played):
        table |= np.int64(1) << np.int64(game.order[place])
    spread(out, at, relabel_mask(table, order))
    at += NUM_CARDS
    if game.turned_up != NONE:
        seen |= np.int64(1) << np.int64(game.turned_up)
    spread(out, at, relabel_mask(top_cards(hand, _PACK & ~seen), order))
    at += NUM_CARDS
    if game.in_trick > 0:
        winners = legal_cards_of(game, seat) & winning_cards(np.int64(game.best_card), np.int64(game.trump))
        spread(out, at, relabel_mask(winners, order))
    at += NUM_CARDS

    # Trump.
    if game.trump != NONE:
        out[at + ((order >> (2 * game.trump)) & 3)] = 1
    at += NUM_SUITS
    if game.turned_up >= LO_BLUKE:
        out[at + NUM_RANKS + game.turned_up - LO_BLUKE] = 1
    elif game.turned_up != NONE:
        out[at + game.turned_up % NUM_RANKS] = 1
    at += NUM_RANKS + 2

    # Bids and tricks.
    for relative in range(seats):
        other = (seat + relative) % seats
        bid, taken = np.int64(game.bids[other]), np.int64(game.tricks[other])
        if bid != NONE:
            out[at + relative * (most + 1) + bid] = 1
            out[at + (room + relative) * (most + 1) + max(bid - taken, 0)] = 1
        out[at + 2 * room * (most + 1) + relative] = taken
        voids = relabel_suits(np.int64(game.voids[other]), order)
        for suit in range(NUM_SUITS):
            out[at + 2 * room * (most + 1) + room + relative * NUM_SUITS + suit] = (voids >> suit) & 1
    at += 2 * room * (most + 1) + room + room * NUM_SUITS
    out[at + game.hand_size - 1] = 1
    at += most

    # Seats.
    out[at + (game.dealer - seat) % seats] = 1
    at += room
    if game.phase != OVER:
        out[at + (game.leader - seat) % seats] = 1
        out[at + room + (game.seat - seat) % seats] = 1
    if game.best_seat != NONE:
        out[at + 2 * room + (game.best_seat - seat) % seats] = 1
    at += 3 * room

    # The match.
    for relative in range(seats):
        score = np.int64(game.scores[(seat + relative) % seats])
        coarse = (score + unit // 2) // unit
        out[at + relative] = coarse
        out[at + room + relative] = score - coarse * unit
    at += 2 * room
    out[at] = rules.num_hands - game.hand_number


@inlined
def encode_state(rules, game, seat, order, layout, out):
    """Writes the observation of `seat`, then the hands of the seats to its left, in turn."""
    seats = np.int64(rules.num_players)
    room = layout[0]
    size = len(out) - NUM_CARDS * (room - 1)
    encode(rules, game, seat, order, layout, out[:size])
    out[size:] = 0
    for relative in range(1, seats):
        cards = relabel_mask(game.hands[(seat + relative) % seats], order)
        spread(out, size + NUM_CARDS * (relative - 1), cards)


@inlined
def encode_mask(phase, legal, out):
    """Writes legal decisions (already relabelled) as an action mask."""
    if phase == BID:
        out[:] = 0
        for bid in range(len(out) - BID_BASE):
            out[BID_BASE + bid] = (legal >> bid) & 1
    else:
        spread(out, 0, legal)
        out[BID_BASE:] = 0


@inlined
def relabel_legal(game, legal, order):
    """Relabels legal decisions: cards move, bids stay."""
    return relabel_mask(legal, order) if game.phase == PLAY else legal


@kernel
def observe(rules, games, index, seat, canonical, layout, out):
    """Writes the observation of any seat of one game into `out`; see `encode`."""
    game = games[index]
    encode(rules[0], game, seat, order_for(game, seat, canonical), layout, out)


@kernel
def observe_mask(rules, games, index, seat, canonical, out):
    """Writes the action mask of any seat of one game; all zero for a seat that is not to act."""
    game = games[index]
    if seat != game.seat:
        out[:] = 0
        return
    legal = relabel_legal(game, legal_bits(rules[0], game), order_for(game, seat, canonical))
    encode_mask(game.phase, legal, out)


@kernel
def observe_state(rules, games, index, seat, canonical, layout, out):
    """Writes the perfect-information state as `seat` sees it; see `encode_state`."""
    game = games[index]
    encode_state(rules[0], game, seat, order_for(game, seat, canonical), layout, out)

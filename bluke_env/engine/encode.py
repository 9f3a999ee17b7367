"""Writing what one seat knows into one int8 vector; `bluke_env.observation` names the parts."""

from __future__ import annotations

import numpy as np

from bluke_env.cards import BLUKES, FULL_PACK, LO_BLUKE, NUM_CARDS, NUM_RANKS, NUM_SUITS
from bluke_env.engine.bits import highest, spread, spread_word, zero
from bluke_env.engine.jit import inlined, kernel, subroutine
from bluke_env.engine.play import legal_cards_of, suit_mask
from bluke_env.engine.state import BID, NONE, OVER, PLAY
from bluke_env.engine.step import BID_BASE, legal_bits
from bluke_env.engine.suits import FIXED_ORDER, canonical_order, relabel_mask, relabel_suits

_PACK = np.int64(FULL_PACK)
_SHIFT = 256
"""Score units that make every score positive; 127 of them hold the largest."""


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
def wrapped(seat, seats):
    """Returns `seat` modulo `seats`, for 0 <= seat < 2 * seats: a division would cost more than all the rest."""
    return seat - seats if seat >= seats else seat


@inlined
def put(out, at, value):
    """Sets an entry; as an unsigned number the index needs no check for a negative one, which counts from the end."""
    out[np.uint64(at)] = value


@inlined
def observation_size(room, most):
    """Returns the entries of an observation for `room` seats and `most` cards."""
    return (
        3 + NUM_CARDS * (room + 4) + NUM_SUITS + NUM_RANKS + 2 + 2 * room * (most + 1)
        + room * (1 + NUM_SUITS) + most + 6 * room + 1
    )  # fmt: skip


@subroutine
def encode(rules, game, seat, order, layout, out, start):
    """Writes the observation of `seat`.

    Args:
        rules: A `RULES` record.
        game: A `GAME` record.
        seat: The observing seat, absolute.
        order: The order of the suits it sees.
        layout: (seats, most cards, score unit, 2**32 over it rounded up) of the layout.
        out: int8 vector; flat, since slicing an array costs more than writing one.
        start: Where in it the observation begins.
    """
    seats = np.int64(rules.num_players)
    room, most, unit, reciprocal = layout
    bids = most + 1
    played_at = np.int64(start) + 3
    voids_at = played_at + NUM_CARDS * room
    hand_at = voids_at + NUM_SUITS * room
    trump_at = hand_at + 4 * NUM_CARDS
    bids_at = trump_at + NUM_SUITS + NUM_RANKS + 2
    needed_at = bids_at + room * bids
    tricks_at = needed_at + room * bids
    size_at = tricks_at + room
    seats_at = size_at + most
    scores_at = seats_at + 4 * room
    for phase in range(3):
        put(out, start + phase, game.phase == phase)
    if room > seats:
        zero(out, played_at + NUM_CARDS * seats, NUM_CARDS * (room - seats))
    end = scores_at + 2 * room + 1
    for at in range(trump_at, end - 64, 64):
        spread_word(out, at, 0)
    spread_word(out, end - 64, 0)  # what it takes away before `trump_at` is still to be written

    # All that there is of every seat in one loop: several short ones would be compiled to slow vector code.
    hand = game.hands[seat]
    seen = hand
    voids = np.int64(0)
    for relative in range(seats):
        other = wrapped(seat + relative, seats)
        cards = game.played[other]
        seen |= cards
        spread_word(out, played_at + NUM_CARDS * relative, relabel_mask(cards, order))
        voids |= relabel_suits(np.int64(game.voids[other]), order) << (NUM_SUITS * relative)
        bid, tricks, score = (
            np.int64(game.bids[other]),
            np.int64(game.tricks[other]),
            np.int64(game.scores[other]),
        )
        if bid != NONE:
            put(out, bids_at + relative * bids + bid, 1)
            put(out, needed_at + relative * bids + max(bid - tricks, 0), 1)
        put(out, tricks_at + relative, tricks)
        # A shift to positive numbers and a multiplication stand for the division, which would cost far more.
        coarse = (((score + unit // 2 + _SHIFT * unit) * reciprocal) >> 32) - _SHIFT
        put(out, scores_at + relative, coarse)
        put(out, scores_at + room + relative, score - coarse * unit)

    # Whole words: what one writes past its end is overwritten by the next, and by the ones set after the last.
    if game.turned_up != NONE:
        seen |= np.int64(1) << np.int64(game.turned_up)
    winners = np.int64(0)
    if game.in_trick > 0:
        winners = legal_cards_of(game, seat) & winning_cards(np.int64(game.best_card), np.int64(game.trump))
    spread_word(out, voids_at, voids)
    spread_word(out, hand_at, relabel_mask(hand, order))
    spread_word(out, hand_at + NUM_CARDS, relabel_mask(game.table, order))
    spread_word(out, hand_at + 2 * NUM_CARDS, relabel_mask(top_cards(hand, _PACK & ~seen), order))
    spread_word(out, hand_at + 3 * NUM_CARDS, relabel_mask(winners, order))

    if game.trump != NONE:
        put(out, trump_at + ((order >> (2 * game.trump)) & 3), 1)
    if game.turned_up >= LO_BLUKE:
        put(out, trump_at + NUM_SUITS + NUM_RANKS + game.turned_up - LO_BLUKE, 1)
    elif game.turned_up != NONE:
        put(out, trump_at + NUM_SUITS + game.turned_up % NUM_RANKS, 1)
    put(out, size_at + game.hand_size - 1, 1)
    put(out, seats_at + wrapped(game.dealer - seat + seats, seats), 1)
    if game.phase != OVER:
        put(out, seats_at + room + wrapped(game.leader - seat + seats, seats), 1)
        put(out, seats_at + 2 * room + wrapped(game.seat - seat + seats, seats), 1)
    if game.best_seat != NONE:
        put(out, seats_at + 3 * room + wrapped(game.best_seat - seat + seats, seats), 1)
    put(out, scores_at + 2 * room, rules.num_hands - game.hand_number)


@subroutine
def encode_state(rules, game, seat, order, layout, out, start):
    """Writes the observation of `seat`, then the hands of the seats to its left, in turn."""
    seats = np.int64(rules.num_players)
    room, most, _, _ = layout
    encode(rules, game, seat, order, layout, out, start)
    at = start + observation_size(room, most)
    zero(out, at, NUM_CARDS * (room - 1))
    for relative in range(1, seats):
        cards = relabel_mask(game.hands[wrapped(seat + relative, seats)], order)
        spread(out, at + NUM_CARDS * (relative - 1), cards)


@inlined
def encode_mask(phase, legal, most, out, start):
    """Writes legal decisions (already relabelled) as an action mask into `out` from index `start`."""
    cards = legal if phase == PLAY else 0
    bids = legal if phase == BID else 0
    spread(out, start, cards)
    for bid in range(most + 1):
        put(out, start + BID_BASE + bid, (bids >> bid) & 1)


@inlined
def relabel_legal(game, legal, order):
    """Relabels legal decisions: cards move, bids stay."""
    return relabel_mask(legal, order) if game.phase == PLAY else legal


@kernel
def observe(rules, games, index, seat, canonical, layout, out):
    """Writes the observation of any seat of one game into `out`; see `encode`."""
    game = games[index]
    encode(rules[0], game, seat, order_for(game, seat, canonical), layout, out, 0)


@kernel
def observe_mask(rules, games, index, seat, canonical, layout, out):
    """Writes the action mask of any seat of one game; all zero for a seat that is not to act."""
    game = games[index]
    if seat != game.seat:
        out[:] = 0
        return
    legal = relabel_legal(game, legal_bits(rules[0], game), order_for(game, seat, canonical))
    encode_mask(game.phase, legal, layout[1], out, 0)


@kernel
def observe_state(rules, games, index, seat, canonical, layout, out):
    """Writes the perfect-information state as `seat` sees it; see `encode_state`."""
    game = games[index]
    encode_state(rules[0], game, seat, order_for(game, seat, canonical), layout, out, 0)

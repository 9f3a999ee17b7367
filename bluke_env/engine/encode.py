"""Writing what one seat knows into one int8 vector; `bluke_env.observation` names the parts."""

from __future__ import annotations

import numpy as np

from bluke_env.cards import BLUKES, LO_BLUKE, NUM_CARDS, NUM_RANKS, NUM_SUITS
from bluke_env.engine.back_alley import side_bid, side_tricks, tricks_bid
from bluke_env.engine.bits import highest, spread, spread_word, zero
from bluke_env.engine.jit import inlined, kernel, subroutine
from bluke_env.engine.play import legal_cards_of, suit_mask
from bluke_env.engine.state import BID, NONE, OVER, PLAY
from bluke_env.engine.step import BID_BASE, bid_action_of, legal_bits
from bluke_env.engine.suits import FIXED_ORDER, canonical_order, relabel_mask, relabel_suits
from bluke_env.rules import BOARD, MAX_BOARD_LEVEL

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
def unplayed(rules, game):
    """Returns the mask of the cards that may be in hands or yet unseen: the pack without what is out of play.

    Cards already played are among them.
    """
    cards = rules.pack_mask
    if game.turned_up != NONE:
        cards &= ~(np.int64(1) << np.int64(game.turned_up))
        if rules.teams and game.turned_up >= LO_BLUKE:
            cards &= ~np.int64(BLUKES)
    return cards


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


LAYOUT = np.dtype(
    [
        ("room", np.int64),  # seats
        ("most", np.int64),  # cards of a hand
        ("unit", np.int64),  # of the coarse scores
        ("reciprocal", np.int64),  # 2**32 over it, rounded up
        ("suits", np.int64),
        ("ranks", np.int64),
        ("boards", np.int64),  # levels of board; where there are any, the facts of teams follow the rest
        ("size", np.int64),  # entries of an observation
        ("num_actions", np.int64),
    ]
)
"""What compiled code has to know of an `ObservationLayout`."""


@inlined
def columns_of(layout):
    """Returns the entries of a set of cards."""
    return layout.suits * layout.ranks + 2


@inlined
def put_cards(out, at, cards, suits, ranks):
    """Writes a set of cards.

    With the whole pack it is a whole word: what it writes past its end must be written later.
    """
    if suits * ranks == NUM_SUITS * NUM_RANKS:
        spread_word(out, at, cards)
        return
    for suit in range(suits):
        for rank in range(ranks):
            put(out, at + suit * ranks + rank, (cards >> (NUM_RANKS * suit + NUM_RANKS - ranks + rank)) & 1)
    put(out, at + suits * ranks, (cards >> LO_BLUKE) & 1)
    put(out, at + suits * ranks + 1, (cards >> (LO_BLUKE + 1)) & 1)


@subroutine
def encode(rules, game, seat, order, layout, out, start):
    """Writes the observation of `seat`; see `_encode`.

    For the whole pack the sizes are constants, and it is compiled to much faster code.
    """
    if layout.suits * layout.ranks == NUM_SUITS * NUM_RANKS:
        _encode(rules, game, seat, order, layout, NUM_SUITS, NUM_RANKS, out, start)
    else:
        _encode(rules, game, seat, order, layout, layout.suits, layout.ranks, out, start)


@inlined
def _encode(rules, game, seat, order, layout, suits, ranks, out, start):
    """Writes the observation of `seat`.

    Args:
        rules: A `RULES` record.
        game: A `GAME` record.
        seat: The observing seat, absolute.
        order: The order of the suits it sees.
        layout: One `LAYOUT` record.
        suits: Its suits.
        ranks: Its ranks.
        out: int8 vector; flat, since slicing an array costs more than writing one.
        start: Where in it the observation begins.
    """
    seats = np.int64(rules.num_players)
    room, most, unit = layout.room, layout.most, layout.unit
    columns = suits * ranks + 2
    wide = columns == NUM_CARDS
    bids, needs = most + 1 + layout.boards, most + 1
    played_at = np.int64(start) + 3
    voids_at = played_at + columns * room
    hand_at = voids_at + suits * room
    trump_at = hand_at + 4 * columns
    turned_at = trump_at + suits
    bids_at = turned_at + ranks + 2
    needed_at = bids_at + room * bids
    tricks_at = needed_at + room * needs
    size_at = tricks_at + room
    seats_at = size_at + most
    scores_at = seats_at + 4 * room
    teams_at = scores_at + 2 * room + 1
    end = start + layout.size
    for phase in range(3):
        put(out, start + phase, game.phase == phase)
    if room > seats:
        zero(out, played_at + columns * seats, columns * (room - seats))
    if wide:
        for at in range(trump_at, end - 64, 64):
            spread_word(out, at, 0)
        spread_word(out, end - 64, 0)  # what it takes away before `trump_at` is still to be written
    else:
        zero(out, trump_at, end - trump_at)

    # All that there is of every seat in one loop: several short ones would be compiled to slow vector code.
    hand = game.hands[seat]
    seen = hand
    voids = np.int64(0)
    for relative in range(seats):
        other = wrapped(seat + relative, seats)
        cards = game.played[other]
        seen |= cards
        put_cards(out, played_at + columns * relative, relabel_mask(cards, order), suits, ranks)
        voids |= relabel_suits(np.int64(game.voids[other]), order) << (suits * relative)
        bid, tricks, score = np.int64(game.bids[other]), np.int64(game.tricks[other]), np.int64(game.scores[other])
        if bid != NONE and not rules.teams:
            put(out, bids_at + relative * bids + bid, 1)
            put(out, needed_at + relative * needs + max(bid - tricks, 0), 1)
        put(out, tricks_at + relative, tricks)
        # A shift to positive numbers and a multiplication stand for the division, which would cost far more.
        coarse = (((score + unit // 2 + _SHIFT * unit) * layout.reciprocal) >> 32) - _SHIFT
        put(out, scores_at + relative, coarse)
        put(out, scores_at + room + relative, score - coarse * unit)

    winners = np.int64(0)
    if game.in_trick > 0:
        winners = legal_cards_of(rules, game, seat) & winning_cards(np.int64(game.best_card), np.int64(game.trump))
    top = top_cards(hand, unplayed(rules, game) & ~seen)
    if wide:
        spread_word(out, voids_at, voids)
    else:
        for place in range(suits * room):
            put(out, voids_at + place, (voids >> place) & 1)
    put_cards(out, hand_at, relabel_mask(hand, order), suits, ranks)
    put_cards(out, hand_at + columns, relabel_mask(game.table, order), suits, ranks)
    put_cards(out, hand_at + 2 * columns, relabel_mask(top, order), suits, ranks)
    put_cards(out, hand_at + 3 * columns, relabel_mask(winners, order), suits, ranks)

    if game.trump != NONE:
        put(out, trump_at + ((order >> (2 * game.trump)) & 3), 1)
    if game.turned_up >= LO_BLUKE:
        put(out, turned_at + ranks + game.turned_up - LO_BLUKE, 1)
    elif game.turned_up != NONE:
        put(out, turned_at + game.turned_up % NUM_RANKS - (NUM_RANKS - ranks), 1)
    put(out, size_at + game.hand_size - 1, 1)
    put(out, seats_at + wrapped(game.dealer - seat + seats, seats), 1)
    if game.phase != OVER:
        put(out, seats_at + room + wrapped(game.leader - seat + seats, seats), 1)
        put(out, seats_at + 2 * room + wrapped(game.seat - seat + seats, seats), 1)
    if game.best_seat != NONE:
        put(out, seats_at + 3 * room + wrapped(game.best_seat - seat + seats, seats), 1)
    put(out, scores_at + 2 * room, rules.num_hands - game.hand_number)
    if rules.teams:
        _encode_teams(game, seat, most, bids_at, needed_at, teams_at, out)


@subroutine
def _encode_teams(game, seat, most, bids_at, needed_at, teams_at, out):
    """Writes the bids, boards among them, the tricks that sides still need, and the facts that only teams have."""
    bids, needs = most + 1 + MAX_BOARD_LEVEL, most + 1
    for relative in range(4):
        other = (seat + relative) % 4
        if game.bids[other] != NONE:
            put(out, bids_at + relative * bids + bid_action_of(np.int64(game.bids[other]), most) - BID_BASE, 1)
            needed = tricks_bid(side_bid(game, other), np.int64(game.hand_size)) - side_tricks(game, other)
            put(out, needed_at + relative * needs + max(needed, 0), 1)
    put(out, teams_at, game.trump_broken)
    if game.exchanged != NONE:
        put(out, teams_at + 1 + (game.exchanged - seat + 4) % 4, 1)


@subroutine
def encode_state(rules, game, seat, order, layout, out, start):
    """Writes the observation of `seat`, then the hands of the seats to its left, in turn."""
    seats = np.int64(rules.num_players)
    columns = columns_of(layout)
    encode(rules, game, seat, order, layout, out, start)
    at = start + layout.size
    zero(out, at, columns * (layout.room - 1))
    for relative in range(1, seats):
        cards = relabel_mask(game.hands[wrapped(seat + relative, seats)], order)
        if columns == NUM_CARDS:
            spread(out, at + columns * (relative - 1), cards)
        else:
            put_cards(out, at + columns * (relative - 1), cards, layout.suits, layout.ranks)


@inlined
def encode_mask(phase, legal, layout, out, start):
    """Writes legal decisions (already relabelled) as an action mask into `out` from index `start`."""
    cards = legal if phase == PLAY else 0
    bids = legal if phase == BID else 0
    spread(out, start, cards)
    for bid in range(layout.most + 1):
        put(out, start + BID_BASE + bid, (bids >> bid) & 1)
    for level in range(1, layout.boards + 1):
        put(out, start + BID_BASE + layout.most + level, (bids >> (BOARD + level)) & 1)


@inlined
def relabel_legal(game, legal, order):
    """Relabels legal decisions: cards move, bids stay."""
    return relabel_mask(legal, order) if game.phase == PLAY else legal


@kernel
def observe(rules, games, index, seat, canonical, layout, out):
    """Writes the observation of any seat of one game into `out`; see `encode`."""
    game = games[index]
    encode(rules[0], game, seat, order_for(game, seat, canonical), layout[0], out, 0)


@kernel
def observe_mask(rules, games, index, seat, canonical, layout, out):
    """Writes the action mask of any seat of one game; all zero for a seat that is not to act."""
    game = games[index]
    if seat != game.seat:
        out[:] = 0
        return
    legal = relabel_legal(game, legal_bits(rules[0], game), order_for(game, seat, canonical))
    encode_mask(game.phase, legal, layout[0], out, 0)


@kernel
def observe_state(rules, games, index, seat, canonical, layout, out):
    """Writes the perfect-information state as `seat` sees it; see `encode_state`."""
    game = games[index]
    encode_state(rules[0], game, seat, order_for(game, seat, canonical), layout[0], out, 0)

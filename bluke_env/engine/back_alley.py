"""What the partnership form does differently, apart from how it is dealt (`deal.exchange`) and scored (`score`).

Everything here is for the four seats of teams, 0 and 2 against 1 and 3, in which the Blukes, there called Bloopers,
belong to the trump suit.
"""

from __future__ import annotations

import numpy as np

from bluke_env.cards import BLUKES, HI_BLUKE, LO_BLUKE, NUM_RANKS, NUM_SUITS
from bluke_env.engine.bits import highest
from bluke_env.engine.jit import inlined, subroutine
from bluke_env.engine.state import FREE, NONE
from bluke_env.rules import BOARD

_SUIT = np.int64((1 << NUM_RANKS) - 1)


@inlined
def partner(seat):
    """Returns the seat across the table of four."""
    return seat ^ 2


@inlined
def tricks_bid(bid, size):
    """Returns the tricks that a bid promises, 0 for one not yet made."""
    return size if bid > BOARD else max(bid, 0)


@subroutine
def team_bids(game):
    """Returns the mask of legal bids: what the partner leaves of the tricks, and the next level of board."""
    size = np.int64(game.hand_size)
    left = size - tricks_bid(np.int64(game.bids[partner(game.seat)]), size)
    highest_bid = np.int64(BOARD)
    for seat in range(4):
        highest_bid = max(highest_bid, np.int64(game.bids[seat]))
    return ((np.int64(2) << left) - 1) | (np.int64(2) << highest_bid)


@subroutine
def team_cards(rules, game, seat):
    """Returns the mask of the cards that a seat may play if it is, or were, its turn."""
    hand = game.hands[seat]
    trump = np.int64(game.trump)
    trumps = np.int64(0) if trump == NONE else (_SUIT << (NUM_RANKS * trump)) | np.int64(BLUKES)
    if game.led == NONE:
        return _leads(game, seat, hand, trumps)
    following = hand & (trumps if game.led == trump else _SUIT << (NUM_RANKS * np.int64(game.led)))
    if not following:
        return hand
    lead = game.order[game.num_played - game.in_trick]
    if rules.bluke_lead_high_low and lead >= LO_BLUKE:
        return np.int64(1) << highest(following) if lead == HI_BLUKE else following & -following
    return following


@inlined
def _leads(game, seat, hand, trumps):
    """No trump may be led before one was played elsewhere, but by a side that has bid board."""
    others = hand & ~trumps
    return others if others and not may_lead_trump(game, seat) else hand


@inlined
def may_lead_trump(game, seat):
    """Says whether a seat may lead trump whatever it holds: once trump was played elsewhere, or with a board bid."""
    return game.trump_broken or game.bids[seat] > BOARD or game.bids[partner(seat)] > BOARD


@inlined
def note_lead(rules, game, seat):
    """Notes what everybody learns from a trump that was led although only a hand of trumps may."""
    if game.led == game.trump and not may_lead_trump(game, seat):
        for suit in range(NUM_SUITS):
            if suit != game.trump and rules.pack_mask & (_SUIT << (NUM_RANKS * suit)):
                game.voids[seat] |= 1 << suit


@inlined
def note_off_suit(game, seat, suit):
    """Notes what everybody learns from a card that does not follow suit: of `suit`, FREE for a Blooper."""
    if suit == FREE and game.led == game.trump:
        return
    if suit == FREE or suit == game.trump:
        game.trump_broken = 1
    game.voids[seat] |= np.int64(1) << np.int64(game.led)


@inlined
def side_bid(game, seat):
    """Returns the bid that stands for a seat's side as far as it was made: tricks, or `BOARD + level`."""
    own, other = np.int64(max(game.bids[seat], 0)), np.int64(max(game.bids[partner(seat)], 0))
    return max(own, other) if max(own, other) > BOARD else own + other


@inlined
def side_tricks(game, seat):
    """Returns the tricks that a seat's side has taken."""
    return np.int64(game.tricks[seat]) + np.int64(game.tricks[partner(seat)])


@inlined
def board_points(rules, size, bid, tricks):
    """Returns what a side scores for a board in a hand of `size` cards."""
    stake = np.int64(rules.points_per_trick) * size << (bid - BOARD)
    return stake if tricks == size else -stake

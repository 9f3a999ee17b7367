"""One decision of one game: what is legal, and doing it.

Inside the engine a decision is a bit: the bid itself while bidding, the card while playing. Action ids, as users
see them, add `BID_BASE` to bids, and count boards on from the most tricks that there is room for.
"""

from __future__ import annotations

import numpy as np

from bluke_env.cards import NUM_CARDS
from bluke_env.engine.bid import legal_bids, make_bid
from bluke_env.engine.bits import nth_set, popcount
from bluke_env.engine.deal import start_game
from bluke_env.engine.jit import inlined, kernel
from bluke_env.engine.play import legal_cards, put_card
from bluke_env.engine.random import bounded, game_key, stream
from bluke_env.engine.score import score_hand
from bluke_env.engine.state import BID, OVER, PLAY
from bluke_env.rules import BOARD

BID_BASE = NUM_CARDS
"""Action `BID_BASE + b` bids b tricks."""

_CHOICES = 1 << 40
"""The stream of random choices in playouts, apart from those of the deals."""


@inlined
def bid_of(action, most):
    """Returns the bid (see `bluke_env.engine.bid`) of an action id where up to `most` tricks can be bid."""
    bid = action - BID_BASE
    return bid + (BOARD - most) if bid > most else bid


@inlined
def bid_action_of(bid, most):
    """Returns the action id of a bid where up to `most` tricks can be bid."""
    return BID_BASE + (bid - (BOARD - most) if bid > BOARD else bid)


@inlined
def legal_bits(rules, game):
    """Returns the mask of legal decisions: bids while bidding, cards while playing, none when the match is over."""
    if game.phase == PLAY:
        return legal_cards(rules, game)
    if game.phase == BID:
        return legal_bids(rules, game)
    return np.int64(0)


@inlined
def apply_bit(rules, game, bit):
    """Makes a legal decision; True if it ended a hand."""
    if game.phase == BID:
        make_bid(rules, game, bit)
        return False
    if put_card(rules, game, bit):
        score_hand(rules, game)
        return True
    return False


@kernel
def apply_action(rules, games, index, action):
    """Applies an action id to a game if it is legal.

    Returns:
        0 if the action is illegal and nothing was changed, 1 if it was applied, 2 if that ended a hand.
    """
    game = games[index]
    bit = bid_of(action, np.int64(rules[0].most_cards)) if game.phase == BID else action
    if bit < 0 or bit > 63 or not legal_bits(rules[0], game) >> bit & 1:
        return 0
    return 2 if apply_bit(rules[0], game, bit) else 1


@kernel
def legal_mask(rules, games, index):
    """Returns the mask of legal decisions of a game; see `legal_bits`."""
    return legal_bits(rules[0], games[index])


@inlined
def random_bit(rules, game, state):
    """Draws one legal decision uniformly; returns it and the stream's next state."""
    legal = legal_bits(rules, game)
    pick, state = bounded(state, popcount(legal))
    return nth_set(legal, pick), state


@kernel
def random_playouts(rules, games, seed, first, count):
    """Plays `count` whole matches of uniformly random legal decisions, numbered from `first` on.

    Args:
        rules: One `RULES` record.
        games: One `GAME` record of scratch space; afterwards the last match, finished.
        seed: uint64.
        first: uint64.
        count: int64.

    Returns:
        How many decisions were made.
    """
    decisions = 0
    game = games[0]
    for number in range(count):
        key = game_key(seed, first + np.uint64(number))
        start_game(rules[0], game, key)
        state = stream(key, _CHOICES)
        while game.phase != OVER:
            bit, state = random_bit(rules[0], game, state)
            apply_bit(rules[0], game, bit)
            decisions += 1
    return decisions

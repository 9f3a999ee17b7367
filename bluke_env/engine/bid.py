"""Bidding: each seat once, the dealer last."""

from __future__ import annotations

import numpy as np

from bluke_env.engine.jit import inlined
from bluke_env.engine.state import PLAY


@inlined
def legal_bids(rules, game):
    """Returns the mask of legal bids: bit b set where bidding b tricks is legal."""
    return (np.int64(2) << np.int64(game.hand_size)) - (np.int64(1) << np.int64(rules.min_bid))


@inlined
def make_bid(rules, game, bid):
    """Makes the bid of the seat to act."""
    game.bids[game.seat] = bid
    if game.seat == game.dealer:
        game.phase = PLAY
    game.seat = (game.seat + 1) % np.int64(rules.num_players)

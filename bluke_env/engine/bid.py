"""Bidding: each seat once, the dealer last.

A bid is kept as the number of tricks, or as `BOARD + level` for a board, so that a higher bid is a higher number.
"""

from __future__ import annotations

import numpy as np

from bluke_env.engine.back_alley import team_bids
from bluke_env.engine.jit import inlined
from bluke_env.engine.state import PLAY


@inlined
def legal_bids(rules, game):
    """Returns the mask of legal bids: bit b set where bidding b tricks is legal, bit `BOARD + level` for a board."""
    if rules.teams:
        return team_bids(game)
    return (np.int64(2) << np.int64(game.hand_size)) - (np.int64(1) << np.int64(rules.min_bid))


@inlined
def make_bid(rules, game, bid):
    """Makes the bid of the seat to act."""
    seat = np.int64(game.seat)
    game.bids[seat] = bid
    if rules.teams and bid > game.bids[game.leader]:
        game.leader = seat
    if seat == game.dealer:
        game.phase = PLAY
        game.seat = game.leader
    else:
        game.seat = (seat + 1) % np.int64(rules.num_players)

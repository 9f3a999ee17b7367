"""Scoring a hand and going on to the next."""

from __future__ import annotations

import numpy as np

from bluke_env.cards import NUM_CARDS
from bluke_env.engine.deal import deal_hand
from bluke_env.engine.jit import inlined, subroutine
from bluke_env.engine.state import NONE, OVER


@inlined
def points(rules, bid, tricks):
    """Returns what a seat scores that bid `bid` and took `tricks`."""
    if tricks < bid:
        return -rules.points_per_trick * bid
    return rules.points_per_trick * bid + rules.points_per_overtrick * (tricks - bid)


@subroutine
def score_hand(rules, game):
    """Scores the hand just played out, keeps it as the last hand, and deals the next or ends the match."""
    seats = np.int64(rules.num_players)
    for seat in range(seats):
        game.last_points[seat] = points(rules, np.int64(game.bids[seat]), np.int64(game.tricks[seat]))
        game.scores[seat] += game.last_points[seat]
    _keep_hand(game, seats)
    game.hand_number += 1
    if game.hand_number == rules.num_hands:
        _end_game(game, seats)
        return
    game.dealer = (game.dealer + 1) % seats
    deal_hand(rules, game)


@inlined
def _keep_hand(game, seats):
    game.last_number = game.hand_number
    game.last_size = game.hand_size
    game.last_dealer = game.dealer
    game.last_trump = game.trump
    game.last_turned_up = game.turned_up
    for seat in range(seats):
        game.last_bids[seat] = game.bids[seat]
        game.last_tricks[seat] = game.tricks[seat]
        game.last_dealt[seat] = game.played[seat]
    for place in range(NUM_CARDS):
        game.last_order[place] = game.order[place]


@inlined
def _end_game(game, seats):
    game.phase = OVER
    game.seat = NONE
    game.leader = NONE

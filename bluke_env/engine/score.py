"""Scoring a hand and going on to the next."""

from __future__ import annotations

import numpy as np

from bluke_env.cards import NUM_CARDS
from bluke_env.engine.back_alley import board_points, side_bid, side_tricks
from bluke_env.engine.deal import deal_hand
from bluke_env.engine.jit import inlined, subroutine
from bluke_env.engine.state import NONE, OVER
from bluke_env.rules import BOARD


@inlined
def points(rules, bid, tricks):
    """Returns what a seat scores that bid `bid` and took `tricks`."""
    if tricks < bid:
        return -rules.points_per_trick * bid
    return rules.points_per_trick * bid + rules.points_per_overtrick * (tricks - bid)


@inlined
def standing_bid(rules, game, seat):
    """Returns the bid that stands for a seat: its own, or what its side has bid so far; tricks, or `BOARD + level`."""
    return side_bid(game, seat) if rules.teams else np.int64(game.bids[seat])


@inlined
def standing_tricks(rules, game, seat):
    """Returns the tricks that a seat, or its side, has taken."""
    return side_tricks(game, seat) if rules.teams else np.int64(game.tricks[seat])


@inlined
def hand_points(rules, size, bid, tricks):
    """Returns what is scored for a standing bid and tricks in a hand of `size` cards."""
    return board_points(rules, size, bid, tricks) if bid > BOARD else np.int64(points(rules, bid, tricks))


@inlined
def standing_points(rules, game, seat):
    """Returns what a seat scores for the hand just played out."""
    bid, tricks = standing_bid(rules, game, seat), standing_tricks(rules, game, seat)
    return hand_points(rules, np.int64(game.hand_size), bid, tricks)


@subroutine
def score_hand(rules, game):
    """Scores the hand just played out, keeps it as the last hand, and deals the next or ends the match."""
    seats = np.int64(rules.num_players)
    for seat in range(seats):
        game.last_points[seat] = standing_points(rules, game, seat)
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
    game.last_exchanged = game.exchanged
    game.last_drawn = game.drawn
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

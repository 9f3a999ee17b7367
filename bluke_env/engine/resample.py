"""Drawing anew what a seat cannot know of a whole match."""

from __future__ import annotations

import numpy as np

from bluke_env.engine.belief import WORLDS, draw_world, prepare
from bluke_env.engine.bits import lowest, popcount
from bluke_env.engine.jit import inlined, kernel
from bluke_env.engine.random import bounded, stream
from bluke_env.engine.state import NONE, OVER

_DEALS, _DRAWN = 1 << 42, 1 << 43
"""The streams of a seed beside that of the worlds."""


@kernel
def resample_games(rules, games, seat, seed, beliefs, table):
    """Draws anew what a seat cannot know of a match.

    Args:
        rules: One `RULES` record.
        games: `GAME` records [n]: the match after each hand scored, as far as known, and as it stands; changed.
        seat: Who knows what it knows.
        seed: uint64.
        beliefs: One `BELIEF` record of scratch.
        table: float64 [TABLE_SIZE] of scratch.
    """
    now = games[len(games) - 1]
    prepare(rules[0], now, seat, beliefs[0], table)
    draw_world(beliefs[0], table, now, stream(seed, WORLDS))
    for index in range(len(games)):
        game = games[index]
        game.key = stream(seed, _DEALS)
        if game.hand_number == now.hand_number:
            for other in range(rules[0].num_players):
                game.hands[other] = now.hands[other] | (now.played[other] & ~game.played[other])
        if game.last_exchanged != NONE and game.last_exchanged != seat:
            dealt = game.last_dealt[game.last_exchanged]
            game.last_drawn = _redrawn(dealt, seed, np.int64(game.last_number))
        if game.exchanged != NONE and game.exchanged != seat:
            dealt = game.hands[game.exchanged] | game.played[game.exchanged]
            number = np.int64(game.last_number if game.phase == OVER else game.hand_number)
            game.drawn = _redrawn(dealt, seed, number)


@inlined
def _redrawn(dealt, seed, number):
    """Draws which of the cards dealt in a hand was the one taken for a Blooper."""
    skips, _ = bounded(stream(stream(seed, _DRAWN), number), popcount(dealt))
    for _ in range(skips):
        dealt &= dealt - 1
    return lowest(dealt)

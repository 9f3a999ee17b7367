"""A bot that chooses uniformly among its legal actions."""

from __future__ import annotations

import numpy as np

from bluke_env.agent import Turn
from bluke_env.engine.jit import kernel
from bluke_env.engine.random import stream
from bluke_env.engine.state import BID
from bluke_env.engine.step import bid_action_of, random_bit
from bluke_env.errors import checked_seed


class RandomBot:
    """Chooses uniformly among its legal actions.

    A choice is a function of the bot's seed, the number of the game and the point in the game, so it depends neither
    on the order of the calls nor on what else is decided in the same one. Before the first `reset` its seed is 0.

    Attributes:
        name: Its specification for `bots.make`.
        version: Raised whenever its decisions change, since published results name it.
    """

    name = "random"
    version = 1

    def __init__(self) -> None:
        self.reset(1, 0)

    def reset(self, num_games: int, seed: int) -> None:
        """Starts afresh; its choices depend on the seed, from 0 to 2**64 - 1, and not on the number of games."""
        self._seed = np.uint64(checked_seed(seed))

    def act(self, turn: Turn) -> np.ndarray:
        """Returns one legal action id per row, int64 [n]."""
        actions = np.empty(len(turn.views), np.int64)
        random_view_actions(turn.rules.record(), turn.views, turn.games, self._seed, actions)
        return actions


@kernel
def random_view_actions(rules, views, games, seed, out):
    """Draws a uniformly random legal action for every view.

    Args:
        rules: One `RULES` record.
        views: `GAME` records [n].
        games: int64 [n], the number of each row's game.
        seed: uint64, the bot's.
        out: int64 [n], written: action ids.
    """
    for row in range(len(views)):
        view = views[row]
        hand = stream(stream(seed, games[row]), view.hand_number)
        decision = 64 + np.int64(view.seat) if view.phase == BID else np.int64(view.num_played)
        bit, _ = random_bit(rules[0], view, stream(hand, decision))
        out[row] = bid_action_of(bit, np.int64(rules[0].most_cards)) if view.phase == BID else bit

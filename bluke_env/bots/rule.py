"""A bot that bids from an estimate of its tricks and plays sensibly."""

from __future__ import annotations

import numpy as np

from bluke_env.agent import Turn
from bluke_env.bots.rule_kernels import rule_actions
from bluke_env.cards import NUM_CARDS
from bluke_env.engine.state import GAME
from bluke_env.errors import checked_seed
from bluke_env.rules import BOARD

DEFAULT_WORLDS = 40
"""Costs about 0.25 points a hand at 13 cards, and less at fewer, against bids from very many worlds."""

MOST_WORLDS = 1_000_000


class RuleBot:
    """Bids from deals of the unseen cards that it plays out, and plays cards by the odds.

    A bid is the one with the most expected points, by the rules' own scoring, over the tricks it takes in `worlds`
    random deals of the cards it cannot see, when all seats play as it does. A card is chosen by its chance to take the
    trick, less what it is worth later; see `bluke_env.bots.rule_kernels`. All it does is a function of its seed and of
    what its seat knows, by relative seats. Before the first `reset` its seed is 0.

    Args:
        worlds: Deals played out for a bid, 1 to 1,000,000.

    Attributes:
        name: Its specification for `bots.make`.
        version: Raised whenever its decisions change, since published results name it.

    Raises:
        ValueError: `worlds` is out of range.
    """

    version = 1

    def __init__(self, worlds: int = DEFAULT_WORLDS) -> None:
        if isinstance(worlds, bool) or not isinstance(worlds, int) or not 1 <= worlds <= MOST_WORLDS:
            raise ValueError(f"worlds is {worlds!r}, but it must be a whole number from 1 to {MOST_WORLDS}")
        self.name = "rule" if worlds == DEFAULT_WORLDS else f"rule:worlds={worlds}"
        self._worlds = worlds
        self.reset(1, 0)

    def reset(self, num_games: int, seed: int) -> None:
        """Starts afresh; its bids depend on the seed, from 0 to 2**64 - 1, and not on the number of games."""
        self._seed = np.uint64(checked_seed(seed))

    def act(self, turn: Turn) -> np.ndarray:
        """Returns one legal action id per row, int64 [n]."""
        actions = np.empty(len(turn.views), np.int64)
        scratch, pack, tally = np.empty(1, GAME), np.empty(NUM_CARDS, np.int8), np.empty((2, BOARD + 1), np.int64)
        rule_actions(turn.rules.record(), turn.views, self._worlds, self._seed, scratch, pack, tally, actions)
        return actions

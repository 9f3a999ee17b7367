"""A bot that searches a tree over what it can see: information-set Monte Carlo tree search."""

from __future__ import annotations

import numpy as np

from bluke_env.agent import Turn
from bluke_env.bots.ismcts_kernels import NODE, SEARCH, ismcts_actions
from bluke_env.bots.search import MOST_WORK, SearchBot
from bluke_env.cards import NUM_CARDS
from bluke_env.engine.belief import BELIEF, TABLE_SIZE
from bluke_env.engine.state import GAME
from bluke_env.errors import checked_integer

DEFAULT_SIMS = 300

_EXPLORATION = 10.0
"""In points: about what a trick bid is worth."""


class IsmctsBot(SearchBot):
    """Searches a tree of cards with a fresh world in every simulation (`bluke_env.bots.ismcts_kernels`).

    Unlike `pimc` it does not choose as if it saw the hands of the world: cards played in many worlds share their nodes.
    Simulations go on beyond the tree by the rule bot's play. Bids come from hands played out as the rule bot's do.

    Args:
        sims: Simulations for a decision, 0 to 1,000,000.
        milliseconds: See `SearchBot`.

    Raises:
        ValueError: An argument is out of range.
    """

    def __init__(self, sims: int = DEFAULT_SIMS, milliseconds: int = 0) -> None:
        sims = checked_integer("sims", sims, 0, MOST_WORK)
        super().__init__(f"ismcts:sims={sims}", sims, milliseconds)

    def _new_scratch(self) -> tuple:
        return (
            np.zeros(2, GAME), np.zeros(1, BELIEF), np.zeros(TABLE_SIZE), np.zeros(1, SEARCH),
            np.zeros(max(1, self._budget) + 1, NODE), np.empty(NUM_CARDS, np.int8),
        )  # fmt: skip

    def _search(self, turn: Turn, part: slice, first: int, last: int, scratch: tuple, actions: np.ndarray) -> None:
        ismcts_actions(
            turn.rules.record(), turn.views[part], first, last, _EXPLORATION, self._seed, *scratch, actions[part]
        )

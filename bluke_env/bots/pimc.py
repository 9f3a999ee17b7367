"""A bot that plays its cards out in sampled worlds: perfect-information Monte Carlo."""

from __future__ import annotations

import numpy as np

from bluke_env.agent import Turn
from bluke_env.bots.endgame import ENDGAME
from bluke_env.bots.inference_kernels import CHAIN
from bluke_env.bots.pimc_kernels import SUMS, pimc_actions
from bluke_env.bots.search import MOST_WORK, SearchBot
from bluke_env.cards import NUM_CARDS
from bluke_env.engine.belief import BELIEF, TABLE_SIZE
from bluke_env.engine.state import GAME
from bluke_env.errors import checked_integer

DEFAULT_WORLDS = 30
MOST_TRICKS = 4
"""The longest endgame that is solved; one more trick costs about ten times as much."""


class PimcBot(SearchBot):
    """Plays every legal card out in the same sampled worlds, all seats by the rule bot, and chooses by the points made.

    The worlds agree with all the seat knows (`bluke_env.belief`) and are the likelier the better they explain the bids
    and cards of the other seats, if these are rule bots that now and then do something else
    (`bluke_env.bots.inference_kernels`). A card other than the rule bot's is played only where the worlds tell them
    apart by a standard error. Bids come from hands played out as the rule bot's do, from more worlds, in which earlier
    bids are believed, and are a little higher, since the bot plays better than that. A known weakness of the method is
    that it takes every seat to know all cards where endgames are solved (Frank and Basin, "Search in games with
    incomplete information", 1998).

    Args:
        worlds: Worlds for a card, 0 to 1,000,000; a bid takes eight times as many.
        endgame: The last tricks of a hand, 0 to 4, that are solved exactly in every world (`bluke_env.bots.endgame`);
            with five players or more the last 18 cards at most.
        milliseconds: See `SearchBot`.

    Raises:
        ValueError: An argument is out of range.
    """

    version = 2

    def __init__(self, worlds: int = DEFAULT_WORLDS, endgame: int = 0, milliseconds: int = 0) -> None:
        worlds = checked_integer("worlds", worlds, 0, MOST_WORK)
        self._endgame = checked_integer("endgame", endgame, 0, MOST_TRICKS)
        super().__init__(f"pimc:worlds={worlds}" + (f",endgame={endgame}" if endgame else ""), worlds, milliseconds)

    def _new_scratch(self) -> tuple:
        return (
            np.zeros(2, GAME), np.zeros(1, BELIEF), np.zeros(TABLE_SIZE), np.zeros(NUM_CARDS, GAME),
            np.zeros(1, CHAIN), np.zeros(1, ENDGAME), np.zeros(1, SUMS), np.empty(NUM_CARDS, np.int8),
        )  # fmt: skip

    def _search(self, turn: Turn, part: slice, first: int, last: int, scratch: tuple, actions: np.ndarray) -> None:
        pimc_actions(
            turn.rules.record(), turn.views[part], first, last, self._endgame, self._seed, *scratch, actions[part]
        )

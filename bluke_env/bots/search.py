"""What the search bots share: a budget, random numbers that depend on what is known, and threads."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from bluke_env.agent import Turn
from bluke_env.bots.rule_kernels import bid_stream
from bluke_env.engine.jit import inlined
from bluke_env.engine.random import stream
from bluke_env.errors import checked_integer, checked_seed

MOST_WORK = 1_000_000
_SLICE = 16
"""Worlds or simulations between two looks at the clock."""


@inlined
def knowledge_stream(game, seats, seed):
    """Returns the start of the random stream of a card: a hash of what the seat to act knows, by relative seats."""
    state = bid_stream(game, seats, seed)
    for place in range(game.num_played):
        state = stream(state, 1 + np.int64(game.order[place]))
    return state


class SearchBot(ABC):
    """A bot that spends a budget of worlds or simulations on every decision.

    All it does is a function of its seed, its budget and of what its seat knows, whatever the number of threads; a
    limit in milliseconds makes it depend on the machine as well. Before the first `reset` its seed is 0.

    Args:
        name: Its specification for `bots.make`.
        budget: Worlds or simulations for a card, 0 to 1,000,000.
        milliseconds: A limit for each decision, after which the search ends before the budget is used up; 0 for none.

    Attributes:
        name: As above.
        version: Raised whenever its decisions change, since published results name it.
        num_threads: How many threads share the rows of a turn.
    """

    version = 1

    def __init__(self, name: str, budget: int, milliseconds: int) -> None:
        self._budget = budget
        self._milliseconds = checked_integer("milliseconds", milliseconds, 0, MOST_WORK)
        self.name = f"{name},milliseconds={milliseconds}" if milliseconds else name
        self.num_threads = 1
        self._scratch: list[tuple] = []
        self.reset(1, 0)

    def reset(self, num_games: int, seed: int) -> None:
        """Starts afresh; its choices depend on the seed, from 0 to 2**64 - 1, and not on the number of games."""
        self._seed = np.uint64(checked_seed(seed))

    def act(self, turn: Turn) -> np.ndarray:
        """Returns one legal action id per row, int64 [n]."""
        actions = np.empty(len(turn.views), np.int64)
        threads = checked_integer("num_threads", self.num_threads, 1, 1024)
        parts = np.array_split(np.arange(len(actions)), min(threads, max(1, len(actions))))
        while len(self._scratch) < len(parts):
            self._scratch.append(self._new_scratch())
        if len(parts) == 1:
            self._decide(turn, parts[0], self._scratch[0], actions)
        else:
            with ThreadPoolExecutor(len(parts)) as pool:
                list(pool.map(lambda rows, scratch: self._decide(turn, rows, scratch, actions), parts, self._scratch))
        return actions

    def _decide(self, turn: Turn, rows: np.ndarray, scratch: tuple, actions: np.ndarray) -> None:
        """Decides for consecutive rows of a turn."""
        if not self._milliseconds:
            part = slice(rows[0], rows[-1] + 1) if len(rows) else slice(0, 0)
            self._search(turn, part, 0, self._budget, scratch, actions)
            return
        forced = turn.masks.sum(axis=1) == 1
        for row in rows.tolist():
            end = time.perf_counter() + self._milliseconds / 1000
            for first in range(0, max(1, self._budget), _SLICE):
                if first > 0 and (forced[row] or time.perf_counter() >= end):
                    break
                last = min(first + _SLICE, self._budget)
                self._search(turn, slice(row, row + 1), first, last, scratch, actions)

    @abstractmethod
    def _new_scratch(self) -> tuple:
        """Returns the arrays that one thread works in."""

    @abstractmethod
    def _search(self, turn: Turn, part: slice, first: int, last: int, scratch: tuple, actions: np.ndarray) -> None:
        """Spends the budget from `first` to `last` on some rows and writes what to do.

        With `first` above 0 it goes on with the search of the same single row that the last call began.
        """

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_scratch": []}

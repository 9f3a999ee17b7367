"""Many matches stepped at once, into arrays that are allocated once."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from bluke_env.actions import action_text, bid_action
from bluke_env.cards import cards_of
from bluke_env.engine.batch import (
    SLOT,
    first_illegal,
    present_all,
    random_actions,
    relabelled_actions,
    states_all,
    step_all,
    views_all,
)
from bluke_env.engine.deal import start_games
from bluke_env.engine.random import hash_words
from bluke_env.engine.state import BID, GAME, OVER
from bluke_env.errors import IllegalAction, checked_choice, checked_index, checked_integer, checked_seed
from bluke_env.game import Game
from bluke_env.observation import SUIT_ORDERS, ObservationLayout
from bluke_env.rules import Rules, checked_rules


class BatchGame:
    """Many matches, one decision of each a step.

    The arrays are written anew by every `step` and `reset` (copy what you keep), and nothing that is written into
    them from outside changes a game. Game `k` of a seed has the same deals whatever the batch size, the number of
    threads or the order of calls, and they are those of `Game(rules, seed, number=k)`.

    Args:
        rules: What is played.
        num_games: Games in the batch, n.
        seed: The deals depend on (seed, game number) alone; None draws a fresh seed.
        numbers: Which games of the seed the batch begins with, uint64 [n]; 0, 1, 2, ... by default.
        autoreset: When a match ends, its slot goes on at once with the game numbered n further. Otherwise the slot
            stays over: seat -1, an all-zero mask, actions ignored.
        suit_order: "fixed", or "canonical" for suits relabelled for the seat to act, in observations, masks and
            actions.
        layout: The layout of the observations, if wider than the rules need.
        num_threads: Threads that step parts of the batch at the same time.

    Attributes:
        observations: int8 [n, layout.size], what the seat to act sees.
        masks: int8 [n, layout.num_actions], its legal actions.
        seats: int8 [n], the seat to act, -1 where the match is over.
        rewards: int32 [n, players], the points of a hand that ended with the last step, else 0.
        dones: bool [n], whether the match ended with the last step (it never stops for another reason).
        final_scores: int32 [n, players], where `dones`, the scores of the match that ended.

    Raises:
        ValueError: An argument is invalid; the sentence says which and what would be right.
    """

    def __init__(
        self,
        rules: Rules,
        num_games: int,
        seed: int | None = None,
        *,
        numbers: np.ndarray | None = None,
        autoreset: bool = True,
        suit_order: str = "fixed",
        layout: ObservationLayout | None = None,
        num_threads: int = 1,
    ) -> None:
        checked_rules(rules)
        self.rules = rules
        self.num_games = checked_integer("num_games", num_games, 1, 1 << 31)
        self.layout = ObservationLayout.of(rules) if layout is None else layout
        if not isinstance(self.layout, ObservationLayout):
            raise ValueError(f"layout is {layout!r}, but it must be an ObservationLayout")
        self.layout.check(rules)
        self._canonical = checked_choice("suit_order", suit_order, SUIT_ORDERS) == "canonical"
        self._stride = np.uint64(self.num_games if autoreset else 0)
        self._facts = rules.record()
        self._games = np.zeros(self.num_games, GAME)
        self._slots = np.zeros(self.num_games, SLOT)
        n, players = self.num_games, rules.num_players
        self.observations = np.zeros((n, self.layout.size), np.int8)
        self.masks = np.zeros((n, self.layout.num_actions), np.int8)
        self.seats = np.zeros(n, np.int8)
        self.rewards = np.zeros((n, players), np.int32)
        self.dones = np.zeros(n, np.bool_)
        self.final_scores = np.zeros((n, players), np.int32)
        threads = checked_integer("num_threads", num_threads, 1, 1024)
        cuts = np.linspace(0, n, min(threads, n) + 1).astype(int)
        self._parts = [slice(low, high) for low, high in pairwise(cuts)]
        self._pool: tuple[int, ThreadPoolExecutor] | None = None
        self.reset(seed, numbers=numbers)

    @classmethod
    def hands_of(cls, rules: Rules, cards: int, num_games: int, seed: int | None = None, **options: Any) -> BatchGame:
        """Returns a batch of single hands of `cards` cards (see `Rules.hands_of`), laid out as the match of `rules` is.

        All its games are in lockstep: in every one each seat makes exactly `cards` + 1 decisions.
        """
        checked_rules(rules)
        if options.get("layout") is None:
            options["layout"] = ObservationLayout.of(rules)
        return cls(rules.hands_of(cards), num_games, seed, **options)

    @property
    def game_numbers(self) -> np.ndarray:
        """Which game of the seed each slot is playing, uint64 [n]."""
        return self._slots["number"].copy()

    def reset(self, seed: int | None = None, *, numbers: np.ndarray | None = None) -> None:
        """Starts every slot anew, with a fresh seed for None; see the constructor."""
        seed = checked_seed(seed)
        if numbers is None:
            numbers = np.arange(self.num_games, dtype=np.uint64)
        numbers = np.asarray(numbers)
        if numbers.shape != (self.num_games,) or numbers.dtype.kind not in "iu" or (numbers < 0).any():
            raise ValueError(
                f"numbers has dtype {numbers.dtype} and shape {numbers.shape}, but it must hold {self.num_games} "
                "non-negative integers"
            )
        self._seed = np.uint64(seed)
        self._slots["number"] = numbers
        start_games(self._facts, self._games, self._seed, self._slots["number"].copy())
        self.rewards[:] = 0
        self.dones[:] = False
        self.final_scores[:] = 0
        present_all(
            self._facts, self._games, self._slots, self._canonical, self.layout.record,
            self.observations.reshape(-1), self.masks.reshape(-1), self.seats,
        )  # fmt: skip

    def step(self, actions: np.ndarray) -> None:
        """Applies one action to every game and writes what follows into the arrays.

        Args:
            actions: Integer action ids [n], in the suit order of the batch.

        Raises:
            IllegalAction: An action is not legal; the sentence names the game, the seat and what is legal. No game
                was changed.
            ValueError: The array has another shape or no integer dtype. No game was changed.
        """
        ids = _checked_actions(actions, self.num_games)
        illegal = first_illegal(self._slots, self.layout.record, ids)
        if illegal >= 0:
            raise self._refusal(illegal, actions[illegal])
        if len(self._parts) == 1:
            self._step_part(ids, self._parts[0])
        else:
            list(self._threads().map(lambda part: self._step_part(ids, part), self._parts))

    def _threads(self) -> ThreadPoolExecutor:
        """Returns the pool of this process; a copy, or a forked child, needs one of its own."""
        if self._pool is None or self._pool[0] != os.getpid():
            self._pool = os.getpid(), ThreadPoolExecutor(len(self._parts))
        return self._pool[1]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pool": None}

    def _step_part(self, actions: np.ndarray, part: slice) -> None:
        step_all(
            self._facts, self._games[part], self._slots[part], actions[part], self._seed, self._stride,
            self._canonical, self.layout.record, self.observations[part].reshape(-1),
            self.masks[part].reshape(-1), self.seats[part], self.rewards[part], self.dones[part],
            self.final_scores[part],
        )  # fmt: skip

    def _refusal(self, index: int, action: Any) -> IllegalAction:
        most = self.layout.most_cards
        bits = cards_of(self._slots["legal"][index])
        legal_ids = [bid_action(bit, most) for bit in bits] if self._slots["phase"][index] == BID else bits
        legal = ", ".join(f"{legal} ({action_text(legal, most)})" for legal in legal_ids)
        labels = " in its own suit labels" if self._canonical else ""
        return IllegalAction(
            f"action {action} of game {index} is illegal: seat {self._games['seat'][index]}'s legal actions{labels} "
            f"are {legal}"
        )

    def random_actions(self, state: np.ndarray) -> np.ndarray:
        """Draws a uniformly random legal action for every game.

        Args:
            state: uint64 [1], the state of the random stream; it is moved on.

        Returns:
            int64 [n], 0 where the match is over.

        Raises:
            ValueError: The state is no such array.
        """
        _check_array("the random state", state, np.uint64, (1,))
        actions = np.empty(self.num_games, np.int64)
        state[0] = random_actions(self._slots, self.layout.record, state[0], actions)
        return actions

    def states(self, out: np.ndarray | None = None) -> np.ndarray:
        """Returns the perfect-information state of every seat to act, int8 [n, layout.state_size].

        Args:
            out: An array of that shape and dtype to write it into; a new one by default.

        Raises:
            ValueError: `out` is no such array.
        """
        shape = self.num_games, self.layout.state_size
        out = np.empty(shape, np.int8) if out is None else out
        _check_array("out", out, np.int8, shape)
        states_all(self._facts, self._games, self._slots, self.layout.record, out.reshape(-1))
        return out

    def views(self, indices: np.ndarray | None = None) -> np.ndarray:
        """Returns copies of games (all by default) with what the seat to act cannot know taken out, `GAME` [m].

        Raises:
            ValueError: `indices` holds something else than places in the batch.
        """
        indices = np.arange(self.num_games) if indices is None else self._checked_indices(indices)
        out = np.zeros(len(indices), GAME)
        views_all(self._games, indices, out)
        return out

    def relabel_actions(self, actions: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Turns action ids [m] for real cards of the games `indices` [m] into those of the batch's suit order.

        Raises:
            ValueError: The arrays do not hold integers of the same shape, or `indices` no places in the batch.
        """
        indices = self._checked_indices(indices)
        out = np.empty(len(indices), np.int64)
        checked = _checked_actions(actions, len(indices))
        if ((checked < 0) | (checked >= self.rules.num_actions)).any():
            raise ValueError(f"actions are {actions}, but action ids run from 0 to {self.rules.num_actions - 1}")
        relabelled_actions(self._facts, self._slots, indices, checked, self.layout.record, out)
        return out

    def _checked_indices(self, indices: np.ndarray) -> np.ndarray:
        indices = np.asarray(indices)
        whole = indices.ndim == 1 and indices.dtype.kind in "iu"
        if not whole or ((indices < 0) | (indices >= self.num_games)).any():
            raise ValueError(
                f"indices are {indices!r}, but they must be a row of integers from 0 to {self.num_games - 1}"
            )
        return np.array(indices, np.int64)

    @property
    def records(self) -> np.ndarray:
        """The games themselves, `GAME` [n] (perfect information), to be read only."""
        records = self._games.view()
        records.flags.writeable = False
        return records

    @property
    def suit_orders(self) -> np.ndarray:
        """How the suits are labelled for the seat to act (see `bluke_env.engine.suits`), int16 [n], to be read only."""
        orders = self._slots["order"]
        orders.flags.writeable = False
        return orders

    def game(self, index: int) -> Game:
        """Returns a copy of one game."""
        index = checked_index("the game's index", index, self.num_games)
        return Game.from_record(self.rules, self._games[index : index + 1])

    @property
    def is_over(self) -> np.ndarray:
        """Which games are over, bool [n]; always none with autoreset."""
        return self._slots["phase"] == OVER


def derive_seed(*parts: int) -> int:
    """Hashes integers in [0, 2**64) to one seed, so that seeds for several purposes never share a stream."""
    for part in parts:
        checked_index("a part of a seed", int(part) if isinstance(part, bool) else part, 1 << 64)
    return int(hash_words(np.array(parts, np.uint64)))


def _checked_actions(actions: Any, count: int) -> np.ndarray:
    """Returns a copy in the one form that the kernels are compiled for."""
    actions = np.asarray(actions)
    if actions.shape != (count,) or actions.dtype.kind not in "iu":
        raise ValueError(
            f"actions have dtype {actions.dtype} and shape {actions.shape}, but they must be integers "
            f"of shape ({count},)"
        )
    return np.array(actions, np.int64)


def _check_array(name: str, array: Any, dtype: type, shape: tuple[int, ...]) -> None:
    fits = isinstance(array, np.ndarray) and array.dtype == dtype and array.shape == shape
    if not (fits and array.flags.c_contiguous and array.flags.writeable):
        raise ValueError(f"{name} must be a writable contiguous {dtype.__name__} array of shape {shape}")

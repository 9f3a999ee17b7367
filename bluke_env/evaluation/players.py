"""Players by name: bots, and policies that come from any Python module."""

from __future__ import annotations

import hashlib
import importlib
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bluke_env import bots
from bluke_env.agent import Agent, Encoded, Turn
from bluke_env.batch import derive_seed
from bluke_env.errors import checked_choice
from bluke_env.evaluation.asking import AgentError, RowFailure
from bluke_env.game import Phase
from bluke_env.observation import SUIT_ORDERS, ObservationLayout
from bluke_env.rules import Rules

TIME_LIMIT = 60.0
"""Seconds that a player from elsewhere may take for one decision."""

Policy = Callable[[np.ndarray, np.ndarray], int]
"""Takes the observation, float32 [size] in [-1, 1], and the action mask, int8 [actions], as `bluke_v0.env` gives them,
and returns an action id."""


def load_player(spec: str) -> Agent:
    """Returns the player of a name: a bot (`rule`, `pimc:worlds=30`), or what a Python function makes (`module:make`).

    Raises:
        ValueError: There is no such player.
    """
    module, _, function = spec.partition(":")
    if module in bots.BOTS or not (function.isidentifier() and all(part.isidentifier() for part in module.split("."))):
        return bots.make(spec)
    player = FactoryAgent(spec, _imported(module, function))
    player.sha256 = _source_hash(module)  # `make` itself may come from elsewhere, or be wrapped
    return player


def _imported(module: str, function: str) -> Callable[..., Any]:
    try:
        make = getattr(importlib.import_module(module), function, None)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise ValueError(
            f"there is no bot {module!r} and no module of that name: the bots are {', '.join(bots.BOTS)}, and a "
            "function is written package.module:make"
        ) from None
    except SystemExit as error:  # it would end the program without a word
        raise AgentError(f"the module {module} raised {error!r} when imported") from error
    if not callable(make):
        raise ValueError(f"the module {module} has no function {function}")
    return make


class FactoryAgent:
    """Seats what a Python function makes: a fresh policy for every seat of every game.

    The function is called as `make(rules, seed)` and returns a `Policy`; the seed is for what it draws. If the policy
    has an attribute `suit_order` that is "canonical", it sees canonical suits.

    It may also return an object with the methods of `Agent`, which plays many games at once; that is made anew whenever
    `reset` is called.

    Args:
        name: What to call it.
        make: The function.
        time_limit: Seconds that a policy may take for a decision, or an object that plays many games for a turn.

    Attributes:
        name: As above.
        time_limit: As above.
        sha256: Of the files that its decisions may depend on: the function's module, those loaded from the same folder,
            and those that the module lists in `FILES`, such as weights. None for a function that stands in no file.
    """

    def __init__(self, name: str, make: Callable[..., Any], time_limit: float = TIME_LIMIT) -> None:
        self.name, self._make, self.time_limit = name, make, time_limit
        self.sha256 = _source_hash(getattr(make, "__module__", ""))
        self.reset(1, 0)

    def reset(self, num_games: int, seed: int) -> None:
        """Forgets all games."""
        self._num_games, self._seed = num_games, seed
        self._policies: dict[tuple[int, int], Policy] = {}
        self._agent: Agent | None = None
        self._is_agent: bool | None = None

    def act(self, turn: Turn) -> np.ndarray:
        """Returns an action id for each row.

        Raises:
            RowFailure: The policy failed.
        """
        if self._is_agent is None:
            (self._is_agent,) = _answers(1, self.time_limit, lambda _: self._start(turn.rules))
        if self._agent is not None:
            agent = self._agent
            (actions,) = _answers(1, self.time_limit, lambda _: agent.act(turn))
            return actions
        return np.array(_answers(len(turn.games), self.time_limit, lambda row: self._act_alone(turn, row)))

    def made_for(self, rules: Rules) -> Agent:
        """Returns the object for many games that the function makes, or this where it makes policies."""
        made = self._make(rules, 0)
        return made if hasattr(made, "act") else self

    def _start(self, rules: Rules) -> bool:
        """Finds out what the function makes: returns whether it is an agent for many games at once."""
        made = self._make(rules, self._seed)
        if not hasattr(made, "act"):
            return False
        made.reset(self._num_games, self._seed)
        self._agent = made
        return True

    def _act_alone(self, turn: Turn, row: int) -> int:
        key = int(turn.games[row]), int(turn.seats[row])
        one = Turn(turn.rules, turn.views[row : row + 1], turn.seats[row : row + 1], turn.games[row : row + 1])
        if key not in self._policies:
            self._policies[key] = self._make(turn.rules, derive_seed(self._seed, *key))
        answer, encoded = _answer(self._policies[key], one)
        if _is_last_decision(one):
            del self._policies[key]
        if answer.size != 1 or answer.dtype.kind not in "iu":
            answered = f"dtype {answer.dtype} and shape {answer.shape}"
            raise RowFailure(row, f"answered with {answered}, but it must answer with one action id,")
        return one.real_actions(answer.reshape(1), encoded)[0]


def _is_last_decision(turn: Turn) -> bool:
    """Returns whether the seat of the only row decides nothing more in its game."""
    view, seat = turn.views[0], turn.seats[0]
    last_hand = view["hand_number"] == len(turn.rules.schedule) - 1
    return bool(last_hand and view["phase"] == Phase.PLAY and int(view["hands"][seat]).bit_count() == 1)


def _answer(policy: Policy, turn: Turn) -> tuple[np.ndarray, Encoded]:
    """Asks a policy for its action in the only row of a turn; returns it with what it saw."""
    order = checked_choice("suit_order of the policy", getattr(policy, "suit_order", "fixed"), SUIT_ORDERS)
    encoded = turn.encode(ObservationLayout.of(turn.rules), order == "canonical")
    observation = encoded.observations[0] * encoded.layout.scale
    return np.asarray(policy(observation, encoded.masks[0].copy())), encoded


def _answers(rows: int, seconds: float, call: Callable[[int], Any]) -> list[Any]:
    """Runs somebody else's code for each row, in a thread that is left behind if it does not come back.

    Args:
        rows: How many.
        seconds: For each row; what takes twice as long is sure to be noticed.
        call: Takes the row.

    Raises:
        RowFailure: The code raised an exception or did not come back.
    """
    answers: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            for row in range(rows):
                answers.append(call(row))
        except BaseException as error:  # sys.exit() would end this thread without a word
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    before = -1
    while thread.is_alive() and len(answers) > before:
        before = len(answers)
        thread.join(seconds)
    row = len(answers)
    if errors and isinstance(errors[0], RowFailure):
        raise errors[0]
    if errors:
        raise RowFailure(row, f"raised {errors[0]!r}") from errors[0]
    if row < rows:
        raise RowFailure(row, f"did not answer within {seconds:g} s")
    return answers


def _source_hash(name: str) -> str | None:
    """Returns the SHA-256 of what decisions of a module may depend on; None where it stands in no file.

    That is its own file, those of the modules loaded from the same folder or below, and those that the
    module lists in `FILES`, such as weights, by their paths from its folder.

    Raises:
        ValueError: A file of `FILES` is not there.
    """
    module = sys.modules.get(name)
    source = getattr(module, "__file__", None)
    if source is None or not Path(source).is_file():
        return None
    folder = Path(source).resolve().parent
    loaded = (
        Path(file).resolve() for other in list(sys.modules.values()) if (file := getattr(other, "__file__", None))
    )
    files = {path for path in loaded if path.suffix == ".py" and path.is_relative_to(folder) and path.is_file()}
    listed = {(folder / name).resolve() for name in getattr(module, "FILES", ())}
    for path in listed:
        if not path.is_file():
            raise ValueError(f"{name}.FILES lists {path}, but there is no such file")
    digest = hashlib.sha256()
    for path in sorted(files | listed):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()

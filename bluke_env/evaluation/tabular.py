"""Policies of small games as tables: of agents, as agents, and as files."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bluke_env.agent import Agent, Turn
from bluke_env.bots.random import RandomBot
from bluke_env.engine.state import NONE
from bluke_env.errors import checked_seed
from bluke_env.evaluation.asking import AgentError, ask
from bluke_env.evaluation.files import write_bytes
from bluke_env.evaluation.players import FactoryAgent
from bluke_env.evaluation.small_game import SmallGame
from bluke_env.evaluation.tree_kernels import draw_lots, normalise
from bluke_env.rules import Rules

_CHUNK = 8192
"""States that an agent is asked about at a time."""

_PROBES, _LOTS = 256, 8
"""States, and games in each, in which an agent is tried for drawing lots."""

_ROUNDING = 1e-6
"""How far probabilities may be from adding up to 1, as float32 rounds them."""


class TabularPolicy:
    """What both seats do in every state of a small game.

    Args:
        game: The game.
        probabilities: float64 [sequences]: of each sequence's last action in its state; the first two are 1.

    Attributes:
        game: As above.
        probabilities: As above.

    Raises:
        ValueError: They are no probabilities of the actions in every state.
    """

    def __init__(self, game: SmallGame, probabilities: np.ndarray) -> None:
        probabilities, shape = np.asarray(probabilities), game.actions.shape
        if probabilities.dtype != np.float64 or probabilities.shape != shape:
            raise ValueError(
                f"probabilities have dtype {probabilities.dtype} and shape {probabilities.shape}, but the game needs "
                f"float64 of shape {shape}"
            )
        totals = np.add.reduceat(probabilities, game.states["first"])
        if not (probabilities >= 0).all() or not (np.abs(totals - 1) < _ROUNDING).all():
            raise ValueError("probabilities must be 0 or more and add up to 1 in every state")
        self.game = game
        self.probabilities = np.empty(shape)
        normalise(game.states, probabilities, self.probabilities)

    @classmethod
    def uniform(cls, game: SmallGame) -> TabularPolicy:
        """Returns the policy that chooses uniformly among the legal actions, as the bot `random` does."""
        count = game.states["num_actions"].astype(np.float64)
        return cls(game, np.concatenate([np.ones(2), 1 / game.per_sequence(count)]))

    @classmethod
    def of_agent(cls, game: SmallGame, agent: Agent, seed: int = 0) -> TabularPolicy:
        """Returns the policy of an agent, asked once in every state.

        An agent that draws lots is no table of one action for each state. Its probabilities are taken from its method
        `probabilities(turn) -> float64 [n, num_actions]`, if it has one, 0 for what is illegal, with sums of 1; those
        of the bot `random` are known. Any other is tried in 256 states, under eight numbers of games each, and refused
        if its choices differ.

        Args:
            game: The game.
            agent: Who is asked.
            seed: For the agent's `reset`; most bots look at other worlds with another seed.

        Raises:
            ValueError: The agent draws lots, or its probabilities are none.
            AgentError: The agent raised an exception, or its answers were not one legal action for each row.
        """
        if isinstance(agent, RandomBot):
            return cls.uniform(game)
        if isinstance(agent, FactoryAgent):
            agent = agent.made_for(game.rules)
        agent.reset(_LOTS, checked_seed(seed))
        count = len(game.states)
        if hasattr(agent, "probabilities"):
            return cls(game, np.concatenate([np.ones(2), *(_asked(game, agent, part) for part in _parts(count))]))
        probes = np.unique(np.linspace(0, count - 1, min(count, _PROBES)).astype(np.int64))
        tried = _choices(game, agent, np.repeat(probes, _LOTS), np.tile(np.arange(_LOTS), len(probes)))
        tried = tried.reshape(-1, _LOTS)
        differs = int((tried != tried[:, :1]).any(axis=1).sum())
        if differs:
            raise ValueError(
                f"{agent.name} draws lots: in {differs} of {len(probes)} states its choice depends on the game's "
                "number, so give it a method probabilities(turn) that says how likely each action is"
            )
        open_states = np.flatnonzero(game.states["num_actions"] > 1)
        chosen = np.where(game.states["num_actions"] == 1, game.actions[game.states["first"]], NONE)
        for part in _parts(len(open_states)):
            asked = open_states[part]
            chosen[asked] = _choices(game, agent, asked, np.zeros(len(asked), np.int64))
        return cls(game, np.concatenate([np.ones(2), game.per_sequence(chosen) == game.actions[2:]]))

    def save(self, path: Path) -> None:
        """Writes the table and its rules as an .npz file, whole or not at all."""
        header = {"format": 1, "rules": self.game.rules.to_dict(), "digest": self.game.digest()}
        content = io.BytesIO()
        np.savez_compressed(content, header=json.dumps(header), probabilities=self.probabilities)
        write_bytes(path, content.getvalue())

    @classmethod
    def load(cls, path: Path) -> TabularPolicy:
        """Returns the policy that `save` wrote, with its game.

        Raises:
            ValueError: The file is no such table, it is damaged, or another version's game has other states.
            FileNotFoundError: There is no such file.
        """
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as data:
                header, probabilities = json.loads(str(data["header"])), data["probabilities"]
            rules, digest = header["rules"], header["digest"]
        except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise ValueError(f"{path} is no table of a policy, as TabularPolicy.save writes it: {error}") from None
        game = SmallGame(Rules.from_dict(rules))
        if game.digest() != digest:
            raise ValueError(f"{path} is a table of other states than this version's game has: make it again")
        return cls(game, probabilities)


def _parts(count: int) -> Iterator[slice]:
    return (slice(start, min(start + _CHUNK, count)) for start in range(0, count, _CHUNK))


def _turn(game: SmallGame, which: np.ndarray, games: np.ndarray) -> Turn:
    return Turn(game.rules, game.views(which), game.states["seat"][which], games)


def _choices(game: SmallGame, agent: Agent, which: np.ndarray, games: np.ndarray) -> np.ndarray:
    """Returns the checked action ids that an agent chooses in the states `which`."""
    turn = _turn(game, which, games)
    return ask(agent.name, agent, turn, turn.masks, lambda row: f"in state {which[row]} of the game")


def _asked(game: SmallGame, agent: Any, part: slice) -> np.ndarray:
    """Returns the probabilities of all actions in some consecutive states, one after the other."""
    which = np.arange(part.start, part.stop)
    turn = _turn(game, which, np.zeros(len(which), np.int64))
    try:
        table = np.asarray(agent.probabilities(turn), np.float64)
    except Exception as error:
        raise AgentError(f"{agent.name} raised {error!r} when asked for the probabilities of its actions") from error
    if table.shape != turn.masks.shape or (table[turn.masks == 0] != 0).any():
        raise AgentError(
            f"{agent.name} answered with probabilities of shape {table.shape}, but they must have shape "
            f"{turn.masks.shape} and be 0 for illegal actions"
        )
    return table[turn.masks == 1]


class TabularAgent:
    """Plays a policy of a small game.

    A choice is a function of the seed, the number of the game and what the seat knows. Before the first `reset` its
    seed is 0.

    Args:
        policy: What it plays.
        name: What it is called in reports.

    Attributes:
        name: As above.
        rules: Of the game; it plays no other.
    """

    def __init__(self, policy: TabularPolicy, name: str = "tabular") -> None:
        self.name, self.rules = name, policy.game.rules
        self._policy = policy
        self.reset(1, 0)

    def reset(self, num_games: int, seed: int) -> None:
        """Starts afresh; its choices depend on the seed, from 0 to 2**64 - 1, and not on the number of games."""
        self._seed = np.uint64(checked_seed(seed))

    def act(self, turn: Turn) -> np.ndarray:
        """Returns one legal action id per row, int64 [n]; raises a ValueError for other rules."""
        lots = np.empty(len(turn.views))
        draw_lots(turn.views, turn.games, self._seed, lots)
        totals = self.probabilities(turn).cumsum(axis=1)
        return (totals <= lots[:, None] * totals[:, -1:]).sum(axis=1)

    def probabilities(self, turn: Turn) -> np.ndarray:
        """Returns how likely each action is, float64 [n, num_actions]; raises a ValueError for other rules."""
        if turn.rules != self.rules:
            raise ValueError(f"{self.name} is a table for the rules {self.rules}, but it is asked to play {turn.rules}")
        game = self._policy.game
        which = game.find(turn.views)
        table = turn.masks.astype(np.float64)  # where there is no state, there is no choice
        rows = np.flatnonzero(which >= 0)
        count = game.states["num_actions"][which[rows]]
        sequences = np.repeat(game.states["first"][which[rows]] - count.cumsum() + count, count) + np.arange(
            count.sum()
        )
        table[np.repeat(rows, count), game.actions[sequences]] = self._policy.probabilities[sequences]
        return table

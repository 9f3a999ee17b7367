"""Search on top of a network: what cards make in likely worlds, and what the network thinks of them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

import agents
from agents.options import NET_SEARCH
from agents.player import NetworkAgent
from agents.worlds import card_points
from bluke_env import Rules, Turn
from bluke_env.bots.search import MOST_WORK
from bluke_env.engine.state import PLAY
from bluke_env.errors import checked_integer, checked_seed

DEFAULT_WORLDS = 30

_TRUST = 1.0
"""Points that a card must make more in the worlds to outweigh that the network finds it e times less likely."""


class NetSearchAgent:
    """Plays the card with the most points in sampled worlds, added to how likely the network plays it.

    Worlds are those of the bot `pimc`: the likelier the better they explain what the other seats did. Every card is
    played out in them, the own seat by the small network that learned along with the network (`agents.playouts`), if
    there is one, all others by `rule`'s cards. The worlds see what can be counted out, such as the last tricks of a
    hand, where a network guesses; the network knows how hands go on when nobody sees all cards, and outweighs
    differences that a few worlds only seem to show. Bids are the network's.

    All it does is a function of its seed, its worlds and what its seat knows. Before the first `reset` its seed is 0.

    Args:
        agent: The network.
        worlds: For each decision about a card, 0 to 1,000,000; with none the network plays alone.

    Attributes:
        name: Under which `load_search` makes it again, if the network's is the path of its checkpoint.
        version: Raised whenever its decisions change, since published results name it.
        tables: Those of the network, as the other attributes.

    Raises:
        ValueError: `worlds` is out of range.
    """

    version = 4

    def __init__(self, agent: NetworkAgent, worlds: int = DEFAULT_WORLDS) -> None:
        self._worlds = checked_integer("worlds", worlds, 0, MOST_WORK)
        self._agent = agent
        self.name = f"{NET_SEARCH}:{agent.name},worlds={worlds}"
        self.tables, self.sha256 = agent.tables, agent.sha256
        self.reset(1, 0)

    @property
    def rules(self) -> Rules:
        """Those that it plays by unless told otherwise."""
        return self._agent.rules

    def reset(self, num_games: int, seed: int) -> None:
        """Starts afresh; its choices depend on the seed, from 0 to 2**64 - 1, and not on the number of games."""
        self._seed = np.uint64(checked_seed(seed))

    def act(self, turn: Turn) -> np.ndarray:
        """Returns one legal action id per row, int64 [n].

        Raises:
            ValueError: See `NetworkAgent.act`.
        """
        self._agent.check(turn.rules)
        actions = np.empty(len(turn.views), np.int64)
        searched = (turn.views["phase"] == PLAY) & (turn.masks.sum(1) > 1) & (self._worlds > 0)
        for wanted, choose in ((searched, self._cards), (~searched, self._agent.act)):
            rows = np.flatnonzero(wanted)
            if len(rows):
                actions[rows] = choose(Turn(turn.rules, turn.views[rows], turn.seats[rows], turn.games[rows]))
        return actions

    def _cards(self, turn: Turn) -> np.ndarray:
        log_probs, encoded = self._agent.card_log_probs(turn)
        points = card_points(turn, encoded.orders, self._worlds, self._seed, self._agent.network.playouts)
        return turn.real_actions((points + _TRUST * log_probs).argmax(1), encoded)


def load_search(spec: str) -> NetSearchAgent:
    """Returns the player of a name such as net-search:runs/a/checkpoint.pt,worlds=64.

    Raises:
        ValueError: The name has no checkpoint, the checkpoint does not load, or the number of worlds is invalid.
    """
    path, option, text = spec.removeprefix(f"{NET_SEARCH}:").partition(",worlds=")
    if not path:
        raise ValueError(
            f"{spec!r} names no checkpoint: write {NET_SEARCH}:CHECKPOINT or {NET_SEARCH}:CHECKPOINT,worlds=N"
        )
    text, _, other = text.partition(",")
    before = re.search(r",(\w+=[^/,]*)$", path)
    if before and not Path(path).exists():
        other = before[1]
    if other:
        raise ValueError(f"{spec!r} has the option {other!r}, but the only one of {NET_SEARCH} is worlds=N")
    if option and not text.isdecimal():
        raise ValueError(f"worlds of {NET_SEARCH} is {text!r}, but it must be a whole number from 0 to {MOST_WORK}")
    return NetSearchAgent(agents.load(path), int(text) if option else DEFAULT_WORLDS)

"""What learns: plays hands, makes gradient steps, and holds everything that a run has to remember."""

from __future__ import annotations

import copy
import dataclasses
import time
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch

from agents import checkpoint, dmc, path_of, ppo, seeds
from agents.advantages import standardise
from agents.config import TrainConfig
from agents.decisions import Decisions
from agents.network import Heads, Network, layout_for
from agents.player import NetworkAgent
from agents.precision import chosen_device, chosen_precision
from agents.ranks import Ranks
from agents.rollout import WHOLE_MATCH, HandStatistics, Rollout
from agents.schedules import Schedules
from agents.update import Algorithm, Learning, update
from agents.weights import FlatWeights
from agents.winning import outlook
from bluke_env import Agent, Rules, bots
from bluke_env.batch import derive_seed

ALGORITHMS: dict[str, Algorithm] = {"ppo": ppo, "dmc": dmc}

_TABLES = ("preset", "num_players", "schedule")
_HEADS = ("hidden_sizes", "bids", "critic", "critic_sizes")
"""The settings that the shapes of weights follow from."""


class Learner:
    """One training run without its files.

    Args:
        config: Settings of the run.
        resumed: The checkpoint of a run to go on with.
        opponent: Who takes the seats that are a bot's, by default the bot of the settings.
        ranks: The processes that share the work, by default those that `torchrun` started.

    Raises:
        ValueError: The shards cannot be shared evenly, the device is not there, or a checkpoint does not fit.
    """

    def __init__(
        self,
        config: TrainConfig,
        resumed: dict[str, Any] | None = None,
        opponent: Agent | None = None,
        ranks: Ranks | None = None,
    ) -> None:
        self.config = config
        self.ranks = Ranks() if ranks is None else ranks
        if config.shards % self.ranks.count:
            raise ValueError(
                f"shards is {config.shards}, but {self.ranks.count} processes must share them: choose a multiple"
            )
        torch.set_num_threads(1)  # a process has a core of its own
        self.device = chosen_device(config.device, self.ranks)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.network = Network(config.tables, heads_of(config)).to(self.device)
        if config.reward == "wins":
            self.network.outlook.copy_(outlook(config.rules))
            self.network.expect(config.rules)
        if config.initial is not None and resumed is None:
            self._begin_with(config.initial)
        self.weights = FlatWeights(self.network)
        self.average = self.weights.vector.data.clone() if config.average else None
        self.optimizer = torch.optim.Adam(
            [self.weights.vector], lr=config.learning_rate, eps=1e-5, fused=self.device.type in ("cpu", "cuda")
        )
        self.past: dict[int, torch.Tensor] = {}
        self.progress = checkpoint.Progress()
        if resumed is not None:
            self._resume(resumed)
        if resumed is None or config.precision != "auto":
            self.progress.precision = self._agreed(chosen_precision(config.precision, self.device))
        self._opponent = bots.make(config.bot) if opponent is None else opponent
        self._rollouts: dict[tuple[int, int], Rollout] = {}
        self._past_network = copy.deepcopy(self.network).requires_grad_(False)

    def _begin_with(self, initial: str) -> None:
        data = checkpoint.read(path_of(initial))
        for name in ("suit_order", "rank_order"):
            if data["config"][name] != getattr(self.config, name):
                learned = f"{name} {data['config'][name]!r}"
                raise ValueError(
                    f"{initial} cannot be the initial network: it learned with {learned}, so ask for the same"
                )
        try:
            self.network.begin_with(data["network"], Heads.from_dict(data["heads"]))
        except RuntimeError:
            wrong = self._unlike(data) or "weights of other shapes"
            raise ValueError(
                f"{initial} cannot be the initial network: it learned with {wrong}, so ask for the same"
            ) from None

    def _unlike(self, data: dict[str, Any]) -> str:
        """Returns the settings of a checkpoint by which its weights have other shapes than those of the network."""
        own, layout, asked = self.network.heads.to_dict(), self.network.layout, self.config.to_dict()
        wrong = [name for name in _HEADS if data["heads"][name] != own[name]]
        learned = layout_for(tuple(Rules.from_dict(rules) for rules in data["tables"]))
        if (learned.size, learned.num_actions) != (layout.size, layout.num_actions):
            wrong = [*(name for name in _TABLES if data["config"][name] != asked[name]), *wrong]
        return ", ".join(f"{name} {data['config'][name]!r}" for name in wrong)

    def _resume(self, data: dict[str, Any]) -> None:
        checkpoint.restore(self.network, data)
        self.optimizer.load_state_dict(data["optimizer"])
        self.progress = checkpoint.Progress(**data["progress"])
        self.past = {iteration: weights.to(self.device) for iteration, weights in data["past"].items()}
        if self.average is not None:
            self.average.copy_(self.weights.vector.data)
        if data["weights"] is not None:
            self.weights.vector.data.copy_(data["weights"])

    def _agreed(self, precision: str) -> str:
        """Returns the precision that the first process found best."""
        names = ("float32", "bfloat16")
        return names[int(self.ranks.joined([names.index(precision)])[0])]

    @property
    def agent(self) -> NetworkAgent:
        """The network as it is now, with averaged weights where the run averages them."""
        network = copy.deepcopy(self.network)
        if self.average is not None:
            torch.nn.utils.vector_to_parameters(self.average.clone(), network.parameters())
        orders = self.config.suit_order, self.config.rank_order
        return NetworkAgent(network.eval(), self.config.tables, "network", None, *orders)

    def contents(self) -> dict[str, Any]:
        """Returns what a checkpoint holds."""
        learns = None if self.average is None else self.weights.vector.data
        return checkpoint.contents(self.config, self.agent.network, learns, self.optimizer, self.progress, self.past)

    def iterate(self) -> dict[str, float]:
        """Plays hands of several sizes, learns from them, and returns what happened, the same in every process."""
        config, progress, iteration = self.config, self.progress, self.progress.iteration
        started = time.perf_counter()
        self._remember(iteration)
        shards, statistics = zip(*(self._played(shard) for shard in self.ranks.own(range(config.shards))), strict=True)
        playing = time.perf_counter() - started
        learning = Learning(config, iteration, progress.precision, self.average)
        rows = sum(self.ranks.joined([len(shard) for shard in shards]))
        losses = update(
            self.network, self.weights, self.optimizer, shards, learning, self.ranks, ALGORITHMS[config.algorithm]
        )
        seconds = self.ranks.joined([time.perf_counter() - started])[0]
        hands = [played for shard in statistics for played in shard]
        decisions = int(sum(self.ranks.joined([sum(played.decisions for played in hands)])))
        network_seconds = sum(played.network_seconds for played in hands)
        progress.iteration += 1
        progress.decisions += decisions
        progress.seconds += seconds
        return {
            "iteration": progress.iteration,
            "decisions": progress.decisions,
            "seconds": progress.seconds,
            "decisions_per_second": decisions / seconds,
            "learned_per_second": rows / seconds,
            "rollout_share": (playing - network_seconds) / seconds,
            "network_share": network_seconds / seconds,
            "update_share": 1 - playing / seconds,
            **self._means(hands),
            **losses,
            **dataclasses.asdict(learning.schedules),
        }

    def _remember(self, iteration: int) -> None:
        """Keeps the network of now and then for the seats of past ones."""
        config = self.config
        if config.past_share and iteration and iteration % config.past_every == 0:
            self.past[iteration] = self.weights.vector.data.clone()
            for old in sorted(self.past)[: -config.past_kept]:
                del self.past[old]

    def _played(self, shard: int) -> tuple[Decisions, list[HandStatistics]]:
        """Plays a shard of the hands of an iteration, of all sizes drawn."""
        iteration = self.progress.iteration
        parts: list[list[Decisions]] = []
        statistics: list[HandStatistics] = []
        for place, size in self._sizes(iteration):
            if (place, size) not in self._rollouts:
                self._rollouts[place, size] = Rollout(self.config, place, size, self.network, self._opponent)
            past = self._past(iteration, place, size)
            groups, hands = self._rollouts[place, size].play(iteration, shard, self.progress.precision, past)
            parts += groups
            statistics += hands
        guide = Schedules.at(self.config, iteration).guide
        for group in parts if self.config.advantages == "size" else [[part for size in parts for part in size]]:
            standardise(group, guide, self.network.heads.bids == "policy")
        return Decisions.concatenate([part for parts_of_size in parts for part in parts_of_size]), statistics

    def _past(self, iteration: int, place: int, size: int) -> Network | None:
        """Returns the earlier network that plays some of the hands of a size in an iteration."""
        if not self.past:
            return None
        drawn = derive_seed(self.config.seed, seeds.PAST, iteration, place, size) % len(self.past)
        weights = self.past[sorted(self.past)[drawn]]
        torch.nn.utils.vector_to_parameters(weights, self._past_network.parameters())
        return self._past_network

    def _sizes(self, iteration: int) -> list[tuple[int, int]]:
        """Draws tables and hand sizes of an iteration, each at most once, large hands more often: they are harder."""
        if self.config.reward == "wins":
            return [(0, WHOLE_MATCH)]
        config, learnable, tables = self.config, self.config.learnable, self.config.tables
        sizes = np.array([size for _, size in learnable], np.float64)
        most = np.array([tables[place].most_cards for place, _ in learnable])
        weights = np.ones(len(sizes))
        if config.size_weights == "large":
            weights += (sizes > 0.55 * most).astype(float) + (sizes > 0.8 * most)
        places = np.array([place for place, _ in learnable])
        for place in np.unique(places):  # every table alike
            weights[places == place] /= weights[places == place].sum()
        rng = np.random.Generator(np.random.PCG64(derive_seed(config.seed, seeds.SIZES, iteration)))
        count = min(config.sizes_per_iteration, len(learnable))
        drawn = rng.choice(len(learnable), count, replace=False, p=weights / weights.sum())
        return [learnable[index] for index in sorted(drawn)]

    def _means(self, hands: Sequence[HandStatistics]) -> dict[str, float]:
        """Returns means over the hands of all processes."""
        names = ("points", "make_rate", "bid")
        own = [float(np.mean([getattr(played, name) for played in hands])) for name in names]
        means = np.reshape(self.ranks.joined(own), (len(names), self.ranks.count)).mean(1)
        return dict(zip(names, means.tolist(), strict=True))


def heads_of(config: TrainConfig) -> Heads:
    """Returns the shape of the network that a run trains."""
    aim: Literal["points", "wins"] = "wins" if config.reward == "wins" else "points"
    sharpness = config.sharpness if config.algorithm == "ppo" else 1.0  # values are no logits
    playouts = config.plays_on == "learned" and config.algorithm == "ppo" and aim == "points"
    return Heads(config.hidden_sizes, config.bids, config.critic, config.critic_sizes, aim, sharpness, playouts)

"""Learning from decisions: the gradient steps of an iteration, and the predicted tricks that bids are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from agents import seeds
from agents.config import TrainConfig
from agents.decisions import Decisions
from agents.network import Network
from agents.precision import autocast, rounded_up
from agents.ranks import Ranks
from agents.schedules import Schedules
from agents.weights import FlatWeights
from bluke_env.batch import derive_seed
from bluke_env.cards import NUM_CARDS


@dataclass
class Learning:
    """What the gradient steps of one iteration need besides the decisions."""

    config: TrainConfig
    iteration: int
    precision: str
    average: torch.Tensor | None = None

    @property
    def schedules(self) -> Schedules:
        """The settings of the iteration."""
        return Schedules.at(self.config, self.iteration)

    @property
    def imitates(self) -> bool:
        """Whether the decisions are a bot's, to be imitated."""
        return self.iteration < self.config.imitation_iterations


class Algorithm(Protocol):
    """How actions that the `actions` head stands for are learned: a module such as `agents.ppo`.

    Attributes:
        MEASURED: Names of what `losses` measures.
    """

    MEASURED: tuple[str, ...]

    def losses(
        self, network: Network, features: torch.Tensor, decisions: Decisions, part: slice, learning: Learning
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Returns the loss of some decisions and, by name, what is measured; all are sums over them.

        Args:
            network: Learns.
            features: Of all the decisions.
            decisions: On the network's device.
            part: Which of them learn so; the others are bids that are made from predicted tricks.
            learning: Settings and place in the run.
        """


def update(
    network: Network,
    weights: FlatWeights,
    optimizer: torch.optim.Optimizer,
    shards: Sequence[Decisions],
    learning: Learning,
    ranks: Ranks,
    algorithm: Algorithm,
) -> dict[str, float]:
    """Makes the gradient steps of one iteration.

    Every minibatch takes its part of every shard. A gradient is the sum over the shards, wherever they are worked out,
    so the number of processes changes nothing but the order in which more than two are added up.

    Args:
        network: Is changed.
        weights: Its weights.
        optimizer: Adam over them.
        shards: The decisions of this process, shard `ranks.index`, `ranks.index + ranks.count` and so on.
        learning: Settings and place in the run.
        ranks: The processes.
        algorithm: Whose losses are minimised.

    Returns:
        Means over all rows of each loss and diagnostic, by name.
    """
    config, schedules = learning.config, learning.schedules
    for group in optimizer.param_groups:
        group["lr"] = schedules.learning_rate
    numbers = ranks.own(range(config.shards))
    counts = [int(count) for count in ranks.joined([len(shard) for shard in shards])]
    parts = parts_of(counts, config.minibatch_size)
    names = (*algorithm.MEASURED, "bid_loss", "grad_norm")
    totals = torch.zeros(len(names), dtype=torch.float64)
    for epoch in range(config.epochs):
        orders = [
            torch.randperm(
                len(shard),
                generator=torch.Generator().manual_seed(
                    derive_seed(config.seed, seeds.MINIBATCHES, learning.iteration, epoch, number) >> 1
                ),
            )
            for shard, number in zip(shards, numbers, strict=True)
        ]
        for step in parts:
            count = sum(part.stop - part.start for part in step)
            weights.gradient.zero_()
            for shard, order, number in zip(shards, orders, numbers, strict=True):
                rows = order[step[number]]
                if len(rows):
                    loss, sums = losses(network, shard, rows, learning, algorithm)
                    (loss / count).backward()
                    zero = torch.zeros((), device=network.device)
                    totals[:-1] += torch.stack([sums.get(name, zero) for name in names[:-1]]).double().cpu() / count
            ranks.add(weights.gradient)
            norm = torch.linalg.vector_norm(weights.gradient)
            weights.gradient.mul_((config.max_grad_norm / (norm + 1e-6)).clamp(max=1.0))
            optimizer.step()
            if learning.average is not None:
                learning.average.lerp_(weights.vector.data, 1 - config.average)
            totals[-1] += norm.cpu() / ranks.count
    ranks.add(totals)
    means = totals / (len(parts) * config.epochs)
    return dict(zip(names, means.tolist(), strict=True))


def parts_of(counts: Sequence[int], minibatch_size: int) -> list[list[slice]]:
    """Returns, for every gradient step, what it takes of each shard: a round number of rows until there are none left.

    Args:
        counts: Rows of the shards.
        minibatch_size: Rows wanted in a step, of all shards together.
    """
    steps = max(1, round(sum(counts) / minibatch_size))
    sizes = [rounded_up(max(1, -(-count // steps))) for count in counts]
    needed = max(-(-count // size) for count, size in zip(counts, sizes, strict=True))
    return [
        [
            slice(min(count, step * size), min(count, (step + 1) * size))
            for count, size in zip(counts, sizes, strict=True)
        ]
        for step in range(needed)
    ]


def losses(
    network: Network, shard: Decisions, rows: torch.Tensor, learning: Learning, algorithm: Algorithm
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Returns the loss of some rows of a shard, and what is measured of it, without gradients.

    Everything is a sum over the rows, so that the parts of a minibatch add up to the whole.
    """
    by_tricks = network.heads.bids == "tricks"
    # Bids first, so that each head works on a slice.
    rows = rows[torch.argsort(shard.is_bid[rows].byte(), descending=True, stable=True)]
    bids = int(shard.is_bid[rows].sum()) if by_tricks else 0
    decisions = shard.taken(rows, network.device)
    loss, measured = torch.zeros((), device=network.device), {}
    with autocast(network.device, learning.precision):
        features = network.features(decisions.observations)
        if bids:
            part = slice(0, bids)
            made = decisions.actions[part] - NUM_CARDS
            predicted = network.made_bid_trick_logits(features, made, part)
            measured["bid_loss"] = network.trick_loss(predicted, decisions.observations[part], decisions.tricks[part])
            loss = learning.config.critic_weight * measured["bid_loss"]
        if bids < len(rows):
            part = slice(bids, len(rows))
            own, of_algorithm = algorithm.losses(network, features, decisions, part, learning)
            loss, measured = loss + own, measured | of_algorithm
    return loss, {name: value.detach() for name, value in measured.items()}

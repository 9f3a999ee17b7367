"""Learning from decisions: PPO (Schulman et al. 2017) for cards, predicted trick distributions for bids and critic."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch
from torch.nn import functional

from agents.config import TrainConfig
from agents.network import Network
from agents.precision import autocast
from agents.rollout import Decisions
from bluke_env.cards import NUM_CARDS


@dataclass
class Schedules:
    """The settings that change over a run, at one iteration."""

    learning_rate: float
    entropy_weight: float
    temperature: float

    @classmethod
    def at(cls, config: TrainConfig, iteration: int) -> Schedules:
        """Returns the settings of an iteration, from 0."""
        part = iteration / max(1, config.iterations - 1)
        return cls(
            learning_rate=config.learning_rate + part * (config.final_learning_rate - config.learning_rate),
            entropy_weight=config.entropy + part * (config.final_entropy - config.entropy),
            temperature=config.temperature * (config.final_temperature / config.temperature) ** part,
        )


SHARDS = 2
"""Parts of a minibatch, whose gradients threads may work out side by side; fixed, so that threads change nothing."""


def update(
    network: Network,
    optimizer: torch.optim.Optimizer,
    decisions: Decisions,
    config: TrainConfig,
    schedules: Schedules,
    generator: torch.Generator,
    precision: str,
    pool: ThreadPoolExecutor,
) -> dict[str, float]:
    """Makes the gradient steps of one iteration.

    Args:
        network: Is changed.
        optimizer: Adam over its parameters.
        decisions: What the network did, with rows from all hand sizes.
        config: Settings of the run.
        schedules: Settings of the iteration.
        generator: Orders the minibatches.
        precision: "float32" or "bfloat16".
        pool: Threads that work out the gradients.

    Returns:
        Means over the minibatches of each loss and diagnostic, by name.
    """
    for group in optimizer.param_groups:
        group["lr"] = schedules.learning_rate
    parameters = list(network.parameters())
    totals: dict[str, float] = {}
    steps = 0
    for _ in range(config.epochs):
        order = torch.randperm(len(decisions), generator=generator)
        for rows in order.split(config.minibatch_size):
            shards = rows.chunk(SHARDS)

            def gradients(shard: torch.Tensor, count: int = len(rows)) -> tuple[list[torch.Tensor], dict[str, float]]:
                loss, parts = losses(network, decisions, shard, count, config, schedules, precision)
                return list(torch.autograd.grad(loss, parameters, materialize_grads=True)), parts

            results = list(pool.map(gradients, shards))
            for parameter, *grads in zip(parameters, *(result[0] for result in results), strict=True):
                parameter.grad = sum(grads[1:], grads[0])
            norm = torch.nn.utils.clip_grad_norm_(parameters, config.max_grad_norm)
            optimizer.step()
            steps += 1
            for parts in (*(result[1] for result in results), {"grad_norm": float(norm)}):
                for name, value in parts.items():
                    totals[name] = totals.get(name, 0.0) + value
    return {name: total / steps for name, total in totals.items()}


def losses(
    network: Network,
    decisions: Decisions,
    rows: torch.Tensor,
    count: int,
    config: TrainConfig,
    schedules: Schedules,
    precision: str,
) -> tuple[torch.Tensor, dict[str, float]]:
    """Returns the loss of some rows of a minibatch of `count`, and what it is made of.

    Everything is a sum over the rows divided by `count`, so that the parts of a minibatch add up to the whole.
    """
    device = network.scale.device
    # Bids first, so that each head works on a slice.
    rows = rows[torch.argsort(decisions.is_bid[rows].byte(), descending=True, stable=True)]
    bids = int(decisions.is_bid[rows].sum())
    observations = decisions.observations[rows].to(device)
    tricks = decisions.tricks[rows].to(device)
    actions = decisions.actions[rows].to(device)
    sums: dict[str, torch.Tensor] = {}
    with autocast(device, precision):
        features = network.features(observations)
        logits = network.bid_trick_logits(features[:bids], observations[:bids])
        made = logits[torch.arange(bids, device=device), actions[:bids] - NUM_CARDS]
        sums["bid_loss"] = functional.nll_loss(made, tricks[:bids], reduction="sum")
        masks = decisions.masks[rows[bids:]].to(device)
        log_probs = network.card_logits(features[bids:], masks)
        trick_logits = network.trick_logits(features[bids:], observations[bids:])
        sums["critic_loss"] = functional.nll_loss(trick_logits, tricks[bids:], reduction="sum")
        chosen = log_probs.gather(1, actions[bids:, None])[:, 0]
        advantages = decisions.advantages[rows[bids:]].to(device)
        log_ratio = chosen - decisions.log_probs[rows[bids:]].to(device)
        ratio = log_ratio.exp()
        clipped = ratio.clamp(1 - config.clip, 1 + config.clip)
        sums["policy_loss"] = -torch.minimum(ratio * advantages, clipped * advantages).sum()
        # An illegal card has probability 0 and log-probability -inf; its term is 0, and so is its gradient.
        sums["entropy"] = -(log_probs.exp() * log_probs.masked_fill(masks[:, :NUM_CARDS] == 0, 0.0)).sum()
        sums["clipped"] = (ratio != clipped).sum()
        sums["kl"] = (ratio - 1 - log_ratio).detach().sum()
    prediction = config.tricks_weight * (sums["bid_loss"] + sums["critic_loss"])
    loss = (sums["policy_loss"] - schedules.entropy_weight * sums["entropy"] + prediction) / count
    return loss, {name: float(value.detach()) / count for name, value in sums.items()}

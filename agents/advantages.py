"""How good decisions were: advantages, with as little chance in them as can be taken out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from agents.config import TrainConfig
from agents.decisions import Decisions, Step
from agents.winning import WIN, win_shares
from bluke_env import BatchGame, Rules


def judged(
    steps: Sequence[Step], batch: BatchGame, config: TrainConfig, guide_width: int, variance_ahead: torch.Tensor | None
) -> list[Decisions]:
    """Works out advantages (Schulman et al. 2016) backwards over each seat's own decisions in a hand.

    Args:
        steps: The network's decisions in the hands of a batch, in order.
        batch: The hands, which have just ended.
        config: Settings of the run.
        guide_width: Columns of `Decisions.guides`.
        variance_ahead: See `agents.winning`, for a reward of wins.
    """
    games, seats = batch.records, batch.rules.num_players
    if variance_ahead is None:
        earned = torch.from_numpy(rewards(games["last_points"], batch.rules, config.reward))
    else:
        scores, left = games["scores"][:, :seats].astype(np.float32), batch.rules.num_hands - games["hand_number"]
        later = variance_ahead[torch.from_numpy(left.astype(np.int64))]
        earned = WIN * win_shares(torch.from_numpy(scores), later)
    tricks = torch.from_numpy(games["last_tricks"].astype(np.int64))
    next_values, carried, luck = earned.clone(), torch.zeros_like(earned), torch.zeros_like(earned)
    decisions = []
    for step in reversed(steps):
        at, n = (torch.from_numpy(step.rows), torch.from_numpy(step.seats)), len(step.rows)
        advantages, controls, guides = torch.zeros(n), torch.zeros(n, 2), torch.zeros(n, guide_width)
        if step.by_gradient:
            carried[at] = next_values[at] - step.values + config.gae_lambda * carried[at]
            next_values[at] = step.values
            advantages, controls[:, 1] = carried[at], luck[at]
        known = step.hindsight
        if known is not None:
            guides.scatter_(1, step.labels[:, :guide_width], known.guides)
        if known is not None and known.expected is not None and known.luck is not None:
            expected, drawn = (
                torch.from_numpy(rewards(points.numpy(), batch.rules, config.reward))
                for points in (known.expected, known.luck)
            )
            controls[:, 0] = expected[torch.arange(n), at[1]] - step.values
            luck[at[0], :seats] += drawn
        learnt = advantages, guides, controls, earned[at], tricks[at], torch.full((n,), step.is_bid)
        actions = step.labels.gather(1, step.actions[:, None])[:, 0]
        playouts = torch.zeros((n, 0), dtype=torch.int8) if step.playouts is None else step.playouts
        seen = step.observations, step.states, step.masks, step.cards, playouts, actions, step.log_probs
        decisions.append(Decisions(*seen, *learnt))
    return decisions


def standardise(parts: Sequence[Decisions], guide: float, bids_learn: bool) -> None:
    """Brings advantages that are learned from to mean 0 and standard deviation 1, in place.

    What `Decisions.controls` explain of them is taken out first, by least squares: it has no part in what was decided,
    so this changes no expectation of the gradient and makes it less noisy. Guides come to the same scale, and both to
    their shares of what is learned from.

    Args:
        parts: Decisions that are brought to one scale.
        guide: The share of the guides.
        bids_learn: Whether bids are learned by policy gradient as well.
    """
    learning = [part for part in parts if bids_learn or not part.is_bid[0]]
    if sum(len(part) for part in learning) < 2:
        return
    controls = torch.cat([part.controls for part in learning]).double()
    values = torch.cat([part.advantages for part in learning]).double()
    centred = controls - controls.mean(0)
    shares = torch.linalg.pinv(centred.T @ centred, hermitian=True) @ (centred.T @ (values - values.mean()))
    values = (values - controls @ shares).float()
    mean, scale = values.mean(), 1 / (values.std() + 1e-6)
    for part, left in zip(learning, values.split([len(part) for part in learning]), strict=True):
        part.advantages = (left - mean) * scale * (1 - guide if part.guides.shape[1] else 1.0)
        part.guides = part.guides * scale * guide


def rewards(points: np.ndarray, rules: Rules, reward: str) -> np.ndarray:
    """Returns what a hand's points are worth to each seat, float32 [games, seats of the record]."""
    points = points.astype(np.float32)
    if reward == "points":
        return points
    sides = np.array(rules.sides)
    of_side = points[:, sides[:, 0]]
    others = (of_side.sum(1, keepdims=True) - of_side) / (len(sides) - 1)
    margins = np.zeros_like(points)
    margins[:, sides] = (of_side - others)[:, :, None]
    return margins

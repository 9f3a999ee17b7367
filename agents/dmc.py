"""Deep Monte Carlo, as in DouZero (Zha et al. 2021): the `actions` head learns what every action makes in the end."""

from __future__ import annotations

import torch
from torch.nn import functional

from agents.decisions import Decisions
from agents.network import POINTS_UNIT, Network
from agents.update import Learning

MEASURED: tuple[str, ...] = ("value_loss",)


def losses(
    network: Network, features: torch.Tensor, decisions: Decisions, part: slice, learning: Learning
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Returns the squared error of some decisions' values; see `agents.update.Algorithm`."""
    values = network.action_logits(features, decisions.cards[part], part)
    values = values.gather(1, decisions.actions[part, None])[:, 0]
    loss = functional.mse_loss(values, decisions.returns[part] / POINTS_UNIT, reduction="sum")
    return loss, {"value_loss": loss}

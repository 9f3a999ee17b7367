"""The decisions of a network's seats: as they come up in a batch of hands, and as they are learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch

from agents.hindsight import Hindsight


@dataclass
class Step:
    """A network's decisions in one step of a batch, in games of which the others do something else.

    Attributes:
        rows: The games, int64 [n].
        seats: Who decides in them, int64 [n].
        observations: As in `Decisions`, likewise the next three, `log_probs` and `playouts`.
        labels: int64 [n, actions], under which label the network knows each action of the batch.
        actions: int64 [n], as the batch labels them, likewise `policy` and `hindsight`.
        values: float32 [n], what the critic expects; 0 where it is not asked.
        policy: float32 [n, k], log-probabilities of all that may be done.
        is_bid: Whether all of them are bids.
        by_gradient: Whether they are learned by policy gradient.
        hindsight: What is known afterwards, where that is wanted.
        playouts: Where the small network learns.
    """

    rows: np.ndarray
    seats: np.ndarray
    observations: torch.Tensor
    states: torch.Tensor
    masks: torch.Tensor
    cards: torch.Tensor
    labels: torch.Tensor
    actions: torch.Tensor
    log_probs: torch.Tensor
    values: torch.Tensor
    policy: torch.Tensor
    is_bid: bool
    by_gradient: bool
    hindsight: Hindsight | None = None
    playouts: torch.Tensor | None = None


@dataclass
class Decisions:
    """Decisions of the network's seats, one row each, in no particular order.

    Attributes:
        observations: int8 [n, size].
        states: int8 [n, state size] where the critic sees all hands, else [n, 0].
        masks: int8 [n, actions].
        cards: int8 [n, card_features.WIDTH], see `agents.card_features`.
        playouts: int8 [n, .], see `agents.playouts.playout_features`; [n, 0] where nothing learns from them.
        actions: int64 [n], under the same labels, likewise `guides`.
        log_probs: float32, when the action was chosen, [n, 1] of it alone, or [n, k] of all that have a logit.
        advantages: float32 [n]; 0 where nothing is learned from them.
        guides: float32 [n, k], what all that may be done makes in hindsight, where the loss looks at it, else [n, 0].
        controls: float32 [n, 2], what has a part in the advantage but none in the decision, see `agents.hindsight`: how
            good the hands as they are were before, beyond what the critic said, and the luck of later cards; else zero.
        returns: float32 [n], what the critic of points, or the action's value, is to predict.
        tricks: int64 [n], tricks that the seat ended the hand with.
        is_bid: bool [n].
    """

    observations: torch.Tensor
    states: torch.Tensor
    masks: torch.Tensor
    cards: torch.Tensor
    playouts: torch.Tensor
    actions: torch.Tensor
    log_probs: torch.Tensor
    advantages: torch.Tensor
    guides: torch.Tensor
    controls: torch.Tensor
    returns: torch.Tensor
    tricks: torch.Tensor
    is_bid: torch.Tensor

    def __len__(self) -> int:
        return len(self.actions)

    def taken(self, rows: torch.Tensor, device: torch.device) -> Decisions:
        """Returns some rows, int64 [m], on a device."""
        names = [each.name for each in fields(Decisions)]
        return Decisions(*(getattr(self, name).index_select(0, rows).to(device) for name in names))

    @staticmethod
    def concatenate(parts: Sequence[Decisions]) -> Decisions:
        """Returns all rows of several sets."""
        names = [each.name for each in fields(Decisions)]
        return Decisions(*(torch.cat([getattr(part, name) for part in parts]) for name in names))

"""PPO (Schulman et al. 2017), with a critic that may predict a distribution of tricks."""

from __future__ import annotations

import torch
from torch.nn import functional

from agents import fused
from agents.decisions import Decisions
from agents.network import POINTS_UNIT, Network, masked_log_softmax
from agents.playouts import parted
from agents.update import Learning

MEASURED: tuple[str, ...] = ("policy_loss", "guide_loss", "entropy", "kl", "clipped", "critic_loss", "playout_loss")

_NEVER = -1e9
"""The logit of what is no card."""

_LESSONS = 4
"""The small network learns from one of so many decisions."""


def losses(
    network: Network, features: torch.Tensor, decisions: Decisions, part: slice, learning: Learning
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Returns the loss of some decisions and what it is made of; see `agents.update.Algorithm`."""
    config = learning.config
    logits = network.action_logits(features, decisions.cards[part], part)
    sums = _policy_losses(logits, decisions, part, learning, network.heads.sharpness)
    seen = network.critic_features(features, decisions.states if network.heads.critic_sizes else None)
    observations = decisions.observations[part]
    if network.heads.critic == "tricks":
        predicted = network.trick_logits(seen, part)
        sums["critic_loss"] = network.trick_loss(predicted, observations, decisions.tricks[part])
    else:
        values = network.values(seen, observations, part) / POINTS_UNIT
        sums["critic_loss"] = functional.mse_loss(values, decisions.returns[part] / POINTS_UNIT, reduction="sum")
    # A step of the logits changes the policy that plays so many times as much.
    loss = sums["policy_loss"] / network.heads.sharpness + config.critic_weight * sums["critic_loss"]
    if not learning.imitates:
        loss = loss + sums["guide_loss"] - learning.schedules.entropy_weight * sums["entropy"] + config.kl * sums["kl"]
    if decisions.playouts.shape[1]:
        sums["playout_loss"] = _playout_loss(network, decisions, part, learning.schedules.entropy_weight)
        loss = loss + sums["playout_loss"]
    return loss, sums


def _playout_loss(network: Network, decisions: Decisions, part: slice, entropy_weight: float) -> torch.Tensor:
    """Returns minus what the small network makes in hindsight, with an entropy bonus, about the sum over all cards."""
    assert network.playouts is not None
    rows = slice(part.start, part.stop, _LESSONS)
    of_hand, labels, of_card = parted(decisions.playouts[rows], network.layout.most_cards)
    log_probs = torch.log_softmax(network.playouts(of_hand, of_card).masked_fill(labels < 0, _NEVER), 1)
    guides = decisions.guides[rows].gather(1, labels.clamp(min=0)).masked_fill(labels < 0, 0.0)
    return _LESSONS * (log_probs.exp() * (entropy_weight * log_probs - guides))[labels[:, 0] >= 0].sum()


def _policy_losses(
    logits: torch.Tensor, decisions: Decisions, part: slice, learning: Learning, sharpness: float
) -> dict[str, torch.Tensor]:
    """Returns the sums over some decisions that concern the policy."""
    config, masks, actions = learning.config, decisions.masks[part], decisions.actions[part]
    before, advantages, guides = (each[part] for each in (decisions.log_probs, decisions.advantages, decisions.guides))
    whole = before.shape[1] > 1
    if logits.device.type == "cpu" and not whole and not learning.imitates:
        sums = fused.policy_sums(logits, masks, actions, before[:, 0], advantages, guides, config.clip, sharpness)
        return dict(zip(("policy_loss", "entropy", "guide_loss", "kl", "clipped"), sums.unbind(), strict=True))
    illegal, log_probs = masks[:, : logits.shape[1]] == 0, masked_log_softmax(logits, masks)
    chosen = log_probs.gather(1, actions[:, None])[:, 0]
    # An illegal action has probability 0 and log-probability -inf; its term is 0, and so is its gradient.
    finite = log_probs.masked_fill(illegal, 0.0)
    softened = masked_log_softmax(logits / sharpness, masks)
    entropy = -(softened.exp() * softened.masked_fill(illegal, 0.0)).sum()
    if learning.imitates:
        return {"policy_loss": -chosen.sum(), "entropy": entropy}
    played = before.gather(1, actions[:, None])[:, 0] if whole else before[:, 0]
    log_ratio = chosen - played
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - config.clip, 1 + config.clip)
    if whole:
        kl = (log_probs.exp() * (finite - before.masked_fill(illegal, 0.0))).sum()
    else:
        kl = (ratio - 1 - log_ratio).detach().sum()
    made = (softened.exp() * guides).sum() if guides.shape[1] else entropy.new_zeros(())
    return {
        "policy_loss": -torch.minimum(ratio * advantages, clipped * advantages).sum(),
        "entropy": entropy,
        "guide_loss": -made,  # what the softened policy makes in hindsight
        "kl": kl,
        "clipped": (ratio != clipped).sum().float(),
    }

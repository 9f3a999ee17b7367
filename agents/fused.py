"""What is worked out over short rows, in one pass each on a CPU, where PyTorch would make twenty over the same numbers.

All have a plain twin in PyTorch, which a GPU and the rarer settings use and the tests compare them with: `agents.ppo`
has that of the policy, `Network.action_logits` that of the cards, `Network.trick_log_probs` and `Network.values` those
of the tricks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from bluke_env.engine.jit import kernel, subroutine


def policy_sums(
    logits: torch.Tensor,
    masks: torch.Tensor,
    actions: torch.Tensor,
    played: torch.Tensor,
    advantages: torch.Tensor,
    guides: torch.Tensor,
    clip: float,
    sharpness: float,
) -> torch.Tensor:
    """Returns five sums over rows.

    They are PPO's loss, the entropy of the softened policy, minus what that makes by the guides, the divergence from
    what played, and how many are clipped. Gradients of the first three reach the logits.

    Args:
        logits: float32 [n, k].
        masks: int8 [n, k or more], what is legal.
        actions: int64 [n].
        played: float32 [n], log-probabilities of the actions when they were chosen.
        advantages: float32 [n].
        guides: float32 [n, k], or [n, 0] for none.
        clip: PPO's bound.
        sharpness: What logits are divided by in the softened policy.
    """
    return _PolicySums.apply(logits, masks, actions, played, advantages, guides, clip, sharpness)


class _PolicySums(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, logits: torch.Tensor, *others: Any) -> torch.Tensor:
        *tensors, clip, sharpness = others
        masks, actions, guides = tensors[0], tensors[1], tensors[4]
        log_probs, softened, rows = torch.empty_like(logits), torch.empty_like(logits), torch.empty(len(logits), 3)
        sums = torch.zeros(5)
        arrays = [tensor.numpy() for tensor in (logits, *tensors, log_probs, softened, rows, sums)]
        _policy_sums(*arrays, clip, np.float32(1 / sharpness))
        context.save_for_backward(log_probs, softened, masks, actions, guides, rows)
        context.softness = np.float32(1 / sharpness)
        return sums

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        saved = context.saved_tensors
        out = torch.empty_like(saved[0])
        arrays = [tensor.numpy() for tensor in (*saved, gradients[0], out)]
        _policy_gradients(*arrays, context.softness)
        return (out, *[None] * 7)


@kernel
def _policy_sums(logits, masks, actions, played, advantages, guides, log_probs, softened, rows, sums, clip, softness):
    """Writes log-probabilities, the sums, and of each row the derivative by its action's, entropy and guided mean."""
    guided = guides.shape[1] > 0
    for row in range(len(logits)):
        _log_softmax(logits[row], masks[row], np.float32(1), log_probs[row])
        _log_softmax(logits[row], masks[row], softness, softened[row])
        entropy, made = np.float32(0), np.float32(0)
        for action in range(logits.shape[1]):
            if masks[row, action]:
                prob = np.exp(softened[row, action])
                entropy -= prob * softened[row, action]
                if guided:
                    made += prob * guides[row, action]
        log_ratio = log_probs[row, actions[row]] - played[row]
        ratio, advantage = np.exp(log_ratio), advantages[row]
        clipped = min(max(ratio, np.float32(1 - clip)), np.float32(1 + clip))
        rows[row, 0] = -ratio * advantage if ratio * advantage <= clipped * advantage else np.float32(0)
        rows[row, 1] = entropy
        rows[row, 2] = made
        sums[0] -= min(ratio * advantage, clipped * advantage)
        sums[1] += entropy
        sums[2] -= made
        sums[3] += ratio - 1 - log_ratio
        sums[4] += ratio != clipped


@subroutine
def _log_softmax(logits, mask, scale, out):
    """Writes log-probabilities of what the mask allows, for logits that are scaled first."""
    most, total = np.float32(-np.inf), np.float32(0)
    for action in range(len(logits)):
        if mask[action]:
            most = max(most, scale * logits[action])
    for action in range(len(logits)):
        if mask[action]:
            total += np.exp(scale * logits[action] - most)
    norm = most + np.log(total)
    for action in range(len(logits)):
        if mask[action]:
            out[action] = scale * logits[action] - norm


@kernel
def _policy_gradients(log_probs, softened, masks, actions, guides, rows, gradients, out, softness):
    """Writes the gradients of the logits."""
    guided = guides.shape[1] > 0
    for row in range(len(log_probs)):
        by_loss, by_entropy, entropy = gradients[0] * rows[row, 0], gradients[1] * softness, rows[row, 1]
        for action in range(log_probs.shape[1]):
            out[row, action] = 0
            if masks[row, action]:
                prob = np.exp(softened[row, action])
                out[row, action] = by_loss * ((action == actions[row]) - np.exp(log_probs[row, action]))
                out[row, action] -= by_entropy * prob * (softened[row, action] + entropy)
                if guided:
                    out[row, action] -= gradients[2] * softness * prob * (guides[row, action] - rows[row, 2])


def card_logits(logits: torch.Tensor, weights: torch.Tensor, cards: torch.Tensor, unit: float) -> torch.Tensor:
    """Returns logits with the weighted features of cards added to those of the cards, float32 [n, k].

    Args:
        logits: float32 [n, k]; cards come first.
        weights: float32 [n, f], of the features.
        cards: int8 [n, f * c], feature after feature.
        unit: What stands for 1 in them.
    """
    return _CardLogits.apply(logits, weights, cards, unit)


class _CardLogits(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any, logits: torch.Tensor, weights: torch.Tensor, cards: torch.Tensor, unit: float
    ) -> torch.Tensor:
        context.save_for_backward(weights, cards)
        context.unit = unit
        out = logits.clone()
        _add_features(out.numpy(), weights.numpy(), cards.numpy(), np.float32(1 / unit))
        return out

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        weights, cards = context.saved_tensors
        of_weights, of_logits = torch.zeros_like(weights), gradients[0].contiguous()
        _weight_gradients(of_logits.numpy(), cards.numpy(), np.float32(1 / context.unit), of_weights.numpy())
        return of_logits, of_weights, None, None


@kernel
def _add_features(logits, weights, cards, scale):
    kinds = weights.shape[1]
    number = cards.shape[1] // kinds
    for row in range(len(logits)):
        for kind in range(kinds):
            weight = weights[row, kind] * scale
            for card in range(number):
                logits[row, card] += weight * cards[row, kind * number + card]


@kernel
def _weight_gradients(gradients, cards, scale, out):
    kinds = out.shape[1]
    number = cards.shape[1] // kinds
    for row in range(len(out)):
        for kind in range(kinds):
            total = np.float32(0)
            for card in range(number):
                total += gradients[row, card] * cards[row, kind * number + card]
            out[row, kind] = total * scale


def trick_loss(logits: torch.Tensor, possible: torch.Tensor, tricks: torch.Tensor) -> torch.Tensor:
    """Returns the cross-entropy of numbers of tricks, summed over rows.

    Args:
        logits: float32 [n, k].
        possible: int64 [n, 2], the fewest and the most tricks that are possible.
        tricks: int64 [n], between them.
    """
    return _TrickLoss.apply(logits, possible, tricks)


class _TrickLoss(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, logits: torch.Tensor, possible: torch.Tensor, tricks: torch.Tensor) -> torch.Tensor:
        gradients, total = torch.empty_like(logits), torch.zeros(1)
        arrays = [tensor.numpy() for tensor in (logits, possible, tricks, gradients, total)]
        _trick_loss(*arrays)
        context.save_for_backward(gradients)
        return total[0]

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        return context.saved_tensors[0] * gradients[0], None, None


@kernel
def _trick_loss(logits, possible, tricks, gradients, total):
    """Writes the gradients of the logits, softmax less one at the truth, and the sum of the losses."""
    for row in range(len(logits)):
        norm = _softmax(logits[row], possible[row, 0], possible[row, 1], gradients[row])
        total[0] += norm - logits[row, tricks[row]]
        gradients[row, tricks[row]] -= 1


@kernel
def expected_points(logits, possible, bids, score_table, values):
    """Writes what tricks promise with the bids made.

    Args:
        logits: float32 [n, k].
        possible: int64 [n, 2], the fewest and the most tricks that are possible.
        bids: int64 [n].
        score_table: float32 [k, k], points by bid and tricks.
        values: float32 [n]; the expected points are written there.
    """
    probs = np.empty(logits.shape[1], np.float32)
    for row in range(len(logits)):
        _softmax(logits[row], possible[row, 0], possible[row, 1], probs)
        values[row] = (probs * score_table[bids[row]]).sum()


@subroutine
def _softmax(logits, first, last, out):
    """Writes the softmax of the logits from `first` to `last`, zeros elsewhere; returns the logarithm of its norm."""
    most, total = logits[first : last + 1].max(), np.float32(0)
    for place in range(len(logits)):
        out[place] = np.exp(logits[place] - most) if first <= place <= last else np.float32(0)
        total += out[place]
    for place in range(len(logits)):
        out[place] /= total
    return most + np.log(total)

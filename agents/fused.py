"""The losses of short rows in one pass each on a CPU, where PyTorch would make twenty over the same small numbers.

Both have a plain twin in PyTorch, which a GPU and the rarer settings use and the tests compare them with: `agents.ppo`
has that of the policy, `Network.trick_log_probs` and `Network.values` those of the tricks.
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
    clip: float,
) -> torch.Tensor:
    """Returns four sums over rows: PPO's loss, the entropy, the divergence from what played, and how many are clipped.

    Gradients of the first two reach the logits.

    Args:
        logits: float32 [n, k].
        masks: int8 [n, k or more], what is legal.
        actions: int64 [n].
        played: float32 [n], log-probabilities of the actions when they were chosen.
        advantages: float32 [n].
        clip: PPO's bound.
    """
    return _PolicySums.apply(logits, masks, actions, played, advantages, clip)


class _PolicySums(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, logits: torch.Tensor, *others: Any) -> torch.Tensor:
        *tensors, clip = others
        masks, actions = tensors[0], tensors[1]
        log_probs, rows, sums = torch.empty_like(logits), torch.empty(len(logits), 2), torch.zeros(4)
        arrays = [tensor.numpy() for tensor in (logits, *tensors, log_probs, rows, sums)]
        _policy_sums(*arrays, clip)
        context.save_for_backward(log_probs, masks, actions, rows)
        return sums

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        log_probs, masks, actions, rows = context.saved_tensors
        out = torch.empty_like(log_probs)
        arrays = [tensor.numpy() for tensor in (log_probs, masks, actions, rows, gradients[0], out)]
        _policy_gradients(*arrays)
        return (out, *[None] * 5)


@kernel
def _policy_sums(logits, masks, actions, played, advantages, log_probs, rows, sums, clip):
    """Writes log-probabilities, for each row the derivative of its loss by its action's and its entropy, and sums."""
    for row in range(len(logits)):
        most = np.float32(-np.inf)
        for action in range(logits.shape[1]):
            if masks[row, action]:
                most = max(most, logits[row, action])
        total = np.float32(0)
        for action in range(logits.shape[1]):
            if masks[row, action]:
                total += np.exp(logits[row, action] - most)
        norm, entropy = most + np.log(total), np.float32(0)
        for action in range(logits.shape[1]):
            if masks[row, action]:
                log_prob = logits[row, action] - norm
                log_probs[row, action] = log_prob
                entropy -= np.exp(log_prob) * log_prob
        log_ratio = log_probs[row, actions[row]] - played[row]
        ratio, advantage = np.exp(log_ratio), advantages[row]
        clipped = min(max(ratio, np.float32(1 - clip)), np.float32(1 + clip))
        rows[row, 0] = -ratio * advantage if ratio * advantage <= clipped * advantage else np.float32(0)
        rows[row, 1] = entropy
        sums[0] -= min(ratio * advantage, clipped * advantage)
        sums[1] += entropy
        sums[2] += ratio - 1 - log_ratio
        sums[3] += ratio != clipped


@kernel
def _policy_gradients(log_probs, masks, actions, rows, gradients, out):
    """Writes the gradients of the logits."""
    for row in range(len(log_probs)):
        by_loss, by_entropy, entropy = gradients[0] * rows[row, 0], gradients[1], rows[row, 1]
        for action in range(log_probs.shape[1]):
            out[row, action] = 0
            if masks[row, action]:
                log_prob = log_probs[row, action]
                prob = np.exp(log_prob)
                out[row, action] = by_loss * ((action == actions[row]) - prob)
                out[row, action] -= by_entropy * prob * (log_prob + entropy)


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

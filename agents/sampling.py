"""Drawing actions."""

from __future__ import annotations

import numpy as np
import torch

from bluke_env.engine.jit import kernel


def epsilon_greedy(log_probs: torch.Tensor, epsilon: float) -> torch.Tensor:
    """Returns log-probabilities of the best action of each row, but with probability `epsilon` of any legal one alike.

    Args:
        log_probs: float32 [n, k], higher for better actions and -inf for illegal ones.
        epsilon: From 0 to 1.
    """
    legal = log_probs != -torch.inf
    probs = legal * (epsilon / legal.sum(1, keepdim=True))
    return probs.scatter_add_(1, log_probs.argmax(1, keepdim=True), torch.full_like(probs, 1 - epsilon)).log()


@kernel
def draw(log_probs: np.ndarray, uniforms: np.ndarray, actions: np.ndarray, chosen: np.ndarray) -> None:
    """Draws from categorical distributions; an outcome of probability 0 is never drawn.

    Args:
        log_probs: float32 [n, k], each row's summing to one.
        uniforms: float64 [n] in [0, 1).
        actions: int64 [n]; the outcomes are written there.
        chosen: float32 [n]; their log-probabilities are written there.
    """
    for row in range(len(log_probs)):
        left, last = uniforms[row], -1
        for action in range(log_probs.shape[1]):
            if log_probs[row, action] == -np.inf:
                continue
            last = action
            left -= np.exp(np.float64(log_probs[row, action]))
            if left < 0:
                break
        actions[row] = last
        chosen[row] = log_probs[row, last]

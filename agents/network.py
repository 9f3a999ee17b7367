"""The network: what a seat sees in, card logits and trick distributions out.

Suits come in canonical order (see `bluke_env.engine.suits`). One trunk carries three heads:

- card logits, the policy while playing;
- for every bid, a distribution of the tricks that its seat will take: one base distribution shared by all bids and a
  correction for each bid that starts at zero, so that a bid never tried is not thought bad for it. The expected scores
  that follow are the bidding policy, a softmax over legal bids;
- while playing, a distribution of the tricks that the seat will end with: with its bid the expected score, the critic.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from bluke_env import ObservationLayout, Rules
from bluke_env.cards import NUM_CARDS

_MATCH_SLICES = ("scores", "scores_fine", "hands_left")
"""What a network that maximises the points of single hands does not look at."""


class Network(nn.Module):
    """Policy and critic of one set of rules.

    Args:
        rules: The match that the network plays; its layout fixes the sizes of inputs and outputs.
        hidden_sizes: Widths of the hidden layers.
    """

    scale: torch.Tensor
    score_table: torch.Tensor

    def __init__(self, rules: Rules, hidden_sizes: tuple[int, ...]) -> None:
        super().__init__()
        self.layout = layout = ObservationLayout.of(rules)
        scale = layout.scale.copy()
        for name in _MATCH_SLICES:
            scale[layout.slice(name)] = 0
        self.register_buffer("scale", torch.from_numpy(scale), persistent=False)
        self.register_buffer("score_table", torch.from_numpy(score_table(rules)), persistent=False)
        bids = layout.most_cards + 1
        widths = (layout.size, *hidden_sizes)
        self.trunk = nn.ModuleList(nn.Linear(before, after) for before, after in pairwise(widths))
        self.cards = nn.Linear(widths[-1], NUM_CARDS)
        self.bid_base = nn.Linear(widths[-1], bids)
        self.bid_correction = nn.Linear(widths[-1], bids * bids)
        self.tricks = nn.Linear(widths[-1], bids)
        nn.init.zeros_(self.bid_correction.weight)
        nn.init.zeros_(self.bid_correction.bias)
        nn.init.zeros_(self.cards.bias)
        with torch.no_grad():
            self.cards.weight *= 0.01

    def features(self, observations: torch.Tensor) -> torch.Tensor:
        """Returns what the heads work from, [n, width], for observations as written, int8 [n, layout.size]."""
        x = observations.to(self.scale.dtype) * self.scale
        for layer in self.trunk:
            y = functional.relu(layer(x))
            x = y + x if layer.in_features == layer.out_features else y
        return x

    def card_logits(self, features: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
        """Returns log-probabilities of the cards, float32 [n, 54]; illegal ones are -inf."""
        logits = self.cards(features).float()
        return functional.log_softmax(logits.masked_fill(masks[:, :NUM_CARDS] == 0, -torch.inf), dim=1)

    def trick_logits(self, features: torch.Tensor, observations: torch.Tensor) -> torch.Tensor:
        """Returns log-probabilities of the tricks a seat will end its hand with, float32 [n, bids]."""
        logits = self.tricks(features).float()
        return functional.log_softmax(logits.masked_fill(~self._possible_tricks(observations), -torch.inf), dim=1)

    def bid_trick_logits(self, features: torch.Tensor, observations: torch.Tensor) -> torch.Tensor:
        """Returns, for every bid, log-probabilities of the tricks that follow it, float32 [n, bids, bids]."""
        base = self.bid_base(features).float()
        correction = self.bid_correction(features).float()
        logits = base[:, None, :] + correction.view(len(base), base.shape[1], base.shape[1])
        possible = self._possible_tricks(observations)[:, None, :]
        return functional.log_softmax(logits.masked_fill(~possible, -torch.inf), dim=2)

    def values(self, trick_logits: torch.Tensor, bids: torch.Tensor) -> torch.Tensor:
        """Returns expected points [n] for distributions of tricks [n, bids] and the bids made, int64 [n]."""
        return (trick_logits.exp() * self.score_table[bids]).sum(1)

    def bid_values(self, bid_trick_logits: torch.Tensor) -> torch.Tensor:
        """Returns the expected points of every bid, float32 [n, bids]."""
        return (bid_trick_logits.exp() * self.score_table).sum(2)

    def own_bids(self, observations: torch.Tensor) -> torch.Tensor:
        """Returns the bid that the seat has made, int64 [n]."""
        start = self.layout.slice("bids").start
        return observations[:, start : start + self.layout.most_cards + 1].argmax(1)

    def _possible_tricks(self, observations: torch.Tensor) -> torch.Tensor:
        taken = observations[:, self.layout.slice("tricks").start].long()
        left = observations[:, self.layout.slice("hand")].sum(1, dtype=torch.long)
        tricks = torch.arange(self.layout.most_cards + 1, device=observations.device)
        return (tricks >= taken[:, None]) & (tricks <= (taken + left)[:, None])


def masked_bid_logits(values: torch.Tensor, masks: torch.Tensor, temperature: float) -> torch.Tensor:
    """Returns log-probabilities of bids, float32 [n, bids], for their expected points; illegal ones are -inf."""
    legal = masks[:, NUM_CARDS:] != 0
    return functional.log_softmax((values / temperature).masked_fill(~legal, -torch.inf), dim=1)


def sample(log_probs: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """Draws from categorical distributions by the Gumbel trick; an outcome of probability 0 is never drawn.

    Args:
        log_probs: [n, k].
        uniforms: Numbers in [0, 1), [n, k].
    """
    return (log_probs - torch.log(-torch.log(uniforms.clamp_min(1e-30)))).argmax(1)


def score_table(rules: Rules) -> np.ndarray:
    """Returns the points for every bid and number of tricks taken, float32 [bids, bids]."""
    bids = np.arange(rules.most_cards + 1)[:, None]
    tricks = bids.T
    made = rules.points_per_trick * bids + rules.points_per_overtrick * (tricks - bids)
    return np.where(tricks >= bids, made, -rules.points_per_trick * bids).astype(np.float32)

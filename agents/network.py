"""The network: what a seat sees in; a policy, a critic and what bids are made from out.

Suits come in canonical order (see `bluke_env.engine.suits`). One trunk carries the heads:

- action logits, the policy of cards and, where `Heads.bids` is "policy", of bids; trained by Deep Monte Carlo, they are
  the expected rewards of these actions in `POINTS_UNIT`. To a card's logit its `agents.card_features` are added, by
  weights that come from the trunk as well: how much each of them counts in the situation at hand;
- where `Heads.bids` is "tricks", for every bid a distribution of the tricks that its seat will take: one base
  distribution shared by all bids and a correction for each bid that starts at zero, so that a bid never tried is not
  thought bad for it. The expected scores that follow are the bidding policy, a softmax over legal bids;
- the critic: where `Heads.critic` is "tricks", while playing, a distribution of the tricks that the seat will end
  with, which together with its bid is an expected score; otherwise the expected reward. A critic of its own sees all
  hands instead, and is of use in training alone.

Where `Heads.aim` is "wins", a number of tricks is worth not its points but the chance to win the match that it leaves,
see `agents.winning`.

Where `Heads.playouts` is set, a small network beside it plays hands on where cards are tried, see `agents.playouts`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from agents import card_features, fused, winning
from agents.playouts import Playouts
from agents.precision import SHAPE, rounded_up
from agents.sparse import SparseInput
from bluke_env import ObservationLayout, Rules
from bluke_env.cards import NUM_CARDS

_MATCH_SLICES = ("scores", "scores_fine", "hands_left")
"""What a network that maximises points does not look at."""

_CARD_WEIGHTS = (4.0, -4.0, 0.0, 0.0)
"""Of the features of cards before training: it begins near the rule bot's cards, but far from sure."""

_LOGIT_WEIGHTS = {"actions.weight", "actions.bias", "card_weights.weight", "card_weights.bias"}
"""What the logits of actions are proportional to."""

_PLAYOUTS = "playouts."

ALL = slice(None)

POINTS_UNIT = 10.0
"""Points that one unit of the critic of points, or of an action's value, stands for."""


@dataclass(frozen=True)
class Heads:
    """The shape of a network; see `TrainConfig` for the fields."""

    hidden_sizes: tuple[int, ...]
    bids: Literal["tricks", "policy"] = "tricks"
    critic: Literal["tricks", "points"] = "tricks"
    critic_sizes: tuple[int, ...] = ()
    aim: Literal["points", "wins"] = "points"
    sharpness: float = 1.0
    playouts: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as plain values, lists for tuples."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Heads:
        """Returns what `to_dict` wrote."""
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in data.items()
        }
        return cls(**values)


def layout_for(tables: tuple[Rules, ...]) -> ObservationLayout:
    """Returns a layout with room for every one of several tables; absent seats and cards stay zero in it."""
    layouts = [ObservationLayout.of(rules) for rules in tables]
    return ObservationLayout(
        num_players=max(layout.num_players for layout in layouts),
        most_cards=max(layout.most_cards for layout in layouts),
        score_unit=max(layout.score_unit for layout in layouts),
        num_suits=max(layout.num_suits for layout in layouts),
        num_ranks=max(layout.num_ranks for layout in layouts),
        teams=any(layout.teams for layout in layouts),
    )


class Network(nn.Module):
    """Policy and critic of the tables that a run trains for.

    Args:
        tables: The matches that the network plays; the widest layout fixes the sizes of inputs and outputs.
        heads: Its shape.
    """

    score_table: torch.Tensor
    outlook: torch.Tensor
    variance_ahead: torch.Tensor

    def __init__(self, tables: tuple[Rules, ...], heads: Heads) -> None:
        super().__init__()
        self.heads = heads
        self.layout = layout = layout_for(tables)
        state_scale = layout.state_scale.copy()
        for name in _MATCH_SLICES if heads.aim == "points" else ():
            state_scale[layout.slice(name)] = 0
        table = score_table(layout.most_cards, tables[0])
        self.register_buffer("score_table", torch.from_numpy(table), persistent=False)
        if heads.aim == "wins":
            self.register_buffer("outlook", torch.zeros(layout.most_cards + 1, 2))
            self.expect(tables[0])
        bids, width = layout.most_cards + 1, heads.hidden_sizes[-1]
        self.trunk = _layers(state_scale[: layout.size], heads.hidden_sizes)
        self.actions = nn.Linear(width, NUM_CARDS if heads.bids == "tricks" else layout.num_actions)
        nn.init.zeros_(self.actions.bias)
        with torch.no_grad():
            self.actions.weight *= 0.01
        self.card_weights = nn.Linear(width, len(card_features.CARD_FEATURES))
        with torch.no_grad():
            self.card_weights.weight *= 0.1
            self.card_weights.bias.copy_(torch.tensor(_CARD_WEIGHTS))
        if heads.bids == "tricks":
            self.bid_base = nn.Linear(width, bids)
            self.bid_correction = nn.Linear(width, bids * bids)
            nn.init.zeros_(self.bid_correction.weight)
            nn.init.zeros_(self.bid_correction.bias)
        if heads.critic_sizes:
            self.critic_trunk = _layers(state_scale, heads.critic_sizes)
            width = heads.critic_sizes[-1]
        self.critic = nn.Linear(width, bids if heads.critic == "tricks" else 1)
        self.playouts = Playouts() if heads.playouts else None

    def begin_with(self, weights: dict[str, torch.Tensor], heads: Heads) -> None:
        """Takes the weights of a network of the same shape and plays cards as it does.

        Its aim and sharpness may be others, and it may lack the small network.

        Args:
            weights: Its state.
            heads: Its shape.

        Raises:
            RuntimeError: It had another shape.
        """
        weights = weights.copy()
        for name in _LOGIT_WEIGHTS & weights.keys():
            weights[name] = weights[name].float() * (heads.sharpness / self.heads.sharpness)
        if self.heads.aim == "points":
            weights.pop("outlook", None)
        elif heads.aim == "points":
            for name in {"trunk.0.weight", "critic_trunk.0.weight"} & weights.keys():
                weights[name] = weights[name].clone()
                for part in _MATCH_SLICES:  # it has never looked at them
                    weights[name][self.layout.slice(part)] = 0
        own = {"outlook": self.outlook} if self.heads.aim == "wins" else {}
        if heads.playouts and not self.heads.playouts:
            weights = {name: values for name, values in weights.items() if not name.startswith(_PLAYOUTS)}
        elif self.heads.playouts and not heads.playouts:
            own |= {name: values for name, values in self.state_dict().items() if name.startswith(_PLAYOUTS)}
        self.load_state_dict(weights | own)

    def expect(self, rules: Rules) -> None:
        """Gets ready for matches by some rules, where the aim is to win them."""
        ahead = winning.variance_ahead(self.outlook, rules).to(self.device)
        self.register_buffer("variance_ahead", ahead, persistent=False)

    @property
    def device(self) -> torch.device:
        """Where the network computes."""
        return self.score_table.device

    def features(self, observations: torch.Tensor) -> torch.Tensor:
        """Returns what the heads work from, [n, width], for observations as written, int8 [n, layout.size]."""
        return self.trunk(observations)

    def critic_features(self, features: torch.Tensor, states: torch.Tensor | None) -> torch.Tensor:
        """Returns what the critic works from: the features, or for a critic of its own those of the states.

        Args:
            features: Of the observations.
            states: Perfect information, int8 [n, layout.state_size]; needed by a critic of its own alone.
        """
        return features if states is None else self.critic_trunk(states)

    def action_logits(self, features: torch.Tensor, cards: torch.Tensor, part: slice = ALL) -> torch.Tensor:
        """Returns the logits of actions, legal or not, float32 [n, k].

        Args:
            features: Of all rows.
            cards: See `agents.card_features`, int8 [n, card_features.WIDTH].
            part: Which rows of the features these n are, here as elsewhere.
        """
        logits, weights = _head(self.actions, features, part), _head(self.card_weights, features, part)
        if logits.device.type == "cpu":
            return self.heads.sharpness * fused.card_logits(logits, weights, cards, card_features.UNIT)
        of_cards = (weights[:, :, None] * cards.view(*weights.shape, NUM_CARDS)).sum(1) / card_features.UNIT
        return self.heads.sharpness * (logits + functional.pad(of_cards, (0, logits.shape[1] - NUM_CARDS)))

    def action_log_probs(
        self, features: torch.Tensor, cards: torch.Tensor, masks: torch.Tensor, part: slice = ALL
    ) -> torch.Tensor:
        """Returns log-probabilities of the actions that have a logit, float32 [n, k]; illegal ones are -inf.

        Args:
            features: See `action_logits`, as the cards.
            cards: int8 [n, card_features.WIDTH].
            masks: int8 [n, actions].
            part: See `action_logits`.
        """
        return masked_log_softmax(self.action_logits(features, cards, part), masks)

    def trick_logits(self, critic_features: torch.Tensor, part: slice = ALL) -> torch.Tensor:
        """Returns logits of the tricks a seat will end its hand with, possible or not, float32 [n, bids]."""
        return _head(self.critic, critic_features, part)

    def trick_log_probs(self, critic_features: torch.Tensor, observations: torch.Tensor) -> torch.Tensor:
        """Returns log-probabilities of the tricks a seat will end its hand with, float32 [n, bids]."""
        logits = self.trick_logits(critic_features)
        return log_softmax(logits.masked_fill(self._impossible(observations), -torch.inf), dim=1)

    def bid_trick_log_probs(self, features: torch.Tensor, observations: torch.Tensor) -> torch.Tensor:
        """Returns, for every bid, log-probabilities of the tricks that follow it, float32 [n, bids, bids]."""
        base = self.bid_base(features).float()
        correction = self.bid_correction(features).float()
        logits = base[:, None, :] + correction.view(len(base), base.shape[1], base.shape[1])
        return log_softmax(logits.masked_fill(self._impossible(observations)[:, None, :], -torch.inf), dim=2)

    def made_bid_trick_logits(self, features: torch.Tensor, bids: torch.Tensor, part: slice = ALL) -> torch.Tensor:
        """Returns logits of the tricks that follow the bids made, float32 [n, bids]; bids are int64 [n]."""
        base = _head(self.bid_base, features, part)
        correction = _head(self.bid_correction, features, part).view(len(base), base.shape[1], base.shape[1])
        return base + correction.gather(1, bids[:, None, None].expand(-1, 1, base.shape[1]))[:, 0]

    def trick_loss(self, logits: torch.Tensor, observations: torch.Tensor, tricks: torch.Tensor) -> torch.Tensor:
        """Returns the cross-entropy of the tricks that seats ended with, summed over rows.

        Args:
            logits: Of numbers of tricks, float32 [n, bids].
            observations: When they were given, int8 [n, layout.size].
            tricks: int64 [n].
        """
        if logits.device.type == "cpu":
            return fused.trick_loss(logits, self.possible_tricks(observations), tricks)
        log_probs = log_softmax(logits.masked_fill(self._impossible(observations), -torch.inf), dim=1)
        return functional.nll_loss(log_probs, tricks, reduction="sum")

    def values(self, critic_features: torch.Tensor, observations: torch.Tensor, part: slice = ALL) -> torch.Tensor:
        """Returns the critic's expected reward in points, float32 [n]; a critic of tricks knows it after the bid."""
        if self.heads.critic == "points":
            return _head(self.critic, critic_features, part)[:, 0] * POINTS_UNIT
        bids = self.own_bids(observations)
        if self.heads.aim == "wins":
            worth = self.win_values(self.score_table[bids], observations)
            return (self.trick_log_probs(critic_features[part], observations).exp() * worth).sum(1)
        if observations.device.type == "cpu" and not torch.is_grad_enabled():
            values = torch.empty(len(observations))
            tensors = (
                self.trick_logits(critic_features, part),
                self.possible_tricks(observations),
                bids,
                self.score_table,
            )
            fused.expected_points(*(tensor.numpy() for tensor in tensors), values.numpy())
            return values
        probs = self.trick_log_probs(critic_features[part], observations).exp()
        return (probs * self.score_table[bids]).sum(1)

    def bid_values(self, features: torch.Tensor, observations: torch.Tensor) -> torch.Tensor:
        """Returns the expected points of every bid, or what it is expected to do for the match, float32 [n, bids]."""
        worth = self.score_table
        if self.heads.aim == "wins":
            worth = self.win_values(worth.expand(len(observations), -1, -1), observations)
        return (self.bid_trick_log_probs(features, observations).exp() * worth).sum(2)

    def win_values(self, points: torch.Tensor, observations: torch.Tensor) -> torch.Tensor:
        """Returns what points made in the present hand are worth for the match, in `winning.WIN`, float32 [n, ...].

        The other seats' hands are taken for average ones.

        Args:
            points: Of the seat that sees, float32 [n, ...].
            observations: int8 [n, layout.size].
        """
        coarse, fine, left = (observations[:, self.layout.slice(name)].float() for name in _MATCH_SLICES)
        scores = coarse * self.layout.score_unit + fine
        size = 1 + observations[:, self.layout.slice("hand_size")].argmax(1)
        mean, variance = self.outlook[size].unbind(1)
        later = self.variance_ahead[left[:, 0].long() - 1]
        own = scores[:, 0].view(-1, *[1] * (points.ndim - 1)) + points
        return winning.WIN * winning.chance_to_win(own, scores[:, 1:] + mean[:, None], later, later + variance)

    def bid_log_probs(
        self, features: torch.Tensor, observations: torch.Tensor, masks: torch.Tensor, temperature: float
    ) -> torch.Tensor:
        """Returns log-probabilities of bids by the points that tricks promise, float32 [n, bids]; illegal are -inf."""
        legal = masks[:, NUM_CARDS : NUM_CARDS + self.layout.most_cards + 1] != 0
        values = self.bid_values(features, observations)
        return log_softmax((values / temperature).masked_fill(~legal, -torch.inf), dim=1)

    def own_bids(self, observations: torch.Tensor) -> torch.Tensor:
        """Returns the bid that the seat has made, int64 [n]."""
        start = self.layout.slice("bids").start
        return observations[:, start : start + self.layout.most_cards + 1].argmax(1)

    def possible_tricks(self, observations: torch.Tensor) -> torch.Tensor:
        """Returns the fewest and the most tricks that the seat can end the hand with, int64 [n, 2]."""
        taken = observations[:, self.layout.slice("tricks").start].long()
        left = observations[:, self.layout.slice("hand")].sum(1, dtype=torch.int8)
        return torch.stack([taken, taken + left], 1)

    def _impossible(self, observations: torch.Tensor) -> torch.Tensor:
        """Returns which numbers of tricks the seat cannot end the hand with, bool [n, bids]."""
        fewest, most = self.possible_tricks(observations).unsqueeze(2).unbind(1)
        tricks = torch.arange(self.layout.most_cards + 1, device=observations.device)
        return (tricks < fewest) | (tricks > most)


def _head(layer: nn.Linear, features: torch.Tensor, part: slice) -> torch.Tensor:
    """Returns a layer's outputs for some rows, float32, worked out for a round number of them."""
    first, last, _ = part.indices(len(features))
    start = first // SHAPE * SHAPE
    return layer(features[start : rounded_up(last)])[first - start : last - start].float()


def _layers(scale: np.ndarray, widths: tuple[int, ...]) -> nn.Sequential:
    return nn.Sequential(SparseInput(scale, widths[0]), *(_Hidden(*pair) for pair in pairwise(widths)))


class _Hidden(nn.Linear):
    """A hidden layer with ReLU, residual where widths agree."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        outputs = torch.relu(super().forward(inputs))
        return outputs + inputs if self.in_features == self.out_features else outputs


def masked_log_softmax(logits: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
    """Returns log-probabilities of actions, float32 [n, k], for logits [n, k] and masks [n, k or more]."""
    return torch.log_softmax(logits.masked_fill(masks[:, : logits.shape[1]] == 0, -torch.inf), dim=1)


def log_softmax(logits: torch.Tensor, dim: int) -> torch.Tensor:
    """Returns log-probabilities; several times as fast on a CPU as PyTorch's own for rows of less than 16."""
    shifted = logits - logits.amax(dim, keepdim=True).detach()
    return shifted - shifted.logsumexp(dim, keepdim=True)


def score_table(most_cards: int, rules: Rules) -> np.ndarray:
    """Returns the points for every bid and number of tricks taken, float32 [most_cards + 1, most_cards + 1]."""
    bids = np.arange(most_cards + 1)[:, None]
    tricks = bids.T
    made = rules.points_per_trick * bids + rules.points_per_overtrick * (tricks - bids)
    return np.where(tricks >= bids, made, -rules.points_per_trick * bids).astype(np.float32)

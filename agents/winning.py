"""The chance to win a match from the scores: what a network plays for that is to win matches and not to make points.

The points that seats still make in later hands are taken for normal variates, independent and alike for all seats, so
the chance is an integral over the own points of a product over the others. Means and variances come from hands of the
rule bot; the variance is half that of the difference between two seats, since what one makes the others lack.
"""

from __future__ import annotations

import numpy as np
import torch

from bluke_env import BatchGame, Rules, Turn, bots

WIN = 200.0
"""Points that a win counts as: in the middle of a match a point more makes about a two-hundredth of a win more."""

_MATCHES = 100
_SEED = 20_261_130
_NODES = 10
_PLACES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(_NODES)
_WEIGHTS /= _WEIGHTS.sum()

_LEAST_VARIANCE = 1e-6

MEAN, VARIANCE = 0, 1
"""Columns of an outlook."""


def outlook(rules: Rules) -> torch.Tensor:
    """Returns a seat's mean points in hands of so many cards and their variance, float32 [most cards + 1, 2]."""
    batch = BatchGame(rules, _MATCHES, _SEED, autoreset=False)
    bot, games = bots.make("rule"), np.arange(_MATCHES)
    points: dict[int, list[np.ndarray]] = {}
    hands = 0
    bot.reset(_MATCHES, _SEED)
    while not batch.is_over[0]:  # all matches are in lockstep
        batch.step(bot.act(Turn(rules, batch.views(), batch.seats, games)))
        if batch.records["last_number"][0] == hands:  # a hand has ended
            points.setdefault(rules.schedule[hands].cards, []).append(batch.rewards.astype(np.float64))
            hands += 1
    made = torch.zeros(rules.most_cards + 1, 2)
    for cards, of_hands in points.items():
        made[cards, MEAN] = np.mean(of_hands)
        made[cards, VARIANCE] = np.var(of_hands, axis=2, ddof=1).mean()  # the mean of half that of every difference
    return made


def variance_ahead(made: torch.Tensor, rules: Rules) -> torch.Tensor:
    """Returns the variance of a seat's points in the last 0, 1, 2, ... hands of a match, float32 [hands + 1].

    Args:
        made: An outlook with all sizes of hands in the match.
        rules: Of the match.
    """
    sizes = torch.tensor([0, *(hand.cards for hand in reversed(rules.schedule))])
    return made[sizes, VARIANCE].cumsum(0) - made[0, VARIANCE]


def win_shares(scores: torch.Tensor, later: torch.Tensor) -> torch.Tensor:
    """Returns every seat's share of the win, float32 [n, seats]: at the end of a match ties are shared.

    Args:
        scores: float32 [n, seats].
        later: Variance of the points that a seat still makes, float32 [n].
    """
    seats, over = scores.shape[1], later == 0
    won = (scores == scores.amax(1, keepdim=True)).float()
    chances = torch.stack(
        [
            chance_to_win(scores[:, seat], scores[:, [other for other in range(seats) if other != seat]], later, later)
            for seat in range(seats)
        ],
        1,
    )
    shares = torch.where(over[:, None], won, chances)
    return shares / shares.sum(1, keepdim=True)


def chance_to_win(
    own: torch.Tensor, others: torch.Tensor, variance: torch.Tensor, theirs: torch.Tensor
) -> torch.Tensor:
    """Returns the chance that a seat ends ahead of all others, float32 [n, ...].

    Args:
        own: The score that the seat is expected to end with, float32 [n, ...].
        others: Those of the others, float32 [n, seats - 1].
        variance: Of the own score in the end, float32 [n].
        theirs: Of each of the others', float32 [n].
    """
    more = own.ndim - 1
    wide = (slice(None), *[None] * more)
    deviation, scale = variance.sqrt()[wide], theirs.clamp(min=_LEAST_VARIANCE).sqrt()[wide]
    total = torch.zeros_like(own)
    for node, weight in zip(_PLACES.tolist(), _WEIGHTS.tolist(), strict=True):
        ahead = torch.full_like(own, weight)
        for other in others.unbind(1):
            ahead = ahead * torch.special.ndtr((own + node * deviation - other[wide]) / scale)
        total = total + ahead
    return total

"""How well one player of a table bids: by bid, by seat, and by trump or no trump.

Where partners play together, the player is a side: a hand is what both partners bid and take, and it counts once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from bluke_env.evaluation.duplicate import DuplicateResult
from bluke_env.evaluation.measure import of_sides
from bluke_env.rules import Rules
from bluke_env.schedule import ScheduledHand

_CALIBRATION = ("cards", "no_trump", "bid")
_RATES = ("made", "points", "bid")


def diagnose(rules: Rules, hands: Mapping[ScheduledHand, DuplicateResult], own: np.ndarray) -> dict[str, Any]:
    """Returns plain facts, fit for JSON, about the hands that one player of a table played.

    Args:
        rules: Of the table.
        hands: How the hands ended, by kind of hand.
        own: bool [seatings, sides], which sides, or seats, were the player's; see `measure.own_places`.

    Returns:
        Three lists of groups of hands, each with `hands`, how many there are, and means over them:

        - `calibration`, by `cards`, `no_trump` and `bid`: `tricks` taken, `made`, the share in which the bid was made,
          and tricks `over` and `under` the bid, so that `tricks` is `bid` + `over` - `under`;
        - `by_seat`, by `seat`, 0 being the dealer's left, who bids first; of partners, the one who bids first counts:
          `made`, `points` and `bid`;
        - `by_trump`, by `no_trump`: the same.

        `no_trump` is what the deal had, also where a Bluke was turned up. A board is a bid of all tricks. Means over
        several kinds of hand weigh each as often as it occurs in the schedule, as if all had equally many deals.

    Raises:
        ValueError: `own` or a kind of hand does not fit the rules.
    """
    own = np.asarray(own)
    if own.dtype != np.bool_ or own.ndim != 2 or own.shape[1] != len(rules.sides) or not own.any():
        raise ValueError(
            f"own has dtype {own.dtype} and shape {own.shape}, but it must be bool [seatings, {len(rules.sides)}], "
            "True somewhere"
        )
    times = Counter(rules.schedule)
    for hand in hands:
        if not times[hand]:
            raise ValueError(f"{hand} is not in the schedule {rules.schedule_text}: give hands that it has")
    most = max(len(result.points) for result in hands.values())
    played = [
        _hands_of(rules, hand, result, own, times[hand] * most / len(result.points)) for hand, result in hands.items()
    ]
    columns = {name: np.concatenate([part[name] for part in played]) for name in played[0]}
    return {
        "calibration": _grouped(columns, _CALIBRATION, ("tricks", "made", "over", "under")),
        "by_seat": _grouped(columns, ("seat",), _RATES),
        "by_trump": _grouped(columns, ("no_trump",), _RATES),
    }


def _hands_of(
    rules: Rules, hand: ScheduledHand, result: DuplicateResult, own: np.ndarray, weight: float
) -> dict[str, np.ndarray]:
    """Returns facts about every hand of the player, [deals * places that are its own]."""
    points, bid, tricks = (array[:, own] for array in of_sides(result, rules, hand.cards))
    from_left = np.array(rules.sides)[None] - result.dealers.astype(np.int64)[:, None, None] - 1
    places = (from_left % rules.num_players).min(axis=2)  # [deals, sides]
    columns = {
        "cards": np.full_like(bid, hand.cards),
        "no_trump": np.broadcast_to(result.trumps[:, None] < 0, bid.shape),
        "seat": places[:, np.nonzero(own)[1]],
        "bid": bid,
        "tricks": tricks,
        "points": points,
        "made": tricks >= bid,
        "over": np.maximum(tricks - bid, 0),
        "under": np.maximum(bid - tricks, 0),
        "weight": np.full(bid.shape, weight),
    }
    return {name: array.ravel() for name, array in columns.items()}


def _grouped(columns: Mapping[str, np.ndarray], keys: tuple[str, ...], means: tuple[str, ...]) -> list[dict[str, Any]]:
    """Returns the groups of hands with the same keys, ascending, with weighted means."""
    groups, members, counts = np.unique(
        np.stack([columns[key] for key in keys], axis=1), axis=0, return_inverse=True, return_counts=True
    )
    members = members.ravel()
    totals = np.bincount(members, columns["weight"])
    values = {name: np.bincount(members, columns["weight"] * columns[name]) / totals for name in means}
    return [
        {
            **{key: bool(part) if key == "no_trump" else int(part) for key, part in zip(keys, group, strict=True)},
            "hands": int(counts[index]),
            **{name: float(values[name][index]) for name in means},
        }
        for index, group in enumerate(groups)
    ]

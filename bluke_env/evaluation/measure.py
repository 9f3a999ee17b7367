"""One player among opponents of one kind, and what an opponent makes in the same seats on the same deals.

Where partners play together, a player is a side: it takes both seats, and all figures are those of the side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bluke_env.agent import Agent
from bluke_env.evaluation.duplicate import CHUNK_ROWS, DuplicateResult, play_duplicate
from bluke_env.evaluation.statistics import MIN_DEALS, Estimate
from bluke_env.rules import BOARD, Rules
from bluke_env.schedule import ScheduledHand

STATISTICS = {
    "points": "points per hand",
    "over_same_seat": "points per hand minus what an opponent makes there when opponents sit in all seats",
    "over_opponents": "points per hand minus the mean of the opponents at the same table",
    "most_points": "share of hands with the most points, ties shared",
    "made": "share of hands in which the bid was made",
    "bid": "mean bid",
    "tricks": "tricks taken per hand",
    "overtricks": "tricks over the bid per hand",
}
"""What is estimated about the player, and what it means."""


class Participant(NamedTuple):
    """Who played: the name, and the version where the player has one."""

    name: str
    version: int | None

    @classmethod
    def of(cls, agent: Agent) -> Participant:
        """Returns what an agent calls itself."""
        return cls(agent.name, getattr(agent, "version", None))

    def __str__(self) -> str:
        return self.name if self.version is None else f"{self.name} (version {self.version})"


@dataclass(frozen=True)
class Comparison:
    """One player against opponents in all other seats.

    Attributes:
        player: Who was measured; of teams, both partners.
        opponent: Who sat in all other seats.
        hands: For each kind of hand, an estimate of each of `STATISTICS`.
        times: How often each kind of hand occurs in the schedule.
        average: The same estimates for a hand of the schedule: the mean over `hands`, weighted with `times`.
    """

    player: Participant
    opponent: Participant
    hands: dict[ScheduledHand, dict[str, Estimate]]
    times: dict[ScheduledHand, int]
    average: dict[str, Estimate]


def measure(
    player: Agent,
    opponent: Agent,
    rules: Rules,
    deals: int,
    seed: int,
    *,
    sizes: Sequence[int] | None = None,
    chunk_rows: int = CHUNK_ROWS,
    on_hand: Callable[[], None] = lambda: None,
) -> Comparison:
    """Measures a player among opponents on duplicate deals.

    Each deal is played once for every seat (of teams, every side) the player can take, and once with opponents in all
    seats: the baseline.

    Args:
        player: Sits in one seat, or takes one side.
        opponent: Sits in all others. It may be the same object: a player then draws lots like any other, while a
            twin that is another object draws lots of its own.
        rules: Of the table; their schedule says which kinds of hands are played.
        deals: Deals for each kind of hand, at least `MIN_DEALS`.
        seed: Of the deals and of players that draw lots.
        sizes: Only hands of so many cards, which the schedule must have; all by default.
        chunk_rows: See `play_duplicate`.
        on_hand: Called whenever a kind of hand has been played.

    Raises:
        ValueError: An argument is invalid, or a player plays with another number of players.
        AgentError: A player failed at the table.
    """
    if deals < MIN_DEALS:
        raise ValueError(f"deals is {deals}, but an interval needs at least {MIN_DEALS} deals of each hand size")
    times = scheduled_times(rules, sizes)
    hands = {}
    for hand in times:
        hands[hand] = _measure_hand(player, opponent, rules, hand, deals, seed, chunk_rows)
        on_hand()
    average = {
        name: Estimate.weighted([estimates[name] for estimates in hands.values()], list(times.values()))
        for name in STATISTICS
    }
    return Comparison(Participant.of(player), Participant.of(opponent), hands, times, average)


def scheduled_times(rules: Rules, sizes: Sequence[int] | None = None) -> dict[ScheduledHand, int]:
    """Returns how often each kind of hand occurs in a schedule, if only of certain sizes, in its order.

    Raises:
        ValueError: The schedule has no hand of a given size, or no size is given.
    """
    times = dict(Counter(rules.schedule))
    if sizes is None:
        return times
    scheduled = {hand.cards for hand in times}
    if not sizes or not scheduled.issuperset(sizes):
        wrong = ", ".join(str(size) for size in sizes if size not in scheduled) or "none"
        known = ", ".join(map(str, sorted(scheduled)))
        raise ValueError(f"hand sizes: {wrong} is not in the schedule, which has hands of {known} cards")
    return {hand: count for hand, count in times.items() if hand.cards in sizes}


def _measure_hand(
    player: Agent, opponent: Agent, rules: Rules, hand: ScheduledHand, deals: int, seed: int, chunk_rows: int
) -> dict[str, Estimate]:
    everybody = range(rules.num_players)
    seatings = [[player if seat in side else opponent for seat in everybody] for side in rules.sides]
    result = play_duplicate(rules, hand, [*seatings, [opponent] * len(everybody)], deals, seed, chunk_rows=chunk_rows)
    return {name: Estimate.by_deal(values) for name, values in _by_deal(result, rules, hand.cards).items()}


def _by_deal(result: DuplicateResult, rules: Rules, cards: int) -> dict[str, np.ndarray]:
    """Returns `STATISTICS` by deal, float64 [deals].

    In seating s the player was side s; in the last seating there were opponents in all seats. Sums over the seatings
    are taken in integers before anything is divided, so what cancels is exactly zero.
    """
    sides = np.array(rules.sides)  # [sides, seats of a side]
    count, seats = len(sides), rules.num_players
    own = np.arange(count)[:, None], sides
    at_table, baseline = result.points[:, :count].astype(np.int64), result.points[:, count]
    points = at_table[:, *own][:, :, 0]
    bids = _standing_bids(result.bids[:, *own], cards)
    tricks = result.tricks[:, *own].sum(axis=2, dtype=np.int64)
    best = at_table == at_table.max(axis=2, keepdims=True)
    values = {
        "points": points,
        "over_same_seat": points - baseline[:, sides[:, 0]],
        "over_opponents": seats * points - at_table.sum(axis=2),
        "most_points": (best / best.sum(axis=2, keepdims=True))[:, *own].sum(axis=2),
        "made": tricks >= bids,
        "bid": bids,
        "tricks": tricks,
        "overtricks": np.maximum(tricks - bids, 0),
    }
    divisors = dict.fromkeys(values, count) | {"over_opponents": count * (seats - sides.shape[1])}
    return {name: array.sum(axis=1) / divisors[name] for name, array in values.items()}


def _standing_bids(bids: np.ndarray, cards: int) -> np.ndarray:
    """Returns the tricks that each side has bid, int64 [deals, sides]; a board stands for both and is a bid of all."""
    bids = bids.astype(np.int64)
    return np.where((bids > BOARD).any(axis=2), cards, bids.sum(axis=2))

"""What is to be played, cut into jobs that any worker on any machine can do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bluke_env.agent import Agent
from bluke_env.errors import checked_integer, checked_seed
from bluke_env.evaluation.duplicate import (
    GAMES_AT_ONCE,
    DuplicateResult,
    play_duplicate,
    play_matches,
    rotations,
)
from bluke_env.evaluation.lineups import Table
from bluke_env.evaluation.statistics import MIN_DEALS
from bluke_env.rules import Rules
from bluke_env.schedule import ScheduledHand

DEALS_PER_JOB = 250

Results = dict[Table, tuple[DuplicateResult, ...]]
"""For every table one result for each kind of hand, or of whole matches for each hand of the schedule."""

Seater = Callable[[str], Agent]
"""Gives the agent of a name."""


class Job(NamedTuple):
    """Some deals at one table: `first` to `last` - 1 of a kind of hand, or of whole matches for None."""

    table: Table
    hand: ScheduledHand | None
    first: int
    last: int


@dataclass(frozen=True)
class Plan:
    """What is to be played.

    Attributes:
        rules: Of all tables.
        tables: Who plays: for every table the name of a player for each seat, or of teams for each side.
        hands: The kinds of hands; None for whole matches.
        deals: Deals of each kind, or matches, at every table.
        seed: Of the deals and of the players' lots.
    """

    rules: Rules
    tables: tuple[Table, ...]
    hands: tuple[ScheduledHand, ...] | None
    deals: int
    seed: int

    def __post_init__(self) -> None:
        for table in self.tables:
            rotations(self.rules, table)
        if checked_integer("deals", self.deals, 0, 10_000_000) < MIN_DEALS:
            kind = "matches" if self.hands is None else "deals of each hand size"
            raise ValueError(f"deals is {self.deals}, but an interval needs at least {MIN_DEALS} {kind}")
        checked_seed(self.seed)
        if self.hands is not None and not len(self.hands) == len(set(self.hands)) > 0:
            raise ValueError("hands must be one or more different kinds, or None for whole matches")

    @property
    def unit(self) -> str:
        """What a deal is: a "hand" or a "match"."""
        return "match" if self.hands is None else "hand"

    @property
    def cluster(self) -> str:
        """What intervals count as one: a "deal" or a "match"."""
        return "match" if self.hands is None else "deal"

    @property
    def deals_text(self) -> str:
        """How much is played at every table."""
        return f"{self.deals} {'matches' if self.hands is None else 'deals of each hand size'}"

    @property
    def kinds(self) -> tuple[ScheduledHand, ...]:
        """The hands that a table's results are of, in their order."""
        return self.rules.schedule if self.hands is None else self.hands

    @property
    def names(self) -> tuple[str, ...]:
        """All who play."""
        return tuple(dict.fromkeys(name for table in self.tables for name in table))

    def jobs(self) -> list[Job]:
        """Returns all jobs; the first deals of all tables come first."""
        kinds = (None,) if self.hands is None else self.hands
        return [
            Job(table, hand, first, min(first + DEALS_PER_JOB, self.deals))
            for first in range(0, self.deals, DEALS_PER_JOB)
            for hand in kinds
            for table in dict.fromkeys(self.tables)
        ]

    def play(self, job: Job, seat: Seater, games_at_once: int = GAMES_AT_ONCE) -> tuple[DuplicateResult, ...]:
        """Does a job: returns its result, or of matches one for every hand of the schedule.

        Raises:
            ValueError: A player plays other games.
            AgentError: A player failed.
        """
        agents = {name: seat(name) for name in job.table}
        seatings, deals = rotations(self.rules, job.table), range(job.first, job.last)
        if job.hand is None:
            return play_matches(self.rules, seatings, agents, deals, self.seed, games_at_once=games_at_once)
        return (play_duplicate(self.rules, job.hand, seatings, agents, deals, self.seed, games_at_once=games_at_once),)

    def assembled(self, done: Mapping[Job, tuple[DuplicateResult, ...]]) -> Results:
        """Puts the results of all jobs together."""
        parts: dict[Table, dict[ScheduledHand | None, list[tuple[DuplicateResult, ...]]]] = {}
        for job in self.jobs():
            parts.setdefault(job.table, {}).setdefault(job.hand, []).append(done[job])
        return {
            table: tuple(
                DuplicateResult.joined(ranges) for results in by_kind.values() for ranges in zip(*results, strict=True)
            )
            for table, by_kind in parts.items()
        }


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

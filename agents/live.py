"""Evaluation during training: the network of the moment against a frozen ladder, always on the same deals.

A measurement is what `bluke_env.evaluation.measure` gives for every member of the ladder. What the members make among
themselves, the baseline, never changes: it is played once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agents.logs import CURVE, Row, rows_until, write_rows
from agents.options import Seats
from bluke_env import Agent, Rules
from bluke_env.evaluation import Comparison, Pairing, Plan
from bluke_env.evaluation.duplicate import check_fits, foreign_notes
from bluke_env.evaluation.evaluate import Share, played
from bluke_env.evaluation.lineups import Table
from bluke_env.evaluation.measure import Participant, compared, named
from bluke_env.evaluation.plan import Results, scheduled_times
from bluke_env.evaluation.seeds import DEVELOPMENT_SEEDS

SEED = DEVELOPMENT_SEEDS[-1]
"""Of the deals of all live evaluations: the same for every run, so that their curves can be compared."""

COLLAPSED = 0.25
"""Bids count as collapsed below this share of the way from the smallest bid to an even share of the tricks.

In hands of the most cards `rule` and `pimc` bid 0.60 to 0.83 of it, at tables of 2 to 6 and in Back Alley; networks
whose bids have collapsed, 1.0 to 1.2 at 13 cards, are below 0.1.
"""


@dataclass(frozen=True)
class LivePoint:
    """One measurement.

    Attributes:
        row: What was added to the curve; see `LiveEvaluation`.
        comparisons: The player against each member of the ladder, on average and by hand size.
        best: Whether `over ladder` is the highest so far; among equals the latest is the best.
        collapse: A sentence if bids have fallen to the minimum, otherwise None. Early in a run they often fall and
            recover. So it takes two measurements in a row below `COLLAPSED`, the second not surely above the first.
    """

    row: Row
    comparisons: tuple[Comparison, ...]
    best: bool
    collapse: str | None


def members_of(setting: str, ladder: Sequence[str], rules: Rules) -> dict[str, Agent]:
    """Returns the players of a ladder by name.

    Args:
        setting: Where it comes from, for the refusal of a wrong one.
        ladder: What players are called on command lines.
        rules: Of the tables.

    Raises:
        ValueError: It is empty, or has a player twice, one that does not exist, or one that cannot play by the rules.
    """
    seats = Seats()
    try:
        members = named([seats(name) for name in ladder])
    except ValueError as error:
        raise ValueError(f"{setting} has a player that cannot be made: {error}") from None
    if not 0 < len(members) == len(ladder):
        raise ValueError(f"{setting} is {', '.join(ladder) or 'empty'}, but it must be one or more different players")
    for name, member in members.items():
        try:
            check_fits(rules, name, member)
        except ValueError as error:
            raise ValueError(f"{setting} has a player for other tables: {error}") from None
    return members


class LiveEvaluation:
    """Measures a player again and again against a ladder, and keeps the curve in the run's folder.

    `curve.csv` has a row for each measurement. Points are points a hand, half widths those of 95 % intervals:

    - `iteration`, `decisions`, `seconds`: how far the run had come.
    - `over ladder`: the mean of the next over all members.
    - `over NAME` and its half width, for each member: see `over_same_seat` of `bluke_env.evaluation.STATISTICS`.
    - `bid`, `made`: mean bid and share of hands in which it was made, against the first member.
    - `largest hand bid` and its half width: the mean bid in hands of the most cards, against the first member.

    Where several processes share the work, all get the same measurements and the first alone writes.

    Args:
        folder: The run's folder.
        ladder: Bots or paths of checkpoints; each in turn takes all seats but the player's.
        rules: Of the tables; their schedule says which kinds of hands are played.
        deals: Deals for each kind of hand.
        ranks: The processes that share the work; this one does all of it by default.
        done_decisions: Decisions that a resumed run goes on from. Rows beyond them, of a run that was cut off after
            its last checkpoint, are taken out.

    Attributes:
        notes: Sentences on members that were made for other rules.

    Raises:
        ValueError: The ladder is empty, or has a player twice or one that cannot play by the rules; `deals` is invalid;
            or the run so far was measured against another ladder.
    """

    def __init__(
        self,
        folder: Path,
        ladder: Sequence[str],
        rules: Rules,
        deals: int,
        ranks: Share | None = None,
        done_decisions: int = 0,
    ) -> None:
        self._members = members_of("live_against", ladder, rules)
        self.notes = foreign_notes(rules, self._members)
        tables = tuple((name,) * len(rules.sides) for name in self._members)
        self._plan = Plan(rules, tables, tuple(scheduled_times(rules)), deals, SEED)
        self._baselines: Results = {}
        self._ranks = ranks
        self._path = folder / CURVE
        self._rows = rows_until(self._path, "decisions", done_decisions)
        self._check_ladder()
        self._write()

    def measure(self, agent: Agent, iteration: int, decisions: int, seconds: float) -> LivePoint:
        """Plays the agent, in one seat, against each member of the ladder in all others.

        Args:
            agent: The player as it is now.
            iteration: Iterations so far.
            decisions: Decisions so far.
            seconds: Wall-clock time spent in them.

        Raises:
            ValueError: The agent plays other games.
            AgentError: A player failed.
            OSError: The curve could not be written.
        """
        agents = named([*self._members.values(), agent])
        player = next(name for name, known in agents.items() if known is agent)
        comparisons = [self._compared(player, member, agents) for member in self._members]
        leads = [comparison.average["over_same_seat"] for comparison in comparisons]
        largest = comparisons[0].hands[max(self._plan.kinds, key=lambda hand: hand.cards)]
        numbers: Row = {"over ladder": sum(lead.mean for lead in leads) / len(leads)}
        for name, lead in zip(self._members, leads, strict=True):
            numbers |= {f"over {name}": lead.mean, f"over {name} half width": lead.half_width}
        numbers |= {name: comparisons[0].average[name].mean for name in ("bid", "made")}
        numbers |= {"largest hand bid": largest["bid"].mean, "largest hand bid half width": largest["bid"].half_width}
        row = {"iteration": iteration, "decisions": decisions, "seconds": seconds}
        row |= {name: round(value, 4) for name, value in numbers.items()}  # a resumed run knows no more than the file
        best = row["over ladder"] >= max((earlier["over ladder"] for earlier in self._rows), default=-math.inf)
        point = LivePoint(row, tuple(comparisons), best, self._collapse(row))
        self._rows.append(row)
        self._write()
        return point

    def _compared(self, player: str, member: str, agents: Mapping[str, Agent]) -> Comparison:
        """Measures the player against one member."""
        pairing = Pairing.one_among(player, member, len(self._plan.rules.sides))
        table, baseline = pairing.tables
        if baseline not in self._baselines:
            self._baselines |= self._played(baseline, agents)
        results = self._baselines | self._played(table, agents)
        return compared(self._plan, results, pairing, {name: Participant.of(name, agents[name]) for name in table})

    def _played(self, table: Table, agents: Mapping[str, Agent]) -> Results:
        """Plays one table alone: of several, processes that take every second job would not get equal parts."""
        return played(replace(self._plan, tables=(table,)), agents.__getitem__, share=self._ranks)

    def _collapse(self, row: Row) -> str | None:
        rules, cards = self._plan.rules, max(hand.cards for hand in self._plan.kinds)
        smallest, even = rules.min_bid * len(rules.sides[0]), cards / len(rules.sides)
        bid, before = row["largest hand bid"], self._rows[-1]["largest hand bid"] if self._rows else math.inf
        rising = bid - row["largest hand bid half width"] > before
        if rising or max(bid, before) >= smallest + COLLAPSED * (even - smallest):
            return None
        return (
            f"bids have fallen to the minimum: in hands of {cards} cards the mean bid is {bid:.2f}, where {smallest} "
            f"is the smallest bid and {even:.2f} an even share of the tricks; if they stay there, a higher temperature "
            "or more entropy may help"
        )

    def _check_ladder(self) -> None:
        """Refuses to go on with a curve against other players: its best says nothing about these."""
        if not self._rows:
            return
        leads = [name for name in self._rows[0] if name.startswith("over ") and not name.endswith(" half width")]
        before = [name.removeprefix("over ") for name in leads if name != "over ladder"]
        if before != list(self._members):
            raise ValueError(
                f"{self._path} was measured against {', '.join(before)}, but now the ladder is "
                f"{', '.join(self._members)}: leave it as it was, or move that file away"
            )

    def _write(self) -> None:
        if self._ranks is None or self._ranks.index == 0:
            write_rows(self._path, self._rows)

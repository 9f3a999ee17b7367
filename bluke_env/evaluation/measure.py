"""What duplicate tables say about a player: against its opponents, and against another player in the same seats.

Where partners play together, a player is a side: it takes both seats, and all figures are those of the side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bluke_env.agent import Agent
from bluke_env.evaluation.duplicate import GAMES_AT_ONCE, DuplicateResult
from bluke_env.evaluation.lineups import Table, distinct_rotations
from bluke_env.evaluation.plan import Plan, Results, scheduled_times
from bluke_env.evaluation.run import do_jobs
from bluke_env.evaluation.statistics import Estimate, variances
from bluke_env.rules import BOARD, Rules
from bluke_env.schedule import ScheduledHand

STATISTICS = {
    "points": "points per hand",
    "over_same_seat": "points per hand minus what the baseline makes there when it sits in all seats",
    "over_opponents": "points per hand minus the mean of the other players at the same table",
    "most_points": "share of hands with the most points, ties shared",
    "made": "share of hands in which the bid was made",
    "bid": "mean bid",
    "tricks": "tricks taken per hand",
    "overtricks": "tricks over the bid per hand",
}
"""What is estimated about the player, and what it means."""

MATCH_STATISTICS = {**STATISTICS, "match_wins": "share of matches won, ties shared"}
"""The same for whole matches."""


class Participant(NamedTuple):
    """Who played.

    Attributes:
        name: As it is called in all results.
        version: Of a bot.
        sha256: Of the file of a checkpoint, or of a policy's source.
    """

    name: str
    version: int | None = None
    sha256: str | None = None

    @classmethod
    def of(cls, name: str, agent: Agent) -> Participant:
        """Returns what is known of an agent."""
        return cls(name, getattr(agent, "version", None), getattr(agent, "sha256", None))

    def __str__(self) -> str:
        return self.name if self.version is None else f"{self.name} (version {self.version})"


@dataclass(frozen=True)
class Comparison:
    """One player of a table.

    Attributes:
        player: Who was measured; of teams, both partners.
        opponents: Who sat in the other seats (of teams, took the other side), in order.
        baseline: Who sat in all seats, to compare with.
        hands: For each kind of hand, an estimate of each of `STATISTICS`; empty for whole matches.
        times: How often each kind of hand occurs in the schedule.
        average: The same estimates for a hand of the schedule: the mean over `hands`, weighted with `times`; for whole
            matches, of `MATCH_STATISTICS`.
        variance_reduction: For each of two statistics how many times as many hands it would take for the same
            interval with independent deals and no rotation; see `statistics.variance_reduction`.
        diagnostics: See `diagnose`; None where they were not asked for.
    """

    player: Participant
    opponents: tuple[Participant, ...]
    baseline: Participant
    hands: dict[ScheduledHand, dict[str, Estimate]]
    times: dict[ScheduledHand, int]
    average: dict[str, Estimate]
    variance_reduction: dict[str, float | None]
    diagnostics: dict[str, Any] | None = None

    @property
    def opponent(self) -> str:
        """The opponents as text."""
        return " + ".join(dict.fromkeys(map(str, self.opponents)))


class Pairing(NamedTuple):
    """What a comparison needs: a player at a table, and the baseline in all seats of another."""

    player: str
    table: Table
    baseline: str

    @classmethod
    def one_among(cls, player: str, opponent: str, places: int) -> Pairing:
        """Returns the pairing of one player among opponents of one kind, who are the baseline too."""
        return cls(player, (player, *[opponent] * (places - 1)), opponent)

    @property
    def tables(self) -> tuple[Table, Table]:
        """What must be played."""
        return self.table, (self.baseline,) * len(self.table)


def compared(plan: Plan, results: Results, pairing: Pairing, who: dict[str, Participant]) -> Comparison:
    """Measures a player of a table that was played.

    Args:
        plan: What was played.
        results: What came of it.
        pairing: Who is measured, where and against what; both tables must be in the plan.
        who: All players by name.
    """
    own = own_places(pairing.table, pairing.player)
    at_table, baseline = (results[table] for table in pairing.tables)
    places = [
        by_place(result, base, plan.rules, hand.cards, own)
        for result, base, hand in zip(at_table, baseline, plan.kinds, strict=True)
    ]
    if plan.hands is None:
        hands, times = {}, {}
        whole = {name: np.sum([hand[name] for hand in places], axis=0) for name in places[0]}
        average = {name: Estimate.by_deal(values / len(places)) for name, values in by_deal(whole, own).items()}
        average["match_wins"] = Estimate.by_deal(_match_wins(at_table, plan.rules, own))
        reduction = _mean_reductions({plan.kinds[0]: whole}, {plan.kinds[0]: 1}, own)
    else:
        times = {hand: count for hand, count in scheduled_times(plan.rules).items() if hand in plan.hands}
        hands = {
            hand: {name: Estimate.by_deal(values) for name, values in by_deal(arrays, own).items()}
            for hand, arrays in zip(plan.kinds, places, strict=True)
        }
        weights = list(times.values())
        average = {name: Estimate.weighted([hands[hand][name] for hand in times], weights) for name in STATISTICS}
        reduction = _mean_reductions(dict(zip(plan.kinds, places, strict=True)), times, own)
    others = [name for name in pairing.table if name != pairing.player] or [pairing.player]
    opponents = tuple(who[name] for name in others)
    return Comparison(who[pairing.player], opponents, who[pairing.baseline], hands, times, average, reduction)


def measure(
    player: Agent,
    opponent: Agent,
    rules: Rules,
    deals: int,
    seed: int,
    *,
    sizes: Sequence[int] | None = None,
    games_at_once: int = GAMES_AT_ONCE,
) -> Comparison:
    """Measures a player among opponents of one kind on duplicate deals, by single hands.

    Each deal is played once for every seat (of teams, every side) the player can take, and once with opponents in all
    seats: the baseline.

    Args:
        player: Sits in one seat, or takes one side.
        opponent: Sits in all others. It may be the same object; a twin that is another object draws lots of its own.
        rules: Of the table; their schedule says which kinds of hands are played.
        deals: Deals for each kind of hand, at least `MIN_DEALS`.
        seed: Of the deals and of players that draw lots.
        sizes: Only hands of so many cards, which the schedule must have; all by default.
        games_at_once: See `play_duplicate`.

    Raises:
        ValueError: An argument is invalid, or a player plays other games.
        AgentError: A player failed at the table.
    """
    agents = named([player, opponent])
    names = [next(name for name, agent in agents.items() if agent is given) for given in (player, opponent)]
    pairing = Pairing.one_among(names[0], names[1], len(rules.sides))
    plan = Plan(rules, pairing.tables, tuple(scheduled_times(rules, sizes)), deals, seed)
    done = dict(do_jobs(plan, plan.jobs(), agents.__getitem__, games_at_once=games_at_once))
    who = {name: Participant.of(agent.name, agent) for name, agent in agents.items()}
    return compared(plan, plan.assembled(done), pairing, who)


def named(agents: Sequence[Agent]) -> dict[str, Agent]:
    """Returns agents by their names; another object of the same name gets a number.

    Raises:
        ValueError: One is no agent.
    """
    found: dict[str, Agent] = {}
    for agent in agents:
        if isinstance(agent, type) or not all(hasattr(agent, part) for part in ("name", "reset", "act")):
            raise ValueError(
                f"{agent!r} is no agent, an object with a name and the methods reset and act: "
                'bots.make("rule") makes one'
            )
        if any(agent is other for other in found.values()):
            continue
        name, number = agent.name, 2
        while name in found:
            name, number = f"{agent.name} #{number}", number + 1
        found[name] = agent
    return found


def own_places(table: Table, player: str) -> np.ndarray:
    """Returns which places of a table are a player's, bool [seatings, sides], in the order of `rotations`."""
    places = range(len(table))
    return np.array([[table[place - rotation] == player for place in places] for rotation in distinct_rotations(table)])


def by_place(
    result: DuplicateResult, baseline: DuplicateResult, rules: Rules, cards: int, own: np.ndarray
) -> dict[str, np.ndarray]:
    """Returns `STATISTICS` of a player for every deal and every place that it took, [deals, own places].

    Differences are taken in integers, so what cancels is exactly zero; `over_opponents` is therefore that over the sum
    of the others, each counted with as many of the player's points.

    Args:
        result: Of the player's table.
        baseline: Of the table with the baseline in all seats.
        rules: Of both.
        cards: Cards of the hand.
        own: bool [seatings, sides], where the player sat.

    Returns:
        The statistics, and as "baseline" the points of the baseline in the same places.
    """
    points, bids, tricks = of_sides(result, rules, cards)
    seatings, places = np.nonzero(own)
    base = of_sides(baseline, rules, cards)[0][:, 0, places]
    mine, mine_bid, mine_tricks = (array[:, seatings, places] for array in (points, bids, tricks))
    others = ~own[seatings]  # [own places, sides]
    opponents = (points[:, seatings] * others).sum(axis=2)
    best = points == points.max(axis=2, keepdims=True)
    return {
        "points": mine,
        "baseline": base,
        "over_same_seat": mine - base,
        "over_opponents": others.sum(axis=1) * mine - opponents,
        "most_points": (best / best.sum(axis=2, keepdims=True))[:, seatings, places],
        "made": mine_tricks >= mine_bid,
        "bid": mine_bid,
        "tricks": mine_tricks,
        "overtricks": np.maximum(mine_tricks - mine_bid, 0),
    }


def by_deal(places: dict[str, np.ndarray], own: np.ndarray) -> dict[str, np.ndarray]:
    """Returns `STATISTICS` of a player by deal, float64 [deals], from what `by_place` gives."""
    others = max(1, int((~own[0]).sum()))
    return {
        name: places[name].sum(axis=1) / (places[name].shape[1] * (others if name == "over_opponents" else 1))
        for name in STATISTICS
    }


def _mean_reductions(
    places: Mapping[ScheduledHand, dict[str, np.ndarray]], times: Mapping[ScheduledHand, int], own: np.ndarray
) -> dict[str, float | None]:
    """Returns the reductions of the variance of a weighted mean; None where no variance is left."""
    starts = np.unique(np.nonzero(own)[0], return_index=True)[1]
    reductions: dict[str, float | None] = {}
    for name, values, base in (("over_same_seat", "points", "baseline"), ("over_opponents", "over_opponents", None)):
        independent = duplicate = 0.0
        for hand, count in times.items():
            # A seating's own places are dealt together, and so are those of a rival that plays every deal once.
            at_table = np.add.reduceat(places[hand][values], starts, axis=1)
            rival = None if base is None else np.add.reduceat(places[hand][base], starts, axis=1)
            found = variances(at_table, rival)
            independent, duplicate = independent + count**2 * found[0], duplicate + count**2 * found[1]
        reductions[name] = independent / duplicate if duplicate else None
    return reductions


def of_sides(result: DuplicateResult, rules: Rules, cards: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns points, standing bids and tricks of the sides, int64 [deals, seatings, sides]."""
    sides = np.array(rules.sides)  # [sides, seats of a side]
    points, bids, tricks = (
        getattr(result, name).astype(np.int64)[:, :, sides] for name in ("points", "bids", "tricks")
    )
    standing = np.where((bids > BOARD).any(axis=3), cards, bids.sum(axis=3))
    return points[..., 0], standing, tricks.sum(axis=3)


def _match_wins(hands: Sequence[DuplicateResult], rules: Rules, own: np.ndarray) -> np.ndarray:
    """Returns a player's share of the matches by match, float64 [matches]."""
    totals = np.sum([of_sides(hand, rules, 0)[0] for hand in hands], axis=0)
    best = totals == totals.max(axis=2, keepdims=True)
    return (best / best.sum(axis=2, keepdims=True))[:, own].mean(axis=1)

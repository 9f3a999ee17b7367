"""Tournaments: everybody meets everybody, one against one kind of opponents and at mixed tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bluke_env.evaluation.lineups import Table, mixed_tables, pair_tables
from bluke_env.evaluation.measure import Pairing, Participant, compared, of_sides
from bluke_env.evaluation.plan import Plan, Results
from bluke_env.evaluation.ratings import TableResult, fit_ratings
from bluke_env.rules import Rules


def tournament_tables(players: Sequence[str], rules: Rules, mixed: int, seed: int) -> tuple[Table, ...]:
    """Returns the tables of a tournament: one of each player among each kind of others, and mixed ones.

    Args:
        players: Different names.
        rules: Of all tables.
        mixed: How many mixed tables are drawn.
        seed: Of that draw.

    Raises:
        ValueError: There are fewer than two players, a name is given twice, or `mixed` is invalid.
    """
    if len(players) < 2:
        raise ValueError(f"{len(players)} player was given, but a tournament needs at least two")
    places = len(rules.sides)
    drawn = mixed_tables(players, places, mixed, seed) if mixed else []
    return tuple(dict.fromkeys([*pair_tables(players, places), *drawn]))


def tournament_facts(
    plan: Plan, results: Results, players: Sequence[str], who: Mapping[str, Participant], anchor: str | None = None
) -> dict[str, Any]:
    """Returns what came of a tournament as plain facts, fit for JSON.

    Args:
        plan: What was played.
        results: What came of it.
        players: Who took part.
        who: All players by name.
        anchor: The player whose rating is 0; by default the mean is.

    Returns:
        `players`; `matrix`, in which entry [i][j] is what one of player i makes among players j beyond what j makes in
        the same seats on the same deals; and `ratings`, see `fit_ratings`. All hands count alike in the ratings.

    Raises:
        ValueError: The anchor is not among the players.
        ModuleNotFoundError: choix is not installed.
    """
    places = len(plan.rules.sides)

    def entry(one: str, other: str) -> dict[str, float] | None:
        if one == other:
            return None
        pairing = Pairing.one_among(one, other, places)
        estimate = compared(plan, results, pairing, dict(who)).average["over_same_seat"]
        return {"mean": estimate.mean, "half_width": estimate.half_width}

    ratings = fit_ratings(_table_results(plan, results), anchor)
    return {
        "players": list(players),
        "matrix": [[entry(one, other) for other in players] for one in players],
        "ratings": [rating._asdict() for rating in ratings],
    }


def _table_results(plan: Plan, results: Results) -> list[TableResult]:
    """Returns the points of all tables with different players; equal deals are one cluster."""
    found = []
    for table, hands in results.items():
        if len(set(table)) == 1:
            continue
        points = [of_sides(result, plan.rules, hand.cards)[0] for result, hand in zip(hands, plan.kinds, strict=True)]
        if plan.hands is None:
            points = [np.sum(points, axis=0)]
        found += [
            TableResult(table, array, np.arange(plan.deals) + kind * plan.deals) for kind, array in enumerate(points)
        ]
    return found

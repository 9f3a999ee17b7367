"""Results of evaluations as text for a terminal."""

from __future__ import annotations

import sys
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bluke_env import Rules
from bluke_env.evaluation import Comparison, Estimate, Evaluation
from bluke_env.evaluation.report import machine, versions
from bluke_env.evaluation.seeds import split_of

_FEW_DEALS = 30
"""With fewer what duplicate deals were worth is a guess."""


def print_results(evaluation: Evaluation) -> None:
    """Prints how it was measured and one table for each comparison."""
    plan, rules = evaluation.plan, evaluation.plan.rules
    print_setting(evaluation)
    for comparison in evaluation.comparisons:
        print(f"\n{_heading(comparison, rules)}")
        _show(_table(comparison))
        if plan.deals >= _FEW_DEALS:
            print(*_worth(comparison), sep="\n", end="")
        print(*_losses(comparison), sep="\n", end="")
    for facts in evaluation.sections.get("exploitability", []):
        print(f"exploitability of {facts['player']}: {facts['exploitability']:.4f} points of margin a hand, exactly")
    print(*_legend(evaluation), sep="\n")


def print_setting(evaluation: Evaluation) -> None:
    """Prints what was played on which machine, and what a reader of the results has to know."""
    plan, rules, facts, packages = evaluation.plan, evaluation.plan.rules, machine(), versions()
    variant = f", {rules.variant_text}" if rules.variant_text else ""
    print(
        f"{rules.num_players} players{' in two sides' if rules.teams else ''}{variant}, {plan.deals_text} × "
        f"{len(rules.sides)} rotations, {'final ' if split_of(plan.seed) == 'final' else ''}seed {plan.seed}, "
        f"{evaluation.seconds:.1f} s"
    )
    print(f"{facts['cpu']}, logical cores: {facts['logical_cores']}")
    print(", ".join(f"{name} {version or 'not installed'}" for name, version in packages.items()))
    print_notes(evaluation)


def print_notes(evaluation: Evaluation) -> None:
    """Prints what a reader of the results has to know."""
    for note in evaluation.notes:
        print(f"note: {note}")


def print_tournament(facts: dict[str, Any]) -> None:
    """Prints the matrix and the ratings of a tournament."""
    players = facts["players"]
    matrix = _new_table("")
    for number in range(1, len(players) + 1):
        matrix.add_column(str(number), justify="right", no_wrap=True)
    for number, (name, row) in enumerate(zip(players, facts["matrix"], strict=True), 1):
        cells = (f"{cell['mean']:+.2f} ± {cell['half_width']:.2f}" if cell else "" for cell in row)
        matrix.add_row(escape(f"{number} {name}"), *cells)
    _show(matrix)
    ratings = _new_table("")
    for column in ("rating", "95 %", "points", "played"):
        ratings.add_column(column, justify="right", no_wrap=True)
    for row in facts["ratings"]:
        name = f"{row['name']} (not connected)" if row["group"] else row["name"]
        interval = f"{row['low']:+.0f} to {row['high']:+.0f}"
        points = f"{row['points']:+.2f} ± {row['points_half_width']:.2f}"
        ratings.add_row(escape(name), f"{row['rating']:+.0f}", interval, points, f"{row['tables']}")
    print()
    _show(ratings)
    print("Matrix: points per hand that one of the player on the left makes among players of the column beyond what")
    print("these make in the same seats on the same deals, with 95 % intervals.")
    print("Rating: on Elo's scale, where 400 are odds of 10 to 1 to make more points at the same table; points: more")
    print("than the mean player at the same table. One fit over all tables.")


def _new_table(first: str) -> Table:
    table = Table(box=SIMPLE, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(first, no_wrap=True)
    return table


def _show(table: Table) -> None:
    """Prints a table, in a file or a pipe as wide as it is."""
    Console(width=None if sys.stdout.isatty() else 1000).print(table)


def _heading(comparison: Comparison, rules: Rules) -> str:
    seats, places = len(rules.sides[0]), len(rules.sides)
    others = list(dict.fromkeys(comparison.opponents))
    own = seats if others == [comparison.player] else seats * (places - len(comparison.opponents))
    times = "" if own == 1 else f"{own} × "
    alone = len(comparison.opponents) == places - 1 or others == [comparison.player]
    if len(others) == 1 and others[0] == comparison.baseline and alone:
        return f"{times}{comparison.player} against {rules.num_players - own} × {comparison.baseline}"
    at_table = " + ".join(f"{seats * comparison.opponents.count(other)} × {other}" for other in others)
    return f"{times}{comparison.player} among {at_table}, the baseline being {comparison.baseline}"


def _table(comparison: Comparison) -> Table:
    table = _new_table("cards")
    last = "matches won" if "match_wins" in comparison.average else "most points"
    for column in ("over same seat", "over opponents", "made", "bid", "overtricks", last):
        table.add_column(column, justify="right", no_wrap=True)
    rows = list(comparison.hands.items())
    for hand, estimates in rows:
        cards = f"{hand.cards} NT" if hand.no_trump else str(hand.cards)
        table.add_row(cards, *_figures(estimates), end_section=hand == rows[-1][0])
    table.add_row("average", *_figures(comparison.average))
    return table


def _figures(estimates: dict[str, Estimate]) -> list[str]:
    wins = estimates.get("match_wins")
    return [
        *(str(estimates[name]) for name in ("over_same_seat", "over_opponents")),
        f"{estimates['made'].mean:.1%}",
        *(f"{estimates[name].mean:.2f}" for name in ("bid", "overtricks")),
        f"{estimates['most_points'].mean:.1%}" if wins is None else share_text(wins),
    ]


def share_text(share: Estimate) -> str:
    """Returns a share with its interval."""
    low, high = share.share_interval
    if (low, high) == share.interval:
        return f"{share.mean:.1%} ± {share.half_width:.1%}"
    return f"{share.mean:.1%} ({low:.1%} to {high:.1%})"


def _worth(comparison: Comparison) -> list[str]:
    """Says what duplicate deals were worth; the last line is empty."""
    factors = [
        f"{factor:.1f} × ({name.replace('_', ' ')})"
        for name, factor in comparison.variance_reduction.items()
        if factor is not None
    ]
    return (
        [f"duplicate deals: as precise as {' and '.join(factors)} as many independent hands", ""] if factors else [""]
    )


def _losses(comparison: Comparison) -> list[str]:
    losses = (comparison.diagnostics or {}).get("losses")
    if losses is None:
        return [""]
    lost = (f"in {part} {losses[part]['mean']:.2f} ± {losses[part]['half_width']:.2f}" for part in ("bidding", "play"))
    return [f"lost against hindsight, {losses['deals']} deals of each hand size: {', '.join(lost)} points a hand", ""]


def _legend(evaluation: Evaluation) -> list[str]:
    plan = evaluation.plan
    lines = [
        f"Points per hand with 95 % intervals, the {plan.cluster} being the unit.",
        "over same seat: minus what the baseline makes there on the same deals when it sits in all seats",
        "over opponents: minus the mean of the other players at the same table",
        "made: share of hands with the bid made",
    ]
    if plan.hands is None:
        return [*lines, "matches won: ties shared"]
    lines[-1] = "made, most points: share of hands with the bid made, and with the most points (ties shared)"
    return [*lines, "NT: no card is turned up for trump"] if any(hand.no_trump for hand in plan.hands) else lines

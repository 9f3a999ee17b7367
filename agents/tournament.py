"""Everybody against everybody: `python -m agents.tournament PLAYER PLAYER ...`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import rich
from rich.box import SIMPLE
from rich.table import Table

from agents.options import PLAYER_HELP, Parser, Seats, add_game_options, add_run_options, plan_of, rules_of
from agents.session import check_files, is_first_rank, play, reporting, require, write
from bluke_env.evaluation.evaluate import evaluation_of
from bluke_env.evaluation.tournament import tournament_facts, tournament_tables

_LEGEND = """Matrix: points per hand that one of the player on the left makes among players of the column beyond what
these make in the same seats on the same deals, with 95 % intervals.
Rating: on Elo's scale, where 400 are odds of 10 to 1 to make more points at the same table; points: more than the
mean player at the same table. One fit over all tables."""


def print_tournament(facts: dict[str, Any]) -> None:
    """Prints the matrix and the ratings."""
    players = facts["players"]
    matrix = Table("", box=SIMPLE, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for number in range(1, len(players) + 1):
        matrix.add_column(str(number), justify="right")
    for number, (name, row) in enumerate(zip(players, facts["matrix"], strict=True), 1):
        matrix.add_row(
            f"{number} {name}", *(f"{cell['mean']:+.2f} ± {cell['half_width']:.2f}" if cell else "" for cell in row)
        )
    rich.print(matrix)
    ratings = Table("", box=SIMPLE, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for column in ("rating", "95 %", "points", "hands"):
        ratings.add_column(column, justify="right")
    for row in facts["ratings"]:
        name = f"{row['name']} (not connected)" if row["group"] else row["name"]
        points = f"{row['points']:+.2f} ± {row['points_half_width']:.2f}"
        ratings.add_row(
            name, f"{row['rating']:+.0f}", f"{row['low']:+.0f} to {row['high']:+.0f}", points, f"{row['tables']}"
        )
    print()
    rich.print(ratings)
    print(_LEGEND)


def _parser() -> Parser:
    parser = Parser(
        prog="python -m agents.tournament",
        allow_abbrev=False,
        description="Plays all against all on duplicate deals and rates the players by one fit over all results.",
    )
    parser.add_argument("players", metavar="PLAYER", nargs="+", help=PLAYER_HELP)
    parser.add_argument(
        "--mixed", type=int, default=20, metavar="N", help="tables of different players, drawn evenly (default: 20)"
    )
    parser.add_argument("--anchor", metavar="PLAYER", help="whose rating is 0 (default: the mean is)")
    add_game_options(parser)
    add_run_options(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line."""
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # a terminal may not know ±
    parser = _parser()
    arguments = sys.argv[1:] if arguments is None else arguments
    options = parser.parse_args(arguments)
    with reporting(parser):
        check_files(options)
        require("a rating", "choix")
        seats = Seats(options.threads, options.time_limit)
        rules = rules_of([seats(spec) for spec in options.players], options)
        if options.anchor is not None and options.anchor not in options.players:
            raise ValueError(f"--anchor is {options.anchor}, but it must be one of the players")
        plan = plan_of(rules, tournament_tables(options.players, rules, options.mixed, options.seed or 0), options)
        results, seconds = play(plan, seats, options)
        evaluation = evaluation_of(plan, results, [], seats, seconds)
        who = {player.name: player for player in evaluation.players}
        facts = tournament_facts(plan, results, options.players, who, options.anchor)
        evaluation = replace(evaluation, sections={"tournament": facts})
    if not is_first_rank():
        return
    try:
        write(evaluation, options, [parser.prog, *arguments])
    except OSError as error:
        parser.error(str(error))
    finally:
        print(f"{len(options.players)} players, {len(plan.tables)} tables, {plan.deals_text}, {seconds:.1f} s\n")
        print_tournament(facts)


if __name__ == "__main__":
    main()

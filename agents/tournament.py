"""Everybody against everybody: `python -m agents.tournament PLAYER PLAYER ...`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from agents.options import PLAYER_HELP, Parser, Seats, add_game_options, add_run_options, plan_of, rules_of
from agents.session import check_files, is_first_rank, play, reporting, require, write
from agents.terminal import print_setting, print_tournament
from bluke_env.evaluation.evaluate import evaluation_of
from bluke_env.evaluation.tournament import tournament_facts, tournament_tables


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
        write(evaluation, options, [parser.prog, *arguments], "Tournament")
    except OSError as error:
        parser.error(str(error))
    finally:
        print(f"{len(options.players)} contestants at {len(plan.tables)} tables:", end=" ")
        print_setting(evaluation)
        print()
        print_tournament(facts)


if __name__ == "__main__":
    main()

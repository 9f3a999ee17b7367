"""Measures a checkpoint or a bot against others: `python -m agents.evaluate PLAYER --against random rule`."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agents.options import (
    GAME_OPTIONS,
    PLAYER_HELP,
    Parser,
    Seats,
    add_game_options,
    add_run_options,
    plan_of,
    rules_of,
)
from agents.session import check_files, is_first_rank, play, reporting, write
from agents.terminal import print_results
from bluke_env import Agent, Rules
from bluke_env.evaluation import Evaluation, Pairing, Plan
from bluke_env.evaluation.evaluate import evaluation_of, losses_of, played, tables_of
from bluke_env.evaluation.exploitability import exploitability_facts
from bluke_env.evaluation.measure import named
from bluke_env.evaluation.plan import scheduled_times
from bluke_env.evaluation.small_game import SmallGame
from bluke_env.evaluation.statistics import MIN_DEALS
from bluke_env.evaluation.tabular import TabularPolicy
from bluke_env.evaluation.tasks import SEED, TASKS
from bluke_env.rules import checked_rules


def compare(
    player: Agent,
    opponents: Sequence[Agent],
    rules: Rules,
    deals: int,
    seed: int,
    *,
    sizes: Sequence[int] | None = None,
    reverse: bool = False,
    matches: bool = False,
) -> Evaluation:
    """Measures a player against each of several opponents on the same duplicate deals.

    Args:
        player: Sits in one seat.
        opponents: Each in turn takes all other seats, and is the baseline.
        rules: Of the tables; their schedule says which kinds of hands are played.
        deals: Deals for each kind of hand, or matches.
        seed: Of the deals and of players that draw lots.
        sizes: Only hands of so many cards; all of the schedule by default.
        reverse: Also measure one of each opponent among several of the player.
        matches: Whether whole matches are played in place of single hands.

    Raises:
        ValueError: An argument is invalid, or a player plays other games.
        AgentError: A player failed at the table.
    """
    checked_rules(rules)
    if isinstance(opponents, str) or not isinstance(opponents, Sequence) or not opponents:
        raise ValueError(f"opponents is {opponents!r}, but it must be a list of agents, one or more")
    agents = named([player, *opponents])
    names = {id(agent): name for name, agent in agents.items()}
    pairings = pairs(names[id(player)], [names[id(opponent)] for opponent in opponents], rules, reverse)
    plan = Plan(rules, tables_of(pairings), None if matches else tuple(scheduled_times(rules, sizes)), deals, seed)
    start = time.perf_counter()
    results = played(plan, agents.__getitem__)
    return evaluation_of(plan, results, pairings, agents.__getitem__, time.perf_counter() - start)


def pairs(player: str, opponents: Sequence[str], rules: Rules, reverse: bool) -> list[Pairing]:
    """Returns the comparisons of one player among each kind of opponents, and of one of those among several of it."""
    both = [(player, opponent) for opponent in opponents]
    if reverse:
        both = [pair for one, other in both for pair in dict.fromkeys([(one, other), (other, one)])]
    return [Pairing.one_among(one, other, len(rules.sides)) for one, other in both]


def _parser() -> Parser:
    parser = Parser(
        prog="python -m agents.evaluate",
        allow_abbrev=False,  # a report names the options as they were given
        description="Measures a player against others on duplicate deals, rotated through all seats.",
    )
    parser.add_argument("player", metavar="PLAYER", nargs="?", help=PLAYER_HELP)
    parser.add_argument(
        "--against",
        nargs="+",
        metavar="PLAYER",
        help="who takes all other seats, in turn (default: random rule)",
    )
    parser.add_argument("--reverse", action="store_true", help="also measure one opponent among several PLAYERs")
    parser.add_argument(
        "--table", nargs="+", metavar="PLAYER", help="instead: any mix of players, one for each seat (or side)"
    )
    parser.add_argument("--baseline", metavar="PLAYER", help="of such a --table (default: rule)")
    parser.add_argument("--task", choices=TASKS, metavar="NAME", help=f"instead: a benchmark task, {', '.join(TASKS)}")
    parser.add_argument(
        "--losses",
        type=int,
        default=0,
        metavar="DEALS",
        help="also find out what is lost in bidding and in play, in so many deals of each hand size",
    )
    parser.add_argument(
        "--exploitability",
        action="store_true",
        help="also find out how far players of a small game are from unbeatable",
    )
    add_game_options(parser)
    add_run_options(parser)
    return parser


def _asked(options: Any, seats: Seats) -> tuple[Plan, list[Pairing]]:
    """Returns what a command line asks to play and to compare."""
    if options.task is not None:
        for name in (*GAME_OPTIONS, "against", "reverse"):
            if getattr(options, name) is not None and getattr(options, name) is not False:
                option = f"--{name.replace('_', '-')}"
                raise ValueError(f"{option} cannot be chosen: the task {options.task} fixes what is played")
        return task_plan(options.task, options.player, seats)
    if options.table and (options.against or options.reverse):
        raise ValueError("--against and --reverse go with a PLAYER, not with a --table")
    if options.baseline and not options.table:
        raise ValueError("--baseline goes with a --table: a PLAYER is compared with those it plays against")
    others = options.against or [name for name in ("random", "rule") if name != options.player]
    specs = options.table or [options.player, *others]
    rules = rules_of([seats(spec) for spec in specs], options)
    if options.table:
        table = tuple(options.table)
        pairings = [Pairing(player, table, options.baseline or "rule") for player in dict.fromkeys(table)]
    else:
        pairings = pairs(specs[0], specs[1:], rules, options.reverse)
    return plan_of(rules, tables_of(pairings), options), pairings


def task_plan(name: str, player: str, seats: Seats) -> tuple[Plan, list[Pairing]]:
    """Returns what a benchmark task asks to play and to compare.

    Raises:
        ValueError: This package has another version of the task's opponent.
    """
    task = TASKS[name]
    opponent, version = task.opponent
    if getattr(seats(opponent), "version", None) != version:
        raise ValueError(f"the task {name} is against version {version} of {opponent}, which this package lacks")
    pairings = pairs(player, [opponent], task.rules, False)
    hands = None if task.matches else tuple(scheduled_times(task.rules, task.sizes))
    return Plan(task.rules, tables_of(pairings), hands, task.deals, SEED), pairings


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line."""
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # a terminal may not know × and ±
    parser = _parser()
    arguments = sys.argv[1:] if arguments is None else arguments
    options = parser.parse_args(arguments)
    with reporting(parser):
        if (options.player is None) == (options.table is None):
            raise ValueError("give either a PLAYER or a --table")
        check_files(options)
        seats = Seats(options.threads, options.time_limit)
        plan, pairings = _asked(options, seats)
        if options.losses and options.losses < MIN_DEALS:
            raise ValueError(f"--losses is {options.losses}, but it must be 0 or at least {MIN_DEALS} deals")
        # What can fail comes before the play, so that nothing played is lost.
        losses = {pairing: losses_of(plan, pairing, seats, options.losses) for pairing in pairings if options.losses}
        sections = {}
        if options.exploitability:
            game, measured = SmallGame(plan.rules), dict.fromkeys(pairing.player for pairing in pairings)
            policies = {name: TabularPolicy.of_agent(game, seats(name)) for name in measured}
            sections["exploitability"] = exploitability_facts(policies)
        results, seconds = play(plan, seats, options)
        evaluation = evaluation_of(plan, results, pairings, seats, seconds, losses)
        evaluation = replace(evaluation, sections=sections)
    if not is_first_rank():
        return
    try:
        write(evaluation, options, [parser.prog, *arguments])
    except OSError as error:
        parser.error(str(error))
    finally:
        print_results(evaluation)


if __name__ == "__main__":
    main()

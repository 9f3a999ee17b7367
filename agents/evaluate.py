"""Measures a checkpoint or a bot against others: `python -m agents.evaluate PLAYER --against random rule`."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import rich
from rich.box import SIMPLE
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import agents
from bluke_env import Agent, Rules, bots
from bluke_env.bots.search import SearchBot
from bluke_env.cards import NUM_CARDS
from bluke_env.errors import checked_integer, checked_seed
from bluke_env.evaluation import AgentError, Comparison, Estimate, Evaluation, measure, write_json
from bluke_env.evaluation.measure import scheduled_times
from bluke_env.evaluation.report import machine, versions
from bluke_env.evaluation.statistics import MIN_DEALS
from bluke_env.rules import PRESETS

_LEGEND = """Points per hand with 95 % intervals, the deal being the unit.
over same seat: minus what the opponent makes there on the same deals when it sits in all seats
over opponents: minus their mean at the same table
made, most points: share of hands with the bid made, and with the most points (ties shared)
NT: no card is turned up for trump"""


def compare(
    player: Agent,
    opponents: Sequence[Agent],
    rules: Rules,
    deals: int,
    seed: int,
    *,
    sizes: Sequence[int] | None = None,
    reverse: bool = False,
) -> Evaluation:
    """Measures a player against each of several opponents on the same duplicate deals.

    Args:
        player: Sits in one seat.
        opponents: Each in turn takes all other seats.
        rules: Of the tables; their schedule says which kinds of hands are played.
        deals: Deals for each kind of hand.
        seed: Of the deals and of players that draw lots.
        sizes: Only hands of so many cards; all of the schedule by default.
        reverse: Also measure one of each opponent among several of the player.

    Raises:
        ValueError: An argument is invalid, or a player plays with another number of players.
        AgentError: A player failed at the table.
    """
    seed = checked_seed(seed)
    if sizes is not None:
        sizes = [checked_integer("a hand size", size, 1, NUM_CARDS) for size in sizes]
    pairs = [(player, opponent) for opponent in opponents]
    if reverse:
        pairs = [pair for one, other in pairs for pair in dict.fromkeys([(one, other), (other, one)])]
    start = time.perf_counter()
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("evaluating", total=len(pairs) * len(scheduled_times(rules, sizes)))
        comparisons = tuple(
            measure(one, other, rules, deals, seed, sizes=sizes, on_hand=lambda: progress.advance(task))
            for one, other in pairs
        )
    return Evaluation(rules, deals, seed, comparisons, time.perf_counter() - start)


def print_results(evaluation: Evaluation) -> None:
    """Prints how it was measured and one table for each comparison."""
    rules = evaluation.rules
    facts, packages = machine(), versions()
    print(
        f"{rules.num_players} players{' in two sides' if rules.teams else ''}, {evaluation.deals} deals of each hand "
        f"size × {len(rules.sides)} rotations, seed {evaluation.seed}, {evaluation.seconds:.1f} s"
    )
    print(f"{facts['cpu']}, logical cores: {facts['logical_cores']}")
    print(", ".join(f"{name} {version or 'not installed'}" for name, version in packages.items()))
    for comparison in evaluation.comparisons:
        own = len(rules.sides[0])
        times = "" if own == 1 else f"{own} × "
        print(f"\n{times}{comparison.player} against {rules.num_players - own} × {comparison.opponent}")
        rich.print(_table(comparison))
    print(_LEGEND)


def _table(comparison: Comparison) -> Table:
    table = Table("cards", box=SIMPLE, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for column in ("over same seat", "over opponents", "made", "bid", "overtricks", "most points"):
        table.add_column(column, justify="right")
    rows = list(comparison.hands.items())
    for hand, estimates in rows:
        cards = f"{hand.cards} NT" if hand.no_trump else str(hand.cards)
        table.add_row(cards, *_figures(estimates), end_section=hand == rows[-1][0])
    table.add_row("average", *_figures(comparison.average))
    return table


def _figures(estimates: dict[str, Estimate]) -> list[str]:
    return [
        *(
            f"{estimates[name].mean:+.2f} ± {estimates[name].half_width:.2f}"
            for name in ("over_same_seat", "over_opponents")
        ),
        f"{estimates['made'].mean:.1%}",
        *(f"{estimates[name].mean:.2f}" for name in ("bid", "overtricks")),
        f"{estimates['most_points'].mean:.1%}",
    ]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Ends the program with the message alone; the options are for --help to list."""
        self.exit(2, f"{self.prog}: error: {message}\n")


def _parser() -> _Parser:
    parser = _Parser(
        prog="python -m agents.evaluate",
        description="Measures a player against others on duplicate deals, rotated through all seats.",
    )
    known = ", ".join(bots.BOTS)
    parser.add_argument("player", metavar="PLAYER", help=f"the path of a checkpoint, or a bot: {known}")
    parser.add_argument(
        "--against",
        nargs="+",
        metavar="PLAYER",
        default=["random", "rule"],
        help="who takes all other seats, in turn (default: random rule)",
    )
    parser.add_argument("--deals", type=int, default=1000, help="deals for each hand size (default: 1000)")
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the deals and of players that draw lots (default: 0)"
    )
    parser.add_argument("--preset", choices=PRESETS, help="the game (default: the checkpoint's, or bluke)")
    parser.add_argument("--num-players", type=int, help="seats (default: the checkpoint's, or 4)")
    parser.add_argument(
        "--schedule",
        metavar="TEXT",
        help="hands of the match, such as 13-1-13, 5 or extended (default: the game's own)",
    )
    parser.add_argument("--min-bid", type=int, help="the lowest bid, 0 or 1 (default: the checkpoint's, or 1)")
    parser.add_argument(
        "--sizes", nargs="+", type=int, metavar="CARDS", help="hand sizes (default: all of the schedule)"
    )
    parser.add_argument("--reverse", action="store_true", help="also measure one opponent among several PLAYERs")
    parser.add_argument("--threads", type=int, default=1, help="threads for bots that search (default: 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all results to this file")
    return parser


def load_player(spec: str) -> Agent:
    """Returns the checkpoint at a path, or else the bot of that name.

    Raises:
        ValueError: It is neither, or PyTorch is missing.
    """
    known = spec.partition(":")[0] in bots.BOTS
    if known or (not spec.endswith(".pt") and not Path(spec).exists()):
        return bots.make(spec)
    try:
        return agents.load(spec)
    except ModuleNotFoundError as error:
        raise ValueError(f"loading the checkpoint {spec} needs {error.name}: pip install 'bluke-env[train]'") from error


def _rules(players: Sequence[Agent], options: Any) -> Rules:
    """Returns the rules of the first player that has some of its own, changed as the command line asks."""
    known = (getattr(player, "rules", None) for player in players)
    rules = next((rules for rules in known if rules is not None), Rules())
    if options.preset is not None:
        seats = {} if options.num_players is None else {"num_players": options.num_players}
        rules = Rules.preset(options.preset, **seats)
    if options.num_players is not None and options.num_players != rules.num_players:
        rules = replace(rules, num_players=options.num_players, schedule=None, most_cards=None)
    if options.schedule is not None:
        rules = replace(rules, schedule=options.schedule, most_cards=None)
    return rules if options.min_bid is None else replace(rules, min_bid=options.min_bid)


def _check_writable(path: Path) -> None:
    if not path.parent.is_dir() or (path.exists() and not path.is_file()):
        raise ValueError(f"{path} cannot be written: give a file in a folder that exists")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line."""
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # a terminal may not know × and ±
    parser = _parser()
    arguments = sys.argv[1:] if arguments is None else arguments
    options = parser.parse_args(arguments)
    try:
        evaluation = _evaluate(options)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    except AgentError as error:
        if error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
        parser.exit(1, f"{parser.prog}: {error}\n")
    try:
        if options.json is not None:
            write_json(options.json, {"command": [parser.prog, *arguments], **evaluation.to_dict()})
    except OSError as error:
        parser.error(f"{options.json} could not be written: {error.strerror}")
    finally:
        print_results(evaluation)


def _evaluate(options: Any) -> Evaluation:
    if options.deals < MIN_DEALS:
        raise ValueError(
            f"--deals is {options.deals}, but an interval needs at least {MIN_DEALS} deals of each hand size"
        )
    if options.json is not None:
        _check_writable(options.json)
    specs = [options.player, *options.against]
    loaded = {spec: load_player(spec) for spec in specs}
    for player in loaded.values():
        if isinstance(player, SearchBot):
            player.num_threads = checked_integer("--threads", options.threads, 1, 1024)
    players = [loaded[spec] for spec in specs]
    rules = _rules(players, options)
    return compare(
        players[0],
        players[1:],
        rules,
        options.deals,
        checked_seed(options.seed),
        sizes=options.sizes,
        reverse=options.reverse,
    )


if __name__ == "__main__":
    main()

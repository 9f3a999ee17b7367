"""The options that the command lines of evaluation have in common, and what they mean."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

import agents
from bluke_env import Agent, Rules, bots
from bluke_env.bots.search import SearchBot
from bluke_env.cards import NUM_CARDS
from bluke_env.errors import checked_integer, checked_seed
from bluke_env.evaluation import Plan, players
from bluke_env.evaluation.duplicate import GAMES_AT_ONCE
from bluke_env.evaluation.plan import scheduled_times
from bluke_env.evaluation.seeds import FINAL_SEEDS
from bluke_env.evaluation.statistics import MIN_DEALS
from bluke_env.rules import BLUKE_LEADS, PRESETS

PLAYER_HELP = (
    f"a bot ({', '.join(bots.BOTS)}, with options such as pimc:worlds=100), a network that comes with the project "
    f"({', '.join(agents.pretrained())}), the path of a checkpoint, net-search:CHECKPOINT,worlds=N for a search on top "
    "of one, or module:make for what a Python function makes"
)


NET_SEARCH = "net-search"
"""The kind of player of `agents.search`."""

_MOST_SECONDS = 1_000_000

GAME_OPTIONS = (
    "preset", "num_players", "schedule", "min_bid", "bluke_lead", "sizes", "matches", "deals", "seed", "final",
)  # fmt: skip
"""The options of `add_game_options`; each is empty where the command line does not give it."""


class Parser(argparse.ArgumentParser):
    """Reads a command line and refuses a wrong one in a sentence."""

    def error(self, message: str) -> NoReturn:
        """Ends the program with the message alone; the options are for --help to list."""
        self.exit(2, f"{self.prog}: error: {message}\n")


def add_game_options(parser: Parser) -> None:
    """Adds the options that say what is played."""
    parser.add_argument(
        "--preset", choices=PRESETS, help="the game (default: that of the first checkpoint named, or bluke)"
    )
    # Settings of training are named with underscores; here they may be, too.
    parser.add_argument(
        "--num-players", "--num_players", type=int, metavar="N", help="seats (default: the checkpoint's, or 4)"
    )
    parser.add_argument(
        "--schedule",
        metavar="TEXT",
        help="hands of the match, such as 13-1-13, 5 or extended (default: the game's own)",
    )
    parser.add_argument(
        "--min-bid",
        "--min_bid",
        type=int,
        metavar="N",
        help="the lowest bid, 0 or 1 (default: the checkpoint's, or the preset's)",
    )
    parser.add_argument(
        "--bluke-lead",
        "--bluke_lead",
        metavar="WHAT",
        help=f"what a Bluke lead asks for, {' or '.join(BLUKE_LEADS)}, "
        "and in Back Alley high_low (default: the checkpoint's, or the preset's)",
    )
    parser.add_argument(
        "--sizes", nargs="+", type=int, metavar="CARDS", help="hand sizes (default: all of the schedule)"
    )
    parser.add_argument("--matches", action="store_true", help="play whole matches instead of single hands")
    parser.add_argument("--deals", type=int, help="deals for each hand size, or with --matches matches (default: 1000)")
    parser.add_argument("--seed", type=int, help="of the deals and of players that draw lots (default: 0)")
    parser.add_argument(
        "--final",
        action="store_true",
        help="take the deals of that seed that are for final numbers, not for development",
    )


def add_run_options(parser: Parser) -> None:
    """Adds the options that say how it is played and where the results go."""
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes (default: 1)")
    parser.add_argument(
        "--games-at-once", type=int, default=GAMES_AT_ONCE, metavar="N", help=f"in a process (default: {GAMES_AT_ONCE})"
    )
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="for bots that search (default: 1)")
    parser.add_argument(
        "--time-limit",
        type=float,
        default=players.TIME_LIMIT,
        metavar="S",
        help="seconds for a decision of a module:make (default: %(default)g)",
    )
    parser.add_argument(
        "--results", type=Path, metavar="FOLDER", help="keep results there as they come, and take those that are there"
    )
    parser.add_argument("--part", metavar="K/N", help="play only part K of N, into --results, and stop")
    parser.add_argument("--merge", nargs="+", type=Path, default=[], metavar="FOLDER", help="first copy their results")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all results to this file")
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write a report as one page")
    parser.add_argument("--title", metavar="TEXT", help="of the page")


@dataclass
class Seats:
    """Gives the player of a name, each made once; processes that get a copy make their own.

    Attributes:
        threads: For bots that search.
        time_limit: Seconds for a decision of a player that a Python function makes.
    """

    threads: int = 1
    time_limit: float = players.TIME_LIMIT
    _made: dict[str, Agent] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checked_integer("--threads", self.threads, 1, 1024)
        if not 0 < self.time_limit <= _MOST_SECONDS:
            raise ValueError(f"--time-limit is {self.time_limit:g}, but it must be above 0, up to {_MOST_SECONDS}")

    def __call__(self, spec: str) -> Agent:
        """Returns the player of a name."""
        if spec not in self._made:
            player = load_player(spec)
            if isinstance(player, SearchBot):
                player.num_threads = self.threads
            if isinstance(player, players.FactoryAgent):
                player.time_limit = self.time_limit
            self._made[spec] = player
        return self._made[spec]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": {}}


def load_player(spec: str) -> Agent:
    """Returns the checkpoint at a path, a search on top of one, a bot, or what a Python function makes.

    Raises:
        ValueError: It is none of them, or PyTorch is missing.
    """
    kind = spec.partition(":")[0]
    searches = kind == NET_SEARCH
    checkpoint = spec in agents.pretrained() or spec.endswith(".pt") or Path(spec).exists()
    if kind in bots.BOTS or (":" in spec and not (searches or checkpoint)):
        return players.load_player(spec)
    if not (searches or checkpoint):
        raise ValueError(
            f"there is no bot {spec!r}: the bots are {', '.join(bots.BOTS)}, the networks "
            f"{', '.join(agents.pretrained())}, and a checkpoint is named by its path"
        )
    try:
        import torch

        # More threads add up in another order, and results are to be the same on every machine.
        torch.set_num_threads(1)
        if searches:
            from agents.search import load_search

            return load_search(spec)
        return agents.load(spec)
    except ModuleNotFoundError as error:
        raise ValueError(f"loading the checkpoint {spec} needs {error.name}: pip install 'bluke-env[train]'") from error


def rules_of(seated: Sequence[Agent], options: Any) -> Rules:
    """Returns the rules of the first player that has some of its own, changed as the command line asks."""
    known = (getattr(player, "rules", None) for player in seated)
    rules = next((rules for rules in known if rules is not None), Rules())
    if options.preset is not None:
        seats = {} if options.num_players is None else {"num_players": options.num_players}
        rules = Rules.preset(options.preset, **seats)
    if options.num_players is not None and options.num_players != rules.num_players:
        rules = replace(rules, num_players=options.num_players, schedule=None, most_cards=None)
    if options.schedule is not None:
        rules = replace(rules, schedule=options.schedule, most_cards=None)
    asked = {name: getattr(options, name) for name in ("min_bid", "bluke_lead")}
    return replace(rules, **{name: value for name, value in asked.items() if value is not None})


def plan_of(rules: Rules, tables: Sequence[tuple[str, ...]], options: Any) -> Plan:
    """Returns the plan that a command line asks for.

    Raises:
        ValueError: An option is invalid.
    """
    deals = 1000 if options.deals is None else options.deals
    if deals < MIN_DEALS:
        kind = "matches" if options.matches else "deals of each hand size"
        raise ValueError(f"--deals is {deals}, but an interval needs at least {MIN_DEALS} {kind}")
    if options.matches and options.sizes is not None:
        raise ValueError("--sizes goes with single hands, not with --matches: change the --schedule of the match")
    seed = checked_seed(options.seed or 0)
    if options.final:
        seed = FINAL_SEEDS[checked_integer("--seed with --final", seed, 0, len(FINAL_SEEDS) - 1)]
    sizes = options.sizes
    if sizes is not None:
        sizes = [checked_integer("a hand size", size, 1, NUM_CARDS) for size in sizes]
    hands = None if options.matches else tuple(scheduled_times(rules, sizes))
    return Plan(rules, tuple(tables), hands, deals, seed)

"""How fast an evaluation is, and how much of its time is not the players' own: `python -m benchmarks.evaluation`."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from agents.options import Seats
from benchmarks import timing
from bluke_env import Agent, Rules, Turn, bots
from bluke_env.evaluation import Pairing, Plan
from bluke_env.evaluation.evaluate import played
from bluke_env.schedule import ScheduledHand

DEALS = 10_000
PLAYER, OPPONENT = "rule", "random"


class Timed:
    """A player that counts the seconds it takes."""

    def __init__(self, player: Agent) -> None:
        self.player, self.name, self.seconds = player, player.name, 0.0

    def reset(self, num_games: int, seed: int) -> None:
        """Starts the player afresh."""
        self.player.reset(num_games, seed)

    def act(self, turn: Turn) -> np.ndarray:
        """Returns what the player answers."""
        start = time.perf_counter()
        actions = self.player.act(turn)
        self.seconds += time.perf_counter() - start
        return actions


def plan(deals: int, seed: int) -> Plan:
    """One player among three opponents and the baseline, hands of 13 cards of four players."""
    tables = Pairing.one_among(PLAYER, OPPONENT, 4).tables
    return Plan(Rules(), tables, (ScheduledHand(13),), deals, seed)


def evaluation(deals: int, seed: int, workers: int) -> Callable[[], int]:
    """Returns a function that plays it all and says how many deals it was."""

    def chunk() -> int:
        played(plan(deals, seed), Seats(), workers=workers)
        return deals

    return chunk


def overhead(deals: int, seed: int) -> float:
    """Returns the time that is not the players' own over the time that is."""
    players = {name: Timed(bots.make(name)) for name in (PLAYER, OPPONENT)}
    played(plan(3, seed), players.__getitem__)
    for player in players.values():
        player.seconds = 0.0
    start = time.perf_counter()
    played(plan(deals, seed), players.__getitem__)
    own = sum(player.seconds for player in players.values())
    return (time.perf_counter() - start - own) / own


def main() -> None:
    """Measures a whole evaluation on one and on two processes, and the protocol's share."""
    parser = timing.parser("How fast an evaluation is on this machine.")
    parser.add_argument("--deals", type=int, default=DEALS, help="deals of an evaluation")
    arguments = parser.parse_args()
    timing.print_machine(2)

    options = {"seconds": arguments.seconds, "repeats": arguments.repeats}
    rates = [
        timing.measure(
            f"{PLAYER} against {OPPONENT}, {workers} process(es)",
            "deals",
            evaluation(arguments.deals, arguments.seed, workers),
            **options,
        )
        for workers in (1, 2)
    ]
    timing.print_rates(rates)
    print(f"time beside the players' own: {overhead(arguments.deals, arguments.seed):.1%} of it")
    if arguments.json:
        timing.write_json(arguments.json, rates, threads=2)


if __name__ == "__main__":
    main()

"""The table of docs/benchmark.md, players on the benchmark tasks: `python -m benchmarks.tasks random rule`."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from agents.evaluate import task_plan
from agents.options import PLAYER_HELP, Seats
from agents.terminal import share_text
from bluke_env.evaluation import ResultStore
from bluke_env.evaluation.evaluate import evaluation_of, played
from bluke_env.evaluation.measure import Participant
from bluke_env.evaluation.tasks import TASKS


def row(name: str, player: str, seats: Seats, folder: Path, workers: int) -> str:
    """Plays a task and returns its row: task, player, points over the same seat and over the opponents, and more."""
    plan, pairings = task_plan(name, player, seats)
    store = ResultStore(folder / name, plan, lambda spec: repr(tuple(Participant.of(spec, seats(spec)))))
    start = time.perf_counter()
    results = played(plan, seats, workers=workers, store=store)
    seconds = time.perf_counter() - start
    average = evaluation_of(plan, results, pairings, seats, seconds).comparisons[0].average
    figures = [
        f"{average[statistic].mean:+.2f} ± {average[statistic].half_width:.2f}"
        for statistic in ("over_same_seat", "over_opponents")
    ]
    wins = average.get("match_wins")
    won = "" if wins is None else share_text(wins)
    cells = [f"`{name}`", f"`{player}`", *figures, f"{100 * average['made'].mean:.1f} %", won, f"{seconds:.0f} s"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Plays all tasks that are asked for and prints a row for each player that can play them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("players", nargs="+", metavar="PLAYER", help=PLAYER_HELP)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS), help="default: all")
    parser.add_argument("--results", type=Path, default=Path("runs/tasks"), help="folder for what was played")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    arguments = parser.parse_args()
    seats = Seats()
    print("| task | player | over same seat | over opponents | made | matches won | time |")
    print("|---|---|---|---|---|---|---|")
    for name in arguments.tasks:
        for player in arguments.players:
            try:
                print(row(name, player, seats, arguments.results, arguments.workers), flush=True)
            except ValueError as error:
                print(f"{name}: {error}", flush=True)


if __name__ == "__main__":
    main()

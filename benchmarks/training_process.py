"""One of the processes whose training `benchmarks.training` measures; `torchrun` starts them."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from agents.config import TrainConfig
from agents.learner import Learner

WARM_UP, ITERATIONS = 2, 4
"""Iterations before the measurement, and in it: a fixed number, so that all processes play the same hand sizes."""

PARTS = ("rollout", "network", "update")


@dataclass(frozen=True)
class Speed:
    """How fast one run was.

    Attributes:
        rate: Decisions per second of all processes together, forced moves among them.
        shares: The share of the first process's time that each of `PARTS` took; it waits for the others in the update.
        first_call: Seconds of the first iteration, compilation included.
    """

    rate: float
    shares: dict[str, float]
    first_call: float


def speed(learner: Learner, seconds: float) -> Speed:
    """Trains for a number of iterations, and again until so many seconds have passed, by this process's clock.

    The processes agree about when that is.
    """
    warm_up = [learner.iterate()["seconds"] for _ in range(WARM_UP)]
    before, rows, elapsed = learner.progress.decisions, [], 0.0
    started = time.perf_counter()
    while elapsed < seconds:
        rows += [learner.iterate() for _ in range(ITERATIONS)]
        elapsed = learner.ranks.joined([time.perf_counter() - started])[0]
    shares = {part: float(np.mean([row[f"{part}_share"] for row in rows])) for part in PARTS}
    return Speed((learner.progress.decisions - before) / elapsed, shares, warm_up[0])


def main() -> None:
    """Measures, and writes what the first process found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config", type=Path, help="JSON file of the settings")
    parser.add_argument("seconds", type=float, help="least duration of the measurement")
    parser.add_argument("result", type=Path, help="file for the result, which is JSON too")
    arguments = parser.parse_args()
    learner = Learner(TrainConfig.from_dict(json.loads(arguments.config.read_text(encoding="utf-8"))))
    measured = speed(learner, arguments.seconds)
    if learner.ranks.is_first:
        arguments.result.write_text(json.dumps(asdict(measured)), encoding="utf-8")
    learner.ranks.close()


if __name__ == "__main__":
    main()

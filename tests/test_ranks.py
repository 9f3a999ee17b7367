"""Several processes that share a run give what one gives."""

import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from evaluation_runs import TORCHRUN
from tiny_runs import ROOT, TIMES, TINY, environment, options, python, rows_of, same, without_notice

from agents import checkpoint
from agents.config import TrainConfig
from agents.learner import Learner
from agents.ranks import Ranks

SHARED = {"iterations": 2, "sizes_per_iteration": 4, "hands_per_size": 16, "epochs": 2, "seed": 3}
VARIANTS: dict[str, dict[str, Any]] = {
    "the default": {},
    "past networks and an average": {"past_share": 0.5, "past_every": 1, "average": 0.9, "hands_per_size": 32},
    "Back Alley": {"preset": "back_alley", "bids": "policy", "critic": "points", "critic_sizes": (8,), "kl": 0.1},
    "a minibatch for all": {"minibatch_size": 1 << 20},
    "a last minibatch of little": {"minibatch_size": 100},
}


class Meeting:
    """Where threads that stand for processes exchange what they have."""

    def __init__(self, count: int) -> None:
        self.open, self.shares = False, [None] * count
        self._barrier = threading.Barrier(count)

    def exchange(self, index: int, own: Any) -> list[Any]:
        """Returns what all of them gave, by rank; alone, before it opens, as if all gave the same."""
        if not self.open:
            return [own] * len(self.shares)
        self.shares[index] = own
        self._barrier.wait(120)
        everything = list(self.shares)
        self._barrier.wait(120)
        return everything


class Thread(Ranks):
    """One of several processes, played by a thread."""

    def __init__(self, index: int, meeting: Meeting) -> None:
        self.index, self.count, self._meeting = index, len(meeting.shares), meeting

    def joined(self, own: Sequence[float]) -> list[float]:
        return [number for numbers in zip(*self._meeting.exchange(self.index, own), strict=True) for number in numbers]

    def add(self, tensor: torch.Tensor) -> None:
        tensor.copy_(sum(self._meeting.exchange(self.index, tensor.clone())))


def shared(config: TrainConfig, count: int) -> list[tuple[Learner, list[dict[str, float]]]]:
    """Trains in so many threads; returns what each of them learned and told."""
    meeting = Meeting(count)
    made = [(Learner(config, ranks=Thread(index, meeting)), []) for index in range(count)]
    meeting.open = True

    def run(learner: Learner, rows: list[dict[str, float]]) -> None:
        rows += [learner.iterate() for _ in range(config.iterations)]

    threads = [threading.Thread(target=run, args=arguments) for arguments in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return made


def told(rows: list[dict[str, float]]) -> list[dict[str, float]]:
    """Rows without what depends on the machine."""
    return [{name: value for name, value in row.items() if name not in TIMES} for row in rows]


@pytest.mark.parametrize("case", VARIANTS)
def test_two_processes_are_one(case: str) -> None:
    """Bit for bit: the sum of two gradients does not depend on their order."""
    config = TrainConfig(**(TINY | SHARED | VARIANTS[case]))
    alone = Learner(config)
    rows = told([alone.iterate() for _ in range(config.iterations)])
    both = shared(config, 2)
    for learner, its_rows in both:
        assert torch.equal(learner.weights.vector, alone.weights.vector)
        assert same([learner.past[key] for key in learner.past], [alone.past[key] for key in alone.past])
        assert len(its_rows) == config.iterations
        for one, other in zip(told(its_rows), rows, strict=True):
            assert one == pytest.approx(other, rel=1e-9, abs=1e-12)
    first, second = (told(its_rows) for _, its_rows in both)
    assert first == second


def test_more_processes_than_two_are_nearly_one() -> None:
    """The order in which gradients are added up, and it alone, may differ."""
    config = TrainConfig(**(TINY | SHARED | {"shards": 4}))
    alone = Learner(config)
    for _ in range(config.iterations):
        alone.iterate()
    for learner, _ in shared(config, 4):
        torch.testing.assert_close(learner.weights.vector, alone.weights.vector, rtol=0, atol=1e-4)


def test_numbers_of_processes_come_in_the_order_of_their_items() -> None:
    """Item i is that of rank i modulo the number of ranks."""
    meeting, found = Meeting(3), {}
    meeting.open = True

    def run(ranks: Ranks) -> None:
        found[ranks.index] = ranks.own(range(6)), ranks.joined([10 * item for item in ranks.own(range(6))])

    threads = [threading.Thread(target=run, args=[Thread(index, meeting)]) for index in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {index: own for index, (own, _) in found.items()} == {0: [0, 3], 1: [1, 4], 2: [2, 5]}
    assert all(joined == [0, 10, 20, 30, 40, 50] for _, joined in found.values())


# Real processes.

SCRIPT = ROOT / "train.py"


@pytest.mark.slow
def test_torchrun_with_two_processes_gives_what_one_gives(tmp_path: Path) -> None:
    settings = SHARED | {"num_players": (3, 15), "bot": "random", "live_minutes": 1e-9, "live_deals": 3}
    settings |= {"live_against": ("random",), "average": 0.9}
    printed = {}
    for name, program in (("one", ()), ("two", TORCHRUN)):
        done = python(*program, SCRIPT, *options(**settings, run_dir=name), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        printed[name] = done.stdout
    assert "1 process(es)" in printed["one"]
    assert "2 process(es)" in printed["two"]
    assert printed["two"].count(" weights, ") == printed["two"].count("before training") == 1
    assert rows_of(tmp_path / "one") == rows_of(tmp_path / "two")
    one, two = (checkpoint.read(tmp_path / name / "checkpoint.pt") for name in ("one", "two"))
    assert torch.equal(one["weights"], two["weights"])
    assert same(list(one["network"].values()), list(two["network"].values()))
    torch.testing.assert_close(one["optimizer"]["state"], two["optimizer"]["state"], rtol=0, atol=0)
    curves = [(tmp_path / name / "curve.csv").read_text().splitlines() for name in ("one", "two")]
    without_seconds = [[line.split(",")[:2] + line.split(",")[3:] for line in lines] for lines in curves]
    assert without_seconds[0] == without_seconds[1]
    files = [{path.name.partition("events")[0] for path in (tmp_path / name).iterdir()} for name in ("one", "two")]
    assert files[0] == files[1] >= {"checkpoint.pt", "best.pt", "curve.csv", "log.csv", "evaluation.json"}


@pytest.mark.slow
@pytest.mark.parametrize("whom", ["the terminal's processes", "torchrun alone"])
def test_an_interrupted_run_of_two_processes_is_saved_and_goes_on_in_one(whom: str, tmp_path: Path) -> None:
    settings = {"num_players": 15, "bot": "random", "iterations": 100_000, "checkpoint_every": 100_000}
    process = subprocess.Popen(
        [sys.executable, *TORCHRUN, str(SCRIPT), *options(**settings, run_dir="run")],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    log, deadline = tmp_path / "run" / "log.csv", time.monotonic() + 300
    try:
        while not log.exists() or log.read_text().count("\n") < 3:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.1)
        if whom == "torchrun alone":
            process.send_signal(signal.SIGINT)
        else:
            os.killpg(process.pid, signal.SIGINT)
        printed, errors = process.communicate(timeout=120)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    assert process.returncode != 0
    path = Path("run") / "checkpoint.pt"
    assert f"interrupted: saved {path}; --resume {path} goes on" in printed, (printed, errors)
    assert "stopped at once" not in without_notice(errors)
    done = checkpoint.read(tmp_path / path)["progress"]["iteration"]
    assert len(rows_of(tmp_path / "run")) == done
    resumed = python(SCRIPT, "--resume", path, "--iterations", done + 1, cwd=tmp_path)
    assert (resumed.returncode, resumed.stderr) == (0, "")
    assert len(rows_of(tmp_path / "run")) == done + 1
    assert all(math.isfinite(float(value)) for row in rows_of(tmp_path / "run") for value in row.values())


@pytest.mark.slow
def test_torchrun_tells_bad_input_once(tmp_path: Path) -> None:
    done = python(*TORCHRUN, SCRIPT, *options(shards=1, run_dir="run"), cwd=tmp_path)
    assert done.returncode != 0
    sentence = "train.py: shards is 1, but 2 processes must share them: choose a multiple"
    assert done.stderr.count(sentence) == 1
    assert done.stdout == ""
    assert not (tmp_path / "run").exists()

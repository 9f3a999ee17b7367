"""Training runs of a moment, for the tests."""

import csv
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

import agents.learner
from agents.config import TrainConfig
from agents.decisions import Decisions
from agents.learner import Learner
from train import Trainer

torch.set_num_threads(1)  # several wait for each other wherever something else computes too

ROOT = Path(__file__).parent.parent

TINY: dict[str, Any] = {
    "iterations": 3,
    "sizes_per_iteration": 2,
    "hands_per_size": 8,
    "hidden_sizes": (8, 8),
    "epochs": 1,
    "guide": 0.0,
    "final_guide": 0.0,
    "minibatch_size": 64,
    "device": "cpu",
    "precision": "float32",
    "evaluate_against": ("random",),
    "evaluate_deals": 4,
}

BLOCK = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
"""


def options(**changes: Any) -> list[str]:
    """The command line of the tiny settings, with some changed or added."""
    settings = TINY | changes
    texts = {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}
    return [text for name, value in texts.items() for text in (f"--{name}", str(value))]


TIMES = {
    "seconds", "decisions_per_second", "learned_per_second", "rollout_share", "network_share", "update_share",
    "evaluation_seconds",
}  # fmt: skip
"""Columns of the log that depend on the machine."""


@contextmanager
def trainer(folder: Path, resumed: Any = None, **changes: Any) -> Iterator[Trainer]:
    """A run of the tiny settings, with some changed or added."""
    made = Trainer(TrainConfig(**(TINY | {"run_dir": str(folder)} | changes)), resumed)
    try:
        yield made
    finally:
        made.close()


def learner(**changes: Any) -> Learner:
    """A run of the tiny settings without its folder."""
    return Learner(TrainConfig(**(TINY | changes)))


class Learned:
    """Stands in for the learning step: keeps what it was given, which nothing then changes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[Any, ...]] = []
        monkeypatch.setattr(agents.learner, "update", self)

    def __call__(self, *arguments: Any) -> dict[str, float]:
        self.calls.append(arguments)
        return {}

    @property
    def decisions(self) -> Decisions:
        """All decisions of the last iteration."""
        return Decisions.concatenate(self.calls[-1][3])

    def played(self, made: Learner) -> Decisions:
        """The decisions of an iteration that changes nothing."""
        made.iterate()
        return self.decisions


def perturb(made: Learner, amount: float) -> None:
    """Moves all weights a little."""
    weights = made.weights.vector.data
    weights += amount * torch.randn(weights.shape, generator=torch.Generator().manual_seed(1))


def run(made: Trainer, iterations: int) -> list[dict[str, float]]:
    """Goes on as train.py does, up to a number of iterations in all."""
    rows = []
    while made.learner.progress.iteration < iterations:
        rows.append(made.iterate()[0])
    made.save()
    return rows


def rows_of(folder: Path) -> list[dict[str, str]]:
    """The log of a run without what depends on the machine."""
    with (folder / "log.csv").open(newline="") as file:
        return [{name: text for name, text in row.items() if name not in TIMES} for row in csv.DictReader(file)]


def weights_of(module: torch.nn.Module) -> list[torch.Tensor]:
    """Copies of all weights."""
    return [weights.detach().clone() for weights in module.state_dict().values()]


def same(one: Sequence[torch.Tensor], other: Sequence[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def python(
    *arguments: object, cwd: Path = ROOT, on_path: Path | None = None, timeout: float = 600
) -> subprocess.CompletedProcess[str]:
    """Runs Python as a user does, with the project at hand; `on_path` is imported from first, see `without`."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=environment(on_path),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=timeout,
    )
    done.stderr = without_notice(done.stderr)
    return done


def without_notice(errors: str) -> str:
    """Takes out the line about compiling, which comes or not as other tests were run before."""
    return re.sub(r"^bluke_env: compiling .*\n", "", errors, flags=re.M)


def environment(on_path: Path | None = None) -> dict[str, str]:
    paths = [str(path) for path in (on_path, ROOT) if path is not None]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1", "COLUMNS": "120"}


def without(folder: Path, *packages: str) -> Path:
    """Makes a folder that, put on Python's path, hides packages as if they were not installed."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(BLOCK.format(names=set(packages)), encoding="utf-8")
    return folder

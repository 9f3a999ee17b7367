"""Live evaluations of a run: when they come, what they leave in its folder, and that it goes on with them."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # type: ignore[import-untyped]
from tiny_runs import ROOT, options, python, rows_of, run, same, trainer, weights_of

import agents
from agents import checkpoint
from agents.learner import Learner
from agents.logs import read_rows

LIVE: dict[str, Any] = {
    "num_players": 15, "bot": "random", "live_minutes": 1e-9, "live_deals": 3, "live_against": ("random",),
    "iterations": 4,
}  # fmt: skip
"""A live evaluation after every iteration."""


def curve_of(folder: Path) -> list[dict[str, float]]:
    """The curve of a run without what depends on the machine."""
    return [
        {name: value for name, value in row.items() if name != "seconds"} for row in read_rows(folder / "curve.csv")
    ]


def test_every_evaluation_is_a_row_of_the_curve_and_the_best_is_kept(tmp_path: Path) -> None:
    with trainer(tmp_path, **LIVE) as made:
        best = []
        for _ in range(4):
            row, point = made.iterate()
            assert point is not None
            assert row["evaluation_seconds"] > 0
            assert (point.row["iteration"], point.row["decisions"]) == (row["iteration"], row["decisions"])
            assert checkpoint.read(made.path)["progress"]["iteration"] == row["iteration"]
            if point.best:
                best = [row["iteration"], weights_of(made.learner.network)]
            kept = checkpoint.read(tmp_path / "best.pt")
            assert kept["progress"]["iteration"] == best[0]
            assert same(list(kept["network"].values()), best[1])
    leads = [row["over ladder"] for row in curve_of(tmp_path)]
    assert leads[int(best[0]) - 1] == max(leads)
    assert [row["iteration"] for row in curve_of(tmp_path)] == [1, 2, 3, 4]
    assert agents.load(tmp_path / "best.pt").rules.num_players == 15
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    shown = [(event.step, event.value) for event in events.Scalars("live/over ladder")]
    assert [step for step, _ in shown] == [1, 2, 3, 4]
    assert [value for _, value in shown] == pytest.approx(leads)


def test_what_is_measured_and_kept_is_the_average(tmp_path: Path) -> None:
    with trainer(tmp_path, **LIVE, average=0.5) as made:
        run(made, 1)
        assert made.learner.average is not None
        assert not torch.equal(made.learner.average, made.learner.weights.vector)
        kept = agents.load(tmp_path / "best.pt")
        assert torch.equal(torch.nn.utils.parameters_to_vector(kept.network.parameters()), made.learner.average)


def test_an_evaluation_comes_after_so_many_minutes_of_training_and_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    iterate = Learner.iterate

    def timed(learner: Learner) -> dict[str, float]:
        row = iterate(learner)
        learner.progress.seconds = 25.0 * learner.progress.iteration
        return row

    monkeypatch.setattr(Learner, "iterate", timed)
    settings = LIVE | {"live_minutes": 1.0, "iterations": 9}
    with trainer(tmp_path, **settings) as made:
        run(made, 6)
    with trainer(tmp_path, checkpoint.read(made.path), **settings) as made:
        run(made, 9)
    assert [row["iteration"] for row in curve_of(tmp_path)] == [3, 5, 8, 9]


def test_without_live_evaluations_there_is_no_curve(tmp_path: Path) -> None:
    with trainer(tmp_path, **LIVE | {"live_minutes": 0.0, "iterations": 1}) as made:
        row, point = made.iterate()
        assert point is None
        assert row["evaluation_seconds"] < 1
    assert not (tmp_path / "curve.csv").exists()
    assert not (tmp_path / "best.pt").exists()


def test_a_resumed_curve_goes_on_as_if_it_had_never_stopped(tmp_path: Path) -> None:
    with trainer(tmp_path / "whole", **LIVE) as made:
        run(made, 4)
    with trainer(tmp_path / "parts", **LIVE) as made:
        run(made, 2)
        saved = made.path.read_bytes()
        made.iterate()  # a third evaluation of which the checkpoint is then lost
    made.path.write_bytes(saved)
    with trainer(tmp_path / "parts", checkpoint.read(made.path), **LIVE) as made:
        assert [row["iteration"] for row in curve_of(tmp_path / "parts")] == [1, 2]
        run(made, 4)
    assert curve_of(tmp_path / "parts") == curve_of(tmp_path / "whole")
    assert rows_of(tmp_path / "parts") == rows_of(tmp_path / "whole")
    one, other = (checkpoint.read(tmp_path / name / "best.pt") for name in ("parts", "whole"))
    assert one["progress"]["iteration"] == other["progress"]["iteration"]
    assert same(list(one["network"].values()), list(other["network"].values()))


def test_a_new_run_begins_a_new_curve_and_loses_no_other(tmp_path: Path) -> None:
    for _ in range(2):
        with trainer(tmp_path / "run", **LIVE | {"iterations": 1}) as made:
            run(made, 1)
    assert [row["iteration"] for row in curve_of(tmp_path / "run")] == [1]
    assert [row["iteration"] for row in curve_of(tmp_path / "run.1")] == [1]


def test_a_ladder_that_cannot_be_is_refused_before_anything_is_changed(tmp_path: Path) -> None:
    with trainer(tmp_path / "run", **LIVE | {"iterations": 1}) as made:
        run(made, 1)
    before = {path: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    for ladder in (("nobody",), (), ("random", "random")):
        with (
            pytest.raises(ValueError, match=r"nobody|live_against"),
            trainer(tmp_path / "run", **LIVE | {"live_against": ladder}),
        ):
            pass
        assert [path.name for path in tmp_path.iterdir()] == ["run"]
        assert {path: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


def test_the_program_tells_every_evaluation(tmp_path: Path) -> None:
    settings = LIVE | {"iterations": 2, "run_dir": "run"}
    done = python(ROOT / "train.py", *options(**settings), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    told = [line for line in done.stdout.splitlines() if line.startswith("after 0.")]
    leads = [row["over random"] for row in curve_of(tmp_path / "run")]
    assert len(told) == len(leads) == 2
    for line, lead in zip(told, leads, strict=True):
        assert f" minutes: {lead:+.2f} ± " in line
    assert told[0].endswith(" over random (version 1), the best so far")


def test_the_program_says_who_on_the_ladder_was_made_for_other_rules(tmp_path: Path) -> None:
    settings = LIVE | {"iterations": 1, "num_players": 4, "schedule": "1", "min_bid": 0, "live_against": ("bluke-4p",)}
    done = python(ROOT / "train.py", *options(**settings), "--run_dir", "run", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\nnote: bluke-4p was made for min_bid 1, but here it plays with min_bid 0\n" in done.stdout

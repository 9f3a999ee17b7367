"""The same run again: from its seed, and from where it was stopped."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_runs import rows_of, run, same, trainer, weights_of

from agents import checkpoint
from train import Trainer

SELVES = {"past_share": 0.5, "past_every": 1, "past_kept": 2, "average": 0.9, "iterations": 6}
"""A run that remembers earlier networks and averages its weights."""


def memory_of(made: Trainer) -> list[torch.Tensor]:
    """Everything that a run has to remember."""
    learner = made.learner
    past = [learner.past[iteration] for iteration in sorted(learner.past)]
    averages = [] if learner.average is None else [learner.average]
    optimizer = [value for state in learner.optimizer.state_dict()["state"].values() for value in state.values()]
    return [weights.clone() for weights in (learner.weights.vector.data, *past, *averages, *optimizer)]


def test_the_seed_decides_and_the_global_generators_are_left_alone(tmp_path: Path) -> None:
    results = []
    for number, seed in enumerate((0, 0, 1)):
        torch.rand(number)
        before = torch.get_rng_state(), str(np.random.get_state())  # noqa: NPY002  # the global one is meant
        with trainer(tmp_path / str(number), seed=seed) as made:
            run(made, 2)
            results.append(weights_of(made.learner.network))
        assert torch.equal(before[0], torch.get_rng_state())
        assert before[1] == str(np.random.get_state())  # noqa: NPY002
    assert same(results[0], results[1])
    assert not same(results[0], results[2])


@pytest.mark.parametrize("settings", [{"iterations": 6, "epochs": 2}, SELVES], ids=["plain", "past and average"])
def test_resuming_equals_never_having_stopped(settings: dict[str, Any], tmp_path: Path) -> None:
    with trainer(tmp_path / "whole", **settings) as made:
        run(made, 6)
        whole, past = memory_of(made), sorted(made.learner.past)
    with trainer(tmp_path / "parts", **settings) as made:
        run(made, 3)
    resumed = checkpoint.read(tmp_path / "parts" / "checkpoint.pt")
    with trainer(tmp_path / "parts", resumed, **settings) as made:
        assert made.learner.progress.iteration == 3
        run(made, 6)
        assert sorted(made.learner.past) == past
        assert same(whole, memory_of(made))
    rows = rows_of(tmp_path / "parts")
    assert rows == rows_of(tmp_path / "whole")
    assert [row["iteration"] for row in rows] == ["1", "2", "3", "4", "5", "6"]
    rates = [float(row["learning_rate"]) for row in rows]
    assert rates == pytest.approx(np.linspace(rates[0], made.config.final_learning_rate, 6), rel=1e-4)
    one, other = (checkpoint.read(tmp_path / name / "checkpoint.pt")["network"] for name in ("parts", "whole"))
    assert same(list(one.values()), list(other.values()))


def test_c28_a_moved_run_goes_on_with_all_that_it_remembers(tmp_path: Path) -> None:
    with trainer(tmp_path / "whole", **SELVES) as made:
        run(made, 6)
        whole = memory_of(made)
    with trainer(tmp_path / "first place", **SELVES) as made:
        run(made, 4)
        before = memory_of(made)
    assert len(before) == 1 + 2 + 1 + 3  # weights, past networks, their average, Adam's
    moved = (tmp_path / "first place").rename(tmp_path / "zweiter Ört")
    with trainer(moved, checkpoint.read(moved / "checkpoint.pt"), **SELVES) as made:
        assert same(before, memory_of(made))
        assert sorted(made.learner.past) == [2, 3]
        run(made, 6)
        assert same(whole, memory_of(made))
    assert rows_of(moved) == rows_of(tmp_path / "whole")
    assert not (tmp_path / "first place").exists()


def test_averaging_may_begin_and_end_when_a_run_is_resumed(tmp_path: Path) -> None:
    with trainer(tmp_path, iterations=4) as made:
        run(made, 1)
        plain = made.learner.weights.vector.data.clone()
    with trainer(tmp_path, checkpoint.read(made.path), iterations=4, average=0.9) as made:
        assert made.learner.average is not None
        assert torch.equal(made.learner.average, plain)
        run(made, 2)
        average, learning = made.learner.average.clone(), made.learner.weights.vector.data.clone()
        assert not torch.equal(average, learning)
    with trainer(tmp_path, checkpoint.read(made.path), iterations=4) as made:
        assert made.learner.average is None
        assert torch.equal(made.learner.weights.vector.data, learning)


def test_a_run_that_was_cut_off_after_its_last_checkpoint_logs_every_iteration_once(tmp_path: Path) -> None:
    with trainer(tmp_path / "whole", iterations=5) as made:
        run(made, 5)
    with trainer(tmp_path / "cut", iterations=5) as made:
        run(made, 2)
        for _ in range(2):
            made.iterate()
    resumed = checkpoint.read(tmp_path / "cut" / "checkpoint.pt")
    with trainer(tmp_path / "cut", resumed, iterations=5) as made:
        run(made, 5)
    assert rows_of(tmp_path / "cut") == rows_of(tmp_path / "whole")


@pytest.mark.parametrize("guides", [(1.0, 0.0), (0.0, 1.0)])
def test_the_guide_may_begin_and_end_when_a_run_is_resumed(tmp_path: Path, guides: tuple[float, float]) -> None:
    for guide, iterations in zip(guides, (1, 2), strict=True):
        resumed = checkpoint.read(tmp_path / "checkpoint.pt") if iterations == 2 else None
        with trainer(tmp_path, resumed, guide=guide, final_guide=guide, iterations=iterations) as made:
            *_, row = run(made, iterations)
            assert (row["playout_loss"] != 0) == (row["guide_loss"] != 0) == (guide > 0)


def test_a_resumed_run_in_a_new_folder_logs_its_own_iterations(tmp_path: Path) -> None:
    with trainer(tmp_path / "old") as made:
        run(made, 2)
    resumed = checkpoint.read(tmp_path / "old" / "checkpoint.pt")
    with trainer(tmp_path / "new", resumed) as made:
        run(made, 3)
    assert [row["iteration"] for row in rows_of(tmp_path / "new")] == ["3"]


def test_after_a_break_rates_are_those_of_the_present(tmp_path: Path) -> None:
    with trainer(tmp_path, iterations=2) as made:
        run(made, 1)
        made.learner.progress.seconds = 1e6
        made.save()
    resumed = checkpoint.read(tmp_path / "checkpoint.pt")
    with trainer(tmp_path, resumed, iterations=2) as made:
        row, _ = made.iterate()
    assert row["seconds"] > 1e6
    played = row["decisions"] - resumed["progress"]["decisions"]
    assert row["decisions_per_second"] == pytest.approx(played / (row["seconds"] - 1e6), rel=1e-3)


def test_memory_does_not_grow(tmp_path: Path) -> None:
    status = Path("/proc/self/statm")
    if not status.exists():
        pytest.skip("only Linux says how much memory a process has")

    def pages() -> int:
        return int(status.read_text().split()[1])

    with trainer(tmp_path, iterations=70, num_players=15, bot="random") as made:
        run(made, 20)
        before = pages()
        for iterations in range(30, 71, 10):
            run(made, iterations)
        assert pages() < 1.03 * before


def test_a_run_from_before_the_setting_stays_as_sharp_as_its_network(tmp_path: Path) -> None:
    with trainer(tmp_path, sharpness=1.0) as made:
        run(made, 1)
    contents = torch.load(made.path, weights_only=True)
    del contents["config"]["sharpness"], contents["heads"]["sharpness"]
    torch.save(contents, made.path)
    resumed = checkpoint.read(made.path)
    assert resumed["config"]["sharpness"] == 1.0
    assert checkpoint.load(made.path).network.heads.sharpness == 1.0

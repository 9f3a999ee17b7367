"""Benchmark tasks: what is played is fixed, by name and version."""

import json
from pathlib import Path

import pytest

from agents import evaluate
from bluke_env import Rules, bots
from bluke_env.evaluation.plan import scheduled_times
from bluke_env.evaluation.seeds import split_of
from bluke_env.evaluation.statistics import MIN_DEALS
from bluke_env.evaluation.tasks import SEED, TASKS

PUBLISHED = {
    "bluke-4p-v1": (4, False, "13-1-13", 500, None, False),
    "bluke-4p-match-v1": (4, False, "13-1-13", 250, None, True),
    "bluke-4p-13-v1": (4, False, "13-1-13", 2000, (13,), False),
    "bluke-2p-v1": (2, False, "13-1-13", 500, None, False),
    "bluke-3p-v1": (3, False, "13-1-13", 500, None, False),
    "bluke-6p-v1": (6, False, "8-1-8", 500, None, False),
    "back-alley-v1": (4, True, "13-1-13", 500, None, False),
    "mini-v1": (2, False, "3", 20000, None, False),
}
"""Seats, sides, hands, deals, sizes, matches: a task never changes, a better one gets another name."""


def test_published_tasks_are_what_they_were() -> None:
    told = {
        name: (
            task.rules.num_players, task.rules.teams, task.rules.schedule_text, task.deals, task.sizes, task.matches
        )
        for name, task in TASKS.items()
    }  # fmt: skip
    assert told == PUBLISHED
    assert TASKS["mini-v1"].rules == Rules.preset("mini")
    assert SEED == 1_000_000
    assert split_of(SEED) == "final"


@pytest.mark.parametrize("name", TASKS)
def test_every_task_can_be_played(name: str) -> None:
    task = TASKS[name]
    assert task.deals >= MIN_DEALS
    assert scheduled_times(task.rules, task.sizes)
    opponent, version = task.opponent
    assert bots.BOTS[opponent].version == version


def test_a_task_is_played_as_it_says(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    evaluate.main(["rule", "--task", "mini-v1", "--json", str(path)])
    facts = json.loads(path.read_text(encoding="utf-8"))
    assert (facts["seed"], facts["deals"], facts["split"]) == (SEED, 20000, "final")
    assert facts["command"] == ["python -m agents.evaluate", "rule", "--task", "mini-v1"]
    assert facts["comparisons"][0]["average"]["over_same_seat"] == {"mean": 0.0, "half_width": 0.0}


@pytest.mark.parametrize(
    ("option", "name"),
    [
        (["--deals", "5"], "--deals"),
        (["--seed", "0"], "--seed"),
        (["--final"], "--final"),
        (["--sizes", "3"], "--sizes"),
        (["--num-players", "4"], "--num-players"),
        (["--bluke-lead", "trump"], "--bluke-lead"),
        (["--matches"], "--matches"),
        (["--against", "random"], "--against"),
        (["--reverse"], "--reverse"),
    ],
)
def test_what_a_task_fixes_cannot_be_chosen(option: list[str], name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        evaluate.main(["rule", "--task", "mini-v1", *option])
    assert ended.value.code == 2
    sentence = f"{name} cannot be chosen: the task mini-v1 fixes what is played"
    assert capsys.readouterr().err == f"python -m agents.evaluate: error: {sentence}\n"


def test_an_opponent_of_another_version_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bots.BOTS["rule"], "version", 2)
    with pytest.raises(SystemExit):
        evaluate.main(["random", "--task", "mini-v1"])
    assert "is against version 1 of rule, which this package lacks" in capsys.readouterr().err

import csv
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluation_runs import TORCHRUN, python

from agents.live import SEED, LiveEvaluation, LivePoint
from agents.logs import learning_curve, read_rows, write_rows
from bluke_env import Rules, Turn, bots
from bluke_env.cards import NUM_CARDS
from bluke_env.evaluation import AgentError
from bluke_env.evaluation.measure import measure
from bluke_env.evaluation.plan import Job
from bluke_env.evaluation.run import JobResult
from bluke_env.evaluation.seeds import DEVELOPMENT_SEEDS

RULES = Rules(num_players=3, schedule="6,3")
LADDER = ("rule", "pimc:worlds=3")
DEALS = 6


class Bidder:
    """Bids what the rule bot does, but at most so much, and plays as it does."""

    name = "network"

    def __init__(self, most: float = 99) -> None:
        self._bot, self.most = bots.make("rule:worlds=5"), most

    def reset(self, num_games: int, seed: int) -> None:
        self._bot.reset(num_games, seed)

    def act(self, turn: Turn) -> np.ndarray:
        actions = self._bot.act(turn)
        return np.where(actions > NUM_CARDS, np.minimum(actions, NUM_CARDS + self.most), actions).astype(np.int64)


class FirstLegal(Bidder):
    def act(self, turn: Turn) -> np.ndarray:
        return turn.masks.argmax(axis=1)


def live(
    folder: Path, ladder: Sequence[str] = LADDER, rules: Rules = RULES, deals: int = DEALS, **options: Any
) -> LiveEvaluation:
    return LiveEvaluation(folder, ladder, rules, deals, **options)


def rows_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "curve.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_measurement_is_that_of_the_evaluation(tmp_path: Path) -> None:
    evaluation = live(tmp_path)
    for agent in (Bidder(), FirstLegal(), Bidder(2)):
        point = evaluation.measure(agent, 1, 100, 2.5)
        expected = tuple(measure(agent, bots.make(name), RULES, DEALS, SEED) for name in LADDER)
        assert point.comparisons == expected
        leads = [comparison.average["over_same_seat"] for comparison in expected]
        numbers = {f"over {name}": lead.mean for name, lead in zip(LADDER, leads, strict=True)}
        numbers |= {f"over {name} half width": lead.half_width for name, lead in zip(LADDER, leads, strict=True)}
        numbers |= {"over ladder": sum(lead.mean for lead in leads) / 2}
        numbers |= {name: expected[0].average[name].mean for name in ("bid", "made")}
        largest = expected[0].hands[RULES.schedule[0]]["bid"]
        numbers |= {"largest hand bid": largest.mean, "largest hand bid half width": largest.half_width}
        told = {name: value for name, value in point.row.items() if name in numbers}
        assert told == pytest.approx(numbers, abs=1e-4)
        assert point.row.keys() - numbers.keys() == {"iteration", "decisions", "seconds"}


def test_the_curve_has_a_row_for_each_measurement(tmp_path: Path) -> None:
    evaluation = live(tmp_path)
    points = [evaluation.measure(Bidder(), step, 100 * step, step + 0.25) for step in (1, 2)]
    assert read_rows(tmp_path / "curve.csv") == [point.row for point in points]
    assert [(row["iteration"], row["decisions"], row["seconds"]) for row in rows_of(tmp_path)] == [
        ("1", "100", "1.25"),
        ("2", "200", "2.25"),
    ]
    columns = learning_curve(tmp_path / "checkpoint.pt")
    assert columns is not None
    names = points[0].row.keys() - {"iteration", "over ladder"}
    assert columns == {name: [point.row[name] for point in points] for name in names}


def test_the_ladder_plays_among_itself_only_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluation = live(tmp_path, ["rule"])
    member = evaluation._members["rule"]
    act, counts = member.act, [0]

    def counted(turn: Turn) -> np.ndarray:
        counts[-1] += len(turn.views)
        return act(turn)

    monkeypatch.setattr(member, "act", counted)
    for step in (1, 2):
        evaluation.measure(Bidder(), step, step, 0.0)
        counts.append(0)
    decisions = DEALS * sum(hand.cards + 1 for hand in RULES.schedule)
    assert counts == [(3 + 3 * 2) * decisions, 3 * 2 * decisions, 0]  # in all 3 seats once; in 2 of 3, rotated


def test_the_best_is_the_highest_over_the_ladder_and_of_equals_the_latest(tmp_path: Path) -> None:
    agents = [FirstLegal(), Bidder(), FirstLegal(), Bidder()]
    evaluation = live(tmp_path)
    points = [evaluation.measure(agent, step, step, 0.0) for step, agent in enumerate(agents)]
    leads = [point.row["over ladder"] for point in points]
    assert leads[0] == leads[2] < leads[1] == leads[3]
    assert [point.best for point in points] == [True, True, False, True]


def test_a_resumed_run_goes_on_as_if_it_had_never_stopped(tmp_path: Path) -> None:
    steps = [(Bidder(), 0), (FirstLegal(), 100), (Bidder(1), 200), (Bidder(1), 300)]

    def run(evaluation: LiveEvaluation, first: int, last: int) -> list[LivePoint]:
        return [evaluation.measure(agent, done, done, 0.0) for agent, done in steps[first:last]]

    for name in ("whole", "cut"):
        (tmp_path / name).mkdir()
    whole = run(live(tmp_path / "whole"), 0, 4)
    run(live(tmp_path / "cut"), 0, 3)
    resumed = live(tmp_path / "cut", done_decisions=150)
    assert [row["decisions"] for row in rows_of(tmp_path / "cut")] == ["0", "100"]
    assert run(resumed, 2, 4) == whole[2:]
    assert (tmp_path / "cut" / "curve.csv").read_bytes() == (tmp_path / "whole" / "curve.csv").read_bytes()
    live(tmp_path / "cut", done_decisions=-1)
    assert not (tmp_path / "cut" / "curve.csv").exists()


def test_a_curve_against_other_players_is_not_gone_on_with(tmp_path: Path) -> None:
    live(tmp_path).measure(Bidder(), 1, 100, 1.0)
    before = (tmp_path / "curve.csv").read_bytes()
    with pytest.raises(ValueError, match="measured against rule, pimc:worlds=3, but now the ladder is rule: leave it"):
        live(tmp_path, ["rule"], done_decisions=100)
    assert (tmp_path / "curve.csv").read_bytes() == before
    live(tmp_path, ["rule"], done_decisions=99)  # nothing is left to go on with


def test_collapsed_bids_are_said_once_they_last(tmp_path: Path) -> None:
    evaluation = live(tmp_path, ["rule"], deals=40)

    def say(most: float) -> str | None:
        return evaluation.measure(Bidder(most), 1, 100, 1.0).collapse

    assert say(99) is None
    assert say(1) is None  # bids often fall early in a run, and recover
    sentence = say(1)
    assert sentence is not None
    assert "in hands of 6 cards the mean bid is 1.00, where 1 is the smallest bid and 2.00 an even share" in sentence
    assert say(99) is None
    assert say(1) is None


@pytest.mark.parametrize(("before", "collapsed"), [(1.24, True), (1.16, True), (1.14, False), (1.26, False)])
def test_bids_that_rise_or_were_higher_have_not_collapsed(before: float, collapsed: bool, tmp_path: Path) -> None:
    evaluation = live(tmp_path, ["rule"])
    row = {"largest hand bid": 1.2, "largest hand bid half width": 0.05}  # 1.25 is a quarter of the way from 1 to 2
    evaluation._rows = [{"largest hand bid": before}]
    assert (evaluation._collapse(row) is not None) is collapsed


@pytest.mark.parametrize(
    "rules",
    [Rules(num_players=7, schedule="7"), Rules(num_players=2, schedule="1"), Rules.preset("back_alley", schedule="5")],
    ids=["7 players", "1 card", "Back Alley"],
)
def test_the_rule_bot_has_never_collapsed(rules: Rules, tmp_path: Path) -> None:
    evaluation = live(tmp_path, ["rule"], rules=rules, deals=20)
    points = [evaluation.measure(bots.make("rule"), step, step, 0.0) for step in (1, 2)]
    assert [point.collapse for point in points] == [None, None]


class Half:
    """One of two processes that share the work, played by threads."""

    count = 2

    def __init__(self, index: int, table: dict[Job, JobResult], barrier: threading.Barrier) -> None:
        self.index, self._table, self._barrier, self.played = index, table, barrier, 0

    def exchanged(self, jobs: Sequence[Job], done: Mapping[Job, JobResult]) -> dict[Job, JobResult]:
        self.played += len(done)
        self._table.update(done)
        self._barrier.wait(60)
        everything = {job: self._table[job] for job in jobs}
        self._barrier.wait(60)
        return everything


def test_processes_share_the_work_and_the_first_writes(tmp_path: Path) -> None:
    table: dict[Job, JobResult] = {}
    barrier = threading.Barrier(2)
    halves = [Half(index, table, barrier) for index in range(2)]
    found: dict[int, LivePoint] = {}

    def run(half: Half) -> None:
        found[half.index] = live(tmp_path / str(half.index), ranks=half).measure(Bidder(), 1, 100, 1.0)

    threads = [threading.Thread(target=run, args=[half]) for half in halves]
    for name in ("0", "1", "alone"):
        (tmp_path / name).mkdir()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] == found[1] == live(tmp_path / "alone").measure(Bidder(), 1, 100, 1.0)
    assert [half.played for half in halves] == [4, 4]  # two hand sizes at two tables for each of two members
    assert not (tmp_path / "1" / "curve.csv").exists()
    assert (tmp_path / "0" / "curve.csv").read_bytes() == (tmp_path / "alone" / "curve.csv").read_bytes()


PROGRAM = """
import sys
from pathlib import Path
from agents.ranks import Ranks
from test_live import Bidder, live

ranks = Ranks()
point = live(Path(), ranks=ranks).measure(Bidder(), 1, 100, 1.0)
Path(f"{ranks.index}.txt").write_text(repr(point))
"""


@pytest.mark.slow
def test_torchrun_gives_what_one_process_gives(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = python(*TORCHRUN, "program.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "alone").mkdir()
    alone = live(tmp_path / "alone").measure(Bidder(), 1, 100, 1.0)
    assert {(tmp_path / f"{index}.txt").read_text() for index in range(2)} == {repr(alone)}
    assert (tmp_path / "curve.csv").read_bytes() == (tmp_path / "alone" / "curve.csv").read_bytes()


@pytest.mark.parametrize(
    ("ladder", "options", "message"),
    [
        ((), {}, "^live_against is empty, but it must be one or more different players$"),
        (("rule", "rule"), {}, "^live_against is rule, rule, but it must be one or more different players$"),
        (("nobody",), {}, "no bot 'nobody'"),
        (("missing.pt",), {}, "missing.pt"),
        (("rule",), {"deals": 2}, "^deals is 2, but an interval needs at least 3"),
    ],
)
def test_what_cannot_be_measured_is_refused_at_once(
    ladder: Sequence[str], options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        live(tmp_path, ladder, **options)
    assert not list(tmp_path.iterdir())


def test_a_member_made_for_other_tables_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(bots.make("rule")), "rules", replace(RULES, num_players=4), raising=False)
    with pytest.raises(ValueError, match="rule plays at tables of 4 players, but this table has 3"):
        live(tmp_path)


def test_a_failing_player_adds_nothing_to_the_curve(tmp_path: Path) -> None:
    class Broken(Bidder):
        def act(self, turn: Turn) -> np.ndarray:
            raise RuntimeError("no")

    evaluation = live(tmp_path)
    evaluation.measure(Bidder(), 1, 100, 1.0)
    before = (tmp_path / "curve.csv").read_bytes()
    with pytest.raises(AgentError, match="network"):
        evaluation.measure(Broken(), 2, 200, 2.0)
    assert (tmp_path / "curve.csv").read_bytes() == before
    assert len(evaluation.measure(Bidder(), 3, 300, 3.0).row) == len(rows_of(tmp_path)[0])
    assert [row["iteration"] for row in rows_of(tmp_path)] == ["1", "3"]


def test_the_deals_are_published_development_deals_of_their_own() -> None:
    assert SEED in DEVELOPMENT_SEEDS
    assert SEED != 0  # the default of agents.evaluate


def test_rows_that_a_crash_cut_short_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [{"iteration": 1, "decisions": 10, "seconds": 0.5, "points": -1.25}]
    assert read_rows(path) == []
    write_rows(path, rows)
    whole = path.read_bytes()
    for rest in (b"2,20,1.5,3.25", b"2,20\n", b"2,20,,1\n", b"\0\0\0", b"\xff\xfe\n", b"\n", b'"2,\n'):
        path.write_bytes(whole + rest)
        assert read_rows(path) == rows
        assert learning_curve(tmp_path / "checkpoint.pt") == {"decisions": [10], "seconds": [0.5], "points": [-1.25]}
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        assert read_rows(path) == []
        assert learning_curve(tmp_path / "checkpoint.pt") is None


def test_a_long_curve_keeps_its_end(tmp_path: Path) -> None:
    write_rows(tmp_path / "log.csv", [{"decisions": step, "seconds": 0.5, "points": 1.0} for step in range(1001)])
    columns = learning_curve(tmp_path / "checkpoint.pt")
    assert columns is not None
    assert columns["decisions"][-1] == 1000
    assert 100 <= len(columns["decisions"]) <= 200

"""Results on disk: nothing is played twice, nothing is mixed up, nothing half written."""

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_plan import assert_equal

from bluke_env import Rules, Turn, bots
from bluke_env.agent import Agent
from bluke_env.evaluation import AgentError, Plan, ResultStore
from bluke_env.evaluation import plan as plans
from bluke_env.evaluation.evaluate import played
from bluke_env.evaluation.measure import Participant
from bluke_env.evaluation.plan import Results
from bluke_env.evaluation.players import load_player
from bluke_env.schedule import ScheduledHand

TABLE = ("random", "rule", "rule")


def plan_for(deals: int = 6, seed: int = 0, **options: Any) -> Plan:
    hands = ScheduledHand(3), ScheduledHand(2)
    return Plan(Rules(num_players=3, **options), (TABLE, ("rule",) * 3), hands, deals, seed)


@pytest.fixture(autouse=True)
def small_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three jobs for each table and kind of hand: twelve in a plan."""
    monkeypatch.setattr(plans, "DEALS_PER_JOB", 2)


class Counted:
    """Seats bots and counts the jobs in which they were asked."""

    def __init__(self, failing_at: int | None = None) -> None:
        self.jobs, self.failing_at = 0, failing_at
        self._seated = {name: self._counting(name) for name in dict.fromkeys(TABLE)}

    def __call__(self, name: str) -> Agent:
        return self._seated[name]

    def _counting(self, name: str) -> Agent:
        outer, bot = self, bots.make(name)

        class Counting:
            def __init__(self) -> None:
                self.name, self.version = name, bot.version

            def reset(self, num_games: int, seed: int) -> None:
                if name == "rule":  # it sits at every table
                    outer.jobs += 1
                bot.reset(num_games, seed)

            def act(self, turn: Turn) -> np.ndarray:
                if outer.jobs == outer.failing_at:
                    raise RuntimeError("tired")
                return bot.act(turn)

        return Counting()


def identity(name: str) -> str:
    return repr(Participant.of(name, bots.make(name)))


def same(one: Results, other: Results) -> bool:
    assert one.keys() == other.keys()
    for table in one:
        for left, right in zip(one[table], other[table], strict=True):
            assert_equal(left, right)
    return True


# Going on.


def test_what_was_played_is_never_played_again(tmp_path: Path) -> None:
    plan, counted = plan_for(), Counted(failing_at=8)
    store = ResultStore(tmp_path / "results", plan, identity)
    with pytest.raises(AgentError, match=r"^(rule|random) raised RuntimeError\('tired'\)"):
        played(plan, counted, store=store)
    assert (counted.jobs, len(list((tmp_path / "results").glob("*.npz")))) == (8, 7)
    for jobs in (5, 0):
        rested = Counted()
        results = played(plan, rested, store=ResultStore(tmp_path / "results", plan, identity))
        assert rested.jobs == jobs
        assert same(results, played(plan, Counted()))


def test_every_job_is_announced_whether_played_or_found(tmp_path: Path) -> None:
    plan, announced = plan_for(), []
    for times in (12, 24):
        store = ResultStore(tmp_path, plan, identity)
        played(plan, Counted(), store=store, on_job=lambda: announced.append(1))
        assert len(announced) == times


def test_without_a_store_what_was_played_is_rescued(tmp_path: Path) -> None:
    plan = plan_for()

    def rescue() -> ResultStore:
        return ResultStore(tmp_path / "rescued", plan, identity)

    with pytest.raises(AgentError):
        played(plan, Counted(failing_at=1), rescue=rescue)
    assert not (tmp_path / "rescued").exists()  # there was nothing to keep
    with pytest.raises(AgentError):
        played(plan, Counted(failing_at=5), rescue=rescue)
    rested = Counted()
    played(plan, rested, store=ResultStore(tmp_path / "rescued", plan, identity))
    assert rested.jobs == 12 - 4


def test_more_deals_go_on_from_fewer(tmp_path: Path) -> None:
    played(plan_for(deals=6), Counted(), store=ResultStore(tmp_path, plan_for(deals=6), identity))
    more, counted = plan_for(deals=8), Counted()
    results = played(more, counted, store=ResultStore(tmp_path, more, identity))
    assert counted.jobs == 4
    assert same(results, played(more, Counted()))


def test_matches_and_hands_are_kept_apart(tmp_path: Path) -> None:
    rules = Rules(num_players=3, schedule=[2, (2, True)])
    hands = Plan(rules, (TABLE,), (ScheduledHand(2), ScheduledHand(2, True)), 3, 0)
    matches = Plan(rules, (TABLE,), None, 3, 0)
    for plan in (hands, matches, hands, matches):
        results = played(plan, Counted(), store=ResultStore(tmp_path, plan, identity))
        assert same(results, played(plan, Counted()))


# Identity.


def test_a_changed_player_has_results_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy whose source has changed is another one."""
    monkeypatch.syspath_prepend(tmp_path)
    plan = Plan(Rules(num_players=3), (("changing:make", "rule", "rule"),), (ScheduledHand(2),), 4, 0)
    seen = []
    for text in (
        "lambda observation, mask: int(mask.argmax())",
        "lambda observation, mask: int(mask.nonzero()[0][-1])",
    ):
        (tmp_path / "changing.py").write_text(f"def make(rules, seed):\n    return {text}\n", encoding="utf-8")
        monkeypatch.delitem(sys.modules, "changing", raising=False)
        importlib.invalidate_caches()
        seated = {name: load_player(name) for name in plan.names}
        who = {name: repr(tuple(Participant.of(name, seated[name]))) for name in plan.names}
        store = ResultStore(tmp_path / "results", plan, who.__getitem__)
        assert all(store.load(job) is None for job in plan.jobs())
        results = played(plan, seated.__getitem__, store=store)
        assert same(results, played(plan, seated.__getitem__, store=store))
        seen.append(results)
    assert len(list((tmp_path / "results").glob("*.npz"))) == 2 * len(plan.jobs())
    (one,), (other,) = (results[plan.tables[0]] for results in seen)
    assert (one.bids != other.bids).any()


def test_another_version_of_a_bot_or_order_at_the_table_is_another_result(tmp_path: Path) -> None:
    plan = plan_for()
    job = plan.jobs()[0]
    store = ResultStore(tmp_path, plan, identity)
    store.save(job, plan.play(job, bots.make))
    assert ResultStore(tmp_path, plan, identity).load(job) is not None
    assert ResultStore(tmp_path, plan, lambda name: f"{identity(name)} of old").load(job) is None
    assert store.load(job._replace(table=(TABLE[1], TABLE[0], TABLE[2]))) is None
    assert store.load(job._replace(hand=ScheduledHand(3, True))) is None
    assert store.load(job._replace(hand=None)) is None
    assert store.load(job._replace(last=job.last + 1)) is None


# Merging.


def test_folders_of_several_machines_are_merged(tmp_path: Path) -> None:
    plan = plan_for()
    for part in range(3):
        store = ResultStore(tmp_path / f"part {part}", plan, identity)
        for job in plan.jobs()[part::3]:
            store.save(job, plan.play(job, bots.make))
    whole = ResultStore(tmp_path / "part 0", plan, identity)
    assert [whole.merge(tmp_path / f"part {part}") for part in (1, 2, 1, 0)] == [4, 4, 0, 0]
    counted = Counted()
    assert same(played(plan, counted, store=whole), played(plan, Counted()))
    assert counted.jobs == 0


@pytest.mark.parametrize("other", [{"seed": 1}, {"min_bid": 0}])
def test_results_of_other_rules_or_deals_are_refused(tmp_path: Path, other: dict[str, Any]) -> None:
    plan, strange = plan_for(), plan_for(**other)
    ResultStore(tmp_path / "own", plan, identity)
    foreign = ResultStore(tmp_path / "foreign", strange, identity)
    foreign.save(strange.jobs()[0], strange.play(strange.jobs()[0], bots.make))
    with pytest.raises(
        ValueError, match=r"foreign holds results of (rules|seed) .* now .*: choose another folder$"
    ) as error:
        ResultStore(tmp_path / "foreign", plan, identity)
    assert "\n" not in str(error.value)
    own = ResultStore(tmp_path / "own", plan, identity)
    with pytest.raises(ValueError, match=r"of different rules or seeds: they cannot be merged$"):
        own.merge(tmp_path / "foreign")
    assert [file.name for file in own.folder.iterdir()] == ["deals.json"]


def test_a_damaged_file_spoils_no_merge(tmp_path: Path) -> None:
    plan = plan_for()
    own, other = (ResultStore(tmp_path / name, plan, identity) for name in ("own", "other"))
    for job in plan.jobs():
        other.save(job, plan.play(job, bots.make))
    damaged = sorted(other.folder.glob("*.npz"))[-1]
    damaged.write_bytes(damaged.read_bytes()[:-9])
    with pytest.raises(ValueError, match=rf"^{re.escape(str(damaged))} is damaged or no file of results"):
        own.merge(other.folder)
    assert [file.name for file in own.folder.iterdir()] == ["deals.json"]

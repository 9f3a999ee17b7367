"""Several processes play what one would, and none of their deaths goes unnoticed."""

import re
from pathlib import Path

import pytest
from evaluation_runs import python
from test_plan import assert_equal

from bluke_env import Rules
from bluke_env.evaluation import AgentError, Plan, load_player
from bluke_env.evaluation.plan import DEALS_PER_JOB
from bluke_env.evaluation.run import do_jobs
from bluke_env.schedule import ScheduledHand

SCRIPT = """
import sys
from bluke_env import Rules
from bluke_env.evaluation import AgentError, Plan, load_player
from bluke_env.evaluation.run import do_jobs
from bluke_env.schedule import ScheduledHand

def work():
    table = {table!r}
    hands = tuple(ScheduledHand(cards) for cards in (4, 3, 2, 1))
    plan = Plan(Rules(num_players=len(table)), (table,), hands, 900, 0)
    jobs, done = plan.jobs(), []
    assert len(jobs) == 16
    try:
        for job, _ in do_jobs(plan, jobs, {seat}, workers=2):
            done.append(job)
            {each}
    except (AgentError, KeyboardInterrupt) as error:
        print(type(error).__name__, error)
    print(len(done), sum(job.hand.cards == 3 for job in done))
"""

GUARD = 'if __name__ == "__main__":'


def script(
    *table: str,
    seat: str = "load_player",
    each: str = "pass",
    guard: str = 'if __name__ == "__main__":',
    more: str = "",
) -> str:
    return SCRIPT.format(table=table, seat=seat, each=each) + f"\n{more}\n{guard}\n    work()\n"


def finished(folder: Path, text: str, **variables: str) -> list[str]:
    """Runs a script with time enough for all but a hanging one; returns the lines it printed."""
    path = folder / "a script.py"
    path.write_text(text, encoding="utf-8")
    done = python(path, cwd=folder, timeout=120, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_two_processes_play_what_one_plays() -> None:
    """Bots and policies that draw lots, too."""
    rules = Rules(num_players=2)
    tables = ("policies:drawing", "rule"), ("random", "random")
    plan = Plan(rules, tables, (ScheduledHand(1),), DEALS_PER_JOB + 3, 4)
    one = dict(do_jobs(plan, plan.jobs(), load_player))
    assert list(one) == plan.jobs()
    two = dict(do_jobs(plan, plan.jobs(), load_player, workers=2, games_at_once=99))
    assert two.keys() == one.keys()
    for job in one:
        assert_equal(one[job][0], two[job][0])


@pytest.mark.parametrize("workers", [0, -1, 2.5, True, None])
def test_a_senseless_number_of_processes_is_refused(workers: int) -> None:
    plan = Plan(Rules(), (("rule",) * 4,), (ScheduledHand(1),), 3, 0)
    with pytest.raises(ValueError, match=r"^workers is .*, but it must be a whole number from 1 to 1024$"):
        next(do_jobs(plan, plan.jobs(), load_player, workers=workers))


def test_one_process_yields_what_was_done_before_a_player_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLICIES_FAIL", "2")
    plan = Plan(Rules(num_players=2), (("policies:moody", "rule"),), (ScheduledHand(1), ScheduledHand(2)), 3, 0)
    done = []
    with pytest.raises(AgentError, match=r"^policies:moody raised RuntimeError\('in no mood'\) .* seat \d of deal 0 "):
        done.extend(do_jobs(plan, plan.jobs(), load_player))
    assert [job.hand for job, _ in done] == [ScheduledHand(1)]


def test_a_player_that_fails_in_another_process_is_named(tmp_path: Path) -> None:
    """It ends soon, though many jobs are waiting, and what is under way is still yielded."""
    error, counts = finished(tmp_path, script("policies:moody", "rule"), POLICIES_FAIL="3")
    assert error.startswith("AgentError policies:moody raised RuntimeError('in no mood') in seat ")
    assert re.search(r" of deal \d+ \(hands of 3 cards, seated ", error)
    done, failed = map(int, counts.split())
    assert 1 <= done < 12
    assert failed == 0


def test_a_process_that_dies_ends_the_run(tmp_path: Path) -> None:
    error, counts = finished(tmp_path, script("policies:killing", "rule"))
    assert error.startswith("AgentError a worker process died: it was ended by a player, killed, for example for want")
    assert counts == "0 0"


@pytest.mark.slow
def test_a_process_that_is_killed_ends_the_run(tmp_path: Path) -> None:
    kill = "__import__('multiprocessing').active_children()[0].kill()"
    error, counts = finished(tmp_path, script("rule", "random", each=kill))
    assert error.startswith("AgentError a worker process died")
    assert 1 <= int(counts.split()[0]) < 16


@pytest.mark.slow
def test_an_interrupt_does_not_wait_for_what_has_not_begun(tmp_path: Path) -> None:
    interrupt = "__import__('os').kill(__import__('os').getpid(), 2)"
    error, counts = finished(tmp_path, script("rule", "random", each=interrupt))
    assert error == "KeyboardInterrupt "
    assert counts == "1 0"


@pytest.mark.slow
def test_who_takes_no_more_results_waits_for_none(tmp_path: Path) -> None:
    """A disk that is full, say."""
    error, _ = finished(tmp_path, script("rule", "random", each="raise AgentError('full')"))
    assert error == "AgentError full"


@pytest.mark.slow
def test_processes_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    """When it is killed there is nobody left to tell them."""
    path = tmp_path / "script.py"
    path.write_text("import os\n" + script("rule", "random", each="os.kill(os.getpid(), 9)"), encoding="utf-8")
    ended = python(path, cwd=tmp_path, timeout=120)  # it returns once none of them holds its output any longer
    assert ended.returncode == -9


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_any_start_method_does(tmp_path: Path, method: str) -> None:
    """Whatever the program has chosen for its own processes, and though it has used the engine before."""
    more = f"import multiprocessing\nif __name__ == '__main__':\n    multiprocessing.set_start_method({method!r})"
    used = "    from bluke_env import BatchGame\n    BatchGame(Rules(), 100, 0, num_threads=2)"
    assert finished(tmp_path, script("rule", "random", more=f"{more}\n{used}")) == ["16 4"]


@pytest.mark.slow
def test_a_seat_function_of_the_script_itself_does(tmp_path: Path) -> None:
    more = "def seat(name):\n    return load_player('random')"
    assert finished(tmp_path, script("rule", "mine", seat="seat", more=more)) == ["16 4"]


@pytest.mark.slow
@pytest.mark.parametrize("guard", [GUARD, "if True:"])
def test_a_program_on_standard_input_does(tmp_path: Path, guard: str) -> None:
    done = python("-", cwd=tmp_path, program=script("rule", "random", guard=guard), timeout=120)
    assert (done.returncode, done.stdout) == (0, "16 4\n"), done.stderr


@pytest.mark.slow
def test_a_function_that_no_process_can_import_is_an_error_and_no_hanging(tmp_path: Path) -> None:
    more = "def seat(name):\n    return load_player(name)"
    done = python("-", cwd=tmp_path, program=script("rule", "random", seat="seat", more=more), timeout=120)
    assert done.returncode == 0
    assert done.stdout.startswith("AgentError a worker process died: ")
    assert "Can't get attribute 'seat'" in done.stderr


@pytest.mark.slow
def test_a_script_that_does_not_guard_its_work_is_an_error_and_no_avalanche(tmp_path: Path) -> None:
    path = tmp_path / "unguarded.py"
    path.write_text(script("rule", "random", guard="if True:"), encoding="utf-8")
    ended = python(path, cwd=tmp_path, timeout=120)
    assert ended.stdout.splitlines()[0].startswith("AgentError a worker process died: ")
    assert "if __name__ == '__main__':" in ended.stderr
    assert ended.stdout.count("AgentError") == 1

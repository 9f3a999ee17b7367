"""What `python -m agents.evaluate` plays: any mix, whole matches, in parts, by several processes, after a failure."""

import json
import shutil
from pathlib import Path
from typing import Any

import policies
import pytest
from evaluation_runs import TORCHRUN, evaluate, hint_of, python

from agents import evaluate as command
from bluke_env import Rules
from bluke_env.evaluation import Plan
from bluke_env.evaluation.seeds import FINAL_SEEDS

SMALL = ("--num-players", "3", "--sizes", "3", "1", "--deals", "12", "--seed", "5")
PLAYER = ("policies:moody", "--against", "random", "rule")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Commands run in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> bytes:
    """Runs a command in this process; returns the bytes of its JSON file."""
    command.main([*arguments, "--json", "report.json"])
    return Path("report.json").read_bytes()


def facts(*arguments: str) -> dict[str, Any]:
    return json.loads(run(*arguments))


def refusal(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Runs a command that ends early; returns its exit code and the last line that it wrote."""
    with pytest.raises(SystemExit) as ended:
        run(*arguments)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert isinstance(ended.value.code, int)
    return ended.value.code, printed.err.splitlines()[-1]


# What is played.


def test_a_table_of_one_among_others_is_measured_like_that_pair() -> None:
    (pair,) = facts("rule", "--against", "random", *SMALL)["comparisons"]
    mixed = facts("--table", "rule", "random", "random", "--baseline", "random", *SMALL)["comparisons"]
    assert mixed[0] == pair
    assert [comparison["player"]["name"] for comparison in mixed] == ["rule", "random"]
    assert mixed[1]["opponent"]["name"] == "rule"


def test_a_table_of_any_mix(capsys: pytest.CaptureFixture[str]) -> None:
    """All points at the table are somebody's: twice the first player's and the others' sum up to those of the seats."""
    table = ("policies:moody", "random", "policies:moody", "rule")
    found = facts("--table", *table, "--sizes", "2", "--deals", "10", "--baseline", "random")
    names = [comparison["player"]["name"] for comparison in found["comparisons"]]
    assert names == ["policies:moody", "random", "rule"]
    assert found["comparisons"][0]["opponent"]["name"] == "random + rule"
    assert {comparison["baseline"]["name"] for comparison in found["comparisons"]} == {"random"}
    for statistic in ("most_points", "tricks"):
        means = [comparison["average"][statistic]["mean"] for comparison in found["comparisons"]]
        assert 2 * means[0] + means[1] + means[2] == pytest.approx(1 if statistic == "most_points" else 2)
    shown = capsys.readouterr().out
    assert "policies:moody among 1 × random (version 1) + 1 × rule " in shown
    sources = {player["name"]: player["sha256"] for player in found["players"]}
    assert sources.pop("policies:moody") is not None
    assert set(sources.values()) == {None}


def test_whole_matches() -> None:
    arguments = ("--num-players", "3", "--schedule", "2-1-2", "--min-bid", "0", "--deals", "12", "--matches")
    found = facts("rule", "--against", "random", *arguments)
    assert (found["unit"], found["deals"]) == ("match", 12)
    assert Rules.from_dict(found["rules"]) == Rules(num_players=3, schedule="2-1-2", min_bid=0)
    assert "match_wins" in found["statistics"]
    (comparison,) = found["comparisons"]
    assert comparison["hands"] == []
    assert 1 / 3 < comparison["average"]["match_wins"]["mean"] < 1
    (itself,) = facts("rule", "--against", "rule", *arguments)["comparisons"]
    assert itself["average"]["match_wins"] == {"mean": pytest.approx(1 / 3), "half_width": pytest.approx(0)}


def test_seeds_for_development_and_for_final_numbers_are_told_apart() -> None:
    arguments = ("random", "--against", "rule", "--sizes", "1", "--deals", "3")
    found = [
        facts(*arguments, *more)
        for more in ((), ("--final",), ("--final", "--seed", "7"), ("--seed", "1000007"), ("--seed", "2000000"))
    ]
    assert [one["split"] for one in found] == ["development", "final", "final", "final", "other"]
    assert [one["seed"] for one in found[:3]] == [0, FINAL_SEEDS[0], FINAL_SEEDS[7]]
    assert found[2]["comparisons"] == found[3]["comparisons"]
    assert found[0]["comparisons"] != found[1]["comparisons"]


def test_losses_in_bidding_and_in_play_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    found = facts("rule", "--against", "random", "--sizes", "2", "--deals", "4", "--losses", "3")
    losses = found["comparisons"][0]["diagnostics"]["losses"]
    assert losses["deals"] == 3
    assert losses["bidding"]["mean"] >= 0
    assert "lost against hindsight, 3 deals of each hand size: in bidding " in capsys.readouterr().out


def test_the_page_is_written_beside_the_facts() -> None:
    run("rule", "--against", "random", *SMALL, "--html", "a page.html", "--title", "What <rules> & wins")
    page = Path("a page.html").read_text(encoding="utf-8")
    assert "What &lt;rules&gt; &amp; wins" in page
    assert json.loads(Path("report.json").read_bytes())["title"] == "What <rules> & wins"


# The same bytes, however it is played.


def test_neither_batches_nor_folders_change_a_byte(folder: Path) -> None:
    """Nor does playing it in parts, on machines of their own, and putting them together."""
    whole = run(*PLAYER, *SMALL)
    for more in (("1",), ("64",), ("5", "--results", "kept"), ("5", "--results", "kept")):
        assert run(*PLAYER, *SMALL, "--games-at-once", *more) == whole
    assert b"--results" not in whole


def test_parts_from_several_machines_are_merged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = run(*PLAYER, *SMALL)
    jobs = 2 * 4  # kinds of hands times tables
    capsys.readouterr()
    for part in (1, 2, 3):
        with pytest.raises(SystemExit) as ended:
            run(*PLAYER, *SMALL, "--part", f"{part}/3", "--results", f"part {part}")
        assert ended.value.code == 0
        sentence = capsys.readouterr().out
        done = len(list(Path(f"part {part}").glob("*.npz")))
        assert done in (jobs // 3, jobs // 3 + 1)
        assert sentence.startswith(f"part {part} of 3 is done: part {part} holds {done} of {jobs} results; once ")
    monkeypatch.setattr(Plan, "play", None)  # there is nothing left to play
    merged = run(*PLAYER, *SMALL, "--results", "all", "--merge", "part 1", "part 2", "part 3")
    assert merged == whole
    assert run(*PLAYER, *SMALL, "--results", "all", "--part", "2/3") == whole


@pytest.mark.slow
def test_neither_processes_nor_ranks_change_a_byte(folder: Path) -> None:
    """As a user runs it: with two workers, under torchrun with two ranks, which also go on from a folder."""
    mix = ("--table", "policies:drawing", "rule", "random", "--num-players", "3", "--schedule", "2-1", "--deals", "260")
    for game in (mix, (*mix, "--matches")):
        runs = {
            "one": python("-m", "agents.evaluate", *game, "--json", "one.json", cwd=folder),
            "two": evaluate(*game, "--workers", 2, "--games-at-once", 64, "--json", "two.json", cwd=folder),
            "ranks": python(*TORCHRUN, "-m", "agents.evaluate", *game, "--json", "ranks.json", cwd=folder),
            "kept": python(
                *TORCHRUN, "-m", "agents.evaluate", *game, "--results", "kept", "--json", "kept.json", cwd=folder
            ),
            "again": evaluate(*game, "--results", "kept", "--json", "again.json", cwd=folder),
        }
        for name, done in runs.items():
            assert done.returncode == 0, (name, done.stderr)
            assert (folder / f"{name}.json").read_bytes() == (folder / "one.json").read_bytes(), name


# Going on after a failure.


def test_after_a_failure_it_goes_on_as_it_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = run(*PLAYER, *SMALL)
    capsys.readouterr()
    monkeypatch.setenv(policies.FAIL, "1")
    code, sentence = refusal((*PLAYER, *SMALL), capsys)
    assert code == 1
    assert "evaluate: policies:moody raised RuntimeError('in no mood') in seat " in sentence
    assert " of deal 0 (hands of 1 cards, seated " in sentence
    kept = hint_of(sentence)
    assert (kept, len(list(Path(kept).glob("*.npz")))) == ("unfinished-1", 4)
    code, sentence = refusal((*PLAYER, *SMALL, "--results", kept), capsys)
    assert (code, hint_of(sentence)) == (1, kept)
    monkeypatch.delenv(policies.FAIL)
    played = []
    play = Plan.play
    monkeypatch.setattr(Plan, "play", lambda plan, job, *rest: played.append(job) or play(plan, job, *rest))
    assert run(*PLAYER, *SMALL, "--results", kept) == whole
    assert len(played) == 4
    assert {job.hand.cards for job in played if job.hand} == {1}


def test_a_failure_before_anything_was_played_leaves_no_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    monkeypatch.setenv(policies.FAIL, "3")
    code, sentence = refusal((*PLAYER, *SMALL), capsys)
    assert code == 1
    assert sentence.endswith(")")
    assert list(folder.iterdir()) == []


def test_another_failure_takes_another_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(policies.FAIL, "1")
    for number in (1, 2):
        assert hint_of(refusal((*PLAYER, *SMALL), capsys)[1]) == f"unfinished-{number}"


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_after_a_failure_it_goes_on_as_a_user_sees_it(folder: Path, workers: int) -> None:
    arguments = (*PLAYER, *SMALL, "--workers", workers, "--json", "report.json")
    failed = evaluate(*arguments, cwd=folder, **{policies.FAIL: "1"})
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "RuntimeError: in no mood" in failed.stderr
    assert 'policies.py", line' in failed.stderr
    kept = hint_of(failed.stderr.splitlines()[-1])
    again = evaluate(*arguments, "--results", kept, cwd=folder)
    assert (again.returncode, again.stderr) == (0, "")
    assert (folder / "report.json").read_bytes() == run(*PLAYER, *SMALL)


@pytest.mark.slow
def test_under_torchrun_a_failure_ends_all_ranks_and_what_was_kept_goes_on(folder: Path) -> None:
    arguments = (*PLAYER, *SMALL, "--results", "kept", "--json", "report.json")
    failed = python(*TORCHRUN, "-m", "agents.evaluate", *arguments, cwd=folder, **{policies.FAIL: "1"})
    assert failed.returncode == 1
    assert "policies:moody raised RuntimeError('in no mood') in seat " in failed.stderr
    assert list((folder / "kept").glob("*.npz"))
    assert not (folder / "report.json").exists()
    again = python(*TORCHRUN, "-m", "agents.evaluate", *arguments, cwd=folder)
    assert again.returncode == 0, again.stderr
    assert (folder / "report.json").read_bytes() == run(*PLAYER, *SMALL)


def test_a_player_that_takes_too_long_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("policies:stalling", "--against", "rule", *SMALL, "--time-limit", "0.2")
    code, sentence = refusal(arguments, capsys)
    assert code == 1
    assert "evaluate: policies:stalling did not answer within 0.2 s in seat " in sentence


def test_the_own_error_of_a_module_is_shown_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "unfit.py").write_text("import nowhere_to_be_found\n", encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    with pytest.raises(ModuleNotFoundError, match=r"nowhere_to_be_found"):
        run("unfit:make", *SMALL)


@pytest.mark.slow
def test_checkpoints_bring_their_rules_and_are_known_by_their_content(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another network under the same name has results of its own."""
    from test_checkpoint import save_run

    runs = {"three": (3, (8, 8)), "other": (3, (16, 8)), "four": (4, (8, 8))}
    paths = {
        name: str(save_run(folder / name, num_players=seats, hidden_sizes=hidden))
        for name, (seats, hidden) in runs.items()
    }
    one = facts(paths["three"], "--against", "rule", "--sizes", "2", "--deals", "10", "--results", "kept")
    assert Rules.from_dict(one["rules"]).num_players == 3
    files = len(list(Path("kept").glob("*.npz")))
    shutil.copy(paths["other"], paths["three"])
    other = facts(paths["three"], "--against", "rule", "--sizes", "2", "--deals", "10", "--results", "kept")
    hashes = [
        {player["name"]: player["sha256"] for player in found["players"]}[paths["three"]] for found in (one, other)
    ]
    assert None not in hashes
    assert hashes[0] != hashes[1]
    assert len(list(Path("kept").glob("*.npz"))) == files + files // 2
    capsys.readouterr()
    code, sentence = refusal((paths["four"], "--against", paths["three"], "--deals", "10"), capsys)
    assert code == 2
    assert "plays at tables of 3 players, but this table has 4" in sentence

"""`python -m agents.evaluate`, run as a user runs it."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tiny_runs import without_notice

import agents
from agents import evaluate, tournament
from agents.terminal import share_text
from bluke_env import Rules, bots
from bluke_env.evaluation import Estimate, write_json

ROOT = Path(__file__).parent.parent

Report = tuple[str, dict[str, Any]]
"""What the terminal showed, and the facts of the JSON file."""


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "agents.evaluate", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", timeout=120)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    path = tmp_path_factory.mktemp("reports") / "report.json"
    done = run("rule", "--against", "random", "rule", "--deals", 40, "--seed", 3, "--reverse", "--json", path)
    assert (done.returncode, without_notice(done.stderr)) == (0, "")
    return done.stdout, json.loads(path.read_text(encoding="utf-8"))


def test_the_report_says_what_was_played(report: Report) -> None:
    _, facts = report
    said = ["rule", "--against", "random", "rule", "--deals", "40", "--seed", "3", "--reverse"]
    assert facts["command"] == ["python -m agents.evaluate", *said]
    assert (facts["unit"], facts["split"]) == ("hand", "development")
    assert [player["name"] for player in facts["players"]] == ["rule", "random"]
    assert (facts["deals"], facts["rotations"], facts["seed"]) == (40, 4, 3)
    assert Rules.from_dict(facts["rules"]) == Rules()
    pairs = [(comparison["player"], comparison["opponent"]) for comparison in facts["comparisons"]]
    rule, drawn = ({"name": name, "version": bots.BOTS[name].version} for name in ("rule", "random"))
    assert pairs == [(rule, drawn), (drawn, rule), (rule, rule)]
    for comparison in facts["comparisons"]:
        assert [hand["cards"] for hand in comparison["hands"]] == list(range(13, 0, -1))
        assert [hand["times"] for hand in comparison["hands"]] == [2] * 12 + [1]
    assert facts["versions"]["bluke_env"]
    assert facts["machine"]["logical_cores"] > 0


def test_the_rule_bot_beats_the_random_one_and_equals_itself(report: Report) -> None:
    ahead, behind, same = (comparison["average"] for comparison in report[1]["comparisons"])
    for name in ("over_same_seat", "over_opponents"):
        assert ahead[name]["mean"] > ahead[name]["half_width"] > 0
        assert behind[name]["mean"] < -behind[name]["half_width"]
        assert same[name] == {"mean": 0.0, "half_width": 0.0}


def test_the_terminal_shows_the_numbers_of_the_report(report: Report) -> None:
    text, facts = report
    lines = text.splitlines()
    assert lines[0].startswith("4 players, 40 deals of each hand size × 4 rotations, seed 3, ")
    assert facts["machine"]["cpu"] in lines[1]
    assert f"numpy {facts['versions']['numpy']}" in lines[2]
    assert max(map(len, lines)) <= 110
    averages = [line.split() for line in lines if line.startswith("average")]
    assert len(averages) == len(facts["comparisons"])
    for row, comparison in zip(averages, facts["comparisons"], strict=True):
        average = comparison["average"]
        for place, name in ((1, "over_same_seat"), (4, "over_opponents")):
            shown = [f"{average[name]['mean']:+.2f}", "±", f"{average[name]['half_width']:.2f}"]
            assert row[place : place + 3] == shown
        assert row[7:9] == [f"{average['made']['mean']:.1%}", f"{average['bid']['mean']:.2f}"]


def test_final_deals_are_called_so() -> None:
    done = run("rule", "--against", "random", "--deals", 3, "--sizes", 2, "--final")
    assert done.stdout.startswith("4 players, 3 deals of each hand size × 4 rotations, final seed 1000000, "), (
        done.stderr
    )


def test_the_rules_that_are_played_are_named() -> None:
    """Settings may be spelt as those of training are."""
    options = ("--num_players", 3, "--min_bid", 0, "--bluke-lead", "trump", "--schedule", "3-1")
    done = run("random", "--against", "rule", "--deals", 3, *options)
    assert done.stdout.startswith("3 players, schedule 3-1, min_bid 0, bluke_lead trump, 3 deals of"), done.stderr
    assert "note:" not in done.stdout


@pytest.mark.parametrize(
    ("mean", "error", "text"),
    [
        (0.5, 0.1, "50.0% ± 42.7%"),
        (0.2, 0.1, "20.0% (0.0% to 62.7%)"),
        (0.9, 0.1, "90.0% (47.3% to 100.0%)"),
        (1.0, 0.0, "100.0% (43.9% to 100.0%)"),
        (0.25, 0.0, "25.0% ± 0.0%"),
    ],
)
def test_no_share_is_said_to_be_below_none_or_above_all(mean: float, error: float, text: str) -> None:
    share = Estimate(mean, error, 2)
    assert share_text(share) == text
    low, high = share.share_interval
    assert 0 <= low <= mean <= high <= 1


def test_the_same_command_gives_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    texts = []
    for seed in (0, 0, 1):
        options = ("--deals", 20, "--sizes", 6, 2, "--num-players", 3, "--min-bid", 0, "--seed", seed)
        done = run("random", "--against", "rule", *options, "--json", path)
        assert done.returncode == 0, done.stderr
        texts.append(path.read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
    comparisons = [json.loads(text)["comparisons"] for text in texts]
    assert comparisons[0] != comparisons[2]
    assert [file.name for file in tmp_path.iterdir()] == ["report.json"]
    rules = json.loads(path.read_text(encoding="utf-8"))["rules"]
    assert (rules["num_players"], rules["min_bid"]) == (3, 0)


BAD_INPUTS = {
    "an unknown bot": (["nobody"], "nobody"),
    "an unknown opponent": (["rule", "--against", "random", "nobody"], "nobody"),
    "a missing checkpoint": (["missing.pt"], "missing.pt"),
    "a file that is no checkpoint": (["pyproject.toml"], "pyproject.toml"),
    "no deals": (["rule", "--deals", "0"], "--deals is 0, but an interval needs at least 3 deals"),
    "half a deal": (["rule", "--deals", "2.5"], "argument --deals: invalid int value: '2.5'"),
    "16 players": (["rule", "--num-players", "16"], "num_players is 16, but it must be a whole number"),
    "a size never dealt": (["rule", "--sizes", "14"], "hand sizes: 14 is not in the schedule"),
    "a negative seed": (["rule", "--seed", "-1"], "seed is -1, but"),
    "a high lowest bid": (["rule", "--min-bid", "2"], "min_bid is 2, but"),
    "a folder that is not there": (["rule", "--json", "nowhere/a.json"], "nowhere/a.json cannot be written"),
    "a folder as the report": (["rule", "--json", "tests"], "tests cannot be written"),
    "no player": ([], "give either a PLAYER or a --table"),
    "a player and a table": (["rule", "--table", *["rule"] * 4], "give either a PLAYER or a --table"),
    "a table too small": (["--table", "rule", "random"], "the table rule, random has 2 places, but the game is for 4"),
    "an unknown baseline": (["--table", *["rule"] * 4, "--baseline", "nobody"], "nobody"),
    "a module that is not there": (["nowhere:make"], "there is no bot 'nowhere' and no module of that name"),
    "a function that is not there": (["policies:nobody"], "the module policies has no function nobody"),
    "no time": (["rule", "--time-limit", "0"], "--time-limit is 0, but it must be above 0"),
    "no number as a time": (["rule", "--time-limit", "nan"], "--time-limit is nan, but it must be above 0"),
    "no end of time": (["rule", "--time-limit", "inf"], "--time-limit is inf, but it must be above 0"),
    "no threads": (["rule", "--threads", "0"], "--threads is 0, but it must be a whole number from 1"),
    "no workers": (["rule", "--workers", "0"], "workers is 0, but it must be a whole number from 1"),
    "no games": (["rule", "--games-at-once", "0"], "games_at_once is 0, but it must be a whole number from 1"),
    "sizes of matches": (["rule", "--matches", "--sizes", "1"], "--sizes goes with single hands, not with --matches"),
    "few matches": (["rule", "--matches", "--deals", "2"], "--deals is 2, but an interval needs at least 3 matches"),
    "a seed too high for final": (["rule", "--final", "--seed", "1000000"], "--seed with --final is 1000000, but"),
    "a schedule without sense": (["rule", "--schedule", "often"], "often"),
    "an unknown preset": (["rule", "--preset", "poker"], "argument --preset: invalid choice: 'poker'"),
    "few deals for losses": (["rule", "--losses", "2"], "--losses is 2, but it must be 0 or at least 3 deals"),
    "negative losses": (["rule", "--losses", "-1"], "--losses is -1, but it must be 0 or at least 3 deals"),
    "losses of matches": (["rule", "--matches", "--losses", "3"], "losses are measured on single hands"),
    "losses at a mixed table": (
        ["--table", "rule", "rule", "random", "random", "--losses", "3"],
        "losses are measured",
    ),
    "a part without a folder": (["rule", "--part", "1/2"], "--part needs --results"),
    "a merge without a folder": (["rule", "--merge", "tests"], "--merge needs --results"),
    "a folder of something else": (["rule", "--results", "tests"], "tests holds no results of an evaluation"),
    "a file as the folder": (["rule", "--results", "LICENSE"], "LICENSE holds no results of an evaluation"),
    "a page in no folder": (["rule", "--html", "nowhere/a.html"], "nowhere/a.html cannot be written"),
    "a folder as the page": (["rule", "--html", "tests"], "tests cannot be written"),
    "half an option": (["rule", "--work", "2"], "unrecognized arguments: --work 2"),
    "an unknown option": (["rule", "--gamble", "7"], "unrecognized arguments: --gamble 7"),
}


@pytest.mark.parametrize("part", ["0/2", "3/2", "1", "1/2/3", "a/b", "-1/2", "1/0", ""])
def test_a_part_that_there_is_not_is_refused(part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        evaluate.main(["rule", "--deals", "3", f"--part={part}", "--results", str(tmp_path / "results")])
    assert ended.value.code == 2
    assert f"--part is {part!r}, but " in capsys.readouterr().err


@pytest.mark.parametrize("case", BAD_INPUTS)
def test_bad_input_is_refused_in_a_sentence(
    case: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, sentence = BAD_INPUTS[case]
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit) as ended:
        evaluate.main(arguments)
    printed = capsys.readouterr()
    assert ended.value.code == 2
    assert printed.out == ""
    assert printed.err.startswith("python -m agents.evaluate: error: ")
    assert sentence in printed.err
    assert printed.err.count("\n") == 1


def test_bad_input_ends_the_program_with_code_2() -> None:
    done = run("nobody")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "nobody" in done.stderr


def no_space(_: int) -> None:
    raise OSError(28, "No space left on device")


def test_a_report_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.json"
    write_json(path, {"a": 1})
    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(OSError, match="No space"):
        write_json(path, {"a": 2})
    assert json.loads(path.read_text(encoding="utf-8")) == {"a": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_results_are_shown_even_if_they_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.fsync", no_space)
    path = tmp_path / "report.json"
    with pytest.raises(SystemExit) as ended:
        evaluate.main(["random", "--against", "random", "--deals", "5", "--sizes", "1", "--json", str(path)])
    printed = capsys.readouterr()
    assert ended.value.code == 2
    assert "average" in printed.out
    assert printed.err.endswith(f"{path} could not be written: No space left on device\n")


def test_help_names_every_option() -> None:
    done = run("--help")
    assert done.returncode == 0
    options = "PLAYER --against --table --baseline --matches --deals --seed --final --num-players --sizes --json --html"
    for option in (*options.split(), "--workers", "--games-at-once", "--results", "--part", "--merge", "--losses"):
        assert option in done.stdout


class TestCheckpoints:
    """Whatever `agents.load` returns brings its own rules to the table."""

    @pytest.fixture(autouse=True)
    def checkpoints(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def load(path: str) -> Any:
            player: Any = bots.make("rule")
            player.rules = Rules(num_players=int(path[0]), min_bid=0, schedule=[2, 1])  # type: ignore[arg-type]
            player.name = path
            return player

        monkeypatch.setattr(agents, "load", load, raising=False)

    def test_the_rules_are_those_of_the_checkpoint(self, tmp_path: Path) -> None:
        for arguments in (["3.pt", "--against", "rule"], ["rule", "--against", "3.pt", "random"]):
            evaluate.main([*arguments, "--deals", "5", "--json", str(tmp_path / "report.json")])
            facts = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
            assert Rules.from_dict(facts["rules"]) == Rules(num_players=3, min_bid=0, schedule=[2, 1])  # type: ignore[arg-type]

    def test_other_rules_than_those_of_the_checkpoint_are_said(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        note = "3.pt was made for min_bid 0, bluke_lead none, but here it plays with min_bid 1, bluke_lead trump"
        changes = ["--min-bid", "1", "--bluke_lead", "trump", "--schedule", "2", "--deals", "5"]
        evaluate.main(["rule", "--against", "3.pt", *changes, "--json", str(tmp_path / "report.json")])
        assert f"\nnote: {note}\n" in capsys.readouterr().out
        assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["notes"] == [note]
        tournament.main(["rule", "3.pt", *changes])
        printed = capsys.readouterr().out
        assert re.match(r"2 contestants at \d+ tables: 3 players, schedule 2, bluke_lead trump, 5 deals of", printed)
        assert f"\nnote: {note}\n" in printed

    @pytest.mark.parametrize(
        "arguments", [["3.pt", "--against", "rule", "--num-players", "4"], ["4.pt", "--against", "3.pt"]]
    )
    def test_another_number_of_players_is_refused(
        self, arguments: list[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit) as ended:
            evaluate.main([*arguments, "--deals", "5"])
        assert ended.value.code == 2
        assert "3.pt plays at tables of 3 players, but this table has 4" in capsys.readouterr().err


@pytest.mark.parametrize("opponents", ["rule", bots.make("rule"), None, []])
def test_opponents_that_are_no_list_are_refused_in_a_sentence(opponents: Any) -> None:
    with pytest.raises(ValueError, match=r"^opponents is .*, but it must be a list of agents, one or more$"):
        evaluate.compare(bots.make("rule"), opponents, Rules(), deals=10, seed=0)
    with pytest.raises(ValueError, match=r"^rules is 'bluke', but it must be a Rules object"):
        evaluate.compare(bots.make("rule"), [bots.make("rule")], "bluke", deals=10, seed=0)  # type: ignore[arg-type]


class Failing:
    name = "failing"

    def reset(self, num_games: int, seed: int) -> None:
        pass

    def act(self, turn: Any) -> Any:
        return turn.nonsense


def test_a_player_that_fails_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(bots, "make", lambda spec: Failing())
    with pytest.raises(SystemExit) as ended:
        evaluate.main(["random", "--against", "rule", "--deals", "5", "--sizes", "1"])
    printed = capsys.readouterr()
    assert ended.value.code == 1
    assert printed.out == ""
    trace, sentence = printed.err.splitlines()[0], printed.err.splitlines()[-1]
    assert trace.startswith("Traceback")
    assert sentence.startswith("python -m agents.evaluate: random raised AttributeError(")
    assert " of deal 0 " in sentence

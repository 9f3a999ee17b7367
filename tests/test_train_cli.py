"""`train.py`, run as a user runs it."""

import csv
import dataclasses
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from evaluation_runs import TORCHRUN
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # type: ignore[import-untyped]
from tiny_runs import ROOT, environment, options, python, trainer, without, without_notice

import agents
import train
from agents import checkpoint
from agents.config import TrainConfig
from agents.learner import Learner

SCRIPT = ROOT / "train.py"
QUICK = {"num_players": 15, "bot": "random"}
"""A schedule of short hands and a quick bot, so that everything around the training takes a moment."""


def iterations(folder: Path) -> list[int]:
    """The rows of a run's log."""
    if not (folder / "log.csv").exists():
        return []
    with (folder / "log.csv").open(newline="") as file:
        return [int(row["iteration"]) for row in csv.DictReader(file)]


def logged_steps(folder: Path) -> list[int]:
    """The steps at which TensorBoard shows a number."""
    events = EventAccumulator(str(folder))
    events.Reload()
    return [event.step for event in events.Scalars("points")]


# A whole run.


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What a run of three iterations printed, and its folder; both to be left as they are."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "tiny.yaml").write_text("run_dir: runs/here\nnum_players: 15\niterations: 99\n", encoding="utf-8")
    done = python(SCRIPT, "--config", "tiny.yaml", *options(bot="random"), cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout, folder / "runs" / "here"


def test_a_run_writes_a_checkpoint_logs_and_an_evaluation(finished: tuple[str, Path]) -> None:
    _, folder = finished
    names = sorted(re.sub(r"^events\.out\.tfevents\..*", "events", path.name) for path in folder.iterdir())
    assert names == [".lock", "checkpoint.pt", "evaluation.json", "events", "log.csv"]
    assert iterations(folder) == logged_steps(folder) == [1, 2, 3]
    facts = json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))
    assert (facts["deals"], facts["rules"]["num_players"]) == (4, 15)
    assert [comparison["opponent"]["name"] for comparison in facts["comparisons"]] == ["random"]
    assert agents.load(folder / "checkpoint.pt").rules.num_players == 15


def test_a_run_says_what_it_is_and_how_well_it_plays(finished: tuple[str, Path]) -> None:
    printed, folder = finished
    assert re.search(r"^[\d,]+ weights, float32 on cpu, 1 process\(es\); runs/here: ", printed)
    assert re.search(r"^before training, against random .*: [+-]\d+\.\d\d ± \d+\.\d\d points a hand$", printed, re.M)
    assert re.search(r" 3/3 .* [+-]\d+\.\d points/hand, [\d.]+ k decisions/s", printed)
    average = json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))["comparisons"][0]["average"]
    lead = average["over_same_seat"]
    last = next(line.split() for line in printed.splitlines() if line.startswith("average"))
    assert last[1:4] == [f"{lead['mean']:+.2f}", "±", f"{lead['half_width']:.2f}"]


def test_the_evaluation_of_the_checkpoint_alone_is_the_same(finished: tuple[str, Path], tmp_path: Path) -> None:
    _, folder = finished
    result = tmp_path / "result.json"
    evaluation = ("-m", "agents.evaluate", folder / "checkpoint.pt", "--against", "random", "--deals", 4)
    done = python(*evaluation, "--json", result, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    one, other = (json.loads(path.read_text(encoding="utf-8")) for path in (result, folder / "evaluation.json"))
    for key in ("hands", "average"):
        assert one["comparisons"][0][key] == other["comparisons"][0][key]


def test_a_run_goes_on_where_it_ended(finished: tuple[str, Path]) -> None:
    """With more iterations than were asked for at first, in its own folder and from anywhere."""
    _, folder = finished
    before = checkpoint.read(folder / "checkpoint.pt")["progress"]
    work = folder.parent.parent
    done = python(SCRIPT, "--resume", "runs/here/checkpoint.pt", "--iterations", 5, cwd=work)
    assert (done.returncode, done.stderr) == (0, "")
    assert " 5/5 " in done.stdout
    assert "iterations now last 5: the learning rate" in " ".join(done.stdout.split())
    assert "before training" not in done.stdout
    assert iterations(folder) == logged_steps(folder) == [1, 2, 3, 4, 5]
    after = checkpoint.read(folder / "checkpoint.pt")["progress"]
    assert after["iteration"] == 5
    assert after["decisions"] > before["decisions"]
    assert {path.name for path in work.iterdir()} == {"tiny.yaml", "runs"}


# The settings.


def test_the_command_line_goes_before_the_file_and_the_file_before_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "some.yaml"
    path.write_text("iterations: 7\nhidden_sizes: [32]\nlearning_rate: 1\nevaluate_against: [rule]\n", encoding="utf-8")
    config, resumed = train.parse(["--config", str(path), "--iterations", "8", "--evaluate_against", "[random, rule]"])
    assert resumed is None
    assert config == TrainConfig(iterations=8, hidden_sizes=(32,), learning_rate=1.0)


def test_a_checkpoint_brings_the_settings_and_the_folder_of_its_run(finished: tuple[str, Path], tmp_path: Path) -> None:
    path = finished[1] / "checkpoint.pt"
    config, resumed = train.parse(["--resume", str(path), "--iterations", "9", "--learning_rate", "0.5"])
    assert resumed is not None
    assert (config.num_players, config.hidden_sizes, config.bot) == (15, (8, 8), "random")
    assert (config.seed, config.learning_rate, config.run_dir) == (0, 0.5, str(finished[1]))


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("seed", "5", "seed is 5, but the checkpoint to resume has 0: leave it so"),
        ("min_bid", "0", "min_bid is 0, but the checkpoint to resume has 1: leave it so"),
        ("rank_order", "fixed", "rank_order is 'fixed', but the checkpoint to resume has 'in_play': leave it so"),
        ("initial", "bluke-4p", "initial is 'bluke-4p', but the checkpoint to resume has None: leave it so"),
        ("plays_on", "rule", "plays_on is 'rule', but the checkpoint to resume has 'learned': leave it so"),
        ("iterations", "1", "iterations is 1, but the run has already done [35]: ask for more"),
        ("run_dir", "elsewhere", "run_dir is 'elsewhere', but a run is resumed in its own folder, .*: leave it out"),
    ],
)
def test_what_a_resumed_run_cannot_change(finished: tuple[str, Path], option: str, value: str, message: str) -> None:
    path = finished[1] / "checkpoint.pt"
    with pytest.raises(ValueError, match=message):
        train.parse(["--resume", str(path), "--iterations", "9", f"--{option}", value])


def test_a_checkpoint_with_an_unknown_setting_is_not_resumed(finished: tuple[str, Path], tmp_path: Path) -> None:
    data = checkpoint.read(finished[1] / "checkpoint.pt")
    data["config"]["mystery"] = 1
    torch.save(data, tmp_path / "older.pt")
    with pytest.raises(ValueError, match=r"older.pt was written by version .*: 'mystery' is no setting"):
        train.parse(["--resume", str(tmp_path / "older.pt")])


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.yaml")), ids=lambda path: path.name)
def test_the_configurations_of_the_project_are_valid(path: Path) -> None:
    config, _ = train.parse(["--config", str(path)])
    assert Path(config.run_dir) == Path("runs") / path.stem
    Learner(config)  # which takes the weights of its initial network, if it names one


def test_help_has_a_line_for_every_setting() -> None:
    done = python(SCRIPT, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    printed = " ".join(done.stdout.split())
    documented = dict(re.findall(r"^        (\w+): (.*(?:\n            .*)*)", TrainConfig.__doc__ or "", re.M))
    for field in dataclasses.fields(TrainConfig):
        sentence = " ".join(documented[field.name].split())
        assert re.search(rf"--{field.name} \S+ {re.escape(sentence)} \(type: ", printed), field.name


def test_the_command_line_counts_wherever_its_file_stands(tmp_path: Path) -> None:
    for name, text in (("a.yaml", "iterations: 7\nseed: 1\n"), ("b.yaml", "iterations: 8\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    a, b = (str(tmp_path / name) for name in ("a.yaml", "b.yaml"))
    for files in (["--config", a, "--config", b], ["--config", a, f"--config={b}"], [f"--config={a}", "--config", b]):
        for arguments in (["--seed", "3", *files], [*files, "--seed", "3"]):
            config, _ = train.parse(arguments)
            assert (config.iterations, config.seed) == (8, 3)
    assert train.parse(["--seed", "3", f"--config={a}"])[0].seed == 3


BAD_INPUTS: dict[str, tuple[list[str], str]] = {
    "a schedule for none of the tables": (
        ["--num_players", "[4,15]", "--schedule", "9"],
        "the schedule for 15 players",
    ),
    "an unknown field": (["--iterationz", "3"], "--iterationz 3: did you mean iterations?"),
    "an unknown field in the file": (["--config", "field.yaml"], "did you mean iterations?"),
    "a field with hyphens": (["--final-guide", "1"], "--final-guide 1: did you mean final_guide?"),
    "an option misspelt": (["--confg", "quick.yaml"], "did you mean config?"),
    "an empty value": (["--guide", ""], "guide is empty, but it must be a number"),
    "an empty value in the file": (["--config", "empty.yaml"], "guide is None, but it must be a value"),
    "a field like none": (["--colour", "red"], "unrecognized arguments: --colour red\n"),
    "a wrong type": (["--iterations", "many"], "iterations is many, but it must be a whole number\n"),
    "half an iteration": (["--iterations", "2.5"], "iterations is 2.5, but it must be a whole number"),
    "a wrong type in the file": (["--config", "type.yaml"], "iterations is many, but it must be a whole number"),
    "a word for a number": (["--guide", "much"], "guide is much, but it must be a number"),
    "a list of wrong things": (["--hidden_sizes", "[wide]"], "hidden_sizes has wide, but it must be a list of whole"),
    "a list for a text": (["--config", "text.yaml"], "initial is ['bluke-4p'], but it must be text, in a YAML"),
    "a list without brackets": (["--hidden_sizes", "64,64"], "hidden_sizes has 64,64, but it must be a list of whole"),
    "a word for a list": (["--evaluate_against", "rule"], "has rule, but it must be a list of players, such as [ran"),
    "tables of many seats": (["--num_players", "[2,many]"], "but it must be a whole number or a list of them, such"),
    "no number": (["--learning_rate", "nan"], "learning_rate"),
    "no end": (["--sharpness", "inf"], "sharpness"),
    "a value out of range": (["--iterations", "0"], "iterations is 0, but it must be at least 1"),
    "a value out of range in the file": (["--config", "range.yaml"], "bot_share is 1.5, but it must be from 0 to 1"),
    "no sizes": (["--sizes_per_iteration", "0"], "sizes_per_iteration is 0, but it must be at least 1"),
    "nothing to decide": (["--schedule", "1"], "schedule is '1', but it must be one with hands in which there is"),
    "hands that are too large": (["--schedule", "14"], "is 14, but it must be a whole number from 1 to 13"),
    "too few deals": (["--evaluate_deals", "2"], "evaluate_deals is 2, but it must be at least 3"),
    "16 players": (["--num_players", "16"], "num_players is 16, but it must be a whole number from 2 to 15"),
    "1 player": (["--num_players", "1"], "num_players is 1, but"),
    "a lowest bid of 2": (["--min_bid", "2"], "min_bid is 2, but"),
    "an unknown choice": (["--bluke_lead", "suit"], "bluke_lead is suit, but it must be one of none, trump"),
    "an unknown bot": (["--bot", "nobody"], "there is no bot 'nobody': the bots are random, rule"),
    "an unknown opponent": (
        ["--evaluate_against", "[random,nobody]"],
        "evaluate_against has a player that cannot be made: there is no bot 'nobody'",
    ),
    "a device that is not there": (["--device", "cuda:77"], "device is 'cuda:77', which this machine does not have"),
    "no device": (["--device", "abacus"], "device is 'abacus', which this machine does not have"),
    "a missing file": (["--config", "missing.yaml"], "config: there is no file "),
    "an empty file": (["--config", "nothing.yaml"], "config: the file is empty or no YAML file of settings"),
    "a number for a text": (
        ["--config", "number.yaml"],
        "schedule is 5, but it must be text, in a YAML file in quotes",
    ),
    "a file that is no YAML": (["--config", "broken.yaml"], "config"),
    "a file without settings": (["--config", "list.yaml"], "config"),
    "a missing checkpoint": (["--resume", "missing.pt"], "there is no checkpoint at missing.pt"),
    "a damaged checkpoint": (["--resume", "damaged.pt"], "damaged.pt is damaged or no checkpoint of this project"),
    "a file where the folder should be": (["--run_dir", "range.yaml"], "range.yaml"),
    "an argument too many": (["quick"], "quick"),
    "a value missing": (["--iterations"], "--iterations"),
}


@pytest.fixture
def folder_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    contents = {
        "field.yaml": "iterationz: 3\n",
        "type.yaml": "iterations: many\n",
        "range.yaml": "bot_share: 1.5\n",
        "empty.yaml": "guide: null\n",
        "text.yaml": "initial: [bluke-4p]\n",
        "nothing.yaml": "",
        "number.yaml": "schedule: 5\n",
        "broken.yaml": "iterations: [3\n",
        "list.yaml": "- iterations\n- 3\n",
        "damaged.pt": "PK",
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("case", BAD_INPUTS)
def test_bad_input_is_refused_in_a_sentence(
    case: str, folder_of_files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, sentence = BAD_INPUTS[case]
    before = sorted(folder_of_files.iterdir())
    monkeypatch.setattr(sys, "argv", ["train.py", *arguments])
    with pytest.raises(SystemExit) as ended:
        train.main()
    printed = capsys.readouterr()
    assert ended.value.code == 2
    assert printed.out == ""
    assert printed.err.startswith("train.py: ")
    assert sentence in printed.err
    assert printed.err.count("\n") == 1
    assert len(printed.err) < 400
    assert sorted(folder_of_files.iterdir()) == before


@pytest.mark.parametrize("changed", [["--hidden_sizes", "[9]"], ["--num_players", "4"]])
def test_resuming_with_what_the_weights_do_not_fit_is_refused(
    changed: list[str],
    finished: tuple[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = finished[1] / "checkpoint.pt"
    before = path.read_bytes(), (finished[1] / "log.csv").read_bytes()
    monkeypatch.setattr(sys, "argv", ["train.py", "--resume", str(path), *changed])
    with pytest.raises(SystemExit) as ended:
        train.main()
    printed = capsys.readouterr().err
    assert ended.value.code == 2
    assert printed.startswith(f"train.py: {changed[0][2:]} is ")
    assert "the checkpoint to resume has " in printed
    assert printed.count("\n") == 1
    assert (path.read_bytes(), (finished[1] / "log.csv").read_bytes()) == before


def test_bad_input_ends_the_program_with_code_2(tmp_path: Path) -> None:
    done = python(SCRIPT, "--iterationz", 3, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("package", ["torch", "jsonargparse", "rich", "tensorboard"])
def test_without_the_train_extra_it_says_what_to_install(package: str, tmp_path: Path) -> None:
    done = python(SCRIPT, "--help", cwd=tmp_path, on_path=without(tmp_path / "blocked", package))
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (f'train.py needs {package}, which comes with the train extra: pip install -e ".[train]"\n')


FAILING = """
class Failing:
    name = "failing"

    def reset(self, num_games, seed):
        pass

    def act(self, turn):
        raise RuntimeError("out of cards")

def make(*_):
    return Failing()
"""


@pytest.mark.parametrize("program", [(), pytest.param(TORCHRUN, marks=pytest.mark.slow)], ids=["one", "two"])
def test_a_player_that_fails_ends_the_run_in_a_sentence(program: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "fail.py").write_text(FAILING, encoding="utf-8")
    settings = QUICK | {"evaluate_against": ("fail:make",), "run_dir": "run"}
    done = python(*program, SCRIPT, *options(**settings), cwd=tmp_path, on_path=tmp_path)
    assert done.returncode == 1
    assert "RuntimeError: out of cards" in done.stderr
    assert len(re.findall(r"^train\.py: \S*fail\S* raised .*$", done.stderr, re.MULTILINE)) == 1
    assert "Connection closed" not in done.stderr


# Stopping a run.


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A run that is still going on."""
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), *arguments],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for_rows(process: subprocess.Popen[str], folder: Path, count: int) -> None:
    """Waits until a run has logged so many iterations."""
    deadline = time.monotonic() + 300
    while len(iterations(folder / "run")) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_run_after_saving_it(number: signal.Signals, code: int, tmp_path: Path) -> None:
    path = Path("run") / "checkpoint.pt"
    endless = {"iterations": 100_000, "checkpoint_every": 100_000, "run_dir": "run"}
    with running(tmp_path, *options(**QUICK | endless)) as process:
        wait_for_rows(process, tmp_path, 2)
        assert not (tmp_path / path).exists()
        process.send_signal(number)
        printed, errors = process.communicate(timeout=180)
    assert (process.returncode, without_notice(errors)) == (code, "")
    assert printed.rstrip().endswith(f"interrupted: saved {path}; --resume {path} goes on")
    done = checkpoint.read(tmp_path / path)["progress"]["iteration"]
    assert iterations(tmp_path / "run") == list(range(1, done + 1))
    names = {file.name.split(".")[0] for file in (tmp_path / "run").iterdir()}
    assert names == {"", "checkpoint", "events", "log"}  # the first is the lock
    if number == signal.SIGINT:
        finished = python(SCRIPT, "--resume", path, "--iterations", done + 2, cwd=tmp_path)
        assert (finished.returncode, finished.stderr) == (0, "")
        assert iterations(tmp_path / "run") == list(range(1, done + 3))


def test_two_runs_never_share_a_folder(tmp_path: Path) -> None:
    with trainer(tmp_path / "run", **QUICK) as made:
        made.iterate()
        made.save()
        for arguments in (
            options(**QUICK | {"run_dir": "run"}),
            ["--resume", "run/checkpoint.pt", "--iterations", "9"],
        ):
            done = python(SCRIPT, *arguments, cwd=tmp_path)
            assert (done.returncode, done.stderr) == (
                2, "train.py: another process is training in run: wait for it or choose another run_dir\n"
            )  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_second_signal_stops_at_once(tmp_path: Path) -> None:
    """Within the iteration, and without harm to what was saved before."""
    with trainer(tmp_path / "run", **QUICK) as made:
        made.iterate()
        made.save()
    files = [tmp_path / "run" / name for name in ("checkpoint.pt", "log.csv")]
    before = [file.read_text(encoding="latin-1").split() for file in files]
    command = ["--resume", "run/checkpoint.pt", "--iterations", "9", "--hands_per_size", "8000"]
    with running(tmp_path, *command) as process:
        assert process.stdout is not None
        assert " weights, " in process.stdout.readline()  # an iteration of some seconds begins
        for number in (signal.SIGINT, signal.SIGTERM):
            time.sleep(0.5)
            process.send_signal(number)
        printed, errors = process.communicate(timeout=180)
    assert process.returncode == 143
    assert without_notice(errors).strip() == f"stopped at once: {Path('run') / 'checkpoint.pt'} holds the last save"
    assert "saved" not in printed
    assert [file.read_text(encoding="latin-1").split() for file in files] == before

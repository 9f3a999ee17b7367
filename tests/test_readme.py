"""Every block of code and every link of the README and the docs works as it stands."""

import importlib.util
import re
import shlex
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from tiny_runs import ROOT, python, trainer, without_notice

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


class Block(NamedTuple):
    """A fenced block of a page, and the block of plain output that follows it at once, if one does."""

    page: Path
    line: int
    language: str
    text: str
    output: str | None

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    found: list[Block] = []
    fences = r"^```(\w*)\n(.*?)^```$(?=(?:\n+```(?:text)?\n(.*?)^```$)?)"
    content = page.read_text(encoding="utf-8")
    for match in re.finditer(fences, content, re.M | re.S):
        found.append(Block(page, content.count("\n", 0, match.start()) + 1, *match.groups()))
    assert content.count("\n```") + content.startswith("```") == 2 * len(found), f"a fence of {page} is not closed"
    return found


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def blocks_in(language: str) -> list[Block]:
    return [block for block in BLOCKS if block.language == language]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the commands find what a checkout has, and a finished run of configs/quick.yaml."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("train.py", "configs"):
        (folder / name).symlink_to(ROOT / name)
    with trainer(folder / "runs" / "quick") as made:
        made.iterate()
        made.save()
    return folder


def test_all_blocks_are_of_a_kind_that_is_tested() -> None:
    assert {block.language for block in BLOCKS} <= {"python", "bash", "text", ""}  # the last two show output
    assert len(blocks_in("python")) >= 4
    assert len(blocks_in("bash")) >= 4


@pytest.mark.parametrize("block", blocks_in("python"), ids=str)
def test_python(
    block: Block, workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(workspace)
    exec(compile(block.text, str(block), "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr()
    assert printed.out
    assert without_notice(printed.err) == ""
    if block.output is not None:
        assert printed.out == block.output


# Commands: all of them are run, made short by more options, except those that a rule below says are not.

SHORT_RUN = ["--iterations", "2", "--sizes_per_iteration", "2", "--hands_per_size", "8", "--hidden_sizes", "[8]"]
FRESH = ["--initial", "null"]
"""A short run has another shape than the shipped networks."""

SHORT_EVALUATION = ["--evaluate_deals", "3", "--evaluate_against", "[random]", "--device", "cpu"]
QUICK_RATES = ["--seconds", "0.05", "--repeats", "1"]


def shortened(command: str) -> list[str] | None:
    """Returns what to give to Python instead of a command; None if it has been checked and is not to be run.

    Raises:
        AssertionError: There is no rule for such a command.
    """
    program, *words = [word for word in shlex.split(command, comments=True) if word != "OMP_NUM_THREADS=1"]
    match Path(program).name, words:
        case "python3", ["-m", "venv", _]:
            return None  # what installs is run by CI
        case "pip", ["install", *arguments]:
            check_installation(arguments)
            return None
        case "tensorboard", ["--logdir", _]:
            assert importlib.util.find_spec("tensorboard")
            return None  # it does not end
        case "pdoc", ["-d", "google", *modules]:
            assert all(importlib.util.find_spec(module) for module in ["pdoc", *modules])
            return None  # it does not end; tests/test_package.py writes the pages
        case "python", ["-m", "pytest", *_]:
            return None  # it is running
        case "python", ["train.py", "--help"]:
            return words
        case "python", ["train.py", *arguments] if "--resume" in arguments:
            return [*words, "--iterations", "3", *SHORT_EVALUATION]
        case "python", ["train.py", *_]:
            return [*words, *SHORT_RUN, *SHORT_EVALUATION, *FRESH]
        case "torchrun", ["--nproc-per-node", "2", "train.py", *arguments]:
            return ["train.py", *arguments, *SHORT_RUN, *SHORT_EVALUATION, *FRESH]  # tests/test_ranks.py runs two
        case "torchrun", ["--nproc-per-node", "2", "-m", "agents.evaluate", *_]:
            return None  # tests/test_evaluate_runs.py runs it
        case "python", ["-m", "agents.evaluate", *_] if "--task" in words:
            return None  # it fixes how long it takes; tests/test_tasks.py runs one
        case "python", ["-m", "agents.evaluate", *_] if "--losses" in words:
            return [*words, "--deals", "4", "--losses", "3"]
        case "python", ["-m", "agents.evaluate", *_]:
            return [*words, "--deals", "4"]
        case "python", ["-m", "bluke_env.evaluation.exploitability", *_]:
            return [*words, "--preset", "micro", "--cards", "1", "--solve", "5"]
        case "python", ["-m", "agents.exploit", *_]:
            return None  # its settings decide how long it takes; tests/test_exploit.py runs it
        case "python", ["-m", "agents.tournament", *_]:
            return [*words, "--deals", "3", "--mixed", "2"]
        case "python", ["-m", "benchmarks.engine" | "benchmarks.peers" | "benchmarks.training", *_]:
            return [*words, *QUICK_RATES]
    raise AssertionError(f"there is no rule for the command {command!r}: add one")


def check_installation(arguments: list[str]) -> None:
    """Checks that constraints and extras that are named exist."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    match arguments:
        case ["-c", constraints, "-e", target]:
            assert (ROOT / constraints).is_file()
        case ["-e", target]:
            pass
        case _:
            raise AssertionError(f"there is no rule for pip install {arguments}: add one")
    extras = re.fullmatch(r"\.(?:\[([\w,]+)\])?", target)
    assert extras
    assert set((extras[1] or "").split(",")) - {""} <= set(project["optional-dependencies"])


@pytest.mark.parametrize("block", blocks_in("bash"), ids=str)
def test_bash(block: Block, workspace: Path) -> None:
    """The lines of a block are run one after the other, since later ones may need what earlier ones made."""
    lines = block.text.replace("\\\n", " ").splitlines()
    for command in (command for line in lines for command in line.split(" && ")):
        short = shortened(command)
        if short is None:
            continue
        done = python(*short, cwd=workspace)
        assert (done.returncode, done.stderr) == (0, ""), command
        assert done.stdout
        for option, value in pairwise(short):
            if option in ("--json", "--html"):
                assert (workspace / value).is_file()


@pytest.mark.parametrize(
    "command", ["rm -r runs", "python evaluate.py", "pip install torch", "python -c 'print()'", "source activate"]
)
def test_a_command_without_a_rule_does_not_escape(command: str) -> None:
    with pytest.raises(AssertionError, match="there is no rule for"):
        shortened(command)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_place_is_held_for_numbers_to_come(page: Path) -> None:
    assert not re.search(r"^[A-Z]{5,}$|: [A-Z]{5,}$", page.read_text(encoding="utf-8"), re.M)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_relative_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if not re.match(r"\w+:", target):
            path = (page.parent / target.partition("#")[0]).resolve()
            assert path.exists(), target
            assert path.is_relative_to(ROOT.resolve()), target

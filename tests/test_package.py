"""What importing the package costs, how its parts depend on each other, how it is compiled, and its documents."""

import ast
import graphlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

import bluke_env
from bluke_env.engine import jit

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "bluke_env"
SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}


def run_python(code: str, *, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return run


# Imports.


def test_importing_the_package_imports_no_heavy_ones_and_compiles_nothing(tmp_path: Path) -> None:
    code = """
import sys
import bluke_env, bluke_env.batch, bluke_env.game
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""
    modules = set(run_python(code, NUMBA_CACHE_DIR=str(tmp_path)).stdout.split())
    assert "numba" in modules
    assert not modules & {
        "torch",
        "agents",
        "pygame",
        "tensorboard",
        "rich",
        "jsonargparse",
        "matplotlib",
        "jinja2",
        "choix",
    }
    assert not list(tmp_path.rglob("*.nb*"))


def test_every_module_can_be_imported_with_the_base_dependencies_alone() -> None:
    code = f"""
import importlib, sys
for absent in ("torch", "agents", "pygame", "tensorboard", "rich", "jsonargparse", "yaml", "matplotlib", "jinja2",
               "choix", "scipy", "pyspiel"):
    sys.modules[absent] = None
for name in {sorted(name for name in SOURCES if not name.startswith("bluke_env.adapters."))}:
    importlib.import_module(name)
"""
    run_python(code)


def test_the_base_dependencies_are_the_light_ones() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    names = {re.split(r"[^\w-]", line)[0] for line in project["project"]["dependencies"]}
    assert names == {"gymnasium", "numba", "numpy", "pettingzoo"}
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["bluke_env"]


def test_the_version_is_that_of_the_metadata() -> None:
    assert bluke_env.__version__ == importlib.metadata.version("bluke-env")


def imports_of(path: Path) -> set[str]:
    """The modules that a file imports, wherever in it; of ours those that are meant, not the packages they lie in."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            assert node.module
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in SOURCES else node.module)
    return found


AT_THE_CALL = {"bluke_env.game": {"bluke_env.records"}}
"""`Game.record` and `Game.replay` lead on to the records, which build games: imported only when they are called."""

IMPORTS = {name: imports_of(path) for name, path in SOURCES.items()}
OURS = {
    name: {target for target in targets if target in SOURCES} - AT_THE_CALL.get(name, set())
    for name, targets in IMPORTS.items()
}


@pytest.mark.parametrize("name", SOURCES)
def test_no_file_imports_torch_or_the_agents(name: str) -> None:
    roots = {target.partition(".")[0] for target in IMPORTS[name]}
    assert not roots & {"torch", "agents", "benchmarks", "tests", "train", "pygame", "tensorboard"}


STEPS = [
    "cards errors",
    "schedule rules",
    "engine",
    "observation belief deals actions results saves",
    "game batch agent",
]
"""Where the arrows start; everything else comes after."""


def step_of(name: str) -> int:
    part = f"{name}.".split(".")[1]
    return next((number for number, parts in enumerate(STEPS) if part in parts.split()), len(STEPS))


@pytest.mark.parametrize("name", SOURCES)
def test_arrows_run_one_way(name: str) -> None:
    """From cards over rules, engine, observation and game to everything else, as the design has it."""
    backwards = [target for target in OURS[name] if step_of(target) > step_of(name)]
    assert not backwards, f"{name} imports {backwards}"


def test_what_is_imported_at_the_call_is_not_imported_before() -> None:
    code = f"import sys, {', '.join(AT_THE_CALL)}\nprint(*sys.modules)"
    loaded = set(run_python(code).stdout.split())
    assert loaded >= AT_THE_CALL.keys()
    for name, targets in AT_THE_CALL.items():
        assert targets <= IMPORTS[name]
        assert not targets & loaded


def test_no_imports_run_in_circles() -> None:
    order = list(graphlib.TopologicalSorter(OURS).static_order())
    assert order.index("bluke_env.cards") < order.index("bluke_env.rules") < order.index("bluke_env.game")


# Compiled code and its cache.


class Compiled(NamedTuple):
    """What a fresh process compiled, the legal actions it found, and what it told the user."""

    functions: int
    legal: list[int]
    told: str


def play_in(tree: Path, cache: Path) -> Compiled:
    """Starts a game with the package in `tree` and tells at once, not after a while, if it compiles."""
    code = """
import bluke_env
from numba.core import event
from bluke_env.engine import jit

jit.NOTICE_AFTER_SECONDS = 0.0
with event.install_recorder("numba:compile") as recorder:
    legal = bluke_env.Game(bluke_env.Rules(num_players=4, schedule=[3]), seed=1).legal_actions()
print(sum(e.is_start for _, e in recorder.buffer), bluke_env.__file__, *legal)
"""
    run = run_python(code, cwd=tree, NUMBA_CACHE_DIR=str(cache), PYTHONDONTWRITEBYTECODE="1")
    functions, file, *legal = run.stdout.split()
    assert Path(file).is_relative_to(tree)
    return Compiled(int(functions), [int(action) for action in legal], run.stderr)


NOTICE = "bluke_env: compiling what is used for the first time since the installation ...\n"


def test_compiled_once_announced_and_never_outdated(tmp_path: Path) -> None:
    tree, cache = tmp_path / "tree", tmp_path / "cache"
    shutil.copytree(PACKAGE, tree / "bluke_env", ignore=shutil.ignore_patterns("__pycache__"))
    first = play_in(tree, cache)
    assert first.functions > 0
    assert first.legal == [55, 56, 57]
    assert first.told == NOTICE
    assert play_in(tree, cache) == Compiled(0, [55, 56, 57], "")
    with (tree / "bluke_env" / "engine" / "bid.py").open("a", encoding="utf-8") as bid:
        bid.write("\n\n@inlined\ndef legal_bids(rules, game):\n    return np.int64(4)\n")
    changed = play_in(tree, cache)
    assert (changed.legal, changed.told) == ([56], NOTICE)


def test_a_kernel_elsewhere_is_not_outdated_when_a_file_beside_it_changes(tmp_path: Path) -> None:
    """As those of `agents`, which call each other's subroutines."""
    called = "from bluke_env.engine.jit import subroutine\n\n\n@subroutine\ndef number(): return {}\n"
    calling = (
        "from called import number\nfrom bluke_env.engine.jit import kernel\n\n\n@kernel\ndef run(): return number()\n"
    )
    (tmp_path / "calling.py").write_text(calling, encoding="utf-8")
    for value in (3, 4):
        (tmp_path / "called.py").write_text(called.format(value), encoding="utf-8")
        code = "from calling import run; print(run(), sum(run.stats.cache_hits.values()))"
        for hits in (0, 1):
            ran = run_python(code, cwd=tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"), PYTHONDONTWRITEBYTECODE="1")
            assert ran.stdout.split() == [str(value), str(hits)]


COMPILED = [path for path in SOURCES.values() if path.parent.name == "engine" or path.name in ("cards.py", "rules.py")]


@pytest.mark.parametrize("source", COMPILED, ids=lambda path: path.name)
def test_the_cache_stamp_changes_with_every_source(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "bluke_env"
    shutil.copytree(PACKAGE, tree, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(jit, "__file__", str(tree / "engine" / "jit.py"))
    before = jit._source_stamp()
    assert before == jit._source_stamp()
    copy = tree / source.relative_to(PACKAGE)
    copy.write_bytes(copy.read_bytes() + b"\n# changed\n")
    assert jit._source_stamp() != before


def test_everything_compiled_is_part_of_the_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any file that decorates a function for compilation, wherever it lies, counts."""
    compiling = [name for name in SOURCES if any(target.startswith("bluke_env.engine") for target in OURS[name])]
    assert "bluke_env.game" in compiling
    tree = tmp_path / "bluke_env"
    shutil.copytree(PACKAGE, tree, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(jit, "__file__", str(tree / "engine" / "jit.py"))
    for name in compiling:
        before = jit._source_stamp()
        copy = tree / SOURCES[name].relative_to(PACKAGE)
        copy.write_bytes(copy.read_bytes() + b"\n# changed\n")
        assert jit._source_stamp() != before, name


# Documents.


def test_the_observation_page_is_up_to_date(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "docs" / "make_tables.py"), "--check"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_an_outdated_observation_page_is_noticed(tmp_path: Path) -> None:
    for name in ("make_tables.py", "observation.md"):
        shutil.copy(ROOT / "docs" / name, tmp_path / name)
    page = tmp_path / "observation.md"
    page.write_text(page.read_text(encoding="utf-8").replace("one-hot seat", "a seat"), encoding="utf-8")
    command = [sys.executable, str(tmp_path / "make_tables.py")]
    run = subprocess.run([*command, "--check"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 1
    told = run.stderr.removeprefix(NOTICE)  # where compiling takes long
    assert told == "observation.md is out of date: run `python docs/make_tables.py`\n"
    subprocess.run(command, cwd=ROOT, check=True)
    assert page.read_bytes() == (ROOT / "docs" / "observation.md").read_bytes()


def test_the_reference_is_written(tmp_path: Path) -> None:
    """By the command of the README, into a folder instead of a browser."""
    command = re.search(r"^pdoc (.+)$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    assert command
    written = [sys.executable, "-m", "pdoc", *command[1].split(), "-o", str(tmp_path)]
    done = subprocess.run(written, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shown = {"bluke_env": "Seats at the table, 2 to 15", "agents/config": "Settings of one training run"}
    for page, sentence in shown.items():
        assert sentence in (tmp_path / f"{page}.html").read_text(encoding="utf-8")
    for module in ("bluke_v0", "bots", "evaluation"):
        assert (tmp_path / "bluke_env" / f"{module}.html").exists()

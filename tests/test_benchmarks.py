"""The benchmarks run, say what they measured, and do without what is not installed. No rate is asserted."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from tiny_runs import TINY, python, without

from benchmarks import timing
from benchmarks.engine import AEC, BATCH, COMPARED_WITH, PLAYOUTS, TEAM_PLAYOUTS
from benchmarks.peers import PEERS

QUICK = ("--seconds", 0.05, "--repeats", 1)
OURS = {PLAYOUTS, TEAM_PLAYOUTS, BATCH, f"{BATCH}, canonical suits", AEC}
NEEDS = {name: "pyspiel" if name.startswith("OpenSpiel") else "pygame" for name in PEERS}
INSTALLED = {name for name, package in NEEDS.items() if importlib.util.find_spec(package)}


def report(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def check_rates(rates: list[dict[str, Any]]) -> None:
    for rate in rates:
        assert rate["unit"] == "decisions"
        assert 0 < rate["minimum"] <= rate["median"] <= rate["maximum"]
        assert rate["first_call"] > 0


def test_the_engine_is_measured_beside_its_peers(tmp_path: Path) -> None:
    path = tmp_path / "rates.json"
    done = python("-m", "benchmarks.engine", *QUICK, "--json", path)
    assert (done.returncode, done.stderr) == (0, "")
    facts = report(path)
    assert {rate["name"] for rate in facts["rates"]} == OURS | INSTALLED
    check_rates(facts["rates"])
    compared = {(ratio["name"], ratio["peer"]) for ratio in facts["ratios"]}
    assert compared == {(name, peer) for name, peer in COMPARED_WITH.items() if peer in INSTALLED}
    for name in (*OURS, *PEERS):
        assert name in done.stdout
    for name in PEERS.keys() - INSTALLED:
        assert f"{name}: not installed" in done.stdout
    assert f"{facts['machine']['cpu']}, logical cores: " in done.stdout
    assert "threads used: 1\n" in done.stdout
    assert f"numpy {facts['machine']['numpy']}" in done.stdout
    assert "first call" in done.stdout


@pytest.mark.parametrize("module", ["benchmarks.engine", "benchmarks.peers"])
def test_what_is_not_installed_is_named_and_left_out(module: str, tmp_path: Path) -> None:
    blocked = without(tmp_path / "blocked", "pyspiel", "open_spiel", "pygame")
    done = python("-m", module, *QUICK, "--json", tmp_path / "rates.json", blocked=blocked)
    assert (done.returncode, done.stderr) == (0, "")
    for name in PEERS:
        assert f'{name}: not installed: pip install -e ".[bench]" (No module named ' in done.stdout
    facts = report(tmp_path / "rates.json")
    assert {rate["name"] for rate in facts["rates"]} == (OURS if module == "benchmarks.engine" else set())
    assert facts["ratios"] == []


def test_training_is_measured_in_its_halves(tmp_path: Path) -> None:
    config, path = tmp_path / "tiny.yaml", tmp_path / "rates.json"
    settings = TINY | {"hidden_sizes": [8, 8], "evaluate_against": ["random"], "run_dir": str(tmp_path / "runs")}
    config.write_text(json.dumps(settings), encoding="utf-8")  # which is YAML too
    done = python("-m", "benchmarks.training", "--repeats", 1, "--config", config, "--json", path)
    assert (done.returncode, done.stderr) == (0, "")
    rates = report(path)["rates"]
    check_rates(rates)
    everything, learned, rollout, update = (rate["median"] for rate in rates)
    assert everything > learned
    assert 1 / rollout + 1 / update == pytest.approx(1 / learned, rel=1e-6)
    for rate in rates:
        assert rate["name"] in done.stdout
    assert f"{config}, float32 on cpu" in done.stdout
    assert not (tmp_path / "runs").exists()  # a measurement leaves no run behind


@pytest.mark.parametrize("module", ["benchmarks.engine", "benchmarks.peers", "benchmarks.training"])
@pytest.mark.parametrize(
    ("option", "value"), [("--seconds", "0"), ("--seconds", "soon"), ("--repeats", "0"), ("--json", "nowhere/a.json")]
)
def test_options_are_checked(option: str, value: str, module: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        timing.parser(module).parse_args([option, value])
    assert ended.value.code == 2
    assert f"argument {option}: {value} " in capsys.readouterr().err


def test_a_rate_counts_what_was_done_and_leaves_the_first_call_out() -> None:
    calls = []

    def chunk() -> int:
        calls.append(1)
        return 1000 if len(calls) > 1 else 1

    rate = timing.measure("something", "pieces", chunk, seconds=0.01, repeats=3)
    assert len(calls) > 3
    assert rate.minimum <= rate.median <= rate.maximum
    assert rate.unit == "pieces"
    other = timing.Rate("other", "pieces", 2.0, 1.0, 4.0, 0.1)
    ratio = timing.ratio(timing.Rate("one", "pieces", 10.0, 8.0, 12.0, 0.1), other)
    assert (ratio.median, ratio.minimum, ratio.maximum) == (5, 2, 12)
    with pytest.raises(ValueError, match="only equal units compare"):
        timing.ratio(rate, timing.Rate("other", "games", 2.0, 1.0, 4.0, 0.1))
    with pytest.raises(ValueError, match="must return how many"):
        timing.measure("nothing", "pieces", lambda: 0)

"""The benchmarks run, say what they measured, and do without what is not installed. No rate is asserted."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from tiny_runs import TINY, python, without

from agents.config import TrainConfig
from benchmarks import timing, training
from benchmarks.engine import AEC, BATCH, COMPARED_WITH, PLAYOUTS, TEAM_PLAYOUTS
from benchmarks.peers import PEERS
from benchmarks.training_process import PARTS, Speed

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


def test_cards_tried_in_hindsight_are_measured_with_both_ways_of_playing_on(tmp_path: Path) -> None:
    path = tmp_path / "rates.json"
    done = python("-m", "benchmarks.hindsight", *QUICK, "--json", path)
    assert (done.returncode, done.stderr) == (0, "")
    facts = report(path)
    assert {rate["name"] for rate in facts["rates"]} == {
        f"{name}, {size} cards" for name in ("rule", "small network") for size in (13, 8, 4)
    }
    check_rates(facts["rates"])
    assert len(facts["ratios"]) == 3


@pytest.mark.parametrize("module", ["benchmarks.engine", "benchmarks.peers"])
def test_what_is_not_installed_is_named_and_left_out(module: str, tmp_path: Path) -> None:
    blocked = without(tmp_path / "blocked", "pyspiel", "open_spiel", "pygame")
    done = python("-m", module, *QUICK, "--json", tmp_path / "rates.json", on_path=blocked)
    assert (done.returncode, done.stderr) == (0, "")
    for name in PEERS:
        assert f'{name}: not installed: pip install -e ".[bench]" (No module named ' in done.stdout
    facts = report(tmp_path / "rates.json")
    assert {rate["name"] for rate in facts["rates"]} == (OURS if module == "benchmarks.engine" else set())
    assert facts["ratios"] == []


def test_training_is_measured_with_one_process_and_with_two(tmp_path: Path) -> None:
    config, path = tmp_path / "tiny.yaml", tmp_path / "rates.json"
    config.write_text(json.dumps(TINY | {"run_dir": str(tmp_path / "runs")}), encoding="utf-8")  # which is YAML too
    blocked = without(tmp_path / "blocked", "sb3_contrib")
    done = python("-m", "benchmarks.training", *QUICK, "--config", config, "--json", path, on_path=blocked)
    assert (done.returncode, done.stderr) == (0, "")
    facts, names = report(path), ["1 process, float32", "2 processes, float32"]
    check_rates(facts["rates"])
    assert [rate["name"] for rate in facts["rates"]] == list(facts["time_split"]) == names
    assert [(ratio["name"], ratio["peer"]) for ratio in facts["ratios"]] == [(names[1], names[0])]
    for name, shares in facts["time_split"].items():
        assert list(shares) == ["rollout", "network", "update"]
        assert min(shares.values()) > 0
        assert sum(shares.values()) == pytest.approx(1)
        assert f"{name}: rollout {shares['rollout']:.0%}, network " in done.stdout
    assert f"{config}, float32 on cpu" in done.stdout
    assert "MaskablePPO: not installed" in done.stdout
    assert not (tmp_path / "runs").exists()  # a measurement leaves no run behind


def test_what_training_is_compared_with() -> None:
    one, two, one_32, two_32 = training.setups("bfloat16")
    assert training.setups("float32") == [one_32, two_32]
    figures = {one: 60.0, two: 100.0, one_32: 30.0, two_32: 50.0}
    speeds = {
        setup: [Speed(figure + spread, dict.fromkeys(PARTS, 1 / 3), 0.5) for spread in (0.0, 9.0, -9.0)]
        for setup, figure in figures.items()
    }
    ours = {setup: training.our_rate(setup, runs) for setup, runs in speeds.items()}
    assert ours[two] == timing.Rate("2 processes, bfloat16", "decisions", 100.0, 91.0, 109.0, 0.5)
    peers = {threads: timing.Rate(f"peer {threads}", "decisions", 10.0 * threads, 1.0, 99.0, 0.1) for threads in (1, 2)}
    assert {(ratio.name, ratio.peer): ratio.median for ratio in training.compared(ours, peers)} == {
        (two.name, one.name): pytest.approx(5 / 3),
        (two_32.name, one_32.name): pytest.approx(5 / 3),
        (one.name, one_32.name): 2,
        (two.name, two_32.name): 2,
        (one.name, "peer 1"): 6,
        (one_32.name, "peer 1"): 3,
        (two.name, "peer 2"): 5,
        (two_32.name, "peer 2"): 2.5,
    }


def test_maskable_ppo_gets_what_training_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sb3_contrib")
    asked = []
    monkeypatch.setattr("benchmarks.maskable_ppo.maskable_ppo_rate", lambda *arguments: asked.append(arguments))
    config = TrainConfig(hidden_sizes=(512, 256, 256), minibatch_size=4096, epochs=1, seed=5)
    training.peer_rates(config, repeats=3, seconds=2.5)
    same = (config.rules, (512, 256, 256), list(range(2, 14)), 341, 4096, 1)
    assert asked == [(*same, threads, 3, 5, 2.5) for threads in (1, 2)]


def test_training_is_measured_as_the_configuration_says(tmp_path: Path) -> None:
    path = tmp_path / "some.yaml"
    path.write_text("{epochs: 3, seed: 1, imitation_iterations: 20, shards: 4}", encoding="utf-8")
    assert training.settings(path, seed=7) == TrainConfig(epochs=3, seed=7, shards=4)
    path.write_text("{shards: 1}", encoding="utf-8")
    with pytest.raises(ValueError, match="shards is 1, but 2 processes must share them"):
        training.settings(path, seed=7)


def test_a_wrong_configuration_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text("{epoch: 3}", encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        training.main(["--config", str(path)])
    assert ended.value.code == 2
    assert f"error: {path}: Option 'epoch' is not accepted" in capsys.readouterr().err


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

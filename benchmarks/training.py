"""How fast training is, with one process and with two, beside sb3-contrib's MaskablePPO.

python -m benchmarks.training
python -m benchmarks.training --config configs/quick.yaml --repeats 3

Decisions per second are those of whole iterations, update included, forced moves among them. The processes are started
by `torchrun`, anew for each repeat and by turns, so that what is compared was measured side by side. Whatever else the
machine computes makes two processes lose more than one: an idle machine is needed, for about twelve minutes.

MaskablePPO gets the same widths, minibatch, epochs and as many hands, of all sizes equally often, where our training
plays large ones more often. It knows float32 alone; where training runs in another precision, both are measured: their
ratio is what the precision brings, and the ratio of float32 to MaskablePPO is the rest. `benchmarks/maskable_ppo.py`
says what else differs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median

from jsonargparse import ArgumentError

from agents.config import TrainConfig
from agents.precision import chosen_device, chosen_precision
from benchmarks import timing
from benchmarks.peers import MISSING
from benchmarks.training_process import PARTS, Speed
from train import parse

PROCESSES = (1, 2)


@dataclass(frozen=True)
class Setup:
    """How training is run: by how many processes, each with one thread, and in which precision."""

    processes: int
    precision: str

    @property
    def name(self) -> str:
        """What its rate is called."""
        return f"{self.processes} process{'es' if self.processes > 1 else ''}, {self.precision}"


def setups(precision: str) -> list[Setup]:
    """Returns what is measured of a precision, and of float32 for comparison."""
    return [Setup(count, each) for each in dict.fromkeys((precision, "float32")) for count in PROCESSES]


def trained(config: TrainConfig, setup: Setup, seconds: float) -> Speed:
    """Starts training in processes of its own and returns how fast it was; ends the program if they fail."""
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder, "config.json"), Path(folder, "speed.json")
        source.write_text(json.dumps({**config.to_dict(), "precision": setup.precision}), encoding="utf-8")
        torchrun = ("torch.distributed.run", "--standalone", "--nproc-per-node", str(setup.processes))
        process = ("-m", "benchmarks.training_process", str(source), str(seconds), str(result))
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run([sys.executable, "-m", *torchrun, *process], env=environment, stderr=subprocess.PIPE)
        # Processes that have told all may be aborted while they end ("terminate called"): what counts is the result.
        if not result.exists():
            sys.stderr.buffer.write(done.stderr)
            sys.exit(f"benchmarks.training: training with {setup.name} failed")
        return Speed(**json.loads(result.read_text(encoding="utf-8")))


def trained_by_turns(config: TrainConfig, precision: str, repeats: int, seconds: float) -> dict[Setup, list[Speed]]:
    """Runs every setup as often as asked for, one after the other, since a machine's speed drifts."""
    speeds: dict[Setup, list[Speed]] = {setup: [] for setup in setups(precision)}
    for _ in range(repeats):
        for setup, runs in speeds.items():
            runs.append(trained(config, setup, seconds))
    return speeds


def our_rate(setup: Setup, speeds: Sequence[Speed]) -> timing.Rate:
    """Returns the rate over several runs."""
    rates = [speed.rate for speed in speeds]
    return timing.Rate(setup.name, "decisions", median(rates), min(rates), max(rates), speeds[0].first_call)


def time_split(speeds: Sequence[Speed]) -> dict[str, float]:
    """Returns the mean share of the time that each part took."""
    return {part: mean(speed.shares[part] for speed in speeds) for part in PARTS}


def peer_rates(config: TrainConfig, repeats: int, seconds: float) -> dict[int, timing.Rate]:
    """Measures MaskablePPO with as many threads as we have processes; none where it is not installed."""
    try:
        from benchmarks.maskable_ppo import maskable_ppo_rate
    except ImportError as error:
        print(f"MaskablePPO: {MISSING} ({error})")
        return {}
    sizes = [size for place, size in config.learnable if config.tables[place] == config.rules]
    hands = max(1, round(config.sizes_per_iteration * config.hands_per_size / len(sizes)))
    return {
        threads: maskable_ppo_rate(
            config.rules, config.hidden_sizes, sizes, hands, config.minibatch_size, config.epochs,
            threads, repeats, config.seed, seconds,
        )
        for threads in PROCESSES
    }  # fmt: skip


def compared(ours: Mapping[Setup, timing.Rate], peers: Mapping[int, timing.Rate]) -> list[timing.Ratio]:
    """Returns two processes over one, a precision over float32, and ours over the peer's, as far as measured."""
    one, two = PROCESSES
    ratios = [timing.ratio(rate, ours[Setup(one, to.precision)]) for to, rate in ours.items() if to.processes == two]
    for setup, rate in ours.items():
        if setup.precision != "float32":
            ratios.append(timing.ratio(rate, ours[replace(setup, precision="float32")]))
    ratios += [timing.ratio(rate, peers[setup.processes]) for setup, rate in ours.items() if setup.processes in peers]
    return ratios


def settings(path: Path, seed: int) -> TrainConfig:
    """Reads a configuration as `train.py` does.

    It is what a run does most of the time that is measured, so not the imitation that it may begin with.

    Raises:
        ArgumentError: A setting is unknown or of the wrong type.
        ValueError: A setting is out of range, or processes cannot share the work.
    """
    config, _ = parse(["--config", str(path), "--seed", str(seed), "--imitation_iterations", "0"])
    if config.shards % max(PROCESSES):
        raise ValueError(
            f"shards is {config.shards}, but {max(PROCESSES)} processes must share them: choose a multiple"
        )
    return config


def main(command: Sequence[str] | None = None) -> None:
    """Measures training and MaskablePPO, and prints rates, time split and ratios."""
    parser = timing.parser("How fast training is on this machine, which should be idle; it takes about twelve minutes.")
    parser.add_argument("--config", type=Path, default=Path("configs/ppo_4p.yaml"), help="settings of the run")
    arguments = parser.parse_args(command)
    try:
        config = settings(arguments.config, arguments.seed)
        device = chosen_device(config.device)
    except (ArgumentError, ValueError) as error:
        parser.error(f"{arguments.config}: {' '.join(str(error).split())}")
    precision = chosen_precision(config.precision, device)
    timing.print_machine(max(PROCESSES))
    print(f"{arguments.config}, {precision} on {device}")
    speeds = trained_by_turns(config, precision, arguments.repeats, arguments.seconds)
    peers = peer_rates(config, arguments.repeats, arguments.seconds)
    ours = {setup: our_rate(setup, runs) for setup, runs in speeds.items()}
    rates, ratios = [*ours.values(), *peers.values()], compared(ours, peers)
    splits = {setup.name: time_split(runs) for setup, runs in speeds.items()}
    timing.print_rates(rates)
    for name, shares in splits.items():
        print(f"{name}: " + ", ".join(f"{part} {share:.0%}" for part, share in shares.items()) + " of the time")
    timing.print_ratios(ratios)
    if arguments.json:
        timing.write_json(arguments.json, rates, ratios, threads=max(PROCESSES), more={"time_split": splits})


if __name__ == "__main__":
    main()

"""How fast training is: decisions per second of a whole iteration, and of its two halves.

python -m benchmarks.training
python -m benchmarks.training --config configs/ppo_4p.yaml
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import yaml

from agents.config import TrainConfig
from benchmarks import timing
from train import Trainer


def main() -> None:
    """Runs a few iterations of a configuration and prints what they took."""
    parser = timing.parser("How fast training is on this machine; --repeats is the number of iterations.")
    parser.add_argument("--config", type=Path, default=Path("configs/quick.yaml"), help="settings of the run")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = {**yaml.safe_load(arguments.config.read_text()), "run_dir": folder, "seed": arguments.seed}
        trainer = Trainer(TrainConfig.from_dict(settings))
        started = time.perf_counter()
        trainer.iterate()
        first = time.perf_counter() - started
        rows = [trainer.iterate() for _ in range(arguments.repeats)]
        trainer.close()
    timing.print_machine(trainer.config.threads)
    print(f"{arguments.config}, {trainer.progress.precision} on {trainer.device}")
    rates = [
        _rate("all decisions", first, [row["decisions_per_second"] for row in rows]),
        _rate("decisions learned from", first, [row["learned_per_second"] for row in rows]),
        _rate("the same, rollout alone", first, [r["learned_per_second"] / r["rollout_share"] for r in rows]),
        _rate("the same, update alone", first, [r["learned_per_second"] / (1 - r["rollout_share"]) for r in rows]),
    ]
    timing.print_rates(rates)
    if arguments.json:
        timing.write_json(arguments.json, rates, threads=trainer.config.threads)


def _rate(name: str, first: float, values: list[float]) -> timing.Rate:
    return timing.Rate(name, "decisions", sorted(values)[len(values) // 2], min(values), max(values), first)


if __name__ == "__main__":
    main()

"""Everything that was measured and what it takes to measure it again, as plain facts and as a JSON file."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import bluke_env
from bluke_env.evaluation.measure import STATISTICS, Comparison
from bluke_env.evaluation.statistics import Estimate
from bluke_env.rules import Rules

_PACKAGES = ("numpy", "numba", "torch")


@dataclass(frozen=True)
class Evaluation:
    """Comparisons that share their rules, deals and seed.

    Attributes:
        rules: Of the tables.
        deals: Deals for each kind of hand; each was played in as many rotations as there are players, or sides.
        seed: Of the deals.
        comparisons: One for each opponent and direction.
        seconds: Wall-clock time of the play.
    """

    rules: Rules
    deals: int
    seed: int
    comparisons: tuple[Comparison, ...]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Returns all facts as plain numbers, strings and lists; only `seconds` differs in a repetition."""
        return {
            "rules": self.rules.to_dict(),
            "deals": self.deals,
            "rotations": len(self.rules.sides),
            "seed": self.seed,
            "interval": "mean - half_width to mean + half_width: 95 %, by Student's t, the deal being the unit",
            "statistics": STATISTICS,
            "comparisons": [_comparison_facts(comparison) for comparison in self.comparisons],
            "machine": machine(),
            "versions": versions(),
            "seconds": self.seconds,
        }


def _comparison_facts(comparison: Comparison) -> dict[str, Any]:
    return {
        "player": comparison.player._asdict(),
        "opponent": comparison.opponent._asdict(),
        "hands": [
            {
                "cards": hand.cards,
                "no_trump": hand.no_trump,
                "times": comparison.times[hand],
                "estimates": _estimate_facts(estimates),
            }
            for hand, estimates in comparison.hands.items()
        ],
        "average": _estimate_facts(comparison.average),
    }


def _estimate_facts(estimates: dict[str, Estimate]) -> dict[str, dict[str, float]]:
    return {name: {"mean": estimate.mean, "half_width": estimate.half_width} for name, estimate in estimates.items()}


def machine() -> dict[str, str | int | None]:
    """Returns the processor's name, its logical cores and the operating system."""
    return {"cpu": cpu_name(), "logical_cores": os.cpu_count(), "system": platform.system()}


def cpu_name() -> str:
    """Returns what the processor calls itself."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def versions() -> dict[str, str | None]:
    """Returns the versions of all that results may depend on, None for what is not installed."""
    found: dict[str, str | None] = {"bluke_env": bluke_env.__version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = None
    return found


def write_json(path: Path, facts: dict[str, Any]) -> None:
    """Writes facts as a JSON file, whole or not at all."""
    text = json.dumps(facts, indent=2, allow_nan=False) + "\n"
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)

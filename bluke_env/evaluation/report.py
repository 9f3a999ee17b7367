"""Everything that was measured and what it takes to measure it again, as plain facts."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import bluke_env
from bluke_env.evaluation.measure import MATCH_STATISTICS, STATISTICS, Comparison, Participant
from bluke_env.evaluation.plan import Plan
from bluke_env.evaluation.seeds import split_of
from bluke_env.evaluation.statistics import Estimate

FORMAT = 1

_PACKAGES = ("numpy", "numba", "torch")


@dataclass(frozen=True)
class Evaluation:
    """What came of a plan.

    Attributes:
        plan: What was played.
        players: All who played.
        comparisons: One for each player of interest at a table.
        seconds: Wall-clock time of the play.
        notes: Sentences that a reader of the results has to know.
        sections: Further facts by the name of their section: what the report shows of them is its own business.
    """

    plan: Plan
    players: tuple[Participant, ...]
    comparisons: tuple[Comparison, ...]
    seconds: float
    notes: tuple[str, ...] = ()
    sections: dict[str, Any] = field(default_factory=dict)

    def to_dict(self, command: Sequence[str] = (), title: str = "Evaluation") -> dict[str, Any]:
        """Returns all facts as plain numbers, strings and lists, the same ones for the same plan.

        Args:
            command: What was called, for repeating it.
            title: Of the report.
        """
        plan = self.plan
        return {
            "format": FORMAT,
            "title": title,
            "command": list(command),
            "unit": plan.unit,
            "rules": plan.rules.to_dict(),
            "seed": plan.seed,
            "split": split_of(plan.seed),
            "deals": plan.deals,
            "rotations": len(plan.rules.sides),
            "interval": f"mean ± half width, 95 %, by Student's t, the {plan.cluster} being the unit",
            "statistics": MATCH_STATISTICS if plan.hands is None else STATISTICS,
            "notes": list(self.notes),
            "players": [player._asdict() for player in self.players],
            "comparisons": [_comparison_facts(comparison) for comparison in self.comparisons],
            **self.sections,
            "machine": machine(),
            "versions": versions(),
        }


def _comparison_facts(comparison: Comparison) -> dict[str, Any]:
    return {
        "player": _who(comparison.player),
        "opponent": _who(comparison.opponents[0])
        if len(set(comparison.opponents)) == 1
        else {
            "name": " + ".join(opponent.name for opponent in comparison.opponents),
            "version": None,
        },
        "baseline": _who(comparison.baseline),
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
        "variance_reduction": comparison.variance_reduction,
        **({} if comparison.diagnostics is None else {"diagnostics": comparison.diagnostics}),
    }


def _who(player: Participant) -> dict[str, Any]:
    return {"name": player.name, "version": player.version}


def _estimate_facts(estimates: dict[str, Estimate]) -> dict[str, dict[str, float]]:
    facts = {name: {"mean": estimate.mean, "half_width": estimate.half_width} for name, estimate in estimates.items()}
    wins = estimates.get("match_wins")
    if wins is not None and wins.share_interval != wins.interval:
        facts["match_wins"] |= dict(zip(("low", "high"), wins.share_interval, strict=True))
    return facts


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

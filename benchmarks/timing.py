"""Measuring a rate, and showing it with the machine it was measured on."""

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import rich
from rich.box import SIMPLE
from rich.table import Table

from bluke_env.evaluation.report import cpu_name

PACKAGES = ("numpy", "numba", "torch", "pettingzoo", "open_spiel", "sb3_contrib")


@dataclass(frozen=True)
class Rate:
    """Units of work per second, over several repeats.

    Attributes:
        name: What was measured.
        unit: What was counted, in the plural ("decisions").
        median: Units per second in the median repeat.
        minimum: Units per second in the slowest repeat.
        maximum: Units per second in the fastest repeat.
        first_call: Seconds of the first call, compilation included; it is in none of the rates.
    """

    name: str
    unit: str
    median: float
    minimum: float
    maximum: float
    first_call: float


@dataclass(frozen=True)
class Ratio:
    """How many times the rate of `peer` the rate of `name` is.

    Attributes:
        name: The rate above the line.
        peer: The rate below it.
        median: Median over median.
        minimum: Slowest repeat over the peer's fastest.
        maximum: Fastest repeat over the peer's slowest.
    """

    name: str
    peer: str
    median: float
    minimum: float
    maximum: float


def measure(name: str, unit: str, function: Callable[[], int], *, seconds: float = 2.0, repeats: int = 5) -> Rate:
    """Measures how many units of work a second `function` does.

    Args:
        name: What is measured.
        unit: What is counted, in the plural.
        function: Does a chunk of work, best of some milliseconds, and returns how many units it was.
        seconds: Least duration of one repeat.
        repeats: Number of repeats.

    Raises:
        ValueError: `seconds` or `repeats` is not positive, or the first call did no work.
    """
    if seconds <= 0 or repeats < 1:
        raise ValueError(f"{name}: seconds ({seconds}) must be above 0 and repeats ({repeats}) at least 1")
    start = time.perf_counter()
    units = function()
    first_call = time.perf_counter() - start
    if units <= 0:
        raise ValueError(f"{name}: the function returned {units} {unit}; it must return how many it did")
    rates = [_repeat(function, seconds) for _ in range(repeats)]
    return Rate(name, unit, statistics.median(rates), min(rates), max(rates), first_call)


def _repeat(function: Callable[[], int], seconds: float) -> float:
    units = 0
    start = time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds:
        units += function()
    return units / elapsed


def ratio(rate: Rate, peer: Rate) -> Ratio:
    """Divides a rate by a peer's.

    Raises:
        ValueError: The two count different units.
    """
    if rate.unit != peer.unit:
        raise ValueError(f"{rate.name} counts {rate.unit} and {peer.name} counts {peer.unit}: only equal units compare")
    return Ratio(
        rate.name,
        peer.name,
        rate.median / peer.median,
        rate.minimum / peer.maximum,
        rate.maximum / peer.minimum,
    )


def machine(threads: int = 1) -> dict[str, str | int | None]:
    """What the rates were measured on: processor, cores, threads used, and versions (None: not installed)."""
    facts: dict[str, str | int | None] = {
        "cpu": cpu_name(),
        "logical_cores": os.cpu_count(),
        "threads": threads,
        "python": platform.python_version(),
    }
    for package in PACKAGES:
        try:
            facts[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            facts[package] = None
    return facts


def print_machine(threads: int = 1) -> None:
    """Prints `machine(threads)` as a header of two lines."""
    facts = machine(threads)
    print(f"{facts['cpu']}, logical cores: {facts['logical_cores']}, threads used: {facts['threads']}")
    print(", ".join(f"{name} {facts[name] or 'not installed'}" for name in ("python", *PACKAGES)))


def print_rates(rates: Sequence[Rate]) -> None:
    """Prints a table with one rate a row, to three digits (k: thousands, M: millions)."""
    table = Table("rate", "per second", box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    for column in ("median", "min", "max", "first call"):
        table.add_column(column, justify="right")
    for rate in rates:
        figures = (_three_digits(value) for value in (rate.median, rate.minimum, rate.maximum))
        table.add_row(rate.name, rate.unit, *figures, f"{rate.first_call:.3f} s")
    rich.print(table)


def print_ratios(ratios: Sequence[Ratio]) -> None:
    """Prints a table with one comparison to a peer a row."""
    table = Table("rate", "compared to", box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    for column in ("times", "min", "max"):
        table.add_column(column, justify="right")
    for item in ratios:
        figures = (f"{value:.2f}" for value in (item.median, item.minimum, item.maximum))
        table.add_row(item.name, item.peer, *figures)
    rich.print(table)


def _three_digits(value: float) -> str:
    rounded = float(f"{value:.3g}")
    for size, letter in ((1e6, " M"), (1e3, " k")):
        if rounded >= size:
            return f"{rounded / size:#.3g}".rstrip(".") + letter
    return f"{rounded:g}"


def write_json(
    path: Path, rates: Sequence[Rate], ratios: Sequence[Ratio] = (), threads: int = 1, more: Mapping[str, Any] = {}
) -> None:
    """Writes the machine, the rates and the ratios as one JSON object, and more facts under names of their own."""
    report: dict[str, Any] = {
        "machine": machine(threads),
        "rates": [asdict(rate) for rate in rates],
        "ratios": [asdict(item) for item in ratios],
        **more,
    }
    path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def parser(description: str) -> argparse.ArgumentParser:
    """The command line that every benchmark shares: `--seed`, `--seconds`, `--repeats`, `--json`."""
    result = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    result.add_argument("--seed", type=int, default=0, help="seed of every generator in the benchmark")
    result.add_argument("--seconds", type=_seconds, default=2.0, help="least duration of one repeat")
    result.add_argument("--repeats", type=_repeats, default=5, help="repeats of each measurement")
    result.add_argument("--json", type=_writable, metavar="FILE", help="also write the results to this file")
    return result


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no duration: give seconds above 0")
    return value


def _repeats(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number of repeats: give 1 or more")
    return int(text)


def _writable(text: str) -> Path:
    path = Path(text)
    if path.is_dir() or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text} cannot be written: give a file in a folder that exists")
    return path

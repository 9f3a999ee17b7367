"""Checkpoints: one file that holds everything a run needs to go on and an agent needs to play."""

from __future__ import annotations

import hashlib
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from agents.config import TrainConfig
from agents.network import Heads, Network
from agents.player import NetworkAgent
from bluke_env import Rules, __version__
from bluke_env.observation import OBSERVATION_VERSION

FORMAT = "bluke checkpoint"
_PARTS = (
    "package", "observation_version", "tables", "heads", "config", "progress", "network", "weights", "optimizer", "past"
)  # fmt: skip


@dataclass
class Progress:
    """How far a run has come.

    Attributes:
        iteration: Iterations done.
        decisions: Decisions played in them.
        seconds: Wall-clock time spent in them.
        precision: What the network computes in.
    """

    iteration: int = 0
    decisions: int = 0
    seconds: float = 0.0
    precision: str = "float32"


def contents(
    config: TrainConfig,
    network: Network,
    weights: torch.Tensor | None,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
    past: dict[int, torch.Tensor],
) -> dict[str, Any]:
    """Returns what a checkpoint holds.

    Args:
        config: Settings of the run.
        network: That plays.
        weights: All weights of the network that learns, where that is another one.
        optimizer: Of the network that learns.
        progress: Of the run.
        past: Weights of the earlier networks that it plays with.
    """
    return {
        "format": FORMAT,
        "package": __version__,
        "observation_version": OBSERVATION_VERSION,
        "tables": [rules.to_dict() for rules in config.tables],
        "heads": network.heads.to_dict(),
        "config": config.to_dict(),
        "progress": vars(progress).copy(),
        "network": network.state_dict(),
        "weights": weights,
        "optimizer": optimizer.state_dict(),
        "past": past,
    }


def for_playing(data: dict[str, Any]) -> dict[str, Any]:
    """Returns a checkpoint without what only going on with the run needs, and with weights of half the size."""
    config = data["config"] | {"run_dir": TrainConfig.run_dir}
    network = {name: weights.half() for name, weights in data["network"].items()}
    return data | {"config": config, "network": network, "weights": None, "optimizer": None, "past": {}}


def save(path: Path, data: dict[str, Any]) -> None:
    """Writes a checkpoint, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    try:
        with temporary.open("wb") as file:
            torch.save(data, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read(path: str | os.PathLike) -> dict[str, Any]:
    """Reads a checkpoint without running anything that stands in it.

    Raises:
        ValueError: The file is missing, damaged, no checkpoint, or of another observation version.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"there is no checkpoint at {path}")
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()  # torch.load does not look at the checksums
        data = None if damaged else torch.load(path, map_location="cpu", weights_only=True)
    except PermissionError:
        raise ValueError(f"{path} may not be read: permission denied") from None
    except Exception:  # reading arbitrary bytes can fail in any way
        data = None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(f"{path} is damaged or no checkpoint of this project: train.py writes those")
    missing = [name for name in _PARTS if name not in data]
    if missing:
        raise ValueError(f"{path} is an incomplete checkpoint: it lacks {', '.join(missing)}")
    # Runs older than these settings.
    data["config"].setdefault("sharpness", data["heads"].get("sharpness", 1.0))
    data["config"].setdefault("rank_order", "fixed")
    data["config"].setdefault("plays_on", "rule")
    data["config"].setdefault("schedule", None)
    data["config"].setdefault("initial", None)
    if data["observation_version"] != OBSERVATION_VERSION:
        raise ValueError(
            f"{path} was trained on observations of version {data['observation_version']}, but this package has "
            f"version {OBSERVATION_VERSION}: use the package version {data['package']} or train anew"
        )
    return data


def restore(network: Network, data: dict[str, Any]) -> Network:
    """Gives a network the weights of a checkpoint and returns it.

    Raises:
        ValueError: They are those of another architecture.
    """
    try:
        network.load_state_dict(data["network"])
    except RuntimeError:
        raise ValueError(
            f"the weights do not fit this version's network: use the package version that wrote them, {data['package']}"
        ) from None
    return network


def load(path: str | os.PathLike, device: str = "cpu") -> NetworkAgent:
    """Returns the network of a checkpoint as an agent.

    Raises:
        ValueError: The file is missing, damaged, no checkpoint, or of another observation version.
    """
    data = read(path)
    tables = tuple(Rules.from_dict(rules) for rules in data["tables"])
    network = restore(Network(tables, Heads.from_dict(data["heads"])), data).to(device).eval()
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    config = data["config"]
    return NetworkAgent(network, tables, str(path), digest, config["suit_order"], config["rank_order"])

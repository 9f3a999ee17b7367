"""PyTorch agents for Bluke: networks, self-play training, checkpoints and evaluation."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

PRETRAINED = Path(__file__).with_name("pretrained")
"""The networks that come with the project, each with a card that says how it was made and what it is worth."""


def pretrained() -> list[str]:
    """Returns the names of the networks that come with the project."""
    return sorted(path.stem for path in PRETRAINED.glob("*.pt"))


def path_of(name: str | os.PathLike) -> Path:
    """Returns the file of one of `pretrained()`, or the path itself.

    Raises:
        ValueError: It looks like a name, but is none of theirs.
    """
    path, names = Path(name), pretrained()
    if str(name) in names:
        return PRETRAINED / f"{name}.pt"
    if path == Path(path.stem) and not path.exists():
        raise ValueError(f"there is no checkpoint at {path}, and the shipped networks are {', '.join(names)}")
    return path


def load(name: str | os.PathLike, device: str = "cpu") -> Any:
    """Returns a network as an agent that can sit at a table.

    Args:
        name: One of `pretrained()`, or the path of a checkpoint.
        device: Where it computes.

    Raises:
        ValueError: There is no such file, or it is no checkpoint; see `agents.checkpoint.load`.
    """
    from agents import checkpoint

    agent = checkpoint.load(path_of(name), device)
    agent.name = str(name)
    return agent

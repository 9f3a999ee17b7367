"""PyTorch agents for Bluke: networks, self-play training, checkpoints and evaluation."""

from __future__ import annotations

import os
from typing import Any


def load(path: str | os.PathLike, device: str = "cpu") -> Any:
    """Returns a checkpoint as an agent that can sit at a table; see `agents.checkpoint.load`."""
    from agents import checkpoint

    return checkpoint.load(path, device)

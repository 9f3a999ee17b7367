"""Where and how precisely the network computes."""

from __future__ import annotations

import os
import time
from contextlib import AbstractContextManager

import torch

from agents.ranks import Ranks


def chosen_device(name: str, ranks: Ranks | None = None) -> torch.device:
    """Returns the device of a name, for "auto" a GPU where there is one; each process of a machine has its own.

    Raises:
        ValueError: There is no such device here.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and ranks is not None and ranks.count > 1:
        name = f"cuda:{int(os.environ['LOCAL_RANK']) % max(1, torch.cuda.device_count())}"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].split(". ")[0]
        raise ValueError(f"device is {name!r}, which this machine does not have ({reason})") from None
    return device


def chosen_precision(name: str, device: torch.device) -> str:
    """Returns "float32" or "bfloat16", for "auto" the one that is faster on the device.

    A CPU without bfloat16 instructions is several times slower with it; one that has them can be faster.
    """
    if name != "auto":
        return name
    inputs, weights = torch.ones(1024, 512, device=device), torch.ones(512, 512, device=device)
    seconds = {}
    for dtype in (torch.float32, torch.bfloat16):
        a, b = inputs.to(dtype), weights.to(dtype)
        float((a @ b)[0, 0])
        start = time.perf_counter()
        for _ in range(5):
            float((a @ b)[0, 0])
        seconds[dtype] = time.perf_counter() - start
    return "bfloat16" if seconds[torch.bfloat16] < 0.8 * seconds[torch.float32] else "float32"


def autocast(device: torch.device, precision: str) -> AbstractContextManager:
    """Returns the context in which the network computes."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bfloat16")


SHAPE = 64
"""Rows of what the network computes are rounded to multiples of this: PyTorch prepares anew for every new shape."""


def rounded_up(rows: int) -> int:
    """Returns the least multiple of `SHAPE` that is not less."""
    return -(-rows // SHAPE) * SHAPE

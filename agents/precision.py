"""Where and how precisely the network computes."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager

import torch


def chosen_device(name: str) -> torch.device:
    """Returns the device of a name, for "auto" a GPU where there is one.

    Raises:
        ValueError: There is no such device here.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
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

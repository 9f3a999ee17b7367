"""Errors of the package and the checks that several borders share."""

from __future__ import annotations

import operator
import secrets
from typing import Any


class IllegalAction(ValueError):
    """An action that the rules do not allow now. Nothing was changed."""


def checked_seed(seed: Any) -> int:
    """Returns a seed as an integer in [0, 2**64), drawn from the system's entropy for None.

    Raises:
        ValueError: It is no such integer.
    """
    if seed is None:
        return secrets.randbits(64)
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if isinstance(seed, bool) or not 0 <= number < 1 << 64:
        raise ValueError(f"seed is {seed!r}, but it must be a whole number from 0 to 2**64 - 1, or None")
    return number


def checked_integer(name: str, value: Any, low: int, high: int) -> int:
    """Returns an integer from `low` to `high`, both included.

    Raises:
        ValueError: It is no such integer.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = low - 1
    if isinstance(value, bool) or not low <= number <= high:
        raise ValueError(f"{name} is {value!r}, but it must be a whole number from {low} to {high}")
    return number


def checked_index(name: str, value: Any, count: int) -> int:
    """Returns an integer in [0, count).

    Raises:
        ValueError: It is no such integer.
    """
    return checked_integer(name, value, 0, count - 1)


def checked_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Returns one of the given strings.

    Raises:
        ValueError: It is none of them.
    """
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} is {value!r}, but it must be one of {', '.join(choices)}")
    return value

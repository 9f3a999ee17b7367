"""Players that Python functions make, as users write them: `policies:first`, and others that fail in every way."""

import os
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from bluke_env import Rules, Turn, bots

FAIL = "POLICIES_FAIL"
"""While the environment has this variable, `moody` fails in hands of so many cards."""


def first(rules: Rules, seed: int) -> Any:
    """Always takes the first legal action."""
    return lambda observation, mask: int(mask.argmax())


def last(rules: Rules, seed: int) -> Any:
    """Always takes the last legal action."""
    return lambda observation, mask: len(mask) - 1 - int(mask[::-1].argmax())


def drawing(rules: Rules, seed: int) -> Any:
    """Draws its actions from the seed that it was given."""
    generator = np.random.default_rng(seed)
    return lambda observation, mask: generator.choice(np.flatnonzero(mask))


def batched(rules: Rules, seed: int) -> Any:
    """An agent for many games at once."""
    return bots.make("rule")


class Moody:
    """Takes the first legal action, or fails in the hands of which the environment tells the size."""

    name = "moody"

    def reset(self, num_games: int, seed: int) -> None:
        pass

    def act(self, turn: Turn) -> np.ndarray:
        if str(turn.views["hand_size"][0]) == os.environ.get(FAIL):
            raise RuntimeError("in no mood")
        return turn.masks.argmax(axis=1)


def moody(rules: Rules, seed: int) -> Moody:
    return Moody()


# Policies that fail.


def raising(rules: Rules, seed: int) -> Any:
    def policy(observation: np.ndarray, mask: np.ndarray) -> int:
        raise KeyError("lost")

    return policy


def stalling(rules: Rules, seed: int) -> Any:
    def policy(observation: np.ndarray, mask: np.ndarray) -> int:
        time.sleep(3)
        return int(mask.argmax())

    return policy


def stalling_agent(rules: Rules, seed: int) -> Any:
    class Stalling(Moody):
        def act(self, turn: Turn) -> np.ndarray:
            time.sleep(3)
            return turn.masks.argmax(axis=1)

    return Stalling()


def exiting(rules: Rules, seed: int) -> Any:
    return lambda observation, mask: sys.exit(3)


def killing(rules: Rules, seed: int) -> Any:
    """Ends its process without a word."""
    return lambda observation, mask: os._exit(9)


def illegal(rules: Rules, seed: int) -> Any:
    return lambda observation, mask: int(mask.argmin())


def out_of_range(rules: Rules, seed: int) -> Any:
    return lambda observation, mask: len(mask)


def negative(rules: Rules, seed: int) -> Any:
    return lambda observation, mask: -1


def many(rules: Rules, seed: int) -> Any:
    return lambda observation, mask: mask


def scores(rules: Rules, seed: int) -> Any:
    return lambda observation, mask: float(mask.argmax())


def silent(rules: Rules, seed: int) -> Any:
    return lambda observation, mask: None


def of_other_suits(rules: Rules, seed: int) -> Any:
    class Policy:
        suit_order = "red first"

        def __call__(self, observation: np.ndarray, mask: np.ndarray) -> int:
            return int(mask.argmax())

    return Policy()


def never_made(rules: Rules, seed: int) -> NoReturn:
    raise RuntimeError("no licence")


def nothing(rules: Rules, seed: int) -> None:
    return None


def no_factory() -> Any:
    return first


not_callable = 5


def source() -> Path:
    return Path(__file__)

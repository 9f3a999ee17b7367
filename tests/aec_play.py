"""Playing the PettingZoo environment in tests."""

import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bluke_env import bluke_v0

ROOT = Path(__file__).parent.parent


def decisions(env: Any, seed: int) -> Iterator[tuple[str, Any, int]]:
    """Plays a match of random legal actions; yields agent, observation and action before each step."""
    rng = random.Random(seed)
    env.reset(seed=seed)
    while not any(env.terminations.values()):
        agent = env.agent_selection
        observation = env.last()[0]
        action = rng.choice(np.flatnonzero(observation["action_mask"]).tolist())
        yield agent, observation, action
        env.step(action)


def played_out(seed: int = 1, **options: Any) -> bluke_v0.raw_env:
    """An environment whose match has just ended, before the agents are taken out."""
    env = bluke_v0.env(**options)
    for _ in decisions(env, seed):
        pass
    return env


def in_mid_trick(seed: int = 1, **options: Any) -> bluke_v0.raw_env:
    """An environment in the second hand with one card on the table."""
    env = bluke_v0.env(**options)
    for _ in decisions(env, seed):
        if env.game.hand_number == 1 and len(env.game.trick) == 1:
            return env
    raise AssertionError("the match has no second hand")


def run(command: list[str], folder: Path = ROOT, **environment: str) -> str:
    result = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout

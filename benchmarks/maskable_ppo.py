"""How fast sb3-contrib's MaskablePPO trains on the same hands, for comparison: decisions per second of `learn`.

python -m benchmarks.maskable_ppo

The hands (`BatchGame.hands_of`, canonical suits, int8 observations, every size equally often), the widths of the
trunk, the decisions in an update, minibatch and epochs are those of `train.py`. What differs:

- Network: 68 action logits (four players) and one value, on a plain trunk; ours has more outputs and, where widths
  match, residual connections. As `net_arch` the widths would give policy and critic a trunk each (SB3 shares none
  since 1.8), so here the trunk is the features extractor, which they share. Both make MaskablePPO's work less.
- Precision: float32, the only one MaskablePPO runs in.
- Forced moves: MaskablePPO has no way to leave them out. They go through the network, are learned from and counted.
- Rewards: MaskablePPO takes a table for one agent that plays all seats. The end of a hand brings it the points of the
  seat that played the last card, and advantages run from one seat to the next: the work is PPO's, but nothing
  sensible is learned. The speed alone means anything.
- The wrapper hands over whole arrays where the interface allows it, with no call or copy for each game.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks import timing
from benchmarks.peers import MISSING
from bluke_env import BatchGame, Rules
from bluke_env.batch import derive_seed

try:
    import torch
    from gymnasium.spaces import Box, Discrete
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
    from stable_baselines3.common.vec_env import VecEnv
    from torch import nn
except ImportError as error:
    if __name__ != "__main__":
        raise
    sys.exit(f"MaskablePPO: {MISSING} ({error})")


class Tables(VecEnv):
    """Batches of hands side by side, every hand an environment in which one agent plays all seats."""

    render_mode = None

    def __init__(self, batches: Sequence[BatchGame]) -> None:
        self._batches = batches
        *self._cuts, count = np.cumsum([batch.num_games for batch in batches])
        self._actions: np.ndarray = np.empty(0, np.int64)
        self._infos: list[dict[str, Any]] = [{} for _ in range(count)]
        layout = batches[0].layout
        super().__init__(int(count), Box(-128, 127, (layout.size,), np.int8), Discrete(layout.num_actions))

    def reset(self) -> np.ndarray:
        """Returns the observations as they are: hands follow each other for ever."""
        return self._joined("observations")

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Plays the actions, each of which must be legal; a hand that ends is followed by another of its size."""
        rewards = []
        for batch, actions in zip(self._batches, np.split(self._actions, self._cuts), strict=True):
            seats = batch.seats.copy()
            batch.step(actions)
            rewards.append(batch.rewards[np.arange(len(seats)), seats].astype(np.float32))
        return self._joined("observations"), np.concatenate(rewards), self._joined("dones"), self._infos

    def action_masks(self) -> np.ndarray:
        return self._joined("masks")

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Returns one array for all environments: MaskablePPO stacks what it gets and shapes it itself."""
        return [getattr(self, method_name)(*method_args, **method_kwargs)]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self, attr_name)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        setattr(self, attr_name, value)

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs

    def close(self) -> None:
        pass

    def _joined(self, name: str) -> np.ndarray:
        """Returns an array of all batches, newly made: SB3 keeps observations beyond the next step."""
        return np.concatenate([getattr(batch, name) for batch in self._batches])


class Trunk(BaseFeaturesExtractor):
    """Scaled observations through ReLU layers, shared by policy and critic."""

    scale: torch.Tensor

    def __init__(self, observation_space: Box, hidden_sizes: Sequence[int], scale: np.ndarray) -> None:
        super().__init__(observation_space, hidden_sizes[-1])
        self.register_buffer("scale", torch.from_numpy(scale.copy()))
        widths = (len(scale), *hidden_sizes)
        layers = (nn.Sequential(nn.Linear(before, after), nn.ReLU()) for before, after in pairwise(widths))
        self.layers = nn.Sequential(*layers)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return self.layers(observations * self.scale)


def learner(
    rules: Rules, hidden_sizes: Sequence[int], sizes: Sequence[int], hands: int, minibatch: int, epochs: int, seed: int
) -> MaskablePPO:
    """Returns MaskablePPO over tables, by default but for the arguments, which are those of `maskable_ppo_rate`.

    An update lasts for one of the longest hands; shorter ones get fewer slots, each for several hands.
    """
    longest = int(max(sizes)) + 1
    slots = {cards: max(1, round(hands * (cards + 1) / longest)) for cards in sizes}
    batches = [
        BatchGame.hands_of(rules, cards, count, derive_seed(seed, cards), suit_order="canonical")
        for cards, count in slots.items()
    ]
    trunk = {"hidden_sizes": hidden_sizes, "scale": batches[0].layout.scale}
    return MaskablePPO(
        "MlpPolicy",
        Tables(batches),
        n_steps=rules.num_players * longest,
        batch_size=minibatch,
        n_epochs=epochs,
        policy_kwargs={"features_extractor_class": Trunk, "features_extractor_kwargs": trunk, "net_arch": []},
        seed=seed,
        device="cpu",
    )


def maskable_ppo_rate(
    rules: Rules, hidden_sizes: Sequence[int], sizes: Sequence[int], hands: int, minibatch: int, epochs: int,
    threads: int, repeats: int, seed: int, seconds: float = 2.0,
) -> timing.Rate:  # fmt: skip
    """Measures MaskablePPO's `learn`, rollout and update, after a first one to warm up, on the CPU.

    Args:
        rules: The match whose hands are played.
        hidden_sizes: Widths of the trunk.
        sizes: Cards in a hand, all different.
        hands: Hands of each size in an update.
        minibatch: Decisions in a gradient step.
        epochs: Passes over the decisions of an update.
        threads: PyTorch's threads.
        repeats: Repeats of the measurement, of one update or more.
        seed: Seed of the deals and, by MaskablePPO, of the global generators.
        seconds: Least duration of a repeat.

    Returns:
        Decisions of all seats per second, forced moves among them.
    """
    model = learner(rules, hidden_sizes, sizes, hands, minibatch, epochs, seed)
    decisions = model.n_steps * model.n_envs

    def update() -> int:
        model.learn(decisions, reset_num_timesteps=False)
        return decisions

    threads_before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        return timing.measure(f"MaskablePPO, threads: {threads}", "decisions", update, seconds=seconds, repeats=repeats)
    finally:
        torch.set_num_threads(threads_before)


def main() -> None:
    """Measures MaskablePPO with one thread and with two."""
    arguments = timing.parser("How fast sb3-contrib's MaskablePPO trains on this machine.").parse_args()
    timing.print_machine(threads=2)
    rates = [
        maskable_ppo_rate(
            Rules(), (512, 256, 256), range(2, 14), hands=341, minibatch=4096, epochs=1, threads=threads,
            repeats=arguments.repeats, seed=arguments.seed, seconds=arguments.seconds,
        )
        for threads in (1, 2)
    ]  # fmt: skip
    timing.print_rates(rates)
    if arguments.json:
        timing.write_json(arguments.json, rates, threads=2)


if __name__ == "__main__":
    main()

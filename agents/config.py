"""What a training run is made of; every field is an option of `train.py` and a line of a YAML file in `configs/`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bluke_env import Rules, bots
from bluke_env.evaluation.statistics import MIN_DEALS


@dataclass(frozen=True)
class TrainConfig:
    """Settings of one training run.

    Args:
        run_dir: Folder of the run: checkpoint, CSV and TensorBoard logs.
        seed: Seed of everything random; with the same seed a run on one machine repeats itself.
        num_players: Seats at the table.
        min_bid: The lowest bid, 1 or 0.
        bluke_lead: What a Bluke lead asks for, "none" or "trump".
        iterations: Training iterations; each plays hands and learns from them once.
        sizes_per_iteration: How many hand sizes are played in an iteration.
        hands_per_size: Hands played of each of them.
        learner_seats: Where the network sits: "self-play" for all seats but those that `bot_share` gives to bots, "one"
            for a single seat of every table, the others being the bot's.
        bot: The bot that sits among the networks, for example "rule".
        bot_share: Share of the hands of self-play in which bots take some of the seats, from 0 to 1.
        hidden_sizes: Widths of the network's hidden layers.
        learning_rate: Adam's step size at the start.
        final_learning_rate: Its value at the end; linear in between.
        epochs: Passes over the decisions of an iteration.
        minibatch_size: Decisions in a gradient step.
        clip: PPO's bound on the change of an action's probability.
        gae_lambda: Decay of generalised advantage estimation over a seat's own decisions.
        entropy: Weight of the entropy bonus at the start.
        final_entropy: Its value at the end; linear in between.
        tricks_weight: Weight of predicting the tricks one will take, which is the critic and the bidder.
        temperature: Points by which a bid must look worse to be e times rarer, at the start.
        final_temperature: Its value at the end; geometric in between.
        max_grad_norm: Gradients longer than this are shortened to it.
        device: Where the network runs: "cpu", "cuda", "cuda:1", "mps", or "auto" for a GPU where there is one.
        precision: "float32", "bfloat16", or "auto" to measure at the start which is faster.
        threads: CPU threads that play and learn; they change nothing but the time it takes.
        checkpoint_every: Iterations between checkpoints.
        evaluate_against: Bots to play against before and after training.
        evaluate_deals: Deals of each hand size in the evaluation at the end.
    """

    run_dir: str = "runs/default"
    seed: int = 0
    num_players: int = 4
    min_bid: int = 1
    bluke_lead: Literal["none", "trump"] = "none"
    iterations: int = 105
    sizes_per_iteration: int = 4
    hands_per_size: int = 1024
    learner_seats: Literal["self-play", "one"] = "self-play"
    bot: str = "rule"
    bot_share: float = 0.25
    hidden_sizes: tuple[int, ...] = (256, 256)
    learning_rate: float = 1e-3
    final_learning_rate: float = 5e-5
    epochs: int = 2
    minibatch_size: int = 2048
    clip: float = 0.2
    gae_lambda: float = 0.95
    entropy: float = 0.02
    final_entropy: float = 0.002
    tricks_weight: float = 0.2
    temperature: float = 2.0
    final_temperature: float = 0.5
    max_grad_norm: float = 1.0
    device: str = "auto"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    threads: int = 2
    checkpoint_every: int = 10
    evaluate_against: tuple[str, ...] = ("random", "rule")
    evaluate_deals: int = 300

    def __post_init__(self) -> None:
        _check("iterations", self.iterations, self.iterations >= 1, "at least 1")
        _check(
            "run_dir", self.run_dir, Path(self.run_dir).name not in ("", ".."), "the path of a folder for the run alone"
        )
        most, sizes = len(self.learnable_sizes), self.sizes_per_iteration
        _check("sizes_per_iteration", sizes, 1 <= sizes <= most, f"from 1 to {most}, the sizes there is a choice in")
        _check("hands_per_size", self.hands_per_size, self.hands_per_size >= 1, "at least 1")
        _check("bot_share", self.bot_share, 0 <= self.bot_share <= 1, "from 0 to 1")
        widths = self.hidden_sizes
        _check("hidden_sizes", widths, len(widths) > 0 and min(widths) > 0, "one or more positive widths")
        for name in (
            "learning_rate",
            "final_learning_rate",
            "temperature",
            "final_temperature",
            "max_grad_norm",
        ):
            _check(name, getattr(self, name), getattr(self, name) > 0, "more than 0")
        for name in ("epochs", "minibatch_size", "threads", "checkpoint_every"):
            _check(name, getattr(self, name), getattr(self, name) >= 1, "at least 1")
        for name in ("entropy", "final_entropy", "tricks_weight", "clip"):
            _check(name, getattr(self, name), getattr(self, name) >= 0, "0 or more")
        _check("gae_lambda", self.gae_lambda, 0 <= self.gae_lambda <= 1, "from 0 to 1")
        _check("evaluate_deals", self.evaluate_deals, self.evaluate_deals >= MIN_DEALS, f"at least {MIN_DEALS}")
        for spec in (self.bot, *self.evaluate_against):
            bots.make(spec)  # refuses what is no bot
        _check("seed", self.seed, 0 <= self.seed < 1 << 63, "from 0 to 2**63 - 1")

    @property
    def rules(self) -> Rules:
        """The rules of the game that is learned."""
        return Rules(num_players=self.num_players, min_bid=self.min_bid, bluke_lead=self.bluke_lead)

    @property
    def learnable_sizes(self) -> np.ndarray:
        """The hand sizes in which there is anything to decide, ascending: one card bid at least 1 leaves no choice."""
        sizes = np.unique([hand.cards for hand in self.rules.schedule])
        return sizes[sizes > self.min_bid]

    def to_dict(self) -> dict[str, Any]:
        """Returns the settings as plain values, lists for tuples."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> TrainConfig:
        """Returns the settings that `to_dict` wrote.

        Raises:
            ValueError: A setting is unknown or invalid.
        """
        known = [field.name for field in fields(cls)]
        for name in data:
            if name not in known:
                raise ValueError(f"{name!r} is no setting: the settings are {', '.join(known)}")
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in data.items()
        }
        return cls(**values)


def _check(name: str, value: Any, valid: bool, wanted: str) -> None:
    if not valid:
        raise ValueError(f"{name} is {value!r}, but it must be {wanted}")

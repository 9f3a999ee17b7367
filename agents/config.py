"""What a training run is made of; every field is an option of `train.py` and a line of a YAML file in `configs/`."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from bluke_env import Rules, bots
from bluke_env.errors import checked_choice
from bluke_env.evaluation.statistics import MIN_DEALS


@dataclass(frozen=True)
class TrainConfig:
    """Settings of one training run.

    Args:
        run_dir: Folder of the run: checkpoints, CSV and TensorBoard logs.
        seed: Seed of everything random; with the same seed a run on one machine repeats itself.
        preset: The game, "bluke" or "back_alley", or one with a small pack, "mini" or "micro".
        num_players: Seats at the table; several numbers, as in [2, 3, 4], train one network for all these tables. By
            default as many as the preset has.
        schedule: The hands of a match, such as "5-1-5" or "extended"; the preset's own by default. Those of a size are
            learned as the schedule first has them, with or without a card turned up.
        min_bid: The lowest bid, 1 or 0, of Bluke; Back Alley has its own rules.
        bluke_lead: What a Bluke lead asks for, "none" or "trump", of Bluke; Back Alley has its own rules.
        iterations: Training iterations; each plays hands and learns from them once.
        sizes_per_iteration: How many hand sizes, each at one table, are played in an iteration, all of them if there
            are fewer; of no use to whole matches.
        hands_per_size: Hands played of each of them.
        size_weights: How hand sizes are drawn, "large" for large ones up to three times as often, or "uniform".
        suit_order: "canonical" for suits relabelled by trump and length, or "fixed".
        rank_order: "in_play" for ranks counted among the cards still in play, see `agents.rank_order`, or "fixed".
        learner_seats: Where the network sits: "self-play" for all seats but those that the shares below give away,
            "one" for a single seat of every table, the others being the bot's.
        bot: The bot that sits among the networks, for example "rule".
        bot_share: Share of the hands of self-play in which bots take some of the seats.
        past_share: Share of the hands of self-play in which earlier networks of the run take some of the seats.
        past_every: Iterations between the networks that are kept for that.
        past_kept: How many of them are kept, the latest.
        algorithm: How actions are learned: "ppo", or "dmc" for Deep Monte Carlo, which trains no critic.
        reward: What is maximised, a seat's "points" of a hand, its "margin" over the mean of the other sides, or its
            "wins": the share of whole matches won, of which an iteration then plays `hands_per_size`.
        bids: Where bids come from: the predicted "tricks" after each bid, or the "policy", as cards do.
        critic: What the critic predicts, the distribution of "tricks" or the reward itself, "points".
        critic_sizes: Widths of a critic of its own that sees all hands; none for one on the policy's layers.
        hidden_sizes: Widths of the network's hidden layers.
        learning_rate: Adam's step size at the start.
        final_learning_rate: Its value at the end; linear in between.
        epochs: Passes over the decisions of an iteration.
        minibatch_size: Decisions in a gradient step; of each shard a multiple of 64 is taken.
        clip: PPO's bound on the change of an action's probability.
        gae_lambda: Decay of generalised advantage estimation over a seat's own decisions.
        advantages: Where advantages are brought to one scale, within each "size" of hands or in the whole "batch".
        sharpness: How many times as sharp the policy that plays is as that which the guide and the entropy bonus judge.
        entropy: Weight of the entropy bonus at the start.
        final_entropy: Its value at the end; linear in between.
        exploration: DMC's probability of a random action at the start.
        final_exploration: Its value at the end; linear in between.
        guide: Weight of what cards, and bids of the policy, make in the hands as they are, against the advantages of
            PPO, from 0 to 1, at the start; see `agents.hindsight`.
        final_guide: Its value at the end; linear in between.
        plays_on: How networks' seats play on there: as a small network that is "learned" beside the large one, see
            `agents.playouts`, or as "rule".
        kl: Weight of the divergence from the policy that played, as in magnetic mirror descent.
        critic_weight: Weight of the critic's loss, and of the prediction of tricks that bids come from.
        temperature: Points by which a bid must look worse to be e times rarer, at the start.
        final_temperature: Its value at the end; geometric in between.
        max_grad_norm: Gradients longer than this are shortened to it.
        average: Decay of the running average of the weights that is evaluated and kept, by gradient step; 0 for none.
        initial: A checkpoint, or the name of a shipped network, whose weights the run begins with; none for fresh ones.
        imitate: The bot whose choices are imitated in the first iterations.
        imitation_iterations: How many iterations that is.
        device: Where the network runs: "cpu", "cuda", "cuda:1", "mps", or "auto" for a GPU where there is one.
        precision: "float32", "bfloat16", or "auto" to measure at the start which is faster.
        shards: Parts that the hands of an iteration are cut into. The processes of `torchrun` share them, so their
            number has to divide it; it changes nothing but the time a run takes.
        checkpoint_every: Iterations between checkpoints.
        live_minutes: Minutes of training between live evaluations; 0 for none.
        live_against: Bots and checkpoints that the live evaluations are against.
        live_deals: Deals of each hand size in a live evaluation.
        evaluate_against: Bots and checkpoints to play against before and after training; none for no evaluation.
        evaluate_deals: Deals of each hand size in the evaluation at the end.
    """

    run_dir: str = "runs/default"
    seed: int = 0
    preset: Literal["bluke", "back_alley", "mini", "micro"] = "bluke"
    num_players: int | tuple[int, ...] | None = None
    schedule: str | None = None
    min_bid: int = 1
    bluke_lead: Literal["none", "trump"] = "none"
    iterations: int = 105
    sizes_per_iteration: int = 4
    hands_per_size: int = 1024
    size_weights: Literal["large", "uniform"] = "large"
    suit_order: Literal["canonical", "fixed"] = "canonical"
    rank_order: Literal["in_play", "fixed"] = "in_play"
    learner_seats: Literal["self-play", "one"] = "self-play"
    bot: str = "rule"
    bot_share: float = 0.25
    past_share: float = 0.0
    past_every: int = 50
    past_kept: int = 10
    algorithm: Literal["ppo", "dmc"] = "ppo"
    reward: Literal["points", "margin", "wins"] = "points"
    bids: Literal["tricks", "policy"] = "tricks"
    critic: Literal["tricks", "points"] = "tricks"
    critic_sizes: tuple[int, ...] = ()
    hidden_sizes: tuple[int, ...] = (256, 256)
    learning_rate: float = 1e-3
    final_learning_rate: float = 5e-5
    epochs: int = 2
    minibatch_size: int = 2048
    clip: float = 0.2
    gae_lambda: float = 0.95
    advantages: Literal["size", "batch"] = "size"
    sharpness: float = 2.0
    entropy: float = 0.06
    final_entropy: float = 0.02
    exploration: float = 0.1
    final_exploration: float = 0.01
    guide: float = 1.0
    final_guide: float = 0.5
    plays_on: Literal["learned", "rule"] = "learned"
    kl: float = 0.0
    critic_weight: float = 0.2
    temperature: float = 2.0
    final_temperature: float = 0.5
    max_grad_norm: float = 1.0
    average: float = 0.0
    initial: str | None = None
    imitate: str = "rule"
    imitation_iterations: int = 0
    device: str = "auto"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    shards: int = 2
    checkpoint_every: int = 10
    live_minutes: float = 0.0
    live_against: tuple[str, ...] = ("rule",)
    live_deals: int = 40
    evaluate_against: tuple[str, ...] = ("random", "rule")
    evaluate_deals: int = 300

    def __post_init__(self) -> None:
        for name, kind in get_type_hints(type(self)).items():
            given = getattr(self, name) is not None or type(None) in get_args(kind)
            _check(name, getattr(self, name), given, "a value")
            if get_origin(kind) is Literal:
                checked_choice(name, getattr(self, name), get_args(kind))
        if self.num_players is None:
            object.__setattr__(self, "num_players", Rules.preset(self.preset).num_players)
        seats = self.seats
        _check(
            "num_players", self.num_players, 0 < len(set(seats)) == len(seats), "one number of seats or different ones"
        )
        _check(
            "run_dir", self.run_dir, Path(self.run_dir).name not in ("", ".."), "the path of a folder for the run alone"
        )
        _check(
            "schedule", self.schedule, len(self.learnable) > 0, "one with hands in which there is anything to decide"
        )
        for name in ("hidden_sizes", "critic_sizes"):
            widths = getattr(self, name)
            _check(name, widths, all(width > 0 for width in widths), "positive widths")
        _check("hidden_sizes", self.hidden_sizes, len(self.hidden_sizes) > 0, "one or more widths")
        for name in (
            "learning_rate", "final_learning_rate", "temperature", "final_temperature", "max_grad_norm", "sharpness",
        ):  # fmt: skip
            _check(name, getattr(self, name), 0 < getattr(self, name) < math.inf, "more than 0 and finite")
        for name in (
            "iterations", "sizes_per_iteration", "hands_per_size", "epochs", "minibatch_size", "shards",
            "checkpoint_every", "past_every", "past_kept",
        ):  # fmt: skip
            _check(name, getattr(self, name), getattr(self, name) >= 1, "at least 1")
        for name in ("entropy", "final_entropy", "kl", "critic_weight", "clip", "live_minutes", "imitation_iterations"):
            _check(name, getattr(self, name), getattr(self, name) >= 0, "0 or more")
        for name in (
            "bot_share",
            "past_share",
            "gae_lambda",
            "guide",
            "final_guide",
            "average",
            "exploration",
            "final_exploration",
        ):
            _check(name, getattr(self, name), 0 <= getattr(self, name) <= 1, "from 0 to 1")
        _check("past_share", self.past_share, self.bot_share + self.past_share <= 1, "at most 1 less the bot_share")
        _check(
            "hands_per_size", self.hands_per_size, self.hands_per_size % self.shards == 0,
            f"a multiple of the {self.shards} shards",
        )  # fmt: skip
        for name in ("evaluate_deals", "live_deals"):
            _check(name, getattr(self, name), getattr(self, name) >= MIN_DEALS, f"at least {MIN_DEALS}")
        for spec in (self.bot, self.imitate):
            bots.make(spec)  # refuses what is no bot
        _check("seed", self.seed, 0 <= self.seed < 1 << 63, "from 0 to 2**63 - 1")
        self._check_heads()
        if self.reward == "wins":
            self._check_matches()

    def _check_heads(self) -> None:
        """Refuses heads that cannot say what another setting asks for."""
        if self.algorithm == "dmc":
            _check("critic_sizes", self.critic_sizes, not self.critic_sizes, "empty for dmc, which trains no critic")
            imitated = self.imitation_iterations
            _check("imitation_iterations", imitated, imitated == 0, "0 for dmc, which learns values and not choices")
        scalar = self.critic == "points"
        wanted = '"points": the tricks of a hand alone do not say it'
        _check("critic", self.critic, scalar or self.bids == "tricks", wanted + " before the bid is made")
        _check("critic", self.critic, scalar or self.reward != "margin", wanted + " for a reward of margin")
        teams = self.preset == "back_alley"
        _check("critic", self.critic, scalar or not teams, wanted + " in Back Alley")
        _check(
            "bids", self.bids, self.bids == "policy" or not teams, '"policy" in Back Alley, where sides bid together'
        )

    def _check_matches(self) -> None:
        """Refuses what goes with single hands only."""
        _check("preset", self.preset, self.preset == "bluke", "bluke for a reward of wins")
        _check("num_players", self.num_players, len(self.seats) == 1, "one number for a reward of wins")
        _check("algorithm", self.algorithm, self.algorithm == "ppo", "ppo for a reward of wins")
        for name in ("guide", "final_guide", "live_minutes"):
            wanted = "0 for a reward of wins, since it is about single hands"
            _check(name, getattr(self, name), getattr(self, name) == 0, wanted)

    @property
    def seats(self) -> tuple[int, ...]:
        """The numbers of seats of the tables, ascending."""
        numbers = self.num_players if isinstance(self.num_players, tuple) else (self.num_players or 0,)
        return tuple(sorted(numbers))

    @property
    def tables(self) -> tuple[Rules, ...]:
        """The rules of every table that is learned, by number of players."""
        changes: dict[str, Any] = {} if self.schedule is None else {"schedule": self.schedule}
        if self.preset != "back_alley":
            changes |= {"min_bid": self.min_bid, "bluke_lead": self.bluke_lead}
        return tuple(Rules.preset(self.preset, num_players=seats, **changes) for seats in self.seats)

    @property
    def rules(self) -> Rules:
        """The rules that evaluations of the run are played by: those of the table for four, or else the largest."""
        tables = self.tables
        return next((rules for rules in tables if rules.num_players == 4), tables[-1])

    @property
    def learnable(self) -> list[tuple[int, int]]:
        """Tables (their places in `tables`) and hand sizes in which there is anything to decide.

        One card that has to be bid leaves no choice.
        """
        return [
            (place, int(size))
            for place, rules in enumerate(self.tables)
            for size in np.unique([hand.cards for hand in rules.schedule])
            if size > rules.min_bid or rules.teams
        ]

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

"""Playing hands for training: lockstep batches of one hand size, networks and bots at the same tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from agents import seeds
from agents.network import Network, masked_bid_logits, sample
from agents.precision import autocast
from bluke_env import Agent, BatchGame, Rules, Turn
from bluke_env.batch import derive_seed
from bluke_env.cards import NUM_CARDS

NETWORK, BOT = 0, 1


@dataclass
class Decisions:
    """Decisions of the network's seats, one row each, in no particular order.

    Attributes:
        observations: int8 [n, size], canonical suits.
        masks: int8 [n, actions].
        actions: int64 [n], in the same suits.
        log_probs: float32 [n], of the actions when they were chosen.
        advantages: float32 [n], in standard deviations; 0 for bids, which do not learn from them.
        tricks: int64 [n], tricks that the seat ended the hand with.
        is_bid: bool [n].
    """

    observations: torch.Tensor
    masks: torch.Tensor
    actions: torch.Tensor
    log_probs: torch.Tensor
    advantages: torch.Tensor
    tricks: torch.Tensor
    is_bid: torch.Tensor

    def __len__(self) -> int:
        return len(self.actions)

    @staticmethod
    def concatenate(parts: Sequence[Decisions]) -> Decisions:
        """Returns all rows of several sets."""
        return Decisions(
            *(torch.cat(columns) for columns in zip(*(vars(part).values() for part in parts), strict=True))
        )


@dataclass
class HandStatistics:
    """What happened in a rollout.

    Attributes:
        size: Cards in a hand.
        points: Mean points per hand of the network's seats.
        bid: Mean bid of the network's seats.
        make_rate: Share of their hands in which the bid was made.
        decisions: Decisions of all seats, forced moves and bots included.
    """

    size: int
    points: float
    bid: float
    make_rate: float
    decisions: int


class Rollout:
    """Plays hands of one size with a network and, in the other seats, a bot.

    Args:
        rules: The match whose hands are played; its layout is used for all sizes.
        size: Cards in a hand.
        num_hands: Hands played at once.
        seed: Seed of the run.
        bot: Who takes the seats that are not the network's.
        learner_seats: "self-play": the network's are all seats of most tables; "one": one seat of every table.
        bot_share: Share of the tables of self-play at which from one seat to all but one are the bot's.
    """

    def __init__(
        self, rules: Rules, size: int, num_hands: int, seed: int, bot: Agent, learner_seats: str, bot_share: float
    ) -> None:
        self.size, self.bot, self.learner_seats, self.bot_share = size, bot, learner_seats, bot_share
        self._seed = derive_seed(seed, seeds.DEALS, size)
        self._batch = BatchGame.hands_of(rules, size, num_hands, self._seed, autoreset=False, suit_order="canonical")

    def play(
        self,
        network: Network,
        iteration: int,
        temperature: float,
        gae_lambda: float,
        precision: str,
    ) -> tuple[Decisions, HandStatistics]:
        """Plays the hands of an iteration; every iteration has deals of its own."""
        batch, n = self._batch, self._batch.num_games
        batch.reset(self._seed, numbers=np.arange(n, dtype=np.uint64) + np.uint64(iteration * n))
        rng = np.random.Generator(np.random.PCG64([self._seed, iteration]))
        self.bot.reset(n, derive_seed(self._seed, iteration))
        players = _seating(rng, n, batch.rules.num_players, self.learner_seats, self.bot_share)
        uniforms = torch.Generator().manual_seed(int(rng.integers(1 << 62)))
        steps: list[_Step] = []
        tables = np.arange(n)
        with torch.inference_mode():
            while not batch.is_over[0]:
                actions = batch.masks.argmax(1)  # what is left for forced moves
                choice = batch.masks.sum(1, dtype=np.int32) > 1
                bots = players[tables, batch.seats] == BOT
                rows = np.flatnonzero(choice & ~bots)
                if len(rows):
                    step = self._choose(network, rows, temperature, uniforms, precision)
                    actions[rows] = step.actions
                    steps.append(step)
                rows = np.flatnonzero(choice & bots)
                if len(rows):
                    actions[rows] = self._bot_actions(rows)
                batch.step(actions)
        return self._learnt(network, steps, gae_lambda), self._statistics(players)

    def _bot_actions(self, rows: np.ndarray) -> np.ndarray:
        """Returns what the bot does in some of the games."""
        turn = Turn(self._batch.rules, self._batch.views(rows), self._batch.seats[rows], rows)
        return self._batch.relabel_actions(self.bot.act(turn), rows)

    def _choose(
        self,
        network: Network,
        rows: np.ndarray,
        temperature: float,
        uniforms: torch.Generator,
        precision: str,
    ) -> _Step:
        """Lets the network decide in some of the games."""
        device = network.scale.device
        observations = torch.from_numpy(self._batch.observations[rows])
        masks = torch.from_numpy(self._batch.masks[rows])
        seen, legal = observations.to(device), masks.to(device)
        is_bid = bool(masks[0, NUM_CARDS:].any())
        values = torch.zeros(len(rows))
        with autocast(device, precision):
            features = network.features(seen)
            if is_bid:
                points = network.bid_values(network.bid_trick_logits(features, seen))
                log_probs = masked_bid_logits(points, legal, temperature)
            else:
                log_probs = network.card_logits(features, legal)
                values = network.values(network.trick_logits(features, seen), network.own_bids(seen)).cpu()
        log_probs = log_probs.cpu()
        actions = sample(log_probs, torch.rand(log_probs.shape, generator=uniforms))
        chosen = log_probs.gather(1, actions[:, None])[:, 0]
        if is_bid:
            actions += NUM_CARDS
        return _Step(
            rows,
            self._batch.seats[rows].astype(np.int64),
            observations,
            masks,
            actions,
            chosen,
            values,
            is_bid,
        )

    def _learnt(self, network: Network, steps: list[_Step], gae_lambda: float) -> Decisions:
        """Works out advantages (Schulman et al. 2016) backwards over each seat's own decisions in a hand."""
        games = self._batch.records
        points = torch.from_numpy(games["last_points"].astype(np.float32))
        tricks = torch.from_numpy(games["last_tricks"].astype(np.int64))
        next_values, carried = points.clone(), torch.zeros_like(points)
        advantages = []
        for step in reversed(steps):
            at = torch.from_numpy(step.rows), torch.from_numpy(step.seats)
            if step.is_bid:
                advantages.append(torch.zeros(len(step.rows)))
                continue
            carried[at] = next_values[at] - step.values + gae_lambda * carried[at]
            next_values[at] = step.values
            advantages.append(carried[at])
        is_bid = torch.cat([torch.full((len(step.rows),), step.is_bid) for step in steps])
        return Decisions(
            observations=torch.cat([step.observations for step in steps]),
            masks=torch.cat([step.masks for step in steps]),
            actions=torch.cat([step.actions for step in steps]),
            log_probs=torch.cat([step.log_probs for step in steps]),
            advantages=_standardised(torch.cat(advantages[::-1]), ~is_bid),
            tricks=torch.cat([tricks[step.rows, step.seats] for step in steps]),
            is_bid=is_bid,
        )

    def _statistics(self, players: np.ndarray) -> HandStatistics:
        games, seats = self._batch.records, players.shape[1]
        own = players == NETWORK
        points, bids = games["last_points"][:, :seats][own], games["last_bids"][:, :seats][own]
        made = games["last_tricks"][:, :seats][own] >= bids
        decisions = players.size * (self.size + 1)
        return HandStatistics(self.size, float(points.mean()), float(bids.mean()), float(made.mean()), decisions)


@dataclass
class _Step:
    """The network's decisions in one step of a batch; fields as in `Decisions`."""

    rows: np.ndarray
    seats: np.ndarray
    observations: torch.Tensor
    masks: torch.Tensor
    actions: torch.Tensor
    log_probs: torch.Tensor
    values: torch.Tensor
    is_bid: bool


def _seating(rng: np.random.Generator, num_games: int, seats: int, learner_seats: str, bot_share: float) -> np.ndarray:
    """Says for every game and seat whether the network or the bot sits there, int8 [games, seats]."""
    if learner_seats == "one":
        bots = np.full(num_games, seats - 1)
    else:
        bots = np.where(rng.random(num_games) < bot_share, rng.integers(1, seats, num_games), 0)
    places = rng.permuted(np.tile(np.arange(seats), (num_games, 1)), axis=1)
    return np.where(places < bots[:, None], BOT, NETWORK).astype(np.int8)


def _standardised(values: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Returns the values of some rows less their mean, over their standard deviation; the others stay."""
    if rows.sum() > 1:
        values[rows] -= values[rows].mean()
        values[rows] /= values[rows].std() + 1e-6
    return values

"""Playing hands for training: lockstep batches of one hand size, networks and others at the same tables."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch

from agents import seeds
from agents.advantages import judged
from agents.card_features import card_features
from agents.config import TrainConfig
from agents.decisions import Decisions, Step
from agents.equivalents import Equivalents
from agents.hindsight import Styles, bid_hindsight, hindsight
from agents.network import Network
from agents.player import NetworkAgent
from agents.playouts import PACKED, RULE, playout_features, with_labels
from agents.precision import autocast, rounded_up
from agents.rank_order import RankOrder
from agents.sampling import draw, epsilon_greedy
from agents.schedules import Schedules
from bluke_env import Agent, BatchGame, Turn, bots
from bluke_env.batch import derive_seed
from bluke_env.cards import NUM_CARDS

NETWORK, BOT, PAST = 0, 1, 2

WHOLE_MATCH = 0
"""Stands for the size of a hand where whole matches are played."""


@dataclass
class HandStatistics:
    """What happened in a rollout.

    Attributes:
        points: Mean points per hand of the network's seats.
        bid: Their mean bid.
        make_rate: Share of their hands in which the bid was made.
        decisions: Decisions of all seats, forced moves and those of others included.
        network_seconds: Time that the network took.
    """

    points: float
    bid: float
    make_rate: float
    decisions: int
    network_seconds: float


class Rollout:
    """Plays hands of one size at one table, or whole matches.

    Args:
        config: Settings of the run.
        place: Which of its tables.
        size: Cards in a hand, or `WHOLE_MATCH`.
        network: Plays, and its layout is used for all sizes.
        bot: Who takes the seats that are a bot's.
    """

    def __init__(self, config: TrainConfig, place: int, size: int, network: Network, bot: Agent) -> None:
        self.config, self.network, self.bot = config, network, bot
        rules = config.tables[place]
        rules = rules if size == WHOLE_MATCH else rules.hands_of(size)
        self._seed = derive_seed(config.seed, seeds.DEALS, rules.num_players, size)
        self._batch = BatchGame(
            rules, config.hands_per_size // config.shards, self._seed, autoreset=False,
            suit_order=config.suit_order, layout=network.layout,
        )  # fmt: skip
        self._equivalents = Equivalents(network.layout)
        self._rank_order = RankOrder(network.layout, config.rank_order)
        self._teacher = bots.make(config.imitate)
        self._network_seconds = 0.0

    def play(
        self, iteration: int, shard: int, precision: str, past: Network | None
    ) -> tuple[list[list[Decisions]], list[HandStatistics]]:
        """Plays a shard of the hands of an iteration; every iteration and shard has deals of its own.

        Args:
            iteration: Which one.
            shard: Which part of its hands.
            precision: Of the network.
            past: An earlier network for the seats that are its own; without one they are the network's.

        Returns:
            For every hand of the games the network's decisions in several sets, and what happened in it.
        """
        config, batch, n = self.config, self._batch, self._batch.num_games
        first = iteration * config.hands_per_size + shard * n
        batch.reset(self._seed, numbers=np.arange(first, first + n, dtype=np.uint64))
        rng = np.random.Generator(np.random.PCG64([self._seed, iteration, shard]))
        for bot in (self.bot, self._teacher):
            bot.reset(n, derive_seed(self._seed, iteration, shard))
        players = _seating(rng, n, batch.rules.num_players, config)
        networks = {NETWORK: self.network} if past is None else {NETWORK: self.network, PAST: past}
        if past is None:
            players[players == PAST] = NETWORK
        steps: list[Step] = []
        groups: list[list[Decisions]] = []
        statistics: list[HandStatistics] = []
        schedules = Schedules.at(config, iteration)
        teaching = iteration < config.imitation_iterations
        guided = schedules.guide > 0 and config.algorithm == "ppo" and not teaching
        styles = self._styles(players) if guided else None
        width = self.network.actions.out_features if guided else 0
        ahead = self.network.variance_ahead.cpu() if config.reward == "wins" else None
        with torch.inference_mode(), autocast(self.network.device, precision):
            while not batch.is_over[0]:
                bidding = batch.masks[0, NUM_CARDS:].any()
                steps += self._step(networks, players, schedules, rng, teaching, styles)
                if styles is not None and bidding and not batch.masks[0, NUM_CARDS:].any():
                    self._judge_bids(steps, styles)
                if batch.records["last_number"][0] == len(groups):  # a hand has ended, in all games at once
                    groups.append(judged(steps, batch, config, width, ahead))
                    statistics.append(self._statistics(players))
                    steps, self._network_seconds = [], 0.0
        return groups, statistics

    def _step(
        self,
        networks: dict[int, Network],
        players: np.ndarray,
        schedules: Schedules,
        rng: np.random.Generator,
        teaching: bool,
        styles: Styles | None,
    ) -> list[Step]:
        """Lets everyone who is to act do so and returns the decisions of the network that learns.

        With `styles` cards are tried in hindsight.
        """
        batch, steps = self._batch, []
        masks = self._equivalents.without(batch.observations, batch.masks)
        actions = masks.argmax(1)  # what is left for forced moves
        choice = masks.sum(1, dtype=np.int32) > 1
        to_act = players[np.arange(batch.num_games), batch.seats]
        for player, network in networks.items():
            rows = np.flatnonzero(choice & (to_act == player))
            if len(rows):
                step = self._choose(network, rows, masks, schedules, rng)
                if teaching:
                    step.actions = torch.from_numpy(self._taught(rows, masks))
                actions[rows] = step.actions
                if player == NETWORK:
                    if styles is not None and network.playouts is not None:
                        step.playouts = self._playouts(step)
                    if styles is not None and not step.is_bid:
                        step.hindsight = hindsight(batch, rows, masks, step.policy, step.actions, styles)
                    steps.append(step)
        rows = np.flatnonzero(choice & (to_act == BOT))
        if len(rows):
            actions[rows] = self._actions(self.bot, rows)
        batch.step(actions)
        return steps

    def _styles(self, players: np.ndarray) -> Styles:
        """Returns how the seats play on: networks by their small ones, and bots by theirs or as `rule`."""
        networks = {NETWORK: self.network, PAST: self.network}
        if isinstance(self.bot, NetworkAgent):
            networks[BOT] = self.bot.network
        of_players, weights = np.full(3, RULE), np.zeros((3, *PACKED), np.float32)
        for player, network in networks.items():
            if network.playouts is not None:
                of_players[player], weights[player] = player, network.playouts.packed()
        return Styles(of_players[players], weights)

    def _judge_bids(self, steps: list[Step], styles: Styles) -> None:
        """Tries all bids of policies, in hands whose bids have just been made."""
        for step in steps:
            if step.is_bid and step.by_gradient:
                masks = step.masks.numpy()
                step.hindsight = bid_hindsight(self._batch, step.rows, step.seats, masks, styles)

    def _actions(self, bot: Agent, rows: np.ndarray) -> np.ndarray:
        """Returns what a bot does in some of the games."""
        turn = Turn(self._batch.rules, self._batch.views(rows), self._batch.seats[rows], rows)
        return self._batch.relabel_actions(bot.act(turn), rows)

    def _taught(self, rows: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """Returns what the bot to be imitated does in some of the games, the lowest of equivalent cards."""
        actions = self._actions(self._teacher, rows)
        while (left_out := masks[rows, actions] == 0).any():
            actions[left_out] -= 1
        return actions

    def _choose(
        self,
        network: Network,
        rows: np.ndarray,
        all_masks: np.ndarray,
        schedules: Schedules,
        rng: np.random.Generator,
    ) -> Step:
        """Lets a network decide in some of the games."""
        device, batch, n = network.device, self._batch, len(rows)
        padded = np.resize(rows, rounded_up(n))
        facts = batch.rules, batch.records, batch.suit_orders, padded
        observations = torch.from_numpy(batch.observations.take(padded, 0))
        masks = torch.from_numpy(all_masks.take(padded, 0))
        cards = torch.from_numpy(card_features(*facts))
        width = network.layout.state_size if network.heads.critic_sizes else 0
        states = torch.from_numpy(batch.states().take(padded, 0) if width else np.zeros((len(padded), 0), np.int8))
        arrays = observations.numpy(), states.numpy(), masks.numpy(), cards.numpy()
        labels = torch.from_numpy(self._rank_order.relabel(*facts, arrays))
        is_bid = bool(masks[0, NUM_CARDS:].any())
        by_tricks = is_bid and network.heads.bids == "tricks"
        by_gradient = not by_tricks and self.config.algorithm == "ppo"
        started = time.perf_counter()
        seen, legal, shown = observations.to(device), masks.to(device), cards.to(device)
        features = network.features(seen)
        values = torch.zeros(len(padded))
        if by_tricks:
            log_probs = network.bid_log_probs(features, seen, legal, schedules.temperature)
        elif not by_gradient:
            log_probs = epsilon_greedy(network.action_log_probs(features, shown, legal), schedules.exploration)
        else:
            log_probs = network.action_log_probs(features, shown, legal)
            values = network.values(network.critic_features(features, states.to(device) if width else None), seen)
        log_probs, values, labels = log_probs[:n].cpu(), values[:n].cpu(), labels[:n]
        policy = log_probs if by_tricks else log_probs.gather(1, labels[:, : log_probs.shape[1]])
        self._network_seconds += time.perf_counter() - started
        actions, chosen = np.empty(n, np.int64), np.empty(n, np.float32)
        draw(policy.numpy(), rng.random(n), actions, chosen)
        actions += NUM_CARDS if by_tricks else 0
        kept = torch.from_numpy(chosen)[:, None] if self.config.kl == 0 else _widened(log_probs, network, by_tricks)
        return Step(
            rows,
            batch.seats.take(rows).astype(np.int64),
            observations[:n],
            states[:n],
            masks[:n],
            cards[:n],
            labels,
            torch.from_numpy(actions),
            kept,
            values,
            policy,
            is_bid,
            by_gradient,
        )

    def _playouts(self, step: Step) -> torch.Tensor:
        """Returns what the small network sees of a step, with the labels that the large one knows cards under."""
        batch, most = self._batch, self.network.layout.most_cards
        features = playout_features(batch.rules, batch.records, batch.suit_orders, step.rows, most)
        return torch.from_numpy(with_labels(features, step.labels.numpy(), most))

    def _statistics(self, players: np.ndarray) -> HandStatistics:
        games, seats = self._batch.records, players.shape[1]
        own = players == NETWORK
        points, bids = games["last_points"][:, :seats][own], games["last_bids"][:, :seats][own]
        made = games["last_tricks"][:, :seats][own] >= bids
        decisions = players.size * (int(games["last_size"][0]) + 1)
        return HandStatistics(
            float(points.mean()), float(bids.mean()), float(made.mean()), decisions, self._network_seconds
        )


def _widened(log_probs: torch.Tensor, network: Network, by_tricks: bool) -> torch.Tensor:
    """Returns log-probabilities in the columns of the policy's own; bids that are no policy's have none there."""
    return log_probs if not by_tricks else log_probs.new_zeros((len(log_probs), network.actions.out_features))


def _seating(rng: np.random.Generator, num_games: int, seats: int, config: TrainConfig) -> np.ndarray:
    """Says who sits where, int8 [games, seats]: one other player at a table, for the whole hand."""
    if config.learner_seats == "one":
        count, who = np.full(num_games, seats - 1), np.full(num_games, BOT)
    else:
        lot = rng.random(num_games)
        who = np.where(lot < config.bot_share, BOT, PAST)
        count = np.where(lot < config.bot_share + config.past_share, rng.integers(1, seats, num_games), 0)
    places = rng.permuted(np.tile(np.arange(seats), (num_games, 1)), axis=1)
    return np.where(places < count[:, None], who[:, None], NETWORK).astype(np.int8)

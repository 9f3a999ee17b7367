"""Search on top of a network: what every likely card makes when the network plays the hand out in sampled worlds.

This is a rollout policy (Tesauro and Galperin, "On-line policy improvement using Monte-Carlo search", 1997): in the
playouts every seat, the searching one too, is the network and sees what its seat would see. So no seat plays as if it
knew all cards, and with enough worlds, seats that are the network, and worlds as likely as they are drawn, a change is
an improvement.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

import agents
from agents.card_features import WIDTH, card_features
from agents.equivalents import Equivalents
from agents.options import NET_SEARCH
from agents.player import ROWS, NetworkAgent, padded
from agents.search_kernels import (
    begin_playouts,
    draw_worlds,
    likely_cards,
    make_choices,
    next_choices,
    past_choices,
)
from bluke_env import ObservationLayout, Rules, Turn
from bluke_env.bots.search import MOST_WORK
from bluke_env.cards import NUM_CARDS, cards_of
from bluke_env.engine.belief import BELIEF, TABLE_SIZE
from bluke_env.engine.state import GAME, PLAY
from bluke_env.errors import checked_integer, checked_seed

DEFAULT_WORLDS = 64

_LEAST = 0.02
"""Cards that the network gives a smaller probability are not tried."""

_CAUTION = 1.0
"""Standard errors by which a card must be better than the network's own to be played."""

_SLIP = 0.1
"""The chance that a seat does anything legal: other players are not the network, and it is not always as sure."""

_TEMPERATURE = 2.0
"""Points by which a bid must be worth less to be e times rarer, where worlds are weighed."""

_TRUST = 0.5
"""The power of the likelihood that worlds are weighed by."""

_VIEWS = 8
"""Decisions searched at the same time; it bounds the memory and changes nothing."""


class NetSearchAgent:
    """Tries every likely card in the same sampled worlds, the network playing on in all seats, and takes the best.

    The worlds agree with all that the seat knows (`bluke_env.belief`). Each counts the more, the likelier the network
    would have made the bids and played the cards that were seen if it held the other seats' hands. A card other than
    the network's own is played only where the worlds tell them apart by `_CAUTION` standard errors. Bids are the
    network's.

    All it does is a function of its seed, its worlds and what its seat knows. Before the first `reset` its seed is 0.

    Args:
        agent: The network.
        worlds: For a card, 0 to 1,000,000; with less than two the network plays alone.

    Attributes:
        name: Under which `load_search` makes it again, if the network's is the path of its checkpoint.
        version: Raised whenever its decisions change, since published results name it.
        rules: Those of the network, as the other attributes.

    Raises:
        ValueError: `worlds` is out of range, or the network was trained with fixed suits.
    """

    version = 1

    def __init__(self, agent: NetworkAgent, worlds: int = DEFAULT_WORLDS) -> None:
        self._worlds = checked_integer("worlds", worlds, 0, MOST_WORK)
        if agent.suit_order != "canonical":
            raise ValueError(f"{agent.name} was trained with fixed suits, but searches look at canonical ones")
        self._agent, self._network = agent, agent.network
        self.name = f"{NET_SEARCH}:{agent.name},worlds={worlds}"
        self.tables, self.sha256 = agent.tables, agent.sha256
        self._belief, self._table, self._scratch = np.zeros(1, BELIEF), np.zeros(TABLE_SIZE), np.zeros(1, GAME)
        self.reset(1, 0)

    @property
    def rules(self) -> Rules:
        """Those that it plays by unless told otherwise."""
        return self._agent.rules

    def reset(self, num_games: int, seed: int) -> None:
        """Starts afresh; its choices depend on the seed, from 0 to 2**64 - 1, and not on the number of games."""
        self._seed = np.uint64(checked_seed(seed))

    @torch.inference_mode()
    def act(self, turn: Turn) -> np.ndarray:
        """Returns one legal action id per row, int64 [n].

        Raises:
            ValueError: See `NetworkAgent.act`.
        """
        actions = self._agent.act(turn)
        playing = np.flatnonzero((turn.views["phase"] == PLAY) & (turn.masks.sum(1) > 1)) if self._worlds > 1 else ()
        for start in range(0, len(playing), _VIEWS):
            rows = playing[start : start + _VIEWS]
            part = Turn(turn.rules, turn.views[rows], turn.seats[rows], turn.games[rows])
            actions[rows] = self._search(part, actions[rows])
        return actions

    def _search(self, turn: Turn, actions: np.ndarray) -> np.ndarray:
        """Returns the cards to play where the network would play `actions`."""
        facts, layout = turn.rules.record(), self._layout(turn.rules)
        encoded = turn.encode(layout, canonical=True)
        shown = card_features(turn.rules, turn.views, encoded.orders, np.arange(len(actions)))
        log_probs = self._log_probs(encoded.observations, encoded.masks, shown)
        others = np.empty(len(actions), np.int64)
        likely_cards(facts, turn.views, encoded.orders, log_probs, np.log(_LEAST), actions, others)
        rows = np.flatnonzero(others)
        if len(rows) == 0:
            return actions
        views, best = turn.views[rows], actions.copy()
        tried = [[int(actions[row]), *cards_of(others[row])] for row in rows]
        worlds = np.zeros(len(rows) * self._worlds, GAME)
        draw_worlds(facts, views, self._seed, self._belief, self._table, worlds)
        weights = self._weights(facts, layout, views, worlds)
        points = self._points(facts, layout, views, worlds, tried)
        for row, cards, weight, made in zip(rows, tried, weights, points, strict=True):
            best[row] = cards[_best(made, weight)]
        return best

    def _weights(
        self, facts: np.ndarray, layout: ObservationLayout, views: np.ndarray, worlds: np.ndarray
    ) -> np.ndarray:
        """Returns how much every world counts, float64 [n, worlds of a view], adding up to one in a row."""
        decided = (views["bids"] >= 0).sum() + views["num_played"].sum()
        room = int(decided) * self._worlds
        observations, masks = np.empty(room * layout.size, np.int8), np.empty(room * layout.num_actions, np.int8)
        cards = np.empty((room, WIDTH), np.int8)
        labels, owners = np.empty(room, np.int64), np.empty(room, np.int64)
        count = past_choices(
            facts, views, worlds, self._scratch, layout.record, observations, masks, cards, labels, owners
        )
        seen, legal = _rows(observations, count, layout.size), _rows(masks, count, layout.num_actions)
        log_probs = self._log_probs(seen, legal, cards[:count])[np.arange(count), labels[:count]].astype(np.float64)
        chances = (1 - _SLIP) * np.exp(log_probs) + _SLIP / legal.sum(1)
        losses = np.bincount(owners[:count], -_TRUST * np.log(chances), len(worlds)).reshape(len(views), -1)
        return np.array([_normalised(np.exp(row.min() - row)) for row in losses])

    def _points(
        self,
        facts: np.ndarray,
        layout: ObservationLayout,
        views: np.ndarray,
        worlds: np.ndarray,
        tried: list[list[int]],
    ) -> list[np.ndarray]:
        """Returns for every view the points of its seat, float64 [cards tried, worlds of a view]."""
        number = self._worlds
        which = np.concatenate(
            [np.tile(np.arange(row * number, (row + 1) * number), len(cards)) for row, cards in enumerate(tried)]
        )
        cards = np.repeat(np.concatenate(tried), number)
        games = np.zeros(len(which), GAME)
        begin_playouts(facts, worlds, which, cards, games)
        seats = worlds["seat"][which].astype(np.int64)
        points, rows, orders = np.empty(len(games)), np.arange(len(games)), np.empty(len(games), np.int64)
        observations = np.empty(len(games) * layout.size, np.int8)
        masks = np.empty(len(games) * layout.num_actions, np.int8)
        shown = np.empty((len(games), WIDTH), np.int8)
        while len(rows):
            count = next_choices(facts, games, rows, seats, layout.record, observations, masks, shown, orders, points)
            rows = rows[:count]
            seen, legal = _rows(observations, count, layout.size), _rows(masks, count, layout.num_actions)
            labels = self._log_probs(seen, legal, shown[:count]).argmax(1)
            make_choices(facts, games, rows, layout.record, orders, labels)
        ends = np.cumsum([number * len(cards) for cards in tried])
        return [part.reshape(-1, number) for part in np.split(points, ends[:-1])]

    def _layout(self, rules: Rules) -> ObservationLayout:
        """Returns the network's layout with room for the scores of a match, which it does not look at."""
        layout = self._network.layout
        return replace(layout, score_unit=max(layout.score_unit, ObservationLayout.of(rules).score_unit))

    def _log_probs(self, observations: np.ndarray, masks: np.ndarray, cards: np.ndarray) -> np.ndarray:
        """Returns the network's log-probabilities of all actions, float32 [n, actions]; as many rows in every call.

        A card that is left out as equivalent to another has that one's.
        """
        network, out, all_masks = self._network, np.full(masks.shape, -np.inf, np.float32), masks
        masks = Equivalents(network.layout).without(observations, masks)
        for start in range(0, len(out), ROWS):
            part = out[start : start + ROWS]
            seen = padded(observations[start : start + ROWS]).to(network.device)
            legal = padded(masks[start : start + ROWS]).to(network.device)
            shown = padded(cards[start : start + ROWS]).to(network.device)
            features = network.features(seen)
            log_probs = network.action_log_probs(features, shown, legal)[: len(part)].cpu().numpy()
            part[:, : log_probs.shape[1]] = log_probs
            bidding = masks[start : start + ROWS, NUM_CARDS:].any(1)
            if network.heads.bids == "tricks" and bidding.any():
                bids = network.bid_log_probs(features, seen, legal, _TEMPERATURE)[: len(part)].cpu().numpy()
                part[bidding] = -np.inf
                part[bidding, NUM_CARDS : NUM_CARDS + bids.shape[1]] = bids[bidding]
        _share(out, all_masks, masks)
        return out


def _share(log_probs: np.ndarray, masks: np.ndarray, left: np.ndarray) -> None:
    """Gives every legal card that was left out what the next lower one has that was not, in place."""
    stand_ins = np.empty(len(log_probs), np.float32)
    for card in range(NUM_CARDS):
        kept = left[:, card] != 0
        stand_ins[kept] = log_probs[kept, card]
        shared = (masks[:, card] != 0) & ~kept
        log_probs[shared, card] = stand_ins[shared]


def load_search(spec: str) -> NetSearchAgent:
    """Returns the player of a name such as net-search:runs/a/checkpoint.pt,worlds=64.

    Raises:
        ValueError: The name has no checkpoint, the checkpoint does not load, or the number of worlds is invalid.
    """
    path, option, text = spec.removeprefix(f"{NET_SEARCH}:").partition(",worlds=")
    if not path:
        raise ValueError(
            f"{spec!r} names no checkpoint: write {NET_SEARCH}:CHECKPOINT or {NET_SEARCH}:CHECKPOINT,worlds=N"
        )
    if option and not text.isdecimal():
        raise ValueError(f"worlds of {NET_SEARCH} is {text!r}, but it must be a whole number from 0 to {MOST_WORK}")
    return NetSearchAgent(agents.load(path), int(text) if option else DEFAULT_WORLDS)


def _rows(flat: np.ndarray, count: int, width: int) -> np.ndarray:
    return flat[: count * width].reshape(count, width)


def _normalised(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum()


def _best(points: np.ndarray, weights: np.ndarray) -> int:
    """Returns which row of points [cards, worlds] is best, the first unless another is surely better.

    The standard error is that of a self-normalised importance sampling estimate (Owen, "Monte Carlo theory, methods and
    examples", 2013, equation 9.9), larger by what the estimated mean takes away where few worlds count.
    """
    best, most = 0, 0.0
    effective = 1 / np.square(weights).sum()
    if effective < 2:
        return best
    for card in range(1, len(points)):
        gains = points[card] - points[0]
        mean = float((weights * gains).sum())
        error = np.sqrt((np.square(weights * (gains - mean))).sum() * effective / (effective - 1))
        if mean - _CAUTION * error > most:
            best, most = card, mean - _CAUTION * error
    return best

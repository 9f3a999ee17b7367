"""A network as an agent that can sit at any table of its rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np
import torch

from agents.card_features import card_features
from agents.equivalents import Equivalents
from agents.network import Network
from agents.rank_order import RankOrder
from bluke_env import ObservationLayout, Rules, Turn
from bluke_env.agent import Encoded
from bluke_env.cards import NUM_CARDS

ROWS = 256
"""Rows in a call of the network. Always the same, so that what a seat does cannot depend on how many act with it."""


class NetworkAgent:
    """Plays the card that a network prefers and the bid with the highest expected score, always in float32.

    Args:
        network: The network.
        tables: The rules that it was trained for.
        name: What to call it in reports.
        sha256: Of the checkpoint's file, where it comes from one.
        suit_order: "canonical" or "fixed", how it learned to see the suits.
        rank_order: "in_play" or "fixed", how it learned to see the ranks, see `agents.rank_order`.
    """

    def __init__(
        self,
        network: Network,
        tables: tuple[Rules, ...],
        name: str,
        sha256: str | None = None,
        suit_order: Literal["canonical", "fixed"] = "canonical",
        rank_order: Literal["in_play", "fixed"] = "in_play",
    ) -> None:
        self.network, self.tables, self.name, self.sha256 = network, tables, name, sha256
        self.suit_order: Literal["canonical", "fixed"] = suit_order
        self.rank_order: Literal["in_play", "fixed"] = rank_order

    @property
    def rules(self) -> Rules:
        """Those that it plays by unless told otherwise: of the table for four, or else of the largest."""
        return next((rules for rules in self.tables if rules.num_players == 4), self.tables[-1])

    def reset(self, num_games: int, seed: int) -> None:
        """Does nothing: the choices depend on the present turn alone."""

    def check(self, table: Rules) -> None:
        """Refuses tables that the network does not know.

        Raises:
            ValueError: They have other rules than the network was trained for.
        """
        seats = [rules.num_players for rules in self.tables]
        if table.num_players not in seats:
            raise ValueError(
                f"{self.name} was trained for {' or '.join(map(str, seats))} players, but the table has "
                f"{table.num_players}: choose a table or a checkpoint that fits"
            )
        if table.teams != self.rules.teams:
            games = {True: "Back Alley", False: "Bluke"}
            raise ValueError(
                f"{self.name} was trained for {games[self.rules.teams]}, but the table plays {games[table.teams]}"
            )
        layout = self.network.layout
        if table.most_cards > layout.most_cards:
            raise ValueError(
                f"{self.name} was trained for hands of up to {layout.most_cards} cards, but the table plays "
                f"{table.most_cards}"
            )
        if self.network.heads.aim == "wins" and ObservationLayout.of(table).score_unit > layout.score_unit:
            raise ValueError(
                f"{self.name} was trained to win matches of {self.rules.num_hands} hands, but the table plays "
                f"{table.num_hands}, with scores beyond those it knows"
            )

    def act(self, turn: Turn) -> np.ndarray:
        """Returns one legal action id per row, int64 [n].

        Raises:
            ValueError: The table has other rules than the network was trained for, or a row has no legal action.
        """
        self.check(turn.rules)
        if self.network.heads.aim == "wins":
            self.network.expect(turn.rules)
        encoded = self._encoded(turn)
        if not encoded.masks.any(1).all():
            row = int(encoded.masks.any(1).argmin())
            raise ValueError(f"row {row} of the turn has no legal action: leave out games that are over")
        best = [self._best(*rows) for rows in self._rows(turn, encoded)]
        return turn.real_actions(np.concatenate([np.empty(0, np.int64), *best]), encoded)

    @torch.inference_mode()
    def card_log_probs(self, turn: Turn) -> tuple[np.ndarray, Encoded]:
        """Returns log-probabilities of cards as their seats see them, float32 [n, 54], and what the seats see.

        Illegal cards have minus infinity, as have those that do the same as a lower one.

        Args:
            turn: Decisions about cards, at a table that `act` accepts.
        """
        encoded = self._encoded(turn)
        parts = [
            self.network.action_log_probs(self.network.features(seen), cards, legal).gather(1, labels)[:count]
            for seen, legal, cards, labels, count in self._rows(turn, encoded)
        ]
        return torch.cat(parts)[:, :NUM_CARDS].cpu().numpy(), encoded

    def _encoded(self, turn: Turn) -> Encoded:
        """Returns what the seats see, with room for the scores of any match: few networks look at them."""
        layout = self.network.layout
        layout = replace(layout, score_unit=max(layout.score_unit, ObservationLayout.of(turn.rules).score_unit))
        return turn.encode(layout, canonical=self.suit_order == "canonical")

    def _rows(
        self, turn: Turn, encoded: Encoded
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, int]]:
        """Yields what the network sees, `ROWS` at a time, and how many of them count.

        That is observations, masks, features of cards, and the labels in them of all that has a logit.
        """
        masks = Equivalents(encoded.layout).without(encoded.observations, encoded.masks)
        facts = turn.rules, turn.views, encoded.orders, np.arange(len(masks))
        seen, states, cards = encoded.observations.copy(), np.zeros((len(masks), 0), np.int8), card_features(*facts)
        labels = RankOrder(encoded.layout, self.rank_order).relabel(*facts, (seen, states, masks, cards))
        labels = labels[:, : self.network.actions.out_features]
        for start in range(0, len(masks), ROWS):
            parts = [array[start : start + ROWS] for array in (seen, masks, cards, labels)]
            shown, legal, of_cards, names = (padded(part).to(self.network.device) for part in parts)
            yield shown, legal, of_cards, names, len(parts[0])

    @torch.inference_mode()
    def _best(
        self, seen: torch.Tensor, legal: torch.Tensor, cards: torch.Tensor, labels: torch.Tensor, count: int
    ) -> np.ndarray:
        """Returns the labels of the best actions of the first rows."""
        network = self.network
        features = network.features(seen)
        best = network.action_log_probs(features, cards, legal).gather(1, labels).argmax(1)
        bidding = legal[:, NUM_CARDS:].any(1)
        if network.heads.bids == "tricks" and bidding.any():
            bids = network.bid_log_probs(features, seen, legal, 1.0).argmax(1)
            best = torch.where(bidding, NUM_CARDS + bids, best)
        return best[:count].cpu().numpy()


def padded(array: np.ndarray) -> torch.Tensor:
    """Returns the rows of an array and as many of zeros as make them `ROWS`."""
    padded = np.zeros((ROWS, array.shape[1]), array.dtype)
    padded[: len(array)] = array
    return torch.from_numpy(padded)

"""A network as an agent that can sit at any table of its rules."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from agents.network import Network
from bluke_env import ObservationLayout, Rules, Turn
from bluke_env.cards import NUM_CARDS

_ROWS = 256
"""Rows in a call of the network. Always the same, so that what a seat does cannot depend on how many act with it."""


class NetworkAgent:
    """Plays a network's most probable card and the bid with the highest expected score, always in float32.

    Args:
        network: The network.
        rules: The rules that it was trained for.
        name: What to call it in reports.
        sha256: Of the checkpoint's file, where it comes from one.
    """

    def __init__(self, network: Network, rules: Rules, name: str, sha256: str | None = None) -> None:
        self.network, self.rules, self.name, self.sha256 = network, rules, name, sha256

    def reset(self, num_games: int, seed: int) -> None:
        """Does nothing: the choices depend on the present turn alone."""

    def act(self, turn: Turn) -> np.ndarray:
        """Returns one legal action id per row, int64 [n].

        Raises:
            ValueError: The table has other rules than the network was trained for, or a row has no legal action.
        """
        if turn.rules.num_players != self.rules.num_players:
            raise ValueError(
                f"{self.name} was trained for {self.rules.num_players} players, but the table has "
                f"{turn.rules.num_players}: choose a table or a checkpoint that fits"
            )
        if turn.rules.teams != self.rules.teams:
            games = {True: "Back Alley", False: "Bluke"}
            raise ValueError(
                f"{self.name} was trained for {games[self.rules.teams]}, but the table plays {games[turn.rules.teams]}"
            )
        layout = self.network.layout
        if turn.rules.most_cards > layout.most_cards:
            raise ValueError(
                f"{self.name} was trained for hands of up to {layout.most_cards} cards, but the table plays "
                f"{turn.rules.most_cards}"
            )
        needed = ObservationLayout.of(turn.rules).score_unit
        if needed > layout.score_unit:  # the network looks at no scores, so their unit may be any
            layout = replace(layout, score_unit=needed)
        encoded = turn.encode(layout, canonical=True)
        if not encoded.masks.any(1).all():
            row = int(encoded.masks.any(1).argmin())
            raise ValueError(f"row {row} of the turn has no legal action: leave out games that are over")
        actions = np.empty(len(turn.views), np.int64)
        for start in range(0, len(actions), _ROWS):
            part = slice(start, start + _ROWS)
            actions[part] = self._best(encoded.observations[part], encoded.masks[part])
        return turn.real_actions(actions, encoded)

    @torch.inference_mode()
    def _best(self, observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        count, device = len(observations), self.network.scale.device
        seen, legal = (_padded(array).to(device) for array in (observations, masks))
        features = self.network.features(seen)
        best = self.network.card_logits(features, legal).argmax(1)
        bidding = legal[:, NUM_CARDS:].any(1)
        if bidding.any():
            points = self.network.bid_values(self.network.bid_trick_logits(features, seen))
            bids = points.masked_fill(legal[:, NUM_CARDS:] == 0, -torch.inf).argmax(1)
            best = torch.where(bidding, NUM_CARDS + bids, best)
        return best[:count].cpu().numpy()


def _padded(array: np.ndarray) -> torch.Tensor:
    padded = np.zeros((_ROWS, array.shape[1]), array.dtype)
    padded[: len(array)] = array
    return torch.from_numpy(padded)

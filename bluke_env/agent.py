"""What can sit at a table: bots, networks, policies of other libraries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from bluke_env.engine.batch import encode_views, real_view_actions
from bluke_env.engine.state import GAME
from bluke_env.observation import ObservationLayout
from bluke_env.rules import Rules


class Encoded(NamedTuple):
    """What the seats to act see: observations int8 [n, size], masks int8 [n, actions], suit orders int16 [n]."""

    layout: ObservationLayout
    observations: np.ndarray
    masks: np.ndarray
    orders: np.ndarray


@dataclass(frozen=True)
class Turn:
    """Decisions that are due, one row each.

    All of it is derived from `views`, which hold nothing that the acting seat cannot know.

    Attributes:
        rules: The rules of all rows.
        views: `GAME` records [n], as `Game.turn` and `BatchGame.views` give them.
        seats: int8 [n], the seat to act.
        games: int64 [n], which game each row is; the same number in all turns of a game.

    Raises:
        ValueError: `views` are no such records, the seats are not those to act in them, the games are not as many, or
            a row's match is over.
    """

    rules: Rules
    views: np.ndarray
    seats: np.ndarray
    games: np.ndarray

    def __post_init__(self) -> None:
        views = self.views
        if not isinstance(views, np.ndarray) or views.dtype != GAME or views.ndim != 1:
            raise ValueError("views must be an array of GAME records, as Game.turn and BatchGame.views give them")
        if not np.array_equal(self.seats, views["seat"]):
            raise ValueError("seats must be those to act in the views: give views['seat']")
        if np.shape(self.games) != views.shape:
            raise ValueError(f"games has shape {np.shape(self.games)}, but it must be that of the views, {views.shape}")
        if (views["seat"] < 0).any():
            row = int((views["seat"] < 0).argmax())
            raise ValueError(f"row {row} of the turn has no seat to act: its match is over, so leave it out")

    @property
    def observations(self) -> np.ndarray:
        """int8 [n, size] in the layout of the rules, suits as they are."""
        return self._plain.observations

    @property
    def masks(self) -> np.ndarray:
        """int8 [n, actions], 1 where legal."""
        return self._plain.masks

    @cached_property
    def _plain(self) -> Encoded:
        return self.encode(ObservationLayout.of(self.rules), canonical=False)

    def encode(self, layout: ObservationLayout, canonical: bool) -> Encoded:
        """Returns what the seats see in a given layout, with canonical or fixed suits.

        Raises:
            ValueError: The layout has no room for the rules.
        """
        layout.check(self.rules)
        n = len(self.views)
        encoded = Encoded(
            layout,
            np.empty((n, layout.size), np.int8),
            np.empty((n, layout.num_actions), np.int8),
            np.empty(n, np.int16),
        )
        flat = encoded.observations.reshape(-1), encoded.masks.reshape(-1), encoded.orders
        encode_views(self.rules.record(), self.views, canonical, layout.record, *flat)
        return encoded

    def real_actions(self, actions: np.ndarray, encoded: Encoded) -> np.ndarray:
        """Turns action ids [n] chosen from what `encode` returned into those of the rules and the real cards.

        Raises:
            ValueError: They are no integers of that shape, or there is no such action.
        """
        actions, out = np.asarray(actions), np.empty(len(self.views), np.int64)
        if actions.shape != out.shape or actions.dtype.kind not in "iu":
            raise ValueError(
                f"actions have dtype {actions.dtype} and shape {actions.shape}, but they must be integers "
                f"of shape {out.shape}"
            )
        if ((actions < 0) | (actions >= encoded.layout.num_actions)).any():
            raise ValueError(f"actions are {actions}, but action ids run from 0 to {encoded.layout.num_actions - 1}")
        real_view_actions(self.rules.record(), self.views, encoded.orders, encoded.layout.record, actions, out)
        return out


class Agent(Protocol):
    """Plays any number of seats in any number of games at once."""

    name: str

    def reset(self, num_games: int, seed: int) -> None:
        """Forgets everything and gets ready for games 0 .. num_games - 1."""
        ...

    def act(self, turn: Turn) -> np.ndarray:
        """Returns one legal action id per row, an integer array [n]."""
        ...

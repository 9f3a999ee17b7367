"""What is kept of a hand that has been played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bluke_env.cards import cards_of
from bluke_env.engine.state import optional
from bluke_env.rules import Rules


@dataclass(frozen=True)
class HandResult:
    """A hand that has been played and scored.

    Attributes:
        number: Its place in the match, from 0.
        size: Cards dealt to each seat.
        dealer: Seat.
        trump: Suit 0..3, or None.
        turned_up: Card id, or None.
        hands: By seat, the card ids dealt, ascending; after an exchange.
        bids: By seat; see `bluke_env.actions`.
        tricks: By seat, tricks taken.
        points: By seat, points scored.
        order: Card ids in order of play.
        leader: The seat that led the first trick.
        exchanged: In Back Alley, the seat that gave back a Blooper, or None.
        drawn: The card id it took for it, or None.
    """

    number: int
    size: int
    dealer: int
    trump: int | None
    turned_up: int | None
    hands: tuple[tuple[int, ...], ...]
    bids: tuple[int, ...]
    tricks: tuple[int, ...]
    points: tuple[int, ...]
    order: tuple[int, ...]
    leader: int
    exchanged: int | None
    drawn: int | None

    @classmethod
    def of(cls, rules: Rules, record: np.ndarray) -> HandResult:
        """Returns the last hand that a `GAME` record (an array of one) keeps."""
        game, seats = record[0], rules.num_players
        bids = tuple(game["last_bids"][:seats].tolist())
        size, dealer = int(game["last_size"]), int(game["last_dealer"])
        return cls(
            number=int(game["last_number"]),
            size=size,
            dealer=dealer,
            trump=optional(game["last_trump"]),
            turned_up=optional(game["last_turned_up"]),
            hands=tuple(cards_of(mask) for mask in game["last_dealt"][:seats].tolist()),
            bids=bids,
            tricks=tuple(game["last_tricks"][:seats].tolist()),
            points=tuple(game["last_points"][:seats].tolist()),
            order=tuple(game["last_order"][: seats * size].tolist()),
            leader=first_leader(rules, dealer, bids),
            exchanged=optional(game["last_exchanged"]),
            drawn=optional(game["last_drawn"]),
        )


def first_leader(rules: Rules, dealer: int, bids: Sequence[int]) -> int:
    """Returns the seat that leads the first trick: left of the dealer; of teams, the earliest of the highest bids."""
    in_turn = [(dealer + place) % rules.num_players for place in range(1, rules.num_players + 1)]
    return max(in_turn, key=bids.__getitem__) if rules.teams else in_turn[0]

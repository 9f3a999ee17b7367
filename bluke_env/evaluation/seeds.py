"""What evaluation draws its random numbers from.

Everything is hashed from the user's seed, a purpose and the hand being played. The purposes below belong to
evaluation alone. Whoever trains must derive seeds with others: then no training run and no evaluation share
deals, whatever their seeds.
"""

from __future__ import annotations

from bluke_env.batch import derive_seed
from bluke_env.schedule import ScheduledHand

DEALS = 9_001
"""Purpose of the deals."""

PLAYERS = 9_002
"""Purpose of the choices of players that draw lots."""


def deal_seed(seed: int, hand: ScheduledHand) -> int:
    """Returns the seed whose games 0, 1, 2, ... are the deals of a kind of hand, whoever plays."""
    return derive_seed(seed, DEALS, hand.cards, hand.no_trump)


def player_seed(seed: int, hand: ScheduledHand, index: int) -> int:
    """Returns the seed of a player, by its index among the distinct ones."""
    return derive_seed(seed, PLAYERS, hand.cards, hand.no_trump, index)

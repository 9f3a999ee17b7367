"""What evaluation draws its random numbers from.

Everything is hashed from the user's seed, a purpose and the hand being played. The purposes below belong to
evaluation alone. Whoever trains must derive seeds with others: then no training run and no evaluation share
deals, whatever their seeds.

Which seeds are for what is published here: those below 1,000,000 are for development, where one looks again and again;
those from 1,000,000 to 1,999,999 for final numbers, to be looked at once.
"""

from __future__ import annotations

import hashlib

from bluke_env.batch import derive_seed
from bluke_env.schedule import ScheduledHand

DEVELOPMENT_SEEDS = range(0, 1_000_000)
FINAL_SEEDS = range(1_000_000, 2_000_000)

DEALS = 9_001
"""Purpose of the deals."""

PLAYERS = 9_002
"""Purpose of the choices of players that draw lots."""


def split_of(seed: int) -> str:
    """Returns which published range a seed belongs to: "development", "final" or "other"."""
    ranges = {"development": DEVELOPMENT_SEEDS, "final": FINAL_SEEDS}
    return next((name for name, seeds in ranges.items() if seed in seeds), "other")


def deal_seed(seed: int, hand: ScheduledHand | None) -> int:
    """Returns the seed whose games 0, 1, 2, ... are the deals of a kind of hand, whoever plays; None for matches."""
    return derive_seed(seed, DEALS, *_kind(hand))


def player_seed(seed: int, hand: ScheduledHand | None, name: str) -> int:
    """Returns the seed of a player, by its name: what it draws does not depend on who else plays."""
    name_hash = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")
    return derive_seed(seed, PLAYERS, *_kind(hand), name_hash)


def _kind(hand: ScheduledHand | None) -> tuple[int, int]:
    return (0, 0) if hand is None else (hand.cards, int(hand.no_trump))

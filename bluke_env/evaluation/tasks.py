"""Benchmark tasks: what is played against whom, by name and version, so that published numbers mean the same thing.

A task never changes; a better one gets another version.
"""

from __future__ import annotations

from dataclasses import dataclass

from bluke_env.evaluation.seeds import FINAL_SEEDS
from bluke_env.rules import Rules

SEED = FINAL_SEEDS[0]


@dataclass(frozen=True)
class Task:
    """One player among opponents of one kind on the deals of `SEED`.

    Attributes:
        description: What is played, in a few words.
        rules: Of the tables.
        deals: Deals of each kind of hand, or matches.
        sizes: Only hands of so many cards; all of the schedule for None.
        matches: Whether whole matches are played.
        opponent: The frozen bot in all other seats, with its version.
    """

    description: str
    rules: Rules
    deals: int
    sizes: tuple[int, ...] | None = None
    matches: bool = False
    opponent: tuple[str, int] = ("rule", 1)


TASKS = {
    "bluke-4p-v1": Task("4 players, hands of 13 to 1 cards", Rules(), 500),
    "bluke-4p-match-v1": Task("4 players, matches of 25 hands", Rules(), 250, matches=True),
    "bluke-4p-13-v1": Task("4 players, hands of 13 cards", Rules(), 2000, sizes=(13,)),
    "bluke-2p-v1": Task("2 players, hands of 13 to 1 cards", Rules(num_players=2), 500),
    "bluke-3p-v1": Task("3 players, hands of 13 to 1 cards", Rules(num_players=3), 500),
    "bluke-6p-v1": Task("6 players, hands of 8 to 1 cards", Rules(num_players=6), 500),
    "back-alley-v1": Task("Back Alley, hands of 13 to 1 cards", Rules.preset("back_alley"), 500),
    "mini-v1": Task("2 players, hands of 3 cards out of 10", Rules.preset("mini"), 20000),
}
"""All tasks by name."""

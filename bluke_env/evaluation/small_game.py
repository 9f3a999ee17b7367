"""Two-player games of a single hand, small enough to be walked."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterator

import numpy as np

from bluke_env.cards import mask_of
from bluke_env.engine.batch import views_all
from bluke_env.engine.deal import start_games
from bluke_env.engine.state import GAME, NONE
from bluke_env.engine.step import BID_BASE
from bluke_env.evaluation.tree_kernels import STATE, knowledge_keys, replay, walk
from bluke_env.rules import Rules, checked_rules

MOST_LEAVES = 20_000_000
"""The most ends of a hand, over all deals, that are walked; each takes about 12 bytes and 100 nanoseconds."""


def num_deals(rules: Rules) -> int:
    """Returns how many deals of the first hand there are for two players: hands, card turned up and dealer."""
    cards, no_trump = rules.schedule[0]
    rest = rules.num_cards - 2 * cards
    return 2 * math.comb(rules.num_cards, cards) * math.comb(rules.num_cards - cards, cards) * (1 if no_trump else rest)


def most_leaves(rules: Rules) -> int:
    """Returns a bound on the ends of the first hand over all its deals: as if every card could always be played."""
    cards = rules.schedule[0].cards
    return num_deals(rules) * (cards + 1 - rules.min_bid) ** 2 * math.factorial(cards) ** 2


class SmallGame:
    """All there is to know of a two-player game of one hand: every deal, played in every way, as a sequence form.

    See `bluke_env.evaluation.tree_kernels` for the terms. All deals are equally likely, and so are both dealers.

    Args:
        rules: For two players and a single hand.

    Attributes:
        rules: As above.
        num_deals: How many deals there are.
        states: `STATE` records [states].
        actions: int16 [sequences], the action id that each sequence ends with, -1 for the first two.
        leaves: int32 [leaves, 2], by seat the last sequence.
        points: int16 [leaves, 2], what the seats score.

    Raises:
        ValueError: The rules are for other tables, or there are too many deals and ways to play them.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = _checked(rules)
        cards = rules.schedule[0].cards
        deals = np.array(list(_deals(rules)), np.int64)
        self.num_deals = len(deals)
        self._deals = deals[:, :2].copy(), deals[:, 2].astype(np.int8), deals[:, 3].astype(np.int8)
        games = np.zeros(2 * cards + 2, GAME)
        start_games(rules.record(), games, np.uint64(0), np.zeros(len(games), np.uint64))
        bound = most_leaves(rules)  # np.empty takes no memory before it is written to
        states, actions = np.empty(2 * bound, STATE), np.empty(2 * bound + 2, np.int8)
        leaves, points = np.empty((bound, 2), np.int32), np.empty((bound, 2), np.int16)
        sizes = walk(rules.record(), *self._deals, games, states, actions, leaves, points)
        self.states, self.leaves, self.points = states[: sizes[0]].copy(), leaves[: sizes[2]], points[: sizes[2]]
        self.actions = actions[: sizes[1]].astype(np.int16)
        self.actions[2:][self.per_sequence(self.states["depth"] < 2)] += BID_BASE
        self._order = np.argsort(self.states["key"])
        self._keys = self.states["key"][self._order]

    def per_sequence(self, facts: np.ndarray) -> np.ndarray:
        """Returns facts about the states [states, ...] once for each action there [sequences - 2, ...]."""
        return np.repeat(facts, self.states["num_actions"], axis=0)

    def views(self, which: np.ndarray) -> np.ndarray:
        """Returns what the seats to act know in the states `which` (int64 [n]), `GAME` [n]."""
        games, views = np.zeros(len(which), GAME), np.zeros(len(which), GAME)
        start_games(self.rules.record(), games, np.uint64(0), np.zeros(len(which), np.uint64))
        replay(self.rules.record(), *self._deals, self.states, which, games)
        views_all(games, np.arange(len(which)), views)
        return views

    def find(self, views: np.ndarray) -> np.ndarray:
        """Returns in which state the seat to act of each view is, int64 [n]; -1 in the last trick, which has none."""
        keys = np.empty(len(views), np.int64)
        knowledge_keys(self.rules.record(), views, keys)
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[places] == keys, self._order[places], -1)

    def digest(self) -> str:
        """Returns a hash of what the states and sequences are, so that a table is not read as one of another game."""
        facts = json.dumps(self.rules.to_dict()).encode() + self.states["key"].tobytes() + self.actions.tobytes()
        return hashlib.blake2b(facts, digest_size=16).hexdigest()


def _checked(rules: Rules) -> Rules:
    checked_rules(rules)
    if rules.num_players != 2:
        raise ValueError(f"exact play is for 2 players, but the rules have {rules.num_players}")
    if rules.num_hands != 1:
        raise ValueError(
            f"exact play is for a single hand, but the schedule has {rules.num_hands}: take rules.hands_of(cards)"
        )
    if most_leaves(rules) > MOST_LEAVES:
        raise ValueError(
            f"hands of {rules.schedule[0].cards} cards from a pack of {rules.num_cards} have {num_deals(rules):.3g} "
            f"deals and up to {most_leaves(rules):.3g} ways to play them, but exact play is for at most "
            f"{MOST_LEAVES:.3g}: "
            'take fewer cards or a smaller pack, for example Rules.preset("mini")'
        )
    return rules


def _deals(rules: Rules) -> Iterator[tuple[int, int, int, int]]:
    """Yields every deal: the masks of both hands, the card turned up or NONE, the dealer."""
    cards, no_trump = rules.schedule[0]
    for dealer in range(2):
        for one in itertools.combinations(rules.cards, cards):
            left = [card for card in rules.cards if card not in one]
            for other in itertools.combinations(left, cards):
                for turned_up in (NONE,) if no_trump else (card for card in left if card not in other):
                    yield mask_of(one), mask_of(other), turned_up, dealer

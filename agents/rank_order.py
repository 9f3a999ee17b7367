"""Counting ranks among the cards still in play, so that the highest card left of a suit always looks like its ace.

Within each suit the cards that someone may still hold, or that lie on the table, move up in order to the highest
labels, with those that are gone below them. What beats what late in a hand then looks the same whatever was played.
"""

from __future__ import annotations

import numpy as np

from bluke_env import ObservationLayout, Rules
from bluke_env.bots.rule_kernels import hidden_cards
from bluke_env.cards import NUM_CARDS, NUM_RANKS
from bluke_env.engine.jit import inlined, kernel
from bluke_env.engine.suits import relabel_mask
from bluke_env.errors import checked_choice

RANK_ORDERS = ("in_play", "fixed")


class RankOrder:
    """Relabels what seats see.

    Args:
        layout: Of the observations.
        order: "in_play", or "fixed" to change nothing.

    Raises:
        ValueError: The order is neither.
    """

    def __init__(self, layout: ObservationLayout, order: str) -> None:
        slices, cards = layout.state_slices, layout.num_cards
        sets = [slices[name].start for name in ("hand", "table", "top_cards", "winning_cards")]
        sets += [slices["played"].start + cards * seat for seat in range(layout.num_players)]
        hands = [slices["other_hands"].start + cards * seat for seat in range(layout.num_players - 1)]
        self._moves = checked_choice("rank_order", order, RANK_ORDERS) == "in_play"
        self._sets, self._state_sets = np.array(sets), np.array(sets + hands)
        self._ids, self._actions = layout.card_ids, np.arange(layout.num_actions)

    def relabel(
        self,
        rules: Rules,
        games: np.ndarray,
        orders: np.ndarray,
        rows: np.ndarray,
        seen: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    ) -> np.ndarray:
        """Relabels what seats see, in place, and returns the new labels of actions, int64 [m, actions].

        Args:
            rules: The rules of all games.
            games: `GAME` records [n]; the other seats' hands are not read.
            orders: int16 [n], the orders of the suits that the seats see.
            rows: Which of the games, int64 [m].
            seen: int8, by game observations [m, layout.size], states [m, layout.state_size] or [m, 0], masks
                [m, actions] and features of cards [m, card_features.WIDTH].
        """
        labels = np.tile(self._actions, (len(rows), 1))
        if self._moves:
            observations, states, masks, features = seen
            state_sets = self._state_sets if states.shape[1] else self._state_sets[:0]
            facts = rules.record(), games, orders, rows, self._ids
            _relabel(*facts, observations, self._sets, states, state_sets, masks, features, labels)
        return labels


@kernel
def _relabel(rules, games, orders, rows, ids, observations, sets, states, state_sets, masks, features, labels):
    # For every entry of a set of cards, and for every card, where what stands there afterwards comes from.
    places, cards = np.empty(len(ids), np.uint8), np.arange(NUM_CARDS).astype(np.uint8)
    scratch = np.empty(NUM_CARDS, np.int8)
    for index in range(len(rows)):
        game, order = games[rows[index]], np.int64(orders[rows[index]])
        left = hidden_cards(rules[0], game, np.int64(rules[0].num_players)) | game.table
        _find_places(~relabel_mask(left, order), ids, places)
        for place in range(len(ids)):
            cards[ids[place]] = ids[places[place]]
            labels[index, ids[places[place]]] = ids[place]
        for start in sets:
            _move(observations[index, start : start + len(ids)], places, scratch)
        for start in state_sets:
            _move(states[index, start : start + len(ids)], places, scratch)
        _move(masks[index, :NUM_CARDS], cards, scratch)
        for start in range(0, features.shape[1], NUM_CARDS):
            _move(features[index, start : start + NUM_CARDS], cards, scratch)


@inlined
def _find_places(gone, ids, places):
    """Writes where the entries of a set of cards come from; those that are gone come first in a suit."""
    last = len(ids) - 2  # the Blukes stay
    first = 0
    while first < last:
        stop = first
        low = first
        while stop < last and ids[stop] // NUM_RANKS == ids[first] // NUM_RANKS:
            if gone >> ids[stop] & 1:
                places[low] = stop
                low += 1
            stop += 1
        for place in range(first, stop):
            if not gone >> ids[place] & 1:
                places[low] = place
                low += 1
        first = stop
    places[last], places[last + 1] = last, last + 1


@inlined
def _move(entries, sources, scratch):
    for place in range(len(sources)):
        scratch[place] = entries[place]
    for place in range(len(sources)):
        entries[place] = scratch[sources[place]]

"""Leaving out cards that do the same as another: fewer choices to learn, and fewer that are any.

Two cards of a suit in one hand do the same if nobody else holds a card between them: those between are in the same
hand, were played in earlier tricks, or were turned up. Of such cards only the lowest is left to choose.
"""

from __future__ import annotations

import numpy as np

from bluke_env import ObservationLayout
from bluke_env.engine.jit import kernel


class Equivalents:
    """Takes equivalent cards out of masks.

    Args:
        layout: Of the observations that the masks go with.
    """

    def __init__(self, layout: ObservationLayout) -> None:
        names = ("hand", "table", "played", "trump", "turned_up")
        self._starts = np.array([layout.slice(name).start for name in names])
        self._shape = np.array([layout.num_players, layout.num_suits, layout.num_ranks])
        self._card_ids = layout.card_ids

    def without(self, observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """Returns the masks with one card left of several that do the same, int8 [n, actions].

        Args:
            observations: int8 [n, layout.size].
            masks: int8 [n, actions], in the same suit order; bids stay as they are.
        """
        left = masks.copy()
        _leave_lowest(observations, left, self._starts, self._shape, self._card_ids)
        return left


@kernel
def _leave_lowest(observations, masks, starts, shape, card_ids):
    """Sets to zero what is equivalent to a lower card."""
    hand, table, played, trump, turned_up = starts
    players, suits, ranks = shape
    cards = suits * ranks + 2
    for row in range(len(masks)):
        seen, mask = observations[row], masks[row]
        for suit in range(suits):
            beside = False  # a legal card is below, and nobody else can have one since
            for rank in range(ranks):
                place = suit * ranks + rank
                card = card_ids[place]
                if mask[card]:
                    if beside:
                        mask[card] = 0
                    beside = True
                elif beside and not seen[hand + place]:
                    gone = seen[trump + suit] != 0 and seen[turned_up + rank] != 0
                    for seat in range(players):
                        gone |= seen[played + seat * cards + place] != 0
                    beside = gone and not seen[table + place]

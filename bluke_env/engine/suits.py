"""Relabelling the suits for one seat, so that a learner sees one game instead of 24.

Trump comes first, then the other suits by the number of cards the seat was dealt in them, ties by which cards those
are (higher ones first). The order stays as it is for the whole hand. It is kept as one integer: two bits for each
suit, the place that the suit moves to.
"""

from __future__ import annotations

import numpy as np

from bluke_env.cards import BLUKES, LO_BLUKE, NUM_RANKS, NUM_SUITS
from bluke_env.engine.bits import popcount
from bluke_env.engine.jit import inlined

_SUIT = np.int64((1 << NUM_RANKS) - 1)

FIXED_ORDER = 0b11_10_01_00
"""The order that moves nothing."""


@inlined
def canonical_order(dealt, trump):
    """Returns the order of the suits for a seat that was dealt the mask `dealt`."""
    h0, h1, h2, h3 = (
        _height(dealt, trump, 0), _height(dealt, trump, 1), _height(dealt, trump, 2), _height(dealt, trump, 3)
    )  # fmt: skip
    # A suit's place is the number of suits that stand before it: higher ones, and equal ones with a lower number.
    p1, p2, p3 = np.int64(h0 >= h1), np.int64(h0 >= h2), np.int64(h0 >= h3)
    q2, q3, r3 = np.int64(h1 >= h2), np.int64(h1 >= h3), np.int64(h2 >= h3)
    place0 = 3 - p1 - p2 - p3
    place1 = p1 + 2 - q2 - q3
    place2 = p2 + q2 + 1 - r3
    place3 = p3 + q3 + r3
    return place0 | (place1 << 2) | (place2 << 4) | (place3 << 6)


@inlined
def _height(dealt, trump, suit):
    cards = (dealt >> (NUM_RANKS * suit)) & _SUIT
    return (np.int64(suit == trump) << 20) | (popcount(cards) << NUM_RANKS) | cards


@inlined
def relabel_mask(mask, order):
    """Moves every suit of a mask to its place."""
    if order == FIXED_ORDER:
        return mask
    moved = mask & BLUKES
    for suit in range(NUM_SUITS):
        place = (order >> (2 * suit)) & 3
        moved |= ((mask >> (NUM_RANKS * suit)) & _SUIT) << (NUM_RANKS * place)
    return moved


@inlined
def relabel_card(card, order):
    """Returns the label of a real card."""
    if card >= LO_BLUKE:
        return card
    return NUM_RANKS * ((order >> (2 * (card // NUM_RANKS))) & 3) + card % NUM_RANKS


@inlined
def real_card(label, order):
    """Returns the real card of a label."""
    if label >= LO_BLUKE:
        return label
    place = label // NUM_RANKS
    suit = 0
    while (order >> (2 * suit)) & 3 != place:
        suit += 1
    return NUM_RANKS * suit + label % NUM_RANKS


@inlined
def relabel_suits(bits, order):
    """Moves the bits of a set of suits (bit s for suit s) to their places."""
    if order == FIXED_ORDER:
        return bits
    moved = 0
    for suit in range(NUM_SUITS):
        moved |= ((bits >> suit) & 1) << ((order >> (2 * suit)) & 3)
    return moved

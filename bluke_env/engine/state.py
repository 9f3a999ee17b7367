"""The record of one game.

`GAME` has one fixed size for every number of seats and every variant and holds no pointers: copying a game is a
memory copy, equality is byte equality, a batch is an array of records.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bluke_env.cards import NUM_CARDS
from bluke_env.rules import MAX_PLAYERS

BID, PLAY, OVER = 0, 1, 2
NONE = -1
"""Stands for no trump, no card, no seat and a bid not yet made."""

FREE = 4
"""In `led`: the trick's first card asks for no suit."""

_SEATS = (MAX_PLAYERS,)

GAME = np.dtype(
    [  # NumPy does not copy bytes between fields, so there must be none: the widest come first
        ("key", np.uint64),  # what every deal of the match is drawn from
        ("hands", np.int64, _SEATS),  # masks of the cards held
        ("played", np.int64, _SEATS),  # masks of the cards played in this hand
        ("table", np.int64),  # mask of the cards of the current trick
        ("last_dealt", np.int64, _SEATS),  # `last_` marks facts about the last hand that was scored
        ("scores", np.int32, _SEATS),
        ("last_points", np.int32, _SEATS),
        ("hand_number", np.int16),  # 0-based
        ("last_number", np.int16),  # NONE before one was scored
        ("phase", np.int8),
        ("seat", np.int8),  # to act; NONE when the match is over
        ("dealer", np.int8),
        ("leader", np.int8),  # of the current trick; while bidding, of the first as things stand
        ("hand_size", np.int8),
        ("trump", np.int8),
        ("turned_up", np.int8),
        ("num_played", np.int8),  # cards played in this hand
        ("in_trick", np.int8),  # cards played in the current trick
        ("led", np.int8),  # suit asked for, FREE, or NONE before the lead
        ("best_card", np.int8),  # winning the current trick so far
        ("best_seat", np.int8),
        ("bids", np.int8, _SEATS),  # tricks, or `BOARD + level`
        ("tricks", np.int8, _SEATS),
        ("voids", np.int8, _SEATS),  # bit s set: the seat has shown that it holds nothing of suit s
        ("trump_broken", np.int8),  # a trump was played to another suit's trick (kept for teams only)
        ("exchanged", np.int8),  # the seat that gave back a Blooper for another card in this hand, or NONE
        ("drawn", np.int8),  # that card, or NONE
        ("order", np.int8, (NUM_CARDS,)),  # the cards of this hand as they were played
        ("last_size", np.int8),
        ("last_dealer", np.int8),
        ("last_trump", np.int8),
        ("last_turned_up", np.int8),
        ("last_bids", np.int8, _SEATS),
        ("last_tricks", np.int8, _SEATS),
        ("last_exchanged", np.int8),
        ("last_drawn", np.int8),
        ("last_order", np.int8, (NUM_CARDS,)),
    ],
    align=True,
)


def optional(value: Any) -> int | None:
    """Returns a number of a record, None for NONE."""
    return None if value == NONE else int(value)

"""The hands of a match, and their short text form.

A text is made of parts joined by commas. A part names numbers of cards joined by hyphens and walks from one to the next
by single cards, with each turning point played once: `13-1-13` is the standard match of 25 hands for four players.
`nt` at the end of a part puts all its hands at no trump: `13-1-17,18nt`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from bluke_env.cards import NUM_CARDS
from bluke_env.errors import checked_integer

MAX_HANDS = 127
"""So that the hands left fit one entry of the observation."""

EXTENDED = {2: "13-1-25,26nt", 3: "13-1-17,18nt", 6: "8-1-8,9nt", 8: "6-1-6,6nt", 9: "5-1-5,6nt"}
"""The longer matches of the full pack, by number of players."""

_PART = re.compile(r"[1-9][0-9]?(-[1-9][0-9]?)*(nt)?")
_STANDS_STILL = re.compile(r"(?<![0-9])([0-9]+)-\1(?![0-9])")


class ScheduledHand(NamedTuple):
    """One hand of a schedule: how many cards each player gets, and whether no card is turned up for trump."""

    cards: int
    no_trump: bool = False


def largest_hand(num_players: int, num_cards: int, teams: bool) -> int:
    """Returns the most cards that can be dealt to each player.

    Teams always leave two: the card turned up, and the one that may be drawn for a Blooper.
    """
    return (num_cards - 2 * teams) // num_players


def standard_schedule(num_players: int, num_cards: int = NUM_CARDS, teams: bool = False) -> tuple[ScheduledHand, ...]:
    """Returns the standard hands: from the most cards, at most 13, that leave one to turn up, down to one and up again.

    Raises:
        ValueError: The pack is too small for that.
    """
    most = min(13, (num_cards - 1) // num_players, largest_hand(num_players, num_cards, teams))
    if most < 1:
        raise ValueError(
            f"{num_cards} cards are too few for a standard match of {num_players} players, which leaves at least one "
            "to turn up: take more suits or ranks, or fewer players"
        )
    return parse_schedule(f"{most}-1-{most}" if most > 1 else "1", num_players)


def parse_schedule(
    text: str, num_players: int, num_cards: int = NUM_CARDS, teams: bool = False
) -> tuple[ScheduledHand, ...]:
    """Returns the hands of a schedule's text, or of the names "standard" and "extended".

    Raises:
        ValueError: The text is none, or nothing of that name exists for so many players.
    """
    if text == "standard":
        return standard_schedule(num_players, num_cards, teams)
    if text == "extended":
        if num_players not in EXTENDED or num_cards != NUM_CARDS:
            known = ", ".join(map(str, EXTENDED))
            raise ValueError(f"the schedule 'extended' exists for {known} players and the whole pack only")
        text = EXTENDED[num_players]
    hands: list[ScheduledHand] = []
    for part in text.split(","):
        if not _PART.fullmatch(part) or _STANDS_STILL.search(part):
            raise ValueError(
                f"{part!r} in the schedule {text!r} cannot be read: write numbers of cards as in '13-1-13', '5' or "
                "'13-1-17,18nt', or 'standard' or 'extended'"
            )
        turns = [int(number) for number in part.removesuffix("nt").split("-")]
        sizes = turns[:1]
        for turn, following in pairwise(turns):
            step = 1 if following > turn else -1
            sizes += range(turn + step, following + step, step)
        hands += (ScheduledHand(cards, part.endswith("nt")) for cards in sizes)
    return tuple(hands)


def schedule_text(schedule: Sequence[ScheduledHand]) -> str:
    """Returns the shortest text of a schedule that `parse_schedule` reads back."""
    parts: list[list[ScheduledHand]] = []
    for hand in schedule:
        joined = parts and parts[-1][-1].no_trump == hand.no_trump and abs(parts[-1][-1].cards - hand.cards) == 1
        if joined:
            parts[-1].append(hand)
        else:
            parts.append([hand])
    return ",".join(_part_text(part) for part in parts)


def _part_text(part: list[ScheduledHand]) -> str:
    sizes = [hand.cards for hand in part]
    turns = [
        size for place, size in enumerate(sizes) if place in (0, len(sizes) - 1) or sizes[place - 1] == sizes[place + 1]
    ]
    return "-".join(map(str, turns)) + ("nt" if part[0].no_trump else "")


def checked_schedule(schedule: Any, num_players: int, num_cards: int, teams: bool) -> tuple[ScheduledHand, ...]:
    """Returns any form of schedule as a tuple of `ScheduledHand`; a hand of the whole pack is at no trump.

    Raises:
        ValueError: It is no schedule, or a hand does not fit the pack.
    """
    if isinstance(schedule, str):
        schedule = parse_schedule(schedule, num_players, num_cards, teams)
    listed = isinstance(schedule, Sequence) or (isinstance(schedule, np.ndarray) and schedule.ndim > 0)
    if not listed or isinstance(schedule, bytes | bytearray | memoryview):
        raise ValueError(
            f"schedule is {schedule!r}, but it must be a text such as '13-1-13' or a list of hands: "
            "(cards, no_trump) or cards alone"
        )
    most = largest_hand(num_players, num_cards, teams)
    hands = tuple(_checked_hand(index, hand, most, num_players) for index, hand in enumerate(schedule))
    if not 1 <= len(hands) <= MAX_HANDS:
        raise ValueError(f"the schedule has {len(hands)} hands, but a match has from 1 to {MAX_HANDS}")
    for index, hand in enumerate(hands):
        if teams and hand.no_trump:
            raise ValueError(
                f"hand {index} of the schedule is at no trump, but teams play so only when a Blooper is turned up: "
                "leave out nt"
            )
    return tuple(ScheduledHand(cards, no_trump or cards * num_players == num_cards) for cards, no_trump in hands)


def _checked_hand(index: int, hand: Any, most: int, num_players: int) -> ScheduledHand:
    cards, no_trump = hand if isinstance(hand, tuple | list) and len(hand) == 2 else (hand, False)
    name = f"the number of cards of hand {index} of the schedule for {num_players} players"
    cards = checked_integer(name, cards, 1, most)
    if not isinstance(no_trump, bool | np.bool_):
        raise ValueError(f"no_trump of hand {index} is {no_trump!r}, but it must be True or False")
    return ScheduledHand(cards, bool(no_trump))

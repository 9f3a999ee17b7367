"""What is being played: seats, schedule of hands, bidding and scoring options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from bluke_env.cards import NUM_CARDS
from bluke_env.errors import checked_choice, checked_integer

MIN_PLAYERS = 2
MAX_PLAYERS = 15
MAX_HANDS = 127
"""So that the hands left fit one entry of the observation."""

MAX_POINTS = 30_000
"""A bound on what one seat can win or lose in a match, so that scores fit the observation."""

BLUKE_LEADS = ("none", "trump")

RULES = np.dtype(
    [
        ("num_players", np.int8),
        ("min_bid", np.int8),
        ("bluke_lead_trump", np.int8),
        ("num_hands", np.int16),
        ("points_per_trick", np.int32),
        ("points_per_overtrick", np.int32),
        ("hand_sizes", np.int8, (MAX_HANDS,)),
        ("no_trump", np.int8, (MAX_HANDS,)),
    ],
    align=True,
)
"""The facts of `Rules` as compiled code reads them."""


class ScheduledHand(NamedTuple):
    """One hand of a schedule: how many cards each player gets, and whether no card is turned up for trump."""

    cards: int
    no_trump: bool = False


def standard_most_cards(num_players: int) -> int:
    """Returns the most cards dealt to each of `num_players` players in the standard game."""
    return min(13, (NUM_CARDS - 1) // num_players)


def standard_schedule(num_players: int) -> tuple[ScheduledHand, ...]:
    """Returns the standard hands: from the most cards down to one and up again."""
    most = standard_most_cards(num_players)
    return tuple(ScheduledHand(cards) for cards in (*range(most, 0, -1), *range(2, most + 1)))


@dataclass(frozen=True)
class Rules:
    """A complete and valid set of rules; anything else is refused with a ValueError when it is made.

    Attributes:
        num_players: Seats at the table, 2 to 15.
        schedule: The hands of a match, each a number of cards or a pair (cards, no_trump); None, the default,
            stands for the standard table. A hand that deals the whole pack is always at no trump. It is kept as a
            tuple of `ScheduledHand`.
        min_bid: The lowest bid, 1, or 0 to let players pass.
        bluke_lead: "none": a Bluke lead asks for no suit; "trump": it asks for the trump suit.
        points_per_trick: Points won for each trick bid and made, and lost for each trick bid and missed.
        points_per_overtrick: Points for each trick taken over the bid.
    """

    num_players: int = 4
    schedule: Sequence[Any] = None  # type: ignore[assignment]  # None stands for the standard table
    min_bid: int = 1
    bluke_lead: str = "none"
    points_per_trick: int = 10
    points_per_overtrick: int = 1

    def __post_init__(self) -> None:
        self._set("num_players", checked_integer("num_players", self.num_players, MIN_PLAYERS, MAX_PLAYERS))
        self._set("min_bid", checked_integer("min_bid", self.min_bid, 0, 1))
        self._set("points_per_trick", checked_integer("points_per_trick", self.points_per_trick, 0, 1000))
        self._set("points_per_overtrick", checked_integer("points_per_overtrick", self.points_per_overtrick, 0, 1000))
        checked_choice("bluke_lead", self.bluke_lead, BLUKE_LEADS)
        schedule = standard_schedule(self.num_players) if self.schedule is None else self.schedule
        self._set("schedule", _checked_schedule(schedule, self.num_players))
        if self.most_points > MAX_POINTS:
            raise ValueError(
                f"a seat could win or lose {self.most_points} points in a match, but at most {MAX_POINTS} can be "
                "kept: lower points_per_trick or points_per_overtrick, or play fewer hands"
            )

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Rules:
        """Returns the rules of a named game, with fields changed by keyword.

        Raises:
            ValueError: There is no preset of that name, or the changed rules are invalid.
        """
        if not isinstance(name, str) or name not in PRESETS:
            raise ValueError(f"there is no preset {name!r}: the presets are {', '.join(PRESETS)}")
        return cls(**{**PRESETS[name], **changes})

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Rules:
        """Returns the rules that `to_dict` wrote.

        Raises:
            ValueError: A field is unknown or its value invalid.
        """
        known = [field.name for field in fields(cls)]
        for name in data:
            if name not in known:
                raise ValueError(f"{name!r} is no field of the rules: the fields are {', '.join(known)}")
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        """Returns the rules as plain numbers, strings and lists, fit for JSON."""
        data = asdict(self)
        data["schedule"] = [[hand.cards, hand.no_trump] for hand in self.schedule]
        return data

    @property
    def num_hands(self) -> int:
        """Hands in a match."""
        return len(self.schedule)

    @property
    def most_cards(self) -> int:
        """The most cards any hand of the schedule deals to a player."""
        return max(hand.cards for hand in self.schedule)

    @property
    def most_points(self) -> int:
        """A bound on the absolute total of a seat over a match."""
        per_trick = max(self.points_per_trick, self.points_per_overtrick)
        return per_trick * sum(hand.cards for hand in self.schedule)

    def hands_of(self, cards: int, no_trump: bool = False) -> Rules:
        """Returns the same rules for a match of one hand of `cards` cards."""
        return replace(self, schedule=(ScheduledHand(cards, no_trump),))

    def record(self) -> np.ndarray:
        """Returns the rules as a read-only array of one `RULES` record, the form compiled code takes."""
        return _record(self)


def checked_rules(rules: Any) -> Rules:
    """Returns a `Rules` object.

    Raises:
        ValueError: It is none.
    """
    if not isinstance(rules, Rules):
        raise ValueError(f"rules is {rules!r}, but it must be a Rules object, for example Rules(num_players=4)")
    return rules


PRESETS: dict[str, dict[str, Any]] = {"bluke": {}}


@lru_cache(maxsize=256)
def _record(rules: Rules) -> np.ndarray:
    record = np.zeros(1, RULES)
    record["num_players"] = rules.num_players
    record["min_bid"] = rules.min_bid
    record["bluke_lead_trump"] = rules.bluke_lead == "trump"
    record["num_hands"] = rules.num_hands
    record["points_per_trick"] = rules.points_per_trick
    record["points_per_overtrick"] = rules.points_per_overtrick
    record["hand_sizes"][0, : rules.num_hands] = [hand.cards for hand in rules.schedule]
    record["no_trump"][0, : rules.num_hands] = [hand.no_trump for hand in rules.schedule]
    record.flags.writeable = False
    return record


def _checked_schedule(schedule: Any, num_players: int) -> tuple[ScheduledHand, ...]:
    if isinstance(schedule, str) or not isinstance(schedule, Sequence | np.ndarray):
        raise ValueError(f"schedule is {schedule!r}, but it must be a list of hands: (cards, no_trump) or cards alone")
    hands = tuple(_checked_hand(index, hand, num_players) for index, hand in enumerate(schedule))
    if not 1 <= len(hands) <= MAX_HANDS:
        raise ValueError(f"the schedule has {len(hands)} hands, but a match has from 1 to {MAX_HANDS}")
    return hands


def _checked_hand(index: int, hand: Any, num_players: int) -> ScheduledHand:
    cards, no_trump = hand if isinstance(hand, tuple | list) and len(hand) == 2 else (hand, False)
    cards = checked_integer(f"the number of cards of hand {index}", cards, 1, NUM_CARDS // num_players)
    if not isinstance(no_trump, bool | np.bool_):
        raise ValueError(f"no_trump of hand {index} is {no_trump!r}, but it must be True or False")
    return ScheduledHand(cards, bool(no_trump) or cards * num_players == NUM_CARDS)

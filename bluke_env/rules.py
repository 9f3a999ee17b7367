"""What is being played: seats, pack, schedule of hands, bidding and scoring options."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from bluke_env.cards import HI_BLUKE, LO_BLUKE, NUM_CARDS, NUM_RANKS, NUM_SUITS, mask_of
from bluke_env.errors import checked_choice, checked_integer
from bluke_env.schedule import MAX_HANDS, ScheduledHand, checked_schedule, largest_hand, schedule_text

MIN_PLAYERS = 2
MAX_PLAYERS = 15

BOARD = NUM_CARDS // MIN_PLAYERS
"""The most tricks a bid can be; bids above it are boards: `BOARD + level`."""

MAX_BOARD_LEVEL = 4
"""Board, double, triple and quadruple board."""

MAX_POINTS = 30_000
"""A bound on what one seat can win or lose in a match, so that scores fit the observation."""

BLUKE_LEADS = ("none", "trump")
TEAM_BLUKE_LEADS = ("trump", "high_low")

RULES = np.dtype(
    [
        ("pack_mask", np.int64),  # the cards of the pack
        ("num_players", np.int8),
        ("num_cards", np.int8),
        ("most_cards", np.int8),
        ("min_bid", np.int8),
        ("teams", np.int8),
        ("bluke_lead_trump", np.int8),  # a Bluke lead asks for trump
        ("bluke_lead_high_low", np.int8),  # and for the highest or the lowest one
        ("num_hands", np.int16),
        ("points_per_trick", np.int32),
        ("points_per_overtrick", np.int32),
        ("hand_sizes", np.int8, (MAX_HANDS,)),
        ("no_trump", np.int8, (MAX_HANDS,)),
        ("pack", np.int8, (NUM_CARDS,)),  # its cards, ascending
    ],
    align=True,
)
"""The facts of `Rules` as compiled code reads them."""


def pack_of(num_suits: int, num_ranks: int) -> tuple[int, ...]:
    """Returns the card ids of a pack, ascending: the first suits, of each the highest ranks, and both Blukes."""
    ranks = range(NUM_RANKS - num_ranks, NUM_RANKS)
    return (*(NUM_RANKS * suit + rank for suit in range(num_suits) for rank in ranks), LO_BLUKE, HI_BLUKE)


@dataclass(frozen=True)
class Rules:
    """A complete and valid set of rules; anything else is refused with a ValueError when it is made.

    Attributes:
        num_players: Seats at the table, 2 to 15.
        schedule: The hands of a match: a text (see `bluke_env.schedule`), or a list in which each hand is a number of
            cards or a pair (cards, no_trump); None, the default, stands for the standard table. A hand that deals the
            whole pack is always at no trump. It is kept as a tuple of `ScheduledHand`.
        min_bid: The lowest bid, 1, or 0 to let players pass.
        bluke_lead: "none": a Bluke lead asks for no suit; "trump": it asks for the trump suit; "high_low", for teams
            only: the Hi Bluke asks for everybody's highest trump, the Lo Bluke for the lowest.
        points_per_trick: Points won for each trick bid and made, and lost for each trick bid and missed.
        points_per_overtrick: Points for each trick taken over the bid.
        teams: Back Alley, seats 0 and 2 against 1 and 3; `Rules.preset("back_alley")` sets what goes with it.
        num_suits: Suits in the pack, the first ones, 1 to 4.
        num_ranks: Ranks in each suit, the highest ones, 1 to 13. The Blukes are in every pack.
        most_cards: The cards that action ids and observations have room for; None, the default, stands for the most
            of the schedule. `hands_of` keeps it, so that single hands look like those of the match.
    """

    num_players: int = 4
    schedule: Any = None
    min_bid: int = 1
    bluke_lead: str = "none"
    points_per_trick: int = 10
    points_per_overtrick: int = 1
    teams: bool = False
    num_suits: int = NUM_SUITS
    num_ranks: int = NUM_RANKS
    most_cards: int = None  # type: ignore[assignment]  # None stands for the most of the schedule

    def __post_init__(self) -> None:
        self._set("num_players", checked_integer("num_players", self.num_players, MIN_PLAYERS, MAX_PLAYERS))
        self._set("num_suits", checked_integer("num_suits", self.num_suits, 1, NUM_SUITS))
        self._set("num_ranks", checked_integer("num_ranks", self.num_ranks, 1, NUM_RANKS))
        self._set("min_bid", checked_integer("min_bid", self.min_bid, 0, 1))
        self._set("points_per_trick", checked_integer("points_per_trick", self.points_per_trick, 0, 1000))
        self._set("points_per_overtrick", checked_integer("points_per_overtrick", self.points_per_overtrick, 0, 1000))
        if not isinstance(self.teams, bool):
            raise ValueError(f"teams is {self.teams!r}, but it must be True or False")
        if self.teams:
            self._check_teams()
        checked_choice("bluke_lead", self.bluke_lead, TEAM_BLUKE_LEADS if self.teams else BLUKE_LEADS)
        self._check_pack()
        schedule = "standard" if self.schedule is None else self.schedule
        self._set("schedule", checked_schedule(schedule, self.num_players, self.num_cards, self.teams))
        most = max(hand.cards for hand in self.schedule)
        if self.most_cards is None:
            self._set("most_cards", most)
        largest = largest_hand(self.num_players, self.num_cards, self.teams)
        name = "most_cards (None stands for the most of the schedule)"
        self._set("most_cards", checked_integer(name, self.most_cards, most, largest))
        if self.most_points > MAX_POINTS:
            raise ValueError(
                f"a seat could win or lose {self.most_points} points in a match, but at most {MAX_POINTS} can be "
                "kept: lower points_per_trick or points_per_overtrick, or play fewer hands"
            )

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check_teams(self) -> None:
        if self.num_players != 4:
            raise ValueError(f"teams are two pairs of partners, so num_players must be 4, but it is {self.num_players}")
        if self.min_bid != 0:
            raise ValueError(
                "min_bid is 1, but with teams it must be 0, since a partner may have bid all the tricks: "
                'start from Rules.preset("back_alley")'
            )

    def _check_pack(self) -> None:
        if largest_hand(self.num_players, self.num_cards, self.teams) < 1:
            who = f"{self.num_players} players{' in teams' if self.teams else ''}"
            raise ValueError(
                f"{self.num_suits} suits of {self.num_ranks} ranks and the Blukes are {self.num_cards} cards, too few "
                f"for {who}: take more suits or ranks, or fewer players"
            )

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
        if not isinstance(data, dict):
            raise ValueError(f"the rules are {data!r}, but they must be a dictionary, as to_dict returns")
        known = [field.name for field in fields(cls)]
        for name in data:
            if name not in known:
                raise ValueError(f"{name!r} is no field of the rules: the fields are {', '.join(known)}")
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        """Returns the rules as plain numbers, strings and lists, fit for JSON."""
        data = asdict(self)
        data["schedule"] = [list(hand) for hand in self.schedule]
        return data

    @property
    def num_hands(self) -> int:
        """Hands in a match."""
        return len(self.schedule)

    @property
    def schedule_text(self) -> str:
        """The schedule as text, for example `13-1-13`."""
        return schedule_text(self.schedule)

    @property
    def variant_text(self) -> str:
        """What differs from Bluke, or Back Alley, with as many players, such as `min_bid 0`; empty if nothing does."""
        plain = Rules.preset("back_alley" if self.teams else "bluke", num_players=self.num_players)
        return ", ".join(f"{name} {value}" for name, value in self.unlike(plain).items())

    @property
    def num_cards(self) -> int:
        """Cards in the pack."""
        return self.num_suits * self.num_ranks + 2

    @cached_property
    def cards(self) -> tuple[int, ...]:
        """The card ids of the pack, ascending."""
        return pack_of(self.num_suits, self.num_ranks)

    @property
    def sides(self) -> tuple[tuple[int, ...], ...]:
        """The seats that play together: the two pairs of partners, or every seat for itself."""
        return ((0, 2), (1, 3)) if self.teams else tuple((seat,) for seat in range(self.num_players))

    @property
    def board_levels(self) -> int:
        """How many levels of board may be bid, 0 where the rules have none."""
        return MAX_BOARD_LEVEL if self.teams else 0

    @property
    def num_actions(self) -> int:
        """Size of the action space: 54 cards, the bids from 0 to the most cards, the board levels."""
        return NUM_CARDS + self.most_cards + 1 + self.board_levels

    @property
    def most_points(self) -> int:
        """A bound on the absolute total of a seat over a match, and over a hand of the most cards."""
        per_trick = max(self.points_per_trick << self.board_levels, self.points_per_overtrick)
        return per_trick * max(self.most_cards, sum(hand.cards for hand in self.schedule))

    def unlike(self, other: Rules) -> dict[str, Any]:
        """Returns the fields in which these rules differ from others, but for `most_cards`, the schedule as text."""
        own = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "most_cards"}
        changed = {name: value for name, value in own.items() if value != getattr(other, name)}
        return changed | ({"schedule": self.schedule_text} if "schedule" in changed else {})

    def hands_of(self, cards: int, no_trump: bool | None = None) -> Rules:
        """Returns the same rules for a match of one hand.

        Args:
            cards: Cards dealt to each player.
            no_trump: Whether no card is turned up; None for what the schedule says of its first hand of that size, or
                for a card turned up where it has none.

        Raises:
            ValueError: The hand does not fit the pack.
        """
        largest = largest_hand(self.num_players, self.num_cards, self.teams)
        cards = checked_integer("the number of cards of a hand", cards, 1, largest)
        if no_trump is None:
            no_trump = next((hand.no_trump for hand in self.schedule if hand.cards == cards), False)
        hand = ScheduledHand(cards, no_trump)
        return replace(self, schedule=(hand,), most_cards=max(self.most_cards, cards))

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


PRESETS: dict[str, dict[str, Any]] = {
    "bluke": {},
    "back_alley": {"teams": True, "min_bid": 0, "bluke_lead": "high_low", "points_per_trick": 5},
    "mini": {"num_players": 2, "num_suits": 2, "num_ranks": 4, "schedule": "3"},
    "micro": {"num_players": 2, "num_suits": 2, "num_ranks": 3, "schedule": "2"},
}
"""The named games, as what they change in `Rules()`."""


@lru_cache(maxsize=256)
def _record(rules: Rules) -> np.ndarray:
    record = np.zeros(1, RULES)
    record["pack_mask"] = mask_of(rules.cards)
    record["num_players"] = rules.num_players
    record["num_cards"] = rules.num_cards
    record["most_cards"] = rules.most_cards
    record["min_bid"] = rules.min_bid
    record["teams"] = rules.teams
    record["bluke_lead_trump"] = rules.bluke_lead != "none"
    record["bluke_lead_high_low"] = rules.bluke_lead == "high_low"
    record["num_hands"] = rules.num_hands
    record["points_per_trick"] = rules.points_per_trick
    record["points_per_overtrick"] = rules.points_per_overtrick
    record["hand_sizes"][0, : rules.num_hands] = [hand.cards for hand in rules.schedule]
    record["no_trump"][0, : rules.num_hands] = [hand.no_trump for hand in rules.schedule]
    record["pack"][0, : rules.num_cards] = rules.cards
    record.flags.writeable = False
    return record

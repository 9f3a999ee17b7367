"""What a seat may know, as named slices of one vector.

The vector is ego-centric: seats are counted from the observing seat (0 itself, 1 the seat to its left, ...), so it
is the same for every rotation of the table. Compiled code writes it as int8; `ObservationLayout.scale` turns it
into float32 within [-1, 1]; `ObservationLayout.decode` turns it back into facts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bluke_env.cards import LO_BLUKE, NUM_CARDS, NUM_RANKS, NUM_SUITS
from bluke_env.engine.encode import LAYOUT
from bluke_env.engine.step import BID_BASE
from bluke_env.errors import checked_integer
from bluke_env.rules import BOARD, MAX_BOARD_LEVEL, MAX_PLAYERS, MAX_POINTS, MIN_PLAYERS, Rules, checked_rules, pack_of

SUIT_ORDERS = ("fixed", "canonical")

OBSERVATION_VERSION = 1
"""Raised whenever the meaning of any entry changes; checkpoints carry it."""

PHASES = ("bid", "play", "over")


class Slice(NamedTuple):
    """One named part of the vector."""

    name: str
    start: int
    shape: tuple[int, ...]
    divisor: int
    meaning: str

    @property
    def size(self) -> int:
        """Entries in the slice."""
        return math.prod(self.shape)

    @property
    def stop(self) -> int:
        """One past its last entry."""
        return self.start + self.size


@dataclass(frozen=True)
class ObservationLayout:
    """Where everything stands in the observation of games with so many seats and cards.

    A layout may be wider than the game it is used for: absent seats and bids that cannot be made stay zero.

    Attributes:
        num_players: Seats the layout has room for.
        most_cards: The most cards a hand may have.
        score_unit: Points that one step of the coarse `scores` stands for; the rest is in `scores_fine`.
        num_suits: Suits it has room for, 1 to 4.
        num_ranks: Ranks of each suit, the highest ones, 1 to 13.
        teams: Whether it has room for the board bids and the facts of Back Alley.
    """

    num_players: int
    most_cards: int
    score_unit: int
    num_suits: int = NUM_SUITS
    num_ranks: int = NUM_RANKS
    teams: bool = False

    @classmethod
    def of(cls, rules: Rules) -> ObservationLayout:
        """Returns the layout that fits a set of rules exactly."""
        checked_rules(rules)
        unit = max(1, math.ceil(rules.most_points / 127))
        return cls(rules.num_players, rules.most_cards, unit, rules.num_suits, rules.num_ranks, rules.teams)

    def __post_init__(self) -> None:
        limits = {
            "num_players": (MIN_PLAYERS, MAX_PLAYERS),
            "most_cards": (1, NUM_CARDS // MIN_PLAYERS),
            "score_unit": (1, math.ceil(MAX_POINTS / 127)),
            "num_suits": (1, NUM_SUITS),
            "num_ranks": (1, NUM_RANKS),
        }
        for name, (low, high) in limits.items():
            value = checked_integer(f"the layout's {name}", getattr(self, name), low, high)
            object.__setattr__(self, name, value)  # NumPy's integers would overflow
        if not isinstance(self.teams, bool):
            raise ValueError(f"the layout's teams is {self.teams!r}, but it must be True or False")

    def check(self, rules: Rules) -> None:
        """Raises a ValueError if games with these rules do not fit in the layout."""
        needed = ObservationLayout.of(rules)
        for name in ("num_players", "most_cards", "score_unit", "num_suits", "num_ranks", "teams"):
            has, needs = getattr(self, name), getattr(needed, name)
            if needs > has:
                raise ValueError(f"the observation layout has {name}={has}, but the rules need {needs}")

    @cached_property
    def slices(self) -> dict[str, Slice]:
        """The slices by name, in order."""
        seats, bids, cards = self.num_players, self.most_cards + 1, self.num_cards
        boards = " (then the levels of board)" if self.teams else ""
        of_side = " of its side as it stands" if self.teams else ""
        parts: list[tuple[str, tuple[int, ...], int, str]] = [
            ("phase", (3,), 1, "one-hot: bidding, playing, match over"),
            (
                "played",
                (seats, cards),
                1,
                "by seat, the cards it has played in this hand, those on the table too",
            ),
            ("voids", (seats, self.num_suits), 1, "by seat, suits it has shown to hold nothing of"),
            ("hand", (cards,), 1, "the seat's own cards"),
            ("table", (cards,), 1, "the cards of the current trick"),
            (
                "top_cards",
                (cards,),
                1,
                "own cards that no unseen card of their suit (or unseen Bluke) outranks",
            ),
            (
                "winning_cards",
                (cards,),
                1,
                "own playable cards that would take the current trick as it stands",
            ),
            ("trump", (self.num_suits,), 1, "one-hot trump suit, all zero at no trump"),
            (
                "turned_up",
                (self.num_ranks + 2,),
                1,
                "one-hot rank of the turned-up trump, or Lo Bluke, or Hi Bluke",
            ),
            ("bids", (seats, bids + self.board_levels), 1, f"by seat, one-hot bid{boards}, all zero before it is made"),
            ("needed", (seats, bids), 1, f"by seat, one-hot tricks still needed to make the bid{of_side}"),
            ("tricks", (seats,), self.most_cards, "by seat, tricks taken in this hand"),
            ("hand_size", (self.most_cards,), 1, "one-hot: entry c - 1 for hands of c cards"),
            ("dealer", (seats,), 1, "one-hot seat"),
            ("leader", (seats,), 1, "one-hot seat that leads the current trick (while bidding: the first)"),
            ("to_act", (seats,), 1, "one-hot seat whose turn it is"),
            ("winning_seat", (seats,), 1, "one-hot seat that would take the current trick as it stands"),
            ("scores", (seats,), 127, f"by seat, match score in units of {self.score_unit} points, rounded"),
            ("scores_fine", (seats,), 127, "by seat, match score less what `scores` says, in points"),
            ("hands_left", (1,), 127, "hands of the match not yet scored"),
        ]
        if self.teams:
            parts += [
                ("trump_broken", (1,), 1, "whether a trump was played to another suit's trick"),
                ("exchanged", (seats,), 1, "one-hot seat that gave back a Blooper for another card"),
            ]
        slices, start = {}, 0
        for name, shape, divisor, meaning in parts:
            slices[name] = Slice(name, start, shape, divisor, meaning)
            start = slices[name].stop
        return slices

    @cached_property
    def state_slices(self) -> dict[str, Slice]:
        """The slices of the perfect-information state: the observation and the other seats' hands."""
        hands = Slice(
            "other_hands",
            self.size,
            (self.num_players - 1, self.num_cards),
            1,
            "the hands of the seats to the left",
        )
        return {**self.slices, "other_hands": hands}

    @cached_property
    def size(self) -> int:
        """Entries of an observation."""
        return max(part.stop for part in self.slices.values())

    @property
    def state_size(self) -> int:
        """Entries of a perfect-information state."""
        return self.size + (self.num_players - 1) * self.num_cards

    @property
    def num_cards(self) -> int:
        """Entries of a set of cards: each suit's ranks ascending, then Lo and Hi Bluke."""
        return self.num_suits * self.num_ranks + 2

    @cached_property
    def card_ids(self) -> np.ndarray:
        """The card id of each entry of a set of cards, int64 [num_cards]."""
        return np.array(pack_of(self.num_suits, self.num_ranks))

    @property
    def board_levels(self) -> int:
        """Levels of board that may be bid."""
        return MAX_BOARD_LEVEL if self.teams else 0

    @property
    def num_actions(self) -> int:
        """Size of the action space: 54 cards, the bids from 0 to the most cards, then the levels of board."""
        return BID_BASE + self.most_cards + 1 + self.board_levels

    @cached_property
    def scale(self) -> np.ndarray:
        """What the int8 entries are multiplied by to lie in [-1, 1], float32 [size]."""
        return _scale(self.slices, self.size)

    @cached_property
    def state_scale(self) -> np.ndarray:
        """The same for the perfect-information state, float32 [state_size]."""
        return _scale(self.state_slices, self.state_size)

    @cached_property
    def record(self) -> np.ndarray:
        """The layout as compiled code takes it: a read-only array of one `LAYOUT` record."""
        reciprocal = -(-(1 << 32) // self.score_unit)
        facts = (
            self.num_players, self.most_cards, self.score_unit, reciprocal, self.num_suits, self.num_ranks,
            self.board_levels, self.size, self.num_actions,
        )  # fmt: skip
        record = np.array([facts], LAYOUT)
        record.flags.writeable = False
        return record

    def slice(self, name: str) -> slice:
        """Returns the place of a named slice (of the observation or the state) in the vector.

        Raises:
            ValueError: There is no slice of that name.
        """
        if name not in self.state_slices:
            raise ValueError(f"there is no slice {name!r}: the slices are {', '.join(self.state_slices)}")
        part = self.state_slices[name]
        return slice(part.start, part.stop)

    def decode(self, vector: np.ndarray) -> dict[str, Any]:
        """Turns an observation or a state back into facts.

        Args:
            vector: int8 as written, or float32 as scaled, [size] or [state_size].

        Returns:
            By slice name: card ids ascending for sets of cards (a list of them by relative seat), numbers and None for
            what is one-hot or counted, and `scores` in points. Suits are those of the vector's own suit order.

        Raises:
            ValueError: The vector has another size or holds something else than an observation; the rows of matches
                that are over in a batch are all zero and hold none.
        """
        vector = np.asarray(vector)
        if vector.shape not in ((self.size,), (self.state_size,)):
            raise ValueError(
                f"the vector has shape {vector.shape}, but this layout's observations have ({self.size},) "
                f"and its states ({self.state_size},)"
            )
        slices, scale = self.slices, self.scale
        if len(vector) == self.state_size:
            slices, scale = self.state_slices, self.state_scale
        if vector.dtype.kind == "f" and np.isfinite(vector).all():
            vector = np.rint(vector / scale).astype(np.int64)
        if vector.dtype.kind not in "iu" or not vector[self.slice("phase")].any():
            raise ValueError("the vector holds no observation: its entries must be finite and show a phase")
        parts = {part.name: vector[part.start : part.stop].reshape(part.shape) for part in slices.values()}
        return self._facts(parts)

    def _facts(self, parts: dict[str, np.ndarray]) -> dict[str, Any]:
        trump = _one_hot(parts["trump"])
        facts: dict[str, Any] = {
            "phase": PHASES[_one_hot(parts["phase"])],
            "turned_up": self._turned_up(_one_hot(parts["turned_up"]), trump),
            "trump": trump,
            "hand_size": _one_hot(parts["hand_size"]) + 1,
            "bids": [self._bid(_one_hot(row)) for row in parts["bids"]],
            "needed": [_one_hot(row) for row in parts["needed"]],
            "tricks": parts["tricks"].tolist(),
            "voids": [np.flatnonzero(row).tolist() for row in parts["voids"]],
            "scores": (parts["scores"].astype(np.int64) * self.score_unit + parts["scores_fine"]).tolist(),
            "hands_left": int(parts["hands_left"][0]),
        }
        for name in ("hand", "table", "top_cards", "winning_cards"):
            facts[name] = self.card_ids[parts[name] != 0].tolist()
        for name in ("played", "other_hands"):
            if name in parts:
                facts[name] = [self.card_ids[row != 0].tolist() for row in parts[name]]
        for name in ("dealer", "leader", "to_act", "winning_seat"):
            facts[name] = _one_hot(parts[name])
        if self.teams:
            facts["trump_broken"] = bool(parts["trump_broken"][0])
            facts["exchanged"] = _one_hot(parts["exchanged"])
        return facts

    def _turned_up(self, place: int | None, trump: int | None) -> int | None:
        """Returns the card that an entry of `turned_up` stands for."""
        if place is None or trump is None:
            return None if place is None else LO_BLUKE + place - self.num_ranks
        return NUM_RANKS * trump + place + NUM_RANKS - self.num_ranks

    def _bid(self, place: int | None) -> int | None:
        """Returns the bid that an entry of `bids` stands for."""
        return place if place is None or place <= self.most_cards else BOARD + place - self.most_cards

    def table(self) -> str:
        """Returns the slices of the state as a Markdown table."""
        lines = ["| slice | start | stop | shape | divided by | meaning |", "|---|---|---|---|---|---|"]
        for part in self.state_slices.values():
            shape = " × ".join(map(str, part.shape))
            lines.append(f"| `{part.name}` | {part.start} | {part.stop} | {shape} | {part.divisor} | {part.meaning} |")
        return "\n".join(lines)


def _scale(slices: dict[str, Slice], size: int) -> np.ndarray:
    scale = np.ones(size, np.float32)
    for part in slices.values():
        scale[part.start : part.stop] = np.float32(1 / part.divisor)
    scale.flags.writeable = False
    return scale


def _one_hot(row: np.ndarray) -> Any:
    places = np.flatnonzero(row)
    return int(places[0]) if len(places) else None

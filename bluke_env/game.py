"""One match as a Python object."""

from __future__ import annotations

import enum
import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bluke_env import saves
from bluke_env.actions import action_text, bid_action
from bluke_env.agent import Turn
from bluke_env.cards import NUM_CARDS, cards_of, mask_of
from bluke_env.deals import Deal, checked_deals
from bluke_env.engine.batch import views_all
from bluke_env.engine.belief import BELIEF, TABLE_SIZE
from bluke_env.engine.deal import set_deal, start_games
from bluke_env.engine.encode import observe, observe_mask, observe_state
from bluke_env.engine.random import first_seed
from bluke_env.engine.resample import resample_games
from bluke_env.engine.state import BID, GAME, NONE, optional
from bluke_env.engine.step import BID_BASE, apply_action, legal_mask
from bluke_env.errors import IllegalAction, checked_choice, checked_index, checked_seed
from bluke_env.observation import SUIT_ORDERS, ObservationLayout
from bluke_env.results import HandResult
from bluke_env.rules import Rules, checked_rules


class Phase(enum.IntEnum):
    """What a match is waiting for."""

    BID = 0
    PLAY = 1
    OVER = 2


class Game:
    """A match of Bluke.

    Args:
        rules: What is played; the standard game for four by default.
        seed: The deals depend on (seed, number) alone, never on how the match is played; None draws a fresh seed.
        number: Which game of the seed, from 0; `BatchGame` plays games 0, 1, 2, ... of its seed.
        deals: Given deals, one for each hand of the schedule, instead of random ones.

    Raises:
        ValueError: An argument is invalid; the sentence says which and what would be right.
    """

    def __init__(
        self,
        rules: Rules | None = None,
        seed: int | None = None,
        *,
        number: int = 0,
        deals: Sequence[Deal] | None = None,
    ) -> None:
        self._rules = Rules() if rules is None else checked_rules(rules)
        self._facts = self._rules.record()
        self._deals = None if deals is None else checked_deals(self._rules, deals)
        self._history: tuple[np.ndarray, ...] = ()
        self._record = np.zeros(1, GAME)
        numbers = np.array([checked_index("number", number, 1 << 64)], np.uint64)
        start_games(self._facts, self._record, np.uint64(checked_seed(seed)), numbers)
        self._lay_out_deal()
        if self._deals is not None:  # one form for equal matches: the first dealer is named, the others follow
            first, *others = self._deals
            self._deals = replace(first, dealer=self.dealer), *(replace(deal, dealer=None) for deal in others)

    @classmethod
    def from_record(cls, rules: Rules, record: np.ndarray) -> Game:
        """Returns a game that copies a `GAME` record (an array of one), as `BatchGame` holds them.

        Raises:
            ValueError: It is no such array, or its game is not one of these rules.
        """
        checked_rules(rules)
        if not isinstance(record, np.ndarray) or record.dtype != GAME or record.shape != (1,):
            raise ValueError("record must be an array of one GAME record, such as batch.records[:1]")
        if not saves.fits(rules, record[0]):
            raise ValueError("the record's game does not fit the rules: give those of the batch that played it")
        return cls._restore(rules, record.copy(), None, ())

    @classmethod
    def _restore(
        cls, rules: Rules, record: np.ndarray, deals: tuple[Deal, ...] | None, history: tuple[np.ndarray, ...]
    ) -> Game:
        game = cls.__new__(cls)
        game._rules, game._facts, game._record = rules, rules.record(), record
        game._deals, game._history = deals, history
        return game

    # The table.

    @property
    def rules(self) -> Rules:
        """The rules of the match."""
        return self._rules

    @property
    def num_players(self) -> int:
        """Seats."""
        return self._rules.num_players

    @property
    def phase(self) -> Phase:
        """What the match is waiting for."""
        return Phase(int(self._record["phase"][0]))

    @property
    def current_player(self) -> int | None:
        """The seat to act, None when the match is over."""
        return optional(self._record["seat"][0])

    @property
    def hand_number(self) -> int:
        """The current hand, from 0; the number of hands when the match is over."""
        return int(self._record["hand_number"][0])

    @property
    def hand_size(self) -> int:
        """Cards dealt to each seat in the current hand."""
        return int(self._record["hand_size"][0])

    @property
    def dealer(self) -> int:
        """The dealer's seat."""
        return int(self._record["dealer"][0])

    @property
    def leader(self) -> int | None:
        """The seat that leads the current trick, None when the match is over.

        While bidding, it is the seat that will lead as things stand.
        """
        return optional(self._record["leader"][0])

    @property
    def trump(self) -> int | None:
        """The trump suit 0..3, None at no trump."""
        return optional(self._record["trump"][0])

    @property
    def turned_up(self) -> int | None:
        """The card id turned up for trump, None if there is none."""
        return optional(self._record["turned_up"][0])

    @property
    def hands(self) -> tuple[tuple[int, ...], ...]:
        """By seat, the card ids held, ascending (perfect information)."""
        return tuple(cards_of(mask) for mask in self._seats("hands"))

    @property
    def bids(self) -> tuple[int | None, ...]:
        """By seat, the bid, None before it is made: tricks, or `BOARD + level`; see `bluke_env.actions`."""
        return tuple(optional(bid) for bid in self._seats("bids"))

    @property
    def tricks(self) -> tuple[int, ...]:
        """By seat, tricks taken in the current hand."""
        return tuple(self._seats("tricks"))

    @property
    def scores(self) -> tuple[int, ...]:
        """By seat, points over all hands scored."""
        return tuple(self._seats("scores"))

    @property
    def trick(self) -> tuple[tuple[int, int], ...]:
        """The (seat, card id) pairs of the current trick, in order of play."""
        record = self._record[0]
        leader, played, count = int(record["leader"]), int(record["num_played"]), int(record["in_trick"])
        cards = record["order"][played - count : played].tolist()
        return tuple(((leader + place) % self.num_players, card) for place, card in enumerate(cards))

    @property
    def last_hand(self) -> HandResult | None:
        """The last hand that was scored, None before one was."""
        return None if self._record["last_number"][0] == NONE else HandResult.of(self._rules, self._record)

    @property
    def history(self) -> tuple[HandResult, ...]:
        """All hands that were scored, in order.

        Raises:
            ValueError: The game was taken from a record in the middle of a match, which knows the last hand only.
        """
        played = self._record["last_number"][0] + 1
        if len(self._history) != played:
            raise ValueError(
                f"the first {played - len(self._history)} hands of this game are not known, since it was taken from "
                "the record of a match under way: play it as a Game from the start"
            )
        return tuple(HandResult.of(self._rules, record) for record in self._history)

    @property
    def seed(self) -> int:
        """The seed that deals this match as its game 0, whatever seed and number it was made with."""
        return first_seed(int(self._record["key"][0]))

    @property
    def is_terminal(self) -> bool:
        """Whether the match is over."""
        return self.phase is Phase.OVER

    @property
    def winners(self) -> tuple[int, ...]:
        """All seats that share the highest total once the match is over, none before."""
        if not self.is_terminal:
            return ()
        scores = self.scores
        return tuple(seat for seat, score in enumerate(scores) if score == max(scores))

    @property
    def trump_broken(self) -> bool:
        """In Back Alley, whether a trump was played to another suit's trick in the current hand."""
        return bool(self._record["trump_broken"][0])

    @property
    def exchanged(self) -> int | None:
        """In Back Alley, the seat that gave back a Blooper for another card in the current hand, or None."""
        return optional(self._record["exchanged"][0])

    @property
    def drawn(self) -> int | None:
        """The card id that the seat took for the Blooper, or None (perfect information)."""
        return optional(self._record["drawn"][0])

    @property
    def order(self) -> tuple[int, ...]:
        """The card ids played in the current hand, in order of play."""
        return tuple(self._record["order"][0, : self._record["num_played"][0]].tolist())

    @property
    def deals(self) -> tuple[Deal, ...] | None:
        """The given deals of the match, None where they come from the seed."""
        return self._deals

    # Playing.

    def legal_actions(self) -> list[int]:
        """Returns the legal action ids, ascending; none when the match is over."""
        mask = legal_mask(self._facts, self._record, 0)
        if self._record["phase"][0] != BID:
            return list(cards_of(mask))
        return [bid_action(bid, self._rules.most_cards) for bid in cards_of(mask)]

    def apply_action(self, action: int) -> None:
        """Makes the decision of the seat to act.

        Args:
            action: An action id: 0..53 plays that card, 54 + b bids b tricks; see `bluke_env.actions`.

        Raises:
            IllegalAction: The action is not legal now, or no action at all; the game is unchanged.
        """
        try:
            number = operator.index(action)
        except TypeError:
            number = -1
        if isinstance(action, bool) or not 0 <= number < BID_BASE + NUM_CARDS:
            raise self._refusal(action)
        outcome = apply_action(self._facts, self._record, 0, number)
        if outcome == 0:
            raise self._refusal(number)
        if outcome == 2:
            self._end_hand()

    def _end_hand(self) -> None:
        """Keeps the hand that has just been scored and lays out the next."""
        self._history = (*self._history, self._record.copy())
        self._lay_out_deal()

    def _refusal(self, action: Any) -> IllegalAction:
        if self.is_terminal:
            return IllegalAction(f"action {action!r} cannot be applied: the match is over")
        doing = "bid" if self.phase is Phase.BID else "play"
        name, most = "", self._rules.most_cards
        if isinstance(action, int) and not isinstance(action, bool) and 0 <= action < self._rules.num_actions:
            name = f" ({action_text(action, most)})"
        legal = ", ".join(f"{legal} ({action_text(legal, most)})" for legal in self.legal_actions())
        return IllegalAction(
            f"action {action!r}{name} is illegal: in hand {self.hand_number} seat {self.current_player} is to {doing} "
            f"and its legal actions are {legal}"
        )

    def _lay_out_deal(self) -> None:
        """Replaces the random deal of a hand that has just begun by the given one."""
        if self._deals is None or self.is_terminal:
            return
        deal = self._deals[self.hand_number]
        hands = np.array([mask_of(cards) for cards in deal.hands], np.int64)
        turned_up = NONE if deal.turned_up is None else deal.turned_up
        next_card = NONE if deal.next_card is None else deal.next_card
        first = self.hand_number == 0 and deal.dealer is not None
        set_deal(self._facts, self._record, 0, hands, turned_up, next_card, deal.dealer if first else self.dealer)

    # Seeing.

    @property
    def layout(self) -> ObservationLayout:
        """Where everything stands in the observations."""
        return ObservationLayout.of(self._rules)

    def observe(self, seat: int, suit_order: str = "fixed") -> np.ndarray:
        """Returns what a seat may know, int8 [layout.size]; see `bluke_env.observation`."""
        return self._written(observe, seat, suit_order, self.layout.size)

    def state(self, seat: int | None = None, suit_order: str = "fixed") -> np.ndarray:
        """Returns the perfect-information state, int8 [layout.state_size].

        It is the observation of `seat` (by default the one to act, seat 0 when the match is over) and, after it, the
        hands of the others.
        """
        seat = (self.current_player or 0) if seat is None else seat
        return self._written(observe_state, seat, suit_order, self.layout.state_size)

    def action_mask(self, seat: int | None = None, suit_order: str = "fixed") -> np.ndarray:
        """Returns the legal actions of a seat (by default the one to act) as int8 [layout.num_actions] of 0 and 1.

        It is all zero for a seat that is not to act.
        """
        if seat is None:
            seat = self.current_player or 0
        canonical = checked_choice("suit_order", suit_order, SUIT_ORDERS) == "canonical"
        mask = np.empty(self.layout.num_actions, np.int8)
        observe_mask(
            self._facts,
            self._record,
            0,
            checked_index("seat", seat, self.num_players),
            canonical,
            self.layout.record,
            mask,
        )
        return mask

    def _written(self, kernel: Any, seat: int, suit_order: str, size: int) -> np.ndarray:
        canonical = checked_choice("suit_order", suit_order, SUIT_ORDERS) == "canonical"
        out = np.empty(size, np.int8)
        seat = checked_index("seat", seat, self.num_players)
        kernel(self._facts, self._record, 0, seat, canonical, self.layout.record, out)
        return out

    def turn(self) -> Turn:
        """Returns the decision that is due as bots and networks take it: `int(agent.act(game.turn())[0])` is an action.

        Raises:
            ValueError: The match is over.
        """
        if self.is_terminal:
            raise ValueError("the match is over: there is no decision left to make")
        views = np.zeros(1, GAME)
        views_all(self._record, np.zeros(1, np.int64), views)
        return Turn(self._rules, views, views["seat"].copy(), np.zeros(1, np.int64))

    # Copying.

    def clone(self) -> Game:
        """Returns an independent copy."""
        return self._restore(self._rules, self._record.copy(), self._deals, self._history)

    def resample(self, seat: int, seed: int | None = None) -> Game:
        """Returns a copy in which all that a seat cannot know is drawn anew, uniformly.

        That is the hands of the others, among those that the rules and the cards played allow; all deals to come, also
        where they were given; and which card another seat took for a Blooper. Nothing of the original but what the
        seat knows enters it. Since its past hands are not dealt by its seed, it cannot be written down by `record`.

        Args:
            seat: Who knows what it knows.
            seed: What is drawn by; None draws a fresh seed.
        """
        seat = checked_index("seat", seat, self.num_players)
        records = np.concatenate([*self._history, self._record])
        scratch = np.zeros(1, BELIEF), np.empty(TABLE_SIZE)
        resample_games(self._facts, records, seat, np.uint64(checked_seed(seed)), *scratch)
        *history, record = np.split(records, len(records))
        return self._restore(self._rules, record, None, tuple(history))

    def to_bytes(self) -> bytes:
        """Returns the whole game, rules and hands played included, for `from_bytes`."""
        return saves.packed(self._rules, self._deals, (self._record, *self._history))

    @classmethod
    def from_bytes(cls, data: bytes) -> Game:
        """Returns the game that `to_bytes` wrote.

        Raises:
            ValueError: These are not the bytes of a game, or they are damaged.
        """
        rules, deals, (record, *history) = saves.unpacked(data)
        return cls._restore(rules, record, deals, tuple(history))

    def record(self) -> str:
        """Returns the match so far as text that a person can read; see `bluke_env.records`.

        Raises:
            ValueError: The game was taken from the record of a match under way.
        """
        from bluke_env.records import write_record  # it builds games itself

        return write_record(self)

    @staticmethod
    def replay(text: str) -> Game:
        """Returns the match that `record` wrote, played again and checked.

        Raises:
            RecordError: The text is damaged; the sentence says in which line and column, and what would be right.
        """
        from bluke_env.records import replay  # it builds games itself

        return replay(text)

    def __reduce__(self) -> tuple:
        return Game.from_bytes, (self.to_bytes(),)

    def __deepcopy__(self, memo: dict) -> Game:
        return self.clone()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Game):
            return NotImplemented
        same = self._rules == other._rules and self._deals == other._deals
        return same and self._record.tobytes() == other._record.tobytes()

    __hash__ = None  # type: ignore[assignment]  # games change

    def __repr__(self) -> str:
        return (
            f"Game({self.num_players} players, hand {self.hand_number} of {self._rules.num_hands}, "
            f"{self.phase.name.lower()}, seat {self.current_player} to act)"
        )

    def _seats(self, name: str) -> list[int]:
        return self._record[name][0, : self.num_players].tolist()

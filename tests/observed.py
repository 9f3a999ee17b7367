"""What can be seen at a table, worked out in plain Python, and rules and deals to try it on."""

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from back_alley_referee import is_trump, may_follow
from referee import PACK, Trick, playable, suit_asked, trick_winner
from tables import ALL_SEATS, FIRST_BID, rules_for
from variants import with_variants

from bluke_env import Deal, Game, ObservationLayout, Rules
from bluke_env.actions import BOARD

OPTIONS: list[dict[str, Any]] = [
    {},
    {"min_bid": 0, "bluke_lead": "trump", "points_per_trick": 137, "points_per_overtrick": 31},
]


def varied_rules(seats: int, options: dict[str, Any] | None = None) -> Rules:
    """A short match: a hand of some cards, one of one card, one at no trump, and one as large as the pack allows."""
    some = min(8, 53 // seats)
    return rules_for(seats, [some, 1, (min(3, some), True), 54 // seats], **(options or {}))


every_table = pytest.mark.parametrize(
    "rules",
    [
        pytest.param(varied_rules(seats, options), id=f"{seats}-{'options' if options else 'plain'}")
        for seats in ALL_SEATS
        for options in OPTIONS
    ]
    + with_variants(),
)
some_tables = pytest.mark.parametrize(
    "rules", [varied_rules(seats, OPTIONS[seats % 2]) for seats in (2, 3, 4, 7, 15)] + with_variants()
)


def suit(card: int) -> int | None:
    return None if card >= 52 else card // 13


class Table:
    """A game, and what everybody at the table has seen of the hand in play (of the last one once all is over)."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self._new_hand()

    def _new_hand(self) -> None:
        self.dealt = self.game.hands
        self.played: list[list[int]] = [[] for _ in self.dealt]
        self.voids: list[set[int]] = [set() for _ in self.dealt]
        self.trump_broken = False

    @property
    def trump(self) -> str | None:
        return None if self.game.trump is None else "CDHS"[self.game.trump]

    @property
    def trick(self) -> Trick:
        return [(seat, PACK[card]) for seat, card in self.game.trick]

    def act(self, action: int) -> None:
        """Takes note of an action and makes it."""
        game, number, seat = self.game, self.game.hand_number, self.game.current_player
        assert seat is not None
        if action < FIRST_BID:
            self.played[seat].append(action)
            if game.trick:
                self._note(seat, PACK[action], self.trick[0][1])
            elif game.rules.teams:
                self._note_lead(seat, PACK[action])
        game.apply_action(action)
        if game.hand_number != number and not game.is_terminal:
            self._new_hand()

    def _note(self, seat: int, card: str, lead: str) -> None:
        """Takes note of what a card tells of a seat."""
        if self.game.rules.teams:
            trump_led = is_trump(lead, self.trump)
            asked = self.trump if trump_led else lead[1]
            shows_out = not is_trump(card, self.trump) if trump_led else card[1] != asked
            self.trump_broken |= is_trump(card, self.trump) and not trump_led
        else:
            asked = suit_asked(lead, self.trump, self.game.rules.bluke_lead)
            shows_out = asked is not None and card[1] not in (asked, "B")
        if asked is not None and shows_out:
            self.voids[seat].add("CDHS".index(asked))

    def _note_lead(self, seat: int, card: str) -> None:
        """Takes note of a lead in Back Alley: trump may be led unasked by a hand of nothing else only."""
        board = any(bid is not None and bid > BOARD for bid in (self.game.bids[seat], self.game.bids[(seat + 2) % 4]))
        if is_trump(card, self.trump) and not self.trump_broken and not board:
            self.voids[seat] |= set(range(self.game.rules.num_suits)) - {self.game.trump}

    def facts(self, seat: int, layout: ObservationLayout) -> dict[str, Any]:
        """What the observation of a seat says, by slice name, in a layout that may have room for more."""
        game, seats = self.game, self.game.num_players
        around = [(seat + place) % seats for place in range(seats)]
        hand = game.hands[seat]
        unseen = set(game.rules.cards) - {*hand, *itertools.chain(*self.played), game.turned_up}

        def by_seat(values: Sequence[Any], absent: Any) -> list[Any]:
            return [values[other] for other in around] + [absent] * (layout.num_players - seats)

        def relative(other: int | None) -> int | None:
            return None if other is None else around.index(other)

        facts = {
            "phase": game.phase.name.lower(),
            "played": by_seat([sorted(cards) for cards in self.played], []),
            "voids": by_seat([sorted(suits) for suits in self.voids], []),
            "hand": list(hand),
            "table": sorted(card for _, card in game.trick),
            "top_cards": [card for card in hand if not any(suit(c) == suit(card) and c > card for c in unseen)],
            "winning_cards": self.winning_cards(hand),
            "trump": game.trump,
            "turned_up": game.turned_up,
            "bids": by_seat(game.bids, None),
            "needed": by_seat([self.needed(other) for other in range(seats)], None),
            "tricks": by_seat(game.tricks, 0),
            "hand_size": game.hand_size,
            "dealer": relative(game.dealer),
            "leader": relative(game.leader),
            "to_act": relative(game.current_player),
            "winning_seat": relative(trick_winner(self.trick, self.trump)) if game.trick else None,
            "scores": by_seat(game.scores, 0),
            "hands_left": game.rules.num_hands - game.hand_number,
        }
        if layout.teams:
            facts |= {"trump_broken": self.trump_broken, "exchanged": relative(game.exchanged)}
        return facts

    def needed(self, seat: int) -> int | None:
        """The tricks that a seat's side still needs for what it has bid so far, if the seat has bid."""
        game = self.game
        side = next(side for side in game.rules.sides if seat in side)
        bids = [bid for partner in side if (bid := game.bids[partner]) is not None]
        if game.bids[seat] is None:
            return None
        promised = game.hand_size if max(bids) > BOARD else sum(bids)
        return max(0, promised - sum(game.tricks[partner] for partner in side))

    def winning_cards(self, hand: Sequence[int]) -> list[int]:
        """The cards of a hand that could be played to the trick now and would win it as it stands."""
        if not self.trick:
            return []
        rules, cards = self.game.rules, [PACK[card] for card in hand]
        if rules.teams:
            may_play = may_follow(cards, self.trick[0][1], self.trump, rules.bluke_lead)
        else:
            may_play = playable(cards, self.trick, self.trump, rules.bluke_lead)
        newcomer = -1
        winning = [card for card in may_play if trick_winner([*self.trick, (newcomer, card)], self.trump) == newcomer]
        return sorted(PACK.index(card) for card in winning)

    def all_facts(self, seat: int, layout: ObservationLayout) -> dict[str, Any]:
        """What the perfect-information state says."""
        seats = self.game.num_players
        others = [list(self.game.hands[(seat + place) % seats]) for place in range(1, seats)]
        return {**self.facts(seat, layout), "other_hands": others + [[]] * (layout.num_players - seats)}


def positions(game: Game, rng: random.Random) -> Iterator[Table]:
    """Plays a match at random; yields the table before every action and once more at the end."""
    table = Table(game)
    while not game.is_terminal:
        yield table
        table.act(rng.choice(game.legal_actions()))
    yield table


def random_deals(rules: Rules, rng: random.Random) -> list[Deal]:
    seats, first_dealer = rules.num_players, rng.randrange(rules.num_players)
    deals = []
    for number, (size, no_trump) in enumerate(rules.schedule):
        pack = rng.sample(rules.cards, rules.num_cards)
        hands = tuple(tuple(pack[size * seat : size * (seat + 1)]) for seat in range(seats))
        turned_up = None if no_trump else pack[-1]
        given_back = rules.teams and turned_up is not None and turned_up >= 52 and 105 - turned_up in sum(hands, ())
        deals.append(Deal(hands, turned_up, (first_dealer + number) % seats, pack[-2] if given_back else None))
    return deals

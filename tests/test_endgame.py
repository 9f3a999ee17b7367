"""The endgame solver against a plain search through every card of every seat, and against endgames worked by hand."""

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from back_alley_referee import SIDES, is_trump, may_be_led, may_follow, side_points
from judged import BOARD, card_text, texts
from referee import PACK, RANKS, SUITS, Bid, Trick, hand_points, is_bluke, playable, suit_of, trick_winner
from tables import ALL_SEATS, FIRST_BID, bid, play_hand, result_of, start

from bluke_env import Deal, Game, Phase, Rules
from bluke_env.bots.endgame import ENDGAME, endgame_points
from bluke_env.cards import HI_BLUKE, LO_BLUKE, parse_card, parse_cards

UNTOUCHED = -7

Hands = tuple[tuple[str, ...], ...]


class Position(NamedTuple):
    """A position between two cards; all that the plain search changes."""

    hands: Hands
    trick: tuple[tuple[int, str], ...]
    seat: int
    tricks: tuple[int, ...]
    trump_broken: bool


class PlainSearch:
    """What every seat scores when all play for their own points, or, in Back Alley, for those of their side.

    Two sides maximise the difference of their points, more sides the points of each. Among equal points a seat takes
    more tricks; then it prefers a card that takes the trick so far, a plain card to a trump, a lower one to a higher.
    """

    def __init__(self, game: Game) -> None:
        self.rules = game.rules
        self.size = game.hand_size
        self.trump = None if game.trump is None else SUITS[game.trump]
        self.bids: list[Bid] = [
            ("board", made - BOARD) if made > BOARD else made for made in game.bids if made is not None
        ]
        trick = tuple((seat, str(card_text(card))) for seat, card in game.trick)
        hands = tuple(tuple(texts(hand)) for hand in game.hands)
        assert game.current_player is not None
        self.position = Position(hands, trick, game.current_player, game.tricks, game.trump_broken)
        self.final_tricks = cache(self._final_tricks)

    def points(self) -> list[int]:
        return self._points(self.final_tricks(self.position))

    def _final_tricks(self, position: Position) -> tuple[int, ...]:
        if not any(position.hands):
            return position.tricks
        seat = position.seat
        cards = sorted(self._legal(position), key=lambda card: self._dearness(position, card))
        return max(
            (self.final_tricks(self._after(position, card)) for card in cards), key=lambda t: self._worth(t, seat)
        )

    def _worth(self, tricks: tuple[int, ...], seat: int) -> tuple[int, int]:
        points, sides = self._points(tricks), self.rules.sides
        if len(sides) > 2:
            return points[seat], tricks[seat]
        other = sides[1][0] if seat in sides[0] else sides[0][0]
        return points[seat] - points[other], 0

    def _points(self, tricks: tuple[int, ...]) -> list[int]:
        worth = self.rules.points_per_trick, self.rules.points_per_overtrick
        if not self.rules.teams:
            return [
                hand_points(made, taken, *worth)
                for made, taken in zip(self.bids, tricks, strict=True)
                if isinstance(made, int)
            ]
        points = [
            side_points([self.bids[seat] for seat in side], sum(tricks[seat] for seat in side), self.size, *worth)
            for side in SIDES
        ]
        return [points[seat % 2] for seat in range(4)]

    def _legal(self, position: Position) -> list[str]:
        hand, trick = position.hands[position.seat], list(position.trick)
        if not self.rules.teams:
            return playable(hand, trick, self.trump, self.rules.bluke_lead)
        if trick:
            return may_follow(hand, trick[0][1], self.trump, self.rules.bluke_lead)
        pair = self.bids[position.seat], self.bids[(position.seat + 2) % 4]
        has_bid_board = any(isinstance(made, tuple) for made in pair)
        return may_be_led(hand, self.trump, may_lead_trump=position.trump_broken or has_bid_board)

    def _dearness(self, position: Position, card: str) -> tuple[bool, bool, int]:
        takes = trick_winner([*position.trick, (position.seat, card)], self.trump) == position.seat
        dear = is_bluke(card) or suit_of(card) == self.trump
        return not takes, dear, PACK.index(card)

    def _after(self, position: Position, card: str) -> Position:
        seat, seats = position.seat, self.rules.num_players
        hands = tuple(
            tuple(held for held in hand if held != card) if other == seat else hand
            for other, hand in enumerate(position.hands)
        )
        trick: Trick = [*position.trick, (seat, card)]
        breaks = is_trump(card, self.trump) and not is_trump(trick[0][1], self.trump)
        broken = position.trump_broken or (self.rules.teams and breaks)
        if len(trick) < seats:
            return Position(hands, tuple(trick), (seat + 1) % seats, position.tricks, broken)
        winner = trick_winner(trick, self.trump)
        tricks = tuple(taken + (other == winner) for other, taken in enumerate(position.tricks))
        return Position(hands, (), winner, tricks, broken)


def solve(game: Game, scratch: np.ndarray | None = None) -> list[int]:
    """The solver's points of every seat; the game, and the entries of other seats, stay as they are."""
    out = np.full(15, UNTOUCHED, np.int64)
    before = game._record.tobytes()
    endgame_points(
        game.rules.record()[0], game._record[0], (np.zeros(1, ENDGAME) if scratch is None else scratch)[0], out
    )
    assert game._record.tobytes() == before
    assert (out[game.num_players :] == UNTOUCHED).all()
    return out[: game.num_players].tolist()


def endgame(rules: Rules, rng: random.Random, cards_left: int) -> Game:
    """A random hand, played at random until `cards_left` cards are left to play."""
    game = Game(rules, rng.randrange(1 << 32))
    while game.phase is Phase.BID or sum(map(len, game.hands)) > cards_left:
        game.apply_action(rng.choice(game.legal_actions()))
    return game


def bluke(seats: int, *sizes: Any, **options: Any) -> list[Rules]:
    """Rules of single hands, with both ways to lead a Bluke."""
    return [
        Rules(num_players=seats, schedule=[size], min_bid=0, bluke_lead=lead, **options)
        for size in sizes
        for lead in ("none", "trump")
    ]


def back_alley(*sizes: int, **options: Any) -> list[Rules]:
    return [
        Rules.preset("back_alley", schedule=[size], bluke_lead=lead, **options)
        for size in sizes
        for lead in ("high_low", "trump")
    ]


SMALL_PACK = {"num_suits": 2, "num_ranks": 6}
ODD_POINTS = {"points_per_trick": 3, "points_per_overtrick": 0}

TABLES = {
    "two seats": (bluke(2, 3, 5, 13, (26, True)) + bluke(2, 6, **SMALL_PACK) + bluke(2, 5, **ODD_POINTS), 3, 600),
    "two seats, six tricks": (bluke(2, 6, 13, num_suits=2), 6, 40),
    "mini and micro": ([Rules.preset("mini"), Rules.preset("micro")], 3, 400),
    "three seats": (bluke(3, 3, 6, (18, True)) + bluke(3, 4, **SMALL_PACK) + bluke(3, 4, **ODD_POINTS), 3, 600),
    "three seats, four tricks": (bluke(3, 4, 17), 4, 40),
    "four seats": (bluke(4, 2, 5, 13, (6, True)) + bluke(4, 3, **SMALL_PACK) + bluke(4, 3, **ODD_POINTS), 2, 1200),
    "four seats, three tricks": (bluke(4, 3, 7) + bluke(4, 3, **SMALL_PACK), 3, 200),
    "four seats, four tricks": (bluke(4, 4, 13), 4, 6),
    "five seats": (bluke(5, 2, 10) + bluke(5, 2, **SMALL_PACK), 2, 500),
    "Back Alley": (back_alley(2, 4, 13) + back_alley(3, **SMALL_PACK) + back_alley(3, **ODD_POINTS), 2, 1200),
    "Back Alley, three tricks": (back_alley(3, 6) + back_alley(3, **SMALL_PACK), 3, 250),
    "Back Alley, four tricks": (back_alley(4, 13), 4, 12),
    "nine seats": (bluke(9, 5, (6, True)), 2, 20),
    "fifteen seats": (bluke(15, 1, 3), 1, 100),
}

SEEN = {
    *("lead", "middle of a trick", "no trump", "trump", "Bluke led", "Bluke out of play"),
    *("board", "both boards", "trump broken", "Hi Blooper led", "Little Blooper led"),
}


@cache
def endgames(name: str) -> tuple[Game, ...]:
    """Random endgames of a row of `TABLES`, most of them in the middle of a trick."""
    rules, most_tricks, count = TABLES[name]
    rng = random.Random(name)
    return tuple(
        endgame(chosen, rng, rng.randint(max(1, most // 2), most))
        for chosen in rng.choices(rules, k=count)
        for most in [chosen.num_players * min(most_tricks, chosen.schedule[0].cards)]
    )


@pytest.mark.parametrize("name", TABLES)
def test_points_equal_those_of_a_plain_search(name: str) -> None:
    scratch = np.zeros(1, ENDGAME)
    for game in endgames(name):
        assert solve(game, scratch) == PlainSearch(game).points(), game.record()


def facts(game: Game) -> Iterator[str]:
    """What is special about an endgame."""
    blukes_held = sum(card >= LO_BLUKE for hand in game.hands for card in hand)
    lead = game.trick[0][1] if game.trick else None
    boards = {seat % 2 for seat, made in enumerate(game.bids) if made is not None and made > BOARD}
    yield "middle of a trick" if game.trick else "lead"
    yield "no trump" if game.trump is None else "trump"
    if blukes_held == 0:
        yield "Bluke out of play"
    if lead is not None and lead >= LO_BLUKE:
        yield {"high_low": f"{'Hi' if lead == HI_BLUKE else 'Little'} Blooper led"}.get(
            game.rules.bluke_lead, "Bluke led"
        )
    if boards:
        yield "both boards" if len(boards) == 2 else "board"
    if game.trump_broken:
        yield "trump broken"


def test_the_random_endgames_are_of_every_kind_and_poor_play_loses_points() -> None:
    rng = random.Random(0)
    seen: Counter[str] = Counter()
    for game in itertools.chain(*map(endgames, TABLES)):
        seen.update(facts(game))
        played = game.clone()
        play_hand(played, rng)
        seen["all"] += 1
        seen["missed"] += solve(game) != list(result_of(played).points)
    assert set(seen) == {*SEEN, "all", "missed"}
    assert min(seen.values()) >= 10, seen
    assert seen["missed"] >= seen["all"] / 10


# By hand: seat 0 leads.


@pytest.mark.parametrize(
    ("hands", "turned_up", "bids", "points"),
    [
        (("AS QS", "KS 2S"), None, (1, 1), [10, 10]),
        (("KS 2S", "AS QS"), None, (1, 1), [-10, 11]),  # the lead runs into the ace and the queen
        (("AS 3H", "2C 2H"), "9H", (2, 1), [20, -10]),  # trumps first, or the ace is trumped
        (("AS 3H", "2C 2H"), "LB", (2, 1), [20, -10]),  # the other suit cannot hurt
        (("2S LB", "AS HB"), "9H", (1, 1), [-10, 11]),
        (("2S HB", "AS LB"), "9H", (2, 1), [-20, 10]),
        # Seat 2 takes its ace and then loses to seat 0; to stop seat 0 it would have to give seat 1 both tricks.
        (("JC QC", "KC JD", "TC AC"), None, (1, 1, 1), [10, -10, 10]),
        # Seat 1 misses its two tricks anyway, but takes its ace and so keeps both from seat 2.
        (("2S 4S", "AS 3S", "KS 5C"), None, (1, 2, 2), [10, -20, -20]),
    ],
)
def test_endgames_by_hand(
    hands: tuple[str, ...], turned_up: str | None, bids: tuple[int, ...], points: list[int]
) -> None:
    game = start(hands, turned_up)
    bid(game, *bids)
    assert solve(game) == points


@pytest.mark.parametrize(
    ("hands", "turned_up", "bids", "points"),
    [
        # Led first, the Big Blooper draws the ace, though the king below it would be worth the same.
        (("AH KH", "3C 4C", "5C 6C", "HB 2C"), "9H", (0, 0, 0, 3), [1, -20, 1, -20]),
        # The Big Blooper must draw the ten of trumps, so that the partner's seven can trump the diamond.
        (("7C 8C 4S 9S", "3C TC 5S 6S", "5D JS LB HB", "KD AD 3H 3S"), "4C", (4, 4, 5, 0), [40, -20, 40, -20]),
        # The same cards can be left with trump broken or not, and it makes a difference.
        (
            ("8C KC AC LB HB", "TC 8D TD KD JH", "QC AD 9H TH QH", "JC JD QD KH AH"),
            *("8H", (2, 2, 2, 6), [20, -50, 20, -50]),
        ),
    ],
)
def test_back_alley_endgames(hands: tuple[str, ...], turned_up: str, bids: tuple[int, ...], points: list[int]) -> None:
    """Seat 3 deals; the bid one above the cards is a board."""
    deal = Deal([parse_cards(hand) for hand in hands], parse_card(turned_up), dealer=3)
    game = Game(Rules.preset("back_alley", schedule=[len(deal.hands[0])]), deals=[deal])
    bid(game, *bids)
    assert solve(game) == points


# What holds for all endgames.


@pytest.mark.parametrize("seats", ALL_SEATS)
def test_the_last_trick_is_forced(seats: int) -> None:
    rng = random.Random(seats)
    for rules in bluke(seats, 1, 3) + (back_alley(1, 5) if seats == 4 else []):
        for _ in range(5):
            game = endgame(rules, rng, rng.randint(1, seats))
            points = solve(game)
            play_hand(game, rng)
            assert points == list(result_of(game).points)


def dealt(rules: Rules, hands: Sequence[Sequence[int]], turned_up: int | None, dealer: int) -> Game:
    """A hand about to be led to, every seat having bid one trick."""
    game = Game(rules, deals=[Deal(hands, turned_up, dealer)])
    while game.phase is Phase.BID:
        game.apply_action(FIRST_BID + 1)
    return game


FOUR_TRICKS = [*bluke(2, 4), *bluke(3, 4), *bluke(4, 4), *back_alley(4)]


@pytest.mark.parametrize("rules", FOUR_TRICKS)
def test_nothing_is_left_of_what_was_solved_before(rules: Rules) -> None:
    """Every endgame has the same cards and leader as the one before it, in other hands."""
    rng = random.Random(0)
    scratch = np.zeros(1, ENDGAME)
    different = set()
    for seed in range(10):
        first = Game(rules, seed)
        if first.exchanged is not None:
            continue
        for _ in range(5):
            hands = rng.sample(first.hands, len(first.hands))
            game = dealt(rules, hands, first.turned_up, first.dealer)
            points = solve(game)
            assert solve(game, scratch) == points == solve(game, scratch)
            different.add((seed, tuple(points)))
    assert len(different) >= 12


@pytest.mark.parametrize("rules", [*FOUR_TRICKS, *bluke(6, 3)])
def test_seats_are_alike(rules: Rules) -> None:
    for seed in range(10):
        game = Game(rules, seed)
        if game.exchanged is not None:
            continue
        seats, hands = rules.num_players, game.hands
        points = solve(dealt(rules, hands, game.turned_up, game.dealer))
        for turn in range(1, seats):
            turned = dealt(rules, hands[-turn:] + hands[:-turn], game.turned_up, (game.dealer + turn) % seats)
            assert solve(turned) == points[-turn:] + points[:-turn]


@pytest.mark.parametrize("seats", [2, 3])
def test_fifteen_tricks_fit(seats: int) -> None:
    hands = [" ".join(rank + suit for rank in RANKS) for suit in "SDH"]
    game = start([hands[0] + " LB HB", hands[1] + " 2C 3C", hands[2] + " 4C 5C"][:seats], None)
    bid(game, *[15] * seats)
    assert solve(game) == [150] + [-150] * (seats - 1)

"""Games for the tests, with given hands where a test needs them, and short ways to bid and play."""

import random
from collections.abc import Sequence
from typing import Any

from bluke_env import Deal, Game, HandResult, Rules
from bluke_env.cards import parse_card, parse_cards

NUM_CARDS = 54
FIRST_BID = 54
ALL_SEATS = range(2, 16)


def rules_for(seats: int, schedule: Any = None, **options: Any) -> Rules:
    """Rules from any form of schedule that they take."""
    return Rules(num_players=seats, schedule=schedule, **options)


def deal_of(hands: Sequence[Sequence[int]], turned_up: int | None, dealer: int) -> Deal:
    return Deal(hands=tuple(tuple(hand) for hand in hands), turned_up=turned_up, dealer=dealer)


def start(hands: Sequence[str], turned_up: str | None, **options: Any) -> Game:
    """A match of one hand of the given cards, which seat 0 leads; no trump if no card is turned up."""
    cards = [parse_cards(hand) for hand in hands]
    rules = rules_for(len(hands), [(len(cards[0]), turned_up is None)], **options)
    card = None if turned_up is None else parse_card(turned_up)
    return Game(rules, deals=[deal_of(cards, card, dealer=len(hands) - 1)])


def bid(game: Game, *bids: int) -> None:
    for tricks in bids:
        game.apply_action(FIRST_BID + tricks)


def play(game: Game, cards: str) -> None:
    for card in parse_cards(cards):
        game.apply_action(card)


def play_hand(game: Game, rng: random.Random) -> None:
    """Plays at random to the end of the hand in play."""
    number = game.hand_number
    while not game.is_terminal and game.hand_number == number:
        game.apply_action(rng.choice(game.legal_actions()))


def result_of(game: Game) -> HandResult:
    """The hand that was scored last."""
    assert game.last_hand is not None
    return game.last_hand

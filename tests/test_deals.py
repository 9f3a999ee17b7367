"""Given deals: played as they are given, and refused in one sentence where they cannot be."""

import random
from typing import Any

import numpy as np
import pytest
from observed import random_deals
from tables import play_hand, result_of
from variants import every_variant

from bluke_env import Deal, Game, Rules
from bluke_env.cards import parse_card, parse_cards

BLUKE = Rules(num_players=3, schedule="2,1nt")
BACK_ALLEY = Rules.preset("back_alley", schedule="1")


def deal(hands: str, turned_up: str | None = None, dealer: Any = None, next_card: str | None = None) -> Deal:
    """A deal with the hands separated by slashes."""
    others = [None if card is None else parse_card(card) for card in (turned_up, next_card)]
    return Deal([parse_cards(hand) for hand in hands.split("/")], others[0], dealer, others[1])


FIRST, SECOND = deal("2C 3C/4C 5C/6C 7C", "AS", 1), deal("2C/3C/4C")
EXCHANGE = deal("LB/3C/4C/5C", "HB", 0, "9D")


@every_variant
def test_what_is_dealt_is_what_was_given(rules: Rules) -> None:
    """But for the card that somebody takes for a Blooper."""
    deals = random_deals(rules, random.Random(9))
    game = Game(rules, deals=deals)
    for number, given in enumerate(deals):
        hands = [set(hand) for hand in given.hands]
        if given.next_card is not None:
            (seat,) = (seat for seat, hand in enumerate(hands) if hand & {52, 53})
            hands[seat] = hands[seat] - {52, 53} | {given.next_card}
            assert game.exchanged == seat
        assert game.hands == tuple(tuple(sorted(hand)) for hand in hands)
        assert (game.hand_number, game.turned_up, game.dealer) == (number, given.turned_up, given.dealer)
        play_hand(game, random.Random(number))
        assert (result_of(game).hands, result_of(game).drawn) == (
            tuple(tuple(sorted(hand)) for hand in hands), given.next_card
        )  # fmt: skip
    assert game.is_terminal


def test_any_sequence_of_whole_numbers_will_do() -> None:
    plain = Game(BLUKE, 1, deals=[FIRST, SECOND])
    given: Any = (
        Deal(np.array(FIRST.hands), np.int64(FIRST.turned_up), np.int8(1)),  # type: ignore[arg-type]
        Deal([[card] for (card,) in SECOND.hands], dealer=2),
    )
    assert Game(BLUKE, 1, deals=given) == plain
    assert Game(BLUKE, 1, deals=[Deal([hand[::-1] for hand in FIRST.hands], FIRST.turned_up, 1), SECOND]) == plain
    assert Game.from_bytes(Game(BLUKE, 1, deals=given).to_bytes()) == plain


def test_without_a_dealer_the_seed_chooses_one() -> None:
    dealers = {Game(BLUKE, seed, deals=[deal("2C 3C/4C 5C/6C 7C", "AS"), SECOND]).dealer for seed in range(40)}
    assert dealers == {0, 1, 2}


WRONG: list[tuple[Rules, Any, str]] = [
    (BLUKE, FIRST, "deals is Deal(hands="),
    (BLUKE, [FIRST, None], "deals is [Deal(hands="),
    (BLUKE, 5, "deals is 5, but it must be a list of Deal objects, one for each hand of the schedule"),
    (BLUKE, [FIRST], "1 deals were given, but the schedule has 2 hands: give one for each"),
    (BLUKE, [FIRST, SECOND, SECOND], "3 deals were given, but the schedule has 2 hands: give one for each"),
    (BLUKE, [SECOND, FIRST], "deal 0 has hands of 1, 1, 1 cards, but 3 hands of 2 are due"),
    (BLUKE, [FIRST, deal("2C/3C")], "deal 1 has hands of 1, 1 cards, but 3 hands of 1 are due"),
    (BLUKE, [FIRST, Deal([1, 2, 3])], "the hands of deal 1 are [1, 2, 3], but they must be a list of card ids by seat"),  # type: ignore[list-item]
    (BLUKE, [FIRST, Deal(None)], "the hands of deal 1 are None, but they must be a list of card ids by seat"),  # type: ignore[arg-type]
    (BLUKE, [deal("2C 3C/4C 5C/6C 7C"), SECOND], "deal 0 turns up None, but a card must be turned up in this hand"),
    (BLUKE, [FIRST, deal("2C/3C/4C", "5C")], "deal 1 turns up 3, but no card is turned up in this hand"),
    (BLUKE, [FIRST, deal("2C/3C/2C")], "deal 1 deals 2C twice, but there is one of each card"),
    (BLUKE, [deal("2C 3C/4C 5C/6C 7C", "7C"), SECOND], "deal 0 deals 7C twice, but there is one of each card"),
    *(
        (
            BLUKE,
            [FIRST, Deal([[0], [1], [card]])],
            f"a card of deal 1 is {card!r}, but it must be a whole number from",
        )
        for card in (-1, 54, 2.0, "AS", True, None)
    ),
    (
        BLUKE,
        [Deal(FIRST.hands, 54), SECOND],
        "the turned-up card of deal 0 is 54, but it must be a whole number from 0 to 53",
    ),
    *(
        (
            BLUKE,
            [Deal(FIRST.hands, 51, dealer), SECOND],
            f"the dealer of deal 0 is {dealer!r}, but it must be a whole number",
        )
        for dealer in (-1, 3, 1.0, "1", True)
    ),
    (
        BLUKE,
        [FIRST, deal("2C/3C/4C", dealer=0)],
        "deal 1 is dealt by seat 0, but the deal passes to the left from seat 1",
    ),
    (
        BLUKE,
        [deal("2C 3C/4C 5C/6C 7C", "AS"), deal("2C/3C/4C", dealer=2)],
        "deal 1 names a dealer, but deal 0 does not: name the first dealer there",
    ),
    # The card drawn in exchange.
    (
        BLUKE,
        [deal("2C 3C/4C 5C/6C LB", "HB", 1, "9D"), SECOND],
        "the next card of deal 0 is 20, but no Blooper is given back in this hand",
    ),
    *(
        (BACK_ALLEY, [wrong], f"the next card of deal 0 is {drawn}, but {due}")
        for wrong, drawn, due in (
            (deal("LB/3C/4C/5C", "HB", 0), None, "a card is due for the Blooper that is given back"),
            (deal("2C/HB/4C/5C", "LB", 0), None, "a card is due for the Blooper that is given back"),
            (deal("2C/3C/4C/5C", "HB", 0, "9D"), 20, "no Blooper is given back in this hand"),
            (deal("2C/3C/4C/5C", "9S", 0, "9D"), 20, "no Blooper is given back in this hand"),
            (deal("LB/3C/HB/5C", "9S", 0, "9D"), 20, "no Blooper is given back in this hand"),
        )
    ),
    *(
        (BACK_ALLEY, [deal("LB/3C/4C/5C", "HB", 0, card)], f"deal 0 deals {card} twice, but there is one of each card")
        for card in ("3C", "LB", "HB")
    ),
    *(
        (
            BACK_ALLEY,
            [Deal(EXCHANGE.hands, 53, 0, card)],
            f"the next card of deal 0 is {card!r}, but it must be a whole number",
        )  # type: ignore[arg-type]
        for card in (-1, 54, 9.0, "9D", True)
    ),
]


@pytest.mark.parametrize(("rules", "deals", "sentence"), WRONG)
def test_deals_that_cannot_be_are_refused_in_a_sentence(rules: Rules, deals: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as refused:
        Game(rules, 1, deals=deals)
    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)


def test_the_right_deals_beside_the_wrong_ones_are_taken() -> None:
    assert Game(BLUKE, 1, deals=[FIRST, SECOND]).hands[0] == parse_cards("2C 3C")
    game = Game(BACK_ALLEY, 1, deals=[EXCHANGE])
    assert (game.hands[0], game.exchanged, game.trump) == (parse_cards("9D"), 0, None)

"""What docs/rules.md says of following suit: the seven cases with Blukes one by one, trump leads, the option."""

from collections.abc import Sequence
from typing import Any

import pytest
from tables import bid, play, start

from bluke_env.cards import card_text, parse_cards

TRUMP = "9H"
NO_TRUMP = [None, "LB", "HB"]
"""A hand that is scheduled so, or one in which a Bluke is turned up."""


def texts(cards: Sequence[int]) -> str:
    return " ".join(map(card_text, cards))


def may_play(hand: str, lead: str, turned_up: str | None, **options: Any) -> str:
    """The cards of a hand that may be played second and, after another suit's card, third to a trick."""
    size = len(hand.split())
    taken = {*hand.split(), lead, turned_up}
    spare = [f"{rank}{suit}" for suit in "DC" for rank in "23456789TJQKA" if f"{rank}{suit}" not in taken]
    leader, between = [lead, *spare[: size - 1]], spare[size - 1 : 2 * size - 1]
    second = start([" ".join(leader), hand], turned_up, **options)
    third = start([" ".join(leader), " ".join(between), hand], turned_up, **options)
    bid(second, 1, 1)
    bid(third, 1, 1, 1)
    play(second, lead)
    play(third, f"{lead} {between[0]}")
    assert second.legal_actions() == third.legal_actions()
    for card in second.legal_actions():
        played = second.clone()
        played.apply_action(card)
        assert card not in played.hands[1]
    return texts(second.legal_actions())


def in_order(cards: str) -> str:
    return texts(sorted(parse_cards(cards)))


# The seven cases.


@pytest.mark.parametrize(("hand", "expected"), [("2S 3S AH", "2S 3S"), ("2S AH LB", "2S LB"), ("2S LB HB", "2S LB HB")])
def test_1_suit_led_held_with_trump_it_must_be_followed_unless_by_a_bluke(hand: str, expected: str) -> None:
    assert may_play(hand, "KS", TRUMP) == expected


@pytest.mark.parametrize("turned_up", NO_TRUMP)
def test_2_suit_led_held_at_no_trump_it_must_be_followed_unless_by_a_bluke(turned_up: str | None) -> None:
    bluke = "HB" if turned_up == "LB" else "LB"
    assert may_play("2S 3S AH", "KS", turned_up) == "2S 3S"
    assert may_play(f"2S AH {bluke}", "KS", turned_up) == f"2S {bluke}"


@pytest.mark.parametrize("hand", ["AH 3C 4D", "AH 3C LB", "AH LB HB", "3C 4D 5C"])
def test_3_suit_led_not_held_with_trump_anything_may_be_played(hand: str) -> None:
    """Neither a trump nor a Bluke is called for."""
    assert may_play(hand, "KS", TRUMP) == in_order(hand)


@pytest.mark.parametrize("turned_up", NO_TRUMP)
def test_4_suit_led_not_held_at_no_trump_anything_may_be_played(turned_up: str | None) -> None:
    bluke = "HB" if turned_up == "LB" else "LB"
    for hand in ("AH 3C 4D", f"AH 3C {bluke}"):
        assert may_play(hand, "KS", turned_up) == in_order(hand)


@pytest.mark.parametrize(("lead", "other"), [("LB", "HB"), ("HB", "LB")])
def test_5_a_bluke_led_with_trump_anything_may_be_played(lead: str, other: str) -> None:
    for hand in ("2S AH 3C", f"AH KH {other}", f"2S 3C {other}"):
        assert may_play(hand, lead, TRUMP) == in_order(hand)


@pytest.mark.parametrize(("lead", "turned_up"), [("LB", None), ("HB", None), ("LB", "HB"), ("HB", "LB")])
def test_6_a_bluke_led_at_no_trump_anything_may_be_played(lead: str, turned_up: str | None) -> None:
    assert may_play("2S AH 3C", lead, turned_up) == in_order("2S AH 3C")


@pytest.mark.parametrize("turned_up", [TRUMP, None])
@pytest.mark.parametrize("lead", ["KS", "KH"])
def test_7_a_hand_of_blukes_only_may_play_either(lead: str, turned_up: str | None) -> None:
    assert may_play("LB HB", lead, turned_up) == "LB HB"
    assert may_play("LB", lead, turned_up) == "LB"
    assert may_play("LB", "HB", turned_up) == "LB"


# Trump led, and who leads.


def test_a_trump_lead_is_followed_like_any_other_suit() -> None:
    assert may_play("2S 3H", "KH", TRUMP) == "3H"
    assert may_play("2S 3H LB", "KH", TRUMP) == "3H LB"
    assert may_play("2S 3C LB", "KH", TRUMP) == in_order("2S 3C LB")


@pytest.mark.parametrize("turned_up", [TRUMP, None])
def test_any_card_may_be_led(turned_up: str | None) -> None:
    hand = "2S AH LB HB"
    game = start([hand, "2C 3C 4C 5C"], turned_up)
    bid(game, 1, 1)
    assert texts(game.legal_actions()) == in_order(hand)


def test_what_is_asked_for_is_the_first_card_of_the_trick_whatever_follows() -> None:
    game = start(["KS 2C", "AH 3C", "2S 4H", "LB 3S"], "9H")
    bid(game, 1, 1, 1, 1)
    play(game, "KS AH")
    assert texts(game.legal_actions()) == "2S"
    play(game, "2S")
    assert texts(game.legal_actions()) == "3S LB"


# The choice and its option.


def test_choice_a_bluke_lead_asks_for_no_suit() -> None:
    game = start(["LB 2S", "AH 3C", "2H 4D"], "9H")
    bid(game, 1, 1, 1)
    play(game, "LB")
    assert texts(game.legal_actions()) == "3C AH"
    play(game, "3C")
    assert texts(game.legal_actions()) == "4D 2H"


def test_option_bluke_lead_trump_asks_for_trumps() -> None:
    game = start(["LB 2S", "AH 3C", "HB 2H", "3S 4D", "3H 5D"], "9H", bluke_lead="trump")
    bid(game, 1, 1, 1, 1, 1)
    for card, legal in (("LB", "AH"), ("AH", "2H HB"), ("2H", "4D 3S"), ("3S", "3H")):
        play(game, card)
        assert texts(game.legal_actions()) == legal


@pytest.mark.parametrize(("lead", "turned_up"), [("LB", None), ("HB", None), ("LB", "HB"), ("HB", "LB")])
def test_option_bluke_lead_trump_asks_for_nothing_at_no_trump(lead: str, turned_up: str | None) -> None:
    assert may_play("2S AH 3C", lead, turned_up, bluke_lead="trump") == in_order("2S AH 3C")


def test_option_bluke_lead_trump_changes_nothing_where_a_suit_is_led() -> None:
    for hand, expected in (("2S AH LB", "2S LB"), ("AH 3C LB", in_order("AH 3C LB"))):
        assert may_play(hand, "KS", TRUMP, bluke_lead="trump") == expected

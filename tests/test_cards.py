"""Card ids, their text, and sets of cards as masks."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bluke_env.cards import (
    BLUKES,
    FULL_PACK,
    card_text,
    cards_of,
    mask_of,
    parse_card,
    parse_cards,
    suit_of,
)

PACK = [rank + suit for suit in "CDHS" for rank in "23456789TJQKA"] + ["LB", "HB"]


def test_ids_and_texts_are_those_of_the_rules_page() -> None:
    assert [card_text(card) for card in range(54)] == PACK
    assert [parse_card(text) for text in PACK] == list(range(54))
    assert [parse_card(text) for text in ("2C", "AC", "2D", "TH", "AS", "LB", "HB")] == [0, 12, 13, 34, 51, 52, 53]


def test_suits() -> None:
    assert [suit_of(card) for card in range(54)] == [suit for suit in range(4) for _ in range(13)] + [None, None]


@pytest.mark.parametrize("card", [-1, 54, 1000])
def test_ids_that_do_not_exist_are_refused(card: int) -> None:
    with pytest.raises(ValueError, match=rf"^card {card} does not exist: card ids run from 0 to 53$"):
        card_text(card)


@pytest.mark.parametrize(
    "text", ["", "A", "as", "1S", "10S", "SA", "AS ", "BL", "XX", None, 5, b"AS", ["AS"], ("A", "S")]
)
def test_texts_that_name_no_card_are_refused(text: Any) -> None:
    with pytest.raises(ValueError, match=r" is no card: write a rank of 23456789TJQKA and a suit of CDHS, or LB or HB"):
        parse_card(text)


def test_several_cards_keep_their_order() -> None:
    assert parse_cards("HB 2C  AS") == (53, 0, 51)
    assert parse_cards("") == ()
    with pytest.raises(ValueError, match="'1S' is no card"):
        parse_cards("2C 1S")


@given(st.sets(st.integers(0, 53)))
def test_masks_hold_sets_of_cards(cards: set[int]) -> None:
    mask = mask_of(cards)
    assert mask == sum(1 << card for card in cards)
    assert cards_of(mask) == tuple(sorted(cards))


def test_masks_of_the_pack_and_the_blukes() -> None:
    assert cards_of(FULL_PACK) == tuple(range(54))
    assert cards_of(BLUKES) == (52, 53)

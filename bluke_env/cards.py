"""Card ids, suits and text.

A card is `13 * suit + rank`: suits 0..3 are clubs, diamonds, hearts and spades, ranks 0 (two) to 12 (ace).
The two jokers belong to no suit: 52 is the Lo Bluke, 53 the Hi Bluke. A set of cards is an integer mask with
bit `card` set.
"""

from __future__ import annotations

from collections.abc import Iterable

NUM_CARDS = 54
NUM_SUITS = 4
NUM_RANKS = 13
LO_BLUKE = 52
HI_BLUKE = 53
FULL_PACK = (1 << NUM_CARDS) - 1
BLUKES = (1 << LO_BLUKE) | (1 << HI_BLUKE)

RANKS = "23456789TJQKA"
SUITS = "CDHS"
SUIT_SYMBOLS = "♣♦♥♠"
SUIT_NAMES = ("clubs", "diamonds", "hearts", "spades")

_TEXTS = (*(rank + suit for suit in SUITS for rank in RANKS), "LB", "HB")
_IDS = {text: card for card, text in enumerate(_TEXTS)}


def card_text(card: int) -> str:
    """Returns the two-letter text of a card id, for example `AS`, `TD` or `HB`."""
    if not 0 <= card < NUM_CARDS:
        raise ValueError(f"card {card!r} does not exist: card ids run from 0 to {NUM_CARDS - 1}")
    return _TEXTS[card]


def parse_card(text: str) -> int:
    """Returns the card id of a text such as `AS`, `TD`, `LB` or `HB`.

    Raises:
        ValueError: The text names no card.
    """
    try:
        return _IDS[text]
    except (KeyError, TypeError):
        raise ValueError(
            f"{text!r} is no card: write a rank of {RANKS} and a suit of {SUITS}, or LB or HB for a Bluke"
        ) from None


def parse_cards(text: str) -> tuple[int, ...]:
    """Returns the card ids of texts separated by spaces, in the order written."""
    return tuple(parse_card(word) for word in text.split())


def suit_of(card: int) -> int | None:
    """Returns the suit 0..3 of a card id, or None for a Bluke."""
    return None if card >= LO_BLUKE else card // NUM_RANKS


def cards_of(mask: int) -> tuple[int, ...]:
    """Returns the card ids of a mask, ascending."""
    mask = int(mask)
    return tuple(card for card in range(NUM_CARDS) if mask >> card & 1)


def mask_of(cards: Iterable[int]) -> int:
    """Returns the mask of a collection of card ids."""
    mask = 0
    for card in cards:
        mask |= 1 << card
    return mask

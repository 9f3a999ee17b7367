"""Given deals, for duplicates and tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bluke_env.cards import HI_BLUKE, LO_BLUKE, NUM_CARDS, card_text
from bluke_env.errors import checked_index
from bluke_env.rules import Rules


@dataclass(frozen=True)
class Deal:
    """A given deal of one hand.

    Attributes:
        hands: By seat, the card ids dealt.
        turned_up: The card turned up for trump, None where the hand is played without.
        dealer: The dealer's seat; needed for the first hand only, since the deal then passes to the left.
        next_card: In Back Alley, where a Blooper is turned up and the other one was dealt, the card that its holder
            takes for it; None otherwise.
    """

    hands: Sequence[Sequence[int]]
    turned_up: int | None = None
    dealer: int | None = None
    next_card: int | None = None


def checked_deals(rules: Rules, deals: Any) -> tuple[Deal, ...]:
    """Returns the deals of a match with tuples for hands.

    Raises:
        ValueError: They are no proper deals for the schedule; the sentence says which and why.
    """
    if not isinstance(deals, Sequence) or not all(isinstance(deal, Deal) for deal in deals):
        raise ValueError(
            f"deals is {deals!r}, but it must be a list of Deal objects, one for each hand of the schedule"
        )
    if len(deals) != rules.num_hands:
        raise ValueError(
            f"{len(deals)} deals were given, but the schedule has {rules.num_hands} hands: give one for each"
        )
    checked = tuple(_checked_deal(rules, number, deal) for number, deal in enumerate(deals))
    for number, deal in enumerate(checked):
        first = checked[0].dealer
        if deal.dealer is None:
            continue
        if first is None:
            raise ValueError(f"deal {number} names a dealer, but deal 0 does not: name the first dealer there")
        if deal.dealer != (first + number) % rules.num_players:
            raise ValueError(
                f"deal {number} is dealt by seat {deal.dealer}, but the deal passes to the left from seat {first} in "
                f"deal 0, to seat {(first + number) % rules.num_players}: leave out all dealers but the first"
            )
    return checked


def _checked_deal(rules: Rules, number: int, deal: Deal) -> Deal:
    where, planned = f"deal {number}", rules.schedule[number]
    try:
        hands = tuple(tuple(hand) for hand in deal.hands)
    except TypeError:
        raise ValueError(
            f"the hands of {where} are {deal.hands!r}, but they must be a list of card ids by seat"
        ) from None
    if len(hands) != rules.num_players or any(len(hand) != planned.cards for hand in hands):
        sizes = ", ".join(str(len(hand)) for hand in hands)
        raise ValueError(
            f"{where} has hands of {sizes} cards, but {rules.num_players} hands of {planned.cards} are due"
        )
    if (deal.turned_up is None) != planned.no_trump:
        due = "no card is turned up in this hand" if planned.no_trump else "a card must be turned up in this hand"
        raise ValueError(f"{where} turns up {deal.turned_up!r}, but {due}")
    hands = tuple(tuple(sorted(_checked_card(rules, f"a card of {where}", card) for card in hand)) for hand in hands)
    dealt = [card for hand in hands for card in hand]
    turned_up, next_card, dealer = deal.turned_up, deal.next_card, deal.dealer
    if turned_up is not None:
        turned_up = _checked_card(rules, f"the turned-up card of {where}", turned_up)
    if next_card is not None:
        next_card = _checked_card(rules, f"the next card of {where}", next_card)
    exchanged = rules.teams and turned_up is not None and LO_BLUKE + HI_BLUKE - turned_up in dealt
    if exchanged != (next_card is not None):
        due = (
            "a card is due for the Blooper that is given back" if exchanged else "no Blooper is given back in this hand"
        )
        raise ValueError(f"the next card of {where} is {next_card!r}, but {due}")
    cards = [*dealt, *(card for card in (turned_up, next_card) if card is not None)]
    if len(set(cards)) != len(cards):
        twice = next(card for card in cards if cards.count(card) > 1)
        raise ValueError(f"{where} deals {card_text(twice)} twice, but there is one of each card")
    if dealer is not None:
        dealer = checked_index(f"the dealer of {where}", dealer, rules.num_players)
    return Deal(hands, turned_up, dealer, next_card)


def _checked_card(rules: Rules, name: str, card: Any) -> int:
    card = checked_index(name, card, NUM_CARDS)
    if card not in rules.cards:
        raise ValueError(
            f"{name} is {card_text(card)}, but the pack has {rules.num_suits} suits of {rules.num_ranks} ranks and the "
            f"Blukes: {' '.join(map(card_text, rules.cards))}"
        )
    return card

"""Given deals, for duplicates and tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bluke_env.actions import action_text
from bluke_env.cards import NUM_CARDS
from bluke_env.errors import checked_index
from bluke_env.rules import Rules


@dataclass(frozen=True)
class Deal:
    """A given deal of one hand.

    Attributes:
        hands: By seat, the card ids dealt.
        turned_up: The card turned up for trump, None where the hand is played without.
        dealer: The dealer's seat; needed for the first hand only, since the deal then passes to the left.
    """

    hands: Sequence[Sequence[int]]
    turned_up: int | None = None
    dealer: int | None = None


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
    hands = tuple(tuple(checked_index(f"a card of {where}", card, NUM_CARDS) for card in hand) for hand in hands)
    cards = [card for hand in hands for card in hand]
    turned_up, dealer = deal.turned_up, deal.dealer
    if turned_up is not None:
        turned_up = checked_index(f"the turned-up card of {where}", turned_up, NUM_CARDS)
        cards.append(turned_up)
    if len(set(cards)) != len(cards):
        twice = next(card for card in cards if cards.count(card) > 1)
        raise ValueError(f"{where} deals {action_text(twice)} twice, but there is one of each card")
    if dealer is not None:
        dealer = checked_index(f"the dealer of {where}", dealer, rules.num_players)
    return Deal(hands, turned_up, dealer)

"""What the formula of the rule bot says of every card that may be played: features of actions for a network.

A network sees cards as 54 numbers of no meaning and takes long to learn what beats what. These features say it, from
nothing but what the seat knows, and the network learns how much each counts in the situation at hand.
"""

from __future__ import annotations

import numpy as np

from bluke_env import Rules
from bluke_env.bots.rule_kernels import bluke_worth, card_worth, facts_of, hidden_cards, suit_facts
from bluke_env.cards import BLUKES, NUM_CARDS, NUM_SUITS
from bluke_env.engine.bits import lowest, popcount
from bluke_env.engine.encode import above
from bluke_env.engine.jit import inlined, kernel
from bluke_env.engine.play import legal_cards, suit_mask
from bluke_env.engine.state import PLAY
from bluke_env.engine.suits import relabel_card

CARD_FEATURES = ("takes", "keeps", "higher", "lower")
"""By the rule bot's formula the chance to take the trick, and what the card is worth later, both in tricks; then how
many unseen cards of its suit are higher and how many are lower, in units of `CARDS_UNIT`."""

WIDTH = len(CARD_FEATURES) * NUM_CARDS

UNIT = 100.0
"""What stands for 1 in int8."""

CARDS_UNIT = 12.5
"""How many cards are 1."""


def card_features(rules: Rules, games: np.ndarray, orders: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Returns the features of all legal cards for the seats to act, int8 [m, WIDTH]; zero for others and for bids.

    Args:
        rules: The rules of all games.
        games: `GAME` records [n]; the other seats' hands are not read.
        orders: int16 [n], the orders of the suits that the seats see; the features stand at the labels of the cards.
        rows: Which of the games, int64 [m].
    """
    out = np.zeros((len(rows), WIDTH), np.int8)
    _write(rules.record(), games, orders, rows, out)
    return out


@kernel
def _write(rules, games, orders, rows, out):
    for index in range(len(rows)):
        row = rows[index]
        write_card_features(rules[0], games[row], np.int64(orders[row]), out[index])


@inlined
def write_card_features(rules, game, order, out):
    """Writes the features of the legal cards of the seat to act; others stay as they are."""
    if game.phase != PLAY:
        return
    seats, legal = np.int64(rules.num_players), legal_cards(rules, game)
    facts = facts_of(rules, game, seats, hidden_cards(rules, game, seats), legal)
    for suit in range(NUM_SUITS):
        cards, of_suit = legal & suit_mask(suit), suit_facts(facts, suit)
        while cards:
            card: int = lowest(cards)
            cards &= cards - 1
            _put(card, *card_worth(facts, of_suit, card), of_suit.theirs, order, out)
    cards = legal & BLUKES
    while cards:
        card = lowest(cards)
        cards &= cards - 1
        _put(card, *bluke_worth(facts, card), facts.unseen & BLUKES, order, out)


@inlined
def _put(card, takes, keeps, theirs, order, out):
    label = relabel_card(card, order)
    higher: int = popcount(theirs & above(card))
    out[label] = np.int8(UNIT * takes)
    out[NUM_CARDS + label] = np.int8(UNIT * keeps)
    out[2 * NUM_CARDS + label] = np.int8(UNIT / CARDS_UNIT * higher)
    out[3 * NUM_CARDS + label] = np.int8(UNIT / CARDS_UNIT * (popcount(theirs) - higher))

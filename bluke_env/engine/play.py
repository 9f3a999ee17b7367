"""Playing cards: what may be played, who wins the trick, who leads the next."""

from __future__ import annotations

import numpy as np

from bluke_env.cards import BLUKES, LO_BLUKE, NUM_RANKS
from bluke_env.engine.back_alley import note_lead, note_off_suit, team_cards
from bluke_env.engine.jit import inlined
from bluke_env.engine.state import FREE, NONE

_SUIT = np.int64((1 << NUM_RANKS) - 1)


@inlined
def suit_mask(suit):
    """Returns the mask of all cards of a suit 0..3."""
    return _SUIT << np.int64(NUM_RANKS * suit)


@inlined
def legal_cards(rules, game):
    """Returns the mask of the cards that the seat to act may play."""
    return legal_cards_of(rules, game, np.int64(game.seat))


@inlined
def legal_cards_of(rules, game, seat):
    """Returns the mask of the cards that a seat may play if it is, or were, its turn."""
    if rules.teams:
        return team_cards(rules, game, seat)
    hand = game.hands[seat]
    led = np.int64(game.led)
    if 0 <= led < FREE:
        following = hand & suit_mask(led)
        if following:
            return following | (hand & BLUKES)
    return hand


@inlined
def asked_suit(rules, game, lead):
    """Returns the suit that a card led asks the others for, or FREE."""
    if lead < LO_BLUKE:
        return lead // NUM_RANKS
    if rules.bluke_lead_trump and game.trump != NONE:
        return np.int64(game.trump)
    return np.int64(FREE)


@inlined
def beats(card, best, trump):
    """Says whether a card takes a trick from the card winning it so far."""
    if card >= LO_BLUKE or best >= LO_BLUKE:
        return card > best
    suit = card // NUM_RANKS
    if suit == best // NUM_RANKS:
        return card > best
    return suit == trump


@inlined
def put_card(rules, game, card):
    """Plays a card of the seat to act and passes the turn.

    Returns:
        True if that ended the last trick of the hand.
    """
    seats = np.int64(rules.num_players)
    seat = np.int64(game.seat)
    bit = np.int64(1) << card
    game.hands[seat] &= ~bit
    game.played[seat] |= bit
    game.table |= bit
    game.order[game.num_played] = card
    game.num_played += 1
    if game.in_trick == 0:
        game.led = asked_suit(rules, game, card)
        game.best_card = card
        game.best_seat = seat
        if rules.teams:
            note_lead(rules, game, seat)
    else:
        suit = card // NUM_RANKS
        if suit != game.led and game.led < FREE:
            if rules.teams:
                note_off_suit(game, seat, suit)
            elif suit < FREE:
                game.voids[seat] |= np.int64(1) << np.int64(game.led)
        if beats(card, np.int64(game.best_card), np.int64(game.trump)):
            game.best_card = card
            game.best_seat = seat
    game.in_trick += 1
    if game.in_trick < seats:
        game.seat = (seat + 1) % seats
        return False
    return end_trick(game, seats)


@inlined
def end_trick(game, seats):
    """Gives the trick to its winner, who leads the next one; True if it was the last of the hand."""
    game.tricks[game.best_seat] += 1
    game.leader = game.best_seat
    game.seat = game.best_seat
    game.in_trick = 0
    game.table = 0
    game.led = NONE
    game.best_card = NONE
    game.best_seat = NONE
    return game.num_played == seats * game.hand_size

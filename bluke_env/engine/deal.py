"""Drawing for the first deal, shuffling, dealing and turning up a card."""

from __future__ import annotations

import numpy as np

from bluke_env.cards import BLUKES, LO_BLUKE, NUM_CARDS, NUM_RANKS
from bluke_env.engine.bits import copy_pack
from bluke_env.engine.jit import inlined, kernel, subroutine
from bluke_env.engine.random import bounded, game_key, stream
from bluke_env.engine.state import BID, NONE
from bluke_env.rules import MAX_PLAYERS

_DEALER_STREAM = 1 << 20
"""The stream of the draw for the first deal; hand h is dealt from stream h."""


@subroutine
def draw_dealer(rules, key, pack):
    """Every player draws a card and the highest deals; those tied for highest draw again among themselves.

    Args:
        rules: A `RULES` record.
        key: The game's key.
        pack: Scratch space for 54 cards (int8).

    Returns:
        The seat of the first dealer.
    """
    num_players = np.int64(rules.num_players)
    state = stream(key, _DEALER_STREAM)
    drawing = (1 << num_players) - 1
    while True:
        state = _fill(rules, pack, num_players, state)
        best, best_height = 0, -1
        for seat in range(num_players):
            if drawing >> seat & 1:
                height = _draw_height(pack[seat])
                if height > best_height:
                    best, best_height = 1 << seat, height
                elif height == best_height:
                    best |= 1 << seat
        if best & (best - 1) == 0:
            break
        drawing = best
    dealer = 0
    while best >> dealer != 1:
        dealer += 1
    return dealer


@inlined
def _draw_height(card):
    if card >= LO_BLUKE:
        return NUM_RANKS + card - LO_BLUKE
    return card % NUM_RANKS


@inlined
def _fill(rules, pack, count, state):
    """Puts `count` random cards of the pack in its first places (Fisher and Yates, from an ordered pack)."""
    num_cards = np.int64(rules.num_cards)
    copy_pack(rules.pack, pack)
    for place in range(count):
        pick, state = bounded(state, num_cards - place)
        pick += place
        card = pack[pick]
        pack[pick] = pack[place]
        pack[place] = card
    return state


@subroutine
def deal_hand(rules, game):
    """Deals the hand `game.hand_number` from its own stream and opens the bidding. The dealer is already set."""
    seats = np.int64(rules.num_players)
    size = np.int64(rules.hand_sizes[game.hand_number])
    no_trump = rules.no_trump[game.hand_number] != 0
    pack = game.order  # empty between hands, so it serves as the pack while dealing
    count = seats * size
    shown = 0 if no_trump else 2 if rules.teams else 1
    _fill(rules, pack, count + shown, stream(game.key, game.hand_number))
    place = 0
    for seat in range(seats):
        hand = 0
        for _ in range(size):
            hand |= 1 << np.int64(pack[place])
            place += 1
        game.hands[seat] = hand
    turned_up = np.int64(NONE if no_trump else pack[count])
    open_hand(rules, game, size, turned_up, np.int64(pack[count + 1]) if shown == 2 else np.int64(NONE))


@inlined
def exchange(rules, game, turned_up, next_card):
    """At a turned-up Blooper the holder of the other gives it back for the next card, so that none is in play."""
    game.exchanged = NONE
    game.drawn = NONE
    if rules.teams and turned_up >= LO_BLUKE:
        for seat in range(rules.num_players):
            if game.hands[seat] & BLUKES:
                game.hands[seat] = (game.hands[seat] & ~np.int64(BLUKES)) | (np.int64(1) << next_card)
                game.exchanged = seat
                game.drawn = next_card


@inlined
def open_hand(rules, game, size, turned_up, next_card):
    """Opens the bidding of a hand that has just been dealt."""
    seats = np.int64(rules.num_players)
    game.hand_size = size
    game.turned_up = turned_up
    game.trump = NONE if turned_up == NONE or turned_up >= LO_BLUKE else turned_up // NUM_RANKS
    game.phase = BID
    game.seat = (game.dealer + 1) % seats
    game.leader = game.seat
    game.num_played = 0
    game.in_trick = 0
    game.table = 0
    game.led = NONE
    game.best_card = NONE
    game.best_seat = NONE
    game.trump_broken = 0
    exchange(rules, game, turned_up, next_card)
    for seat in range(seats):
        game.played[seat] = 0
        game.bids[seat] = NONE
        game.tricks[seat] = 0
        game.voids[seat] = 0
    for place in range(NUM_CARDS):
        game.order[place] = NONE


@subroutine
def start_game(rules, game, key):
    """Starts a match. Whatever the record held before, equal matches have equal bytes."""
    for seat in range(MAX_PLAYERS):
        game.hands[seat] = 0
        game.scores[seat] = 0
        game.last_bids[seat] = 0
        game.last_tricks[seat] = 0
        game.last_dealt[seat] = 0
        game.last_points[seat] = 0
    for place in range(NUM_CARDS):
        game.last_order[place] = NONE
    game.last_number = NONE
    game.last_size = 0
    game.last_dealer = NONE
    game.last_trump = NONE
    game.last_turned_up = NONE
    game.last_exchanged = NONE
    game.last_drawn = NONE
    game.key = key
    game.dealer = draw_dealer(rules, key, game.order)
    game.hand_number = 0
    deal_hand(rules, game)


@kernel
def start_games(rules, games, seed, numbers):
    """Starts the matches `numbers` (uint64 [n]) of a seed (uint64) in zeroed records `games`."""
    for index in range(len(games)):
        start_game(rules[0], games[index], game_key(seed, numbers[index]))


@kernel
def set_deal(rules, games, index, hands, turned_up, next_card, dealer):
    """Replaces the deal of a hand about to be bid: hands (int64 masks [seats]), turned-up and next card, dealer."""
    game = games[index]
    for seat in range(len(hands)):
        game.hands[seat] = hands[seat]
    game.dealer = dealer
    open_hand(rules[0], game, np.int64(game.hand_size), turned_up, next_card)

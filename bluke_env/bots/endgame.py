"""The last tricks of a hand, solved exactly when all cards are known; compiled.

One more trick never scores less, whatever was bid and whatever tricks are worth. So a seat that wants the most points
may play for the most tricks, which settles most ties as well: a seat with nothing left to win or lose keeps tricks from
the others. Neither bids nor the tricks already taken change what is best; points are counted at the end only.

Two sides, two players or teams, are solved by alpha-beta (Knuth and Moore, "An analysis of alpha-beta pruning", 1975):
what one side takes the other loses, so the most tricks are also the best difference of points. More sides are solved by
max-n (Luckhardt and Irani, "An algorithmic solution of n-person games", 1986): every seat takes the most tricks for
itself. A paranoid search, in which all others play together against one seat, would prune more, but seats that score
for themselves do not give up their own tricks to stop somebody else: it makes nearly every bid look lost, and each seat
would need a search of its own. Where several cards give a seat the same tricks, max-n plays one that takes the trick so
far, if there is one, and the cheapest of these: a plain card before a trump, then the lower card id.

What is known of a position before a lead is kept in a table. Its key is exact: the cards still held say who holds them,
since hands only shrink. Cards of one hand with no card in play between them are worth the same, so only the lowest of
them is tried.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bluke_env.cards import BLUKES, NUM_CARDS, NUM_RANKS
from bluke_env.engine.bits import highest, lowest, popcount
from bluke_env.engine.encode import winning_cards
from bluke_env.engine.jit import inlined, subroutine
from bluke_env.engine.play import beats, legal_cards, put_card, suit_mask
from bluke_env.engine.random import GOLDEN
from bluke_env.engine.score import hand_points, standing_bid, standing_tricks
from bluke_env.engine.state import GAME, NONE

_PLACE_BITS = 10
_HASH_SHIFT = np.uint64(64 - _PLACE_BITS)

ENDGAME = np.dtype(
    [
        ("board", GAME),  # the position being searched
        ("trumps", np.int64),  # mask of the trump suit and the Blukes
        ("age", np.int64),  # counts the endgames solved; what was kept at another age is forgotten
        ("ages", np.int64, (1 << _PLACE_BITS,)),
        ("keys", np.int64, (1 << _PLACE_BITS,)),
        ("values", np.int64, (1 << _PLACE_BITS,)),
    ],
    align=True,
)
"""Scratch space of `endgame_points`: one record for each thread, zero at first."""


@subroutine
def endgame_points(rules, game, scratch, out):
    """Writes what every seat scores in a hand when all play the rest of it as well as they can, seeing all cards.

    The work grows steeply with the seats. Four tricks took 1 microsecond of two players, 13 of three, 75 of four, 11 of
    teams and 5000 of six; three tricks 6 of four and 60 of six; two tricks 10 of ten and 120 of fifteen.

    Args:
        rules: A `RULES` record.
        game: A `GAME` record in the play phase with all hands and up to 15 tricks left, the current one included;
            it is not changed.
        scratch: An `ENDGAME` record.
        out: int64 [15], written: the points of the seats that play; the other entries are left as they are.
    """
    seats, size, trump = np.int64(rules.num_players), np.int64(game.hand_size), np.int64(game.trump)
    scratch.board = game
    scratch.trumps = np.int64(BLUKES) if trump == NONE else BLUKES | suit_mask(trump)
    scratch.age += 1
    held = np.int64(0)
    for seat in range(seats):
        held |= game.hands[seat]
    if rules.teams or seats == 2:
        tricks_left: int = popcount(game.hands[game.seat])
        first = first_side_takes(rules, scratch, held, np.int64(0), tricks_left)
        shares = first | (tricks_left - first) << 4
    else:
        shares = all_take(rules, scratch, held)
    for seat in range(seats):
        taken = standing_tricks(rules, game, seat) + share(shares, seat & 1 if rules.teams else seat)
        out[seat] = hand_points(rules, size, standing_bid(rules, game, seat), taken)


@subroutine
def first_side_takes(rules, scratch, held, low, high):
    """Returns how many of the tricks left the side of seat 0 takes; its seats are the even ones.

    Args:
        rules: A `RULES` record.
        scratch: An `ENDGAME` record with the position in `board`.
        held: The mask of the cards in all hands.
        low: What this side is sure of already by playing differently before.
        high: What the other side can hold it to by playing differently before.

    Returns:
        The tricks if they lie between `low` and `high`. Otherwise a number not above `low` that they do not exceed, or
        one not below `high` that they reach.
    """
    board = scratch.board
    tricks_left: int = popcount(board.hands[board.seat])
    if tricks_left == 1:
        return np.int64(last_winner(rules, board) & 1 == 0)
    leads = board.in_trick == 0
    key = position_key(board, held)
    place = place_of(key)
    least, most = np.int64(0), tricks_left
    if leads and is_known(scratch, key, place):
        least, most = scratch.values[place] & 31, scratch.values[place] >> 5
    low, high = max(low, least), min(high, most)
    below, above = low, high
    turn = turn_of(rules, board, held)
    choices = turn.choices
    first = turn.seat & 1 == 0
    while choices and low < high:
        card = next_card(choices, turn.winning, scratch.trumps)
        choices &= ~(np.int64(1) << card)
        put_card(rules, board, card)
        gain = np.int64(board.in_trick == 0 and board.seat & 1 == 0)
        value = gain + first_side_takes(rules, scratch, held & ~(np.int64(1) << card), low - gain, high - gain)
        take_back(board, turn)
        if first:
            low = max(low, value)
        else:
            high = min(high, value)
    value = low if first else high
    if leads:
        keep(scratch, key, place, (value if value > below else least) | (value if value < above else most) << 5)
    return value


@subroutine
def all_take(rules, scratch, held):
    """Returns how many of the tricks left every seat takes, four bits for each; see `first_side_takes`."""
    board = scratch.board
    tricks_left: int = popcount(board.hands[board.seat])
    if tricks_left == 1:
        return np.int64(1) << 4 * last_winner(rules, board)
    leads = board.in_trick == 0
    key = position_key(board, held)
    place = place_of(key)
    if leads and is_known(scratch, key, place):
        return scratch.values[place]
    turn = turn_of(rules, board, held)
    choices = turn.choices
    most = tricks_left - np.int64(choices & turn.winning == 0)
    best, shares = np.int64(-1), np.int64(0)
    while choices and best < most:
        card = next_card(choices, turn.winning, scratch.trumps)
        choices &= ~(np.int64(1) << card)
        put_card(rules, board, card)
        taken = np.int64(1) << 4 * np.int64(board.seat) if board.in_trick == 0 else np.int64(0)
        taken += all_take(rules, scratch, held & ~(np.int64(1) << card))
        take_back(board, turn)
        if share(taken, turn.seat) > best:
            best, shares = share(taken, turn.seat), taken
    if leads:
        keep(scratch, key, place, shares)
    return shares


@inlined
def share(shares, side):
    """Returns a side's tricks."""
    return shares >> 4 * side & 15


@inlined
def last_winner(rules, board):
    """Returns who wins the last trick, in which nobody has a choice."""
    seats = np.int64(rules.num_players)
    seat, winner, best = np.int64(board.seat), np.int64(board.best_seat), np.int64(board.best_card)
    for _ in range(seats - board.in_trick):
        card: int = lowest(board.hands[seat])
        if best == NONE or beats(card, best, np.int64(board.trump)):
            winner, best = seat, card
        seat = seat + 1 if seat + 1 < seats else 0
    return winner


class Turn(NamedTuple):
    """What the seat to act may do, and what its card changes on the board.

    It changes more, but nothing that is read in this search before it is written again.
    """

    seat: np.int64
    hand: np.int64
    leader: np.int64
    led: np.int64
    best_card: np.int64
    best_seat: np.int64
    in_trick: np.int64
    trump_broken: np.int64
    choices: np.int64  # mask of the cards to try
    winning: np.int64  # mask of all cards that take the trick so far


@inlined
def turn_of(rules, board, held):
    """Returns the turn of the seat to act."""
    seat, best_card = np.int64(board.seat), np.int64(board.best_card)
    in_play, winning = held, np.int64(-1)
    if best_card != NONE:
        in_play |= np.int64(1) << best_card
        winning = winning_cards(best_card, np.int64(board.trump))
    choices = distinct(rules, legal_cards(rules, board), in_play)
    return Turn(
        seat, board.hands[seat], board.leader, board.led, best_card, board.best_seat, board.in_trick,
        board.trump_broken, choices, winning,
    )  # fmt: skip


@inlined
def take_back(board, turn):
    """Takes back the card played at a turn."""
    board.num_played -= 1
    board.seat = turn.seat
    board.hands[turn.seat] = turn.hand
    board.leader = turn.leader
    board.led = turn.led
    board.best_card = turn.best_card
    board.best_seat = turn.best_seat
    board.in_trick = turn.in_trick
    board.trump_broken = turn.trump_broken


@inlined
def distinct(rules, legal, in_play):
    """Returns the legal cards without those that have only such cards between them and a lower one."""
    choices = legal
    others = legal & (legal - 1)
    if rules.bluke_lead_high_low:
        others &= ~np.int64(BLUKES)
    while others:
        card: int = lowest(others)
        others &= others - 1
        below = highest(in_play & ((np.int64(1) << card) - 1))
        if (legal >> below) & 1 and below // NUM_RANKS == card // NUM_RANKS:
            choices &= ~(np.int64(1) << card)
    return choices


@inlined
def next_card(choices, winning, trumps):
    """Returns the card to try first: one that takes the trick so far if there is one, and the cheapest such."""
    cards = choices & winning if choices & winning else choices
    return lowest(cards & ~trumps if cards & ~trumps else cards)


@inlined
def position_key(board, held):
    """Returns a number that no other position before a lead has in the same endgame."""
    return held | np.int64(board.seat) << NUM_CARDS | np.int64(board.trump_broken) << NUM_CARDS + 4


@inlined
def place_of(key):
    """Returns the place of a key in the table."""
    return np.int64(np.uint64(key) * GOLDEN >> _HASH_SHIFT)


@inlined
def is_known(scratch, key, place):
    """Says whether the table holds a value of this key."""
    return scratch.ages[place] == scratch.age and scratch.keys[place] == key


@inlined
def keep(scratch, key, place, value):
    """Puts a value in the table, over whatever was there."""
    scratch.ages[place] = scratch.age
    scratch.keys[place] = key
    scratch.values[place] = value

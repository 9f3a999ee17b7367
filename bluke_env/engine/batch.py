"""Stepping many games at once; `bluke_env.batch` checks what comes in and owns the arrays."""

from __future__ import annotations

import numpy as np

from bluke_env.engine.bits import nth_set, popcount, zero
from bluke_env.engine.deal import start_game
from bluke_env.engine.encode import (
    columns_of,
    encode,
    encode_mask,
    encode_state,
    order_for,
    relabel_legal,
)
from bluke_env.engine.jit import kernel, subroutine
from bluke_env.engine.random import bounded, game_key
from bluke_env.engine.state import BID, NONE, OVER, PLAY
from bluke_env.engine.step import apply_bit, bid_action_of, bid_of, legal_bits
from bluke_env.engine.suits import real_card, relabel_card

SLOT = np.dtype(
    [
        ("number", np.uint64),  # which game of the seed is being played
        ("legal", np.int64),  # legal decisions of the seat to act, relabelled as it sees them
        ("order", np.int16),  # the order of the suits it sees
        ("phase", np.int8),
    ],
    align=True,
)
"""What `BatchGame` knows of a slot beside its game, out of reach of whoever writes into the arrays handed out."""


@subroutine
def present(rules, games, slots, index, canonical, layout, observations, masks, seats):
    """Writes the view of the seat to act of one game; all zero when the match is over."""
    game, slot = games[index], slots[index]
    seat = np.int64(game.seat)
    seats[index] = seat
    slot.phase = game.phase
    if seat == NONE:
        slot.legal = 0
        zero(observations, layout.size * index, layout.size)
        encode_mask(game.phase, 0, layout, masks, layout.num_actions * index)
        return
    order = order_for(game, seat, canonical)
    legal = relabel_legal(game, legal_bits(rules, game), order)
    slot.order = order
    slot.legal = legal
    encode(rules, game, seat, order, layout, observations, layout.size * index)
    encode_mask(game.phase, legal, layout, masks, layout.num_actions * index)


@kernel
def present_all(rules, games, slots, canonical, layout, observations, masks, seats):
    """Writes the view of the seat to act of every game; for the arrays see `step_all`."""
    for index in range(len(games)):
        present(rules[0], games, slots, index, canonical, layout[0], observations, masks, seats)


@kernel
def first_illegal(slots, layout, actions):
    """Returns the index of the first game whose action is illegal, -1 if all are legal.

    The action of a game that is over is not looked at.
    """
    for index in range(len(slots)):
        slot = slots[index]
        if slot.phase == OVER:
            continue
        bit = np.int64(actions[index])
        if slot.phase == BID:
            bit = bid_of(bit, layout[0].most)
        if bit < 0 or bit > 63 or not (slot.legal >> bit) & 1:
            return index
    return -1


@kernel
def step_all(
    rules,
    games,
    slots,
    actions,
    seed,
    stride,
    canonical,
    layout,
    observations,
    masks,
    seats,
    rewards,
    dones,
    finals,
):
    """Applies one legal action to every game that is not over and presents what follows.

    Args:
        rules: One `RULES` record.
        games: `GAME` records [n].
        slots: `SLOT` records [n].
        actions: Integer action ids [n], relabelled as the seats see them.
        seed: uint64, for the games that follow finished ones.
        stride: How far a slot's next game number lies ahead (uint64); 0 to leave finished games over.
        canonical: Whether seats see relabelled suits.
        layout: One `LAYOUT` record.
        observations: int8 [n * size], written: the rows one after the other.
        masks: int8 [n * actions], written, likewise.
        seats: int8 [n], written.
        rewards: int32 [n, players], written: points of a hand that ended, else 0.
        dones: bool [n], written: the match ended with this action.
        finals: int32 [n, players], written where `dones`: the final scores.
    """
    players = np.int64(rules[0].num_players)
    rewards[:, :] = 0
    dones[:] = False
    for index in range(len(games)):
        game, slot = games[index], slots[index]
        if slot.phase == OVER:
            continue
        action = np.int64(actions[index])
        bit = bid_of(action, layout[0].most) if slot.phase == BID else real_card(action, np.int64(slot.order))
        if apply_bit(rules[0], game, bit):
            for seat in range(players):
                rewards[index, seat] = game.last_points[seat]
            if game.phase == OVER:
                dones[index] = True
                for seat in range(players):
                    finals[index, seat] = game.scores[seat]
                if stride > 0:
                    slot.number += stride
                    start_game(rules[0], game, game_key(seed, slot.number))
        present(rules[0], games, slots, index, canonical, layout[0], observations, masks, seats)


@kernel
def states_all(rules, games, slots, layout, out):
    """Writes the perfect-information states of the seats to act into int8 [n * size], zero where a match is over."""
    width = layout[0].size + columns_of(layout[0]) * (layout[0].room - 1)
    for index in range(len(games)):
        game = games[index]
        if game.seat == NONE:
            zero(out, width * index, width)
        else:
            order = np.int64(slots[index].order)
            encode_state(rules[0], game, np.int64(game.seat), order, layout[0], out, width * index)


@kernel
def views_all(games, indices, out):
    """Copies games with all that the seat to act cannot know taken out.

    Args:
        games: `GAME` records.
        indices: Which games (int64 [m]).
        out: `GAME` records [m], written: the other seats' hands and the key of the deals are zero, and which card
            another seat drew is not said.
    """
    for row in range(len(indices)):
        out[row] = games[indices[row]]
        view = out[row]
        view.key = np.uint64(0)
        if view.exchanged != view.seat:
            view.drawn = NONE
        if view.last_exchanged != view.seat:
            view.last_drawn = NONE
        for seat in range(len(view.hands)):
            if seat != view.seat:
                view.hands[seat] = 0


@kernel
def relabelled_actions(rules, slots, indices, actions, layout, out):
    """Turns action ids [m] of the real cards of the games `indices` into those that the seats see."""
    for row in range(len(indices)):
        slot = slots[indices[row]]
        action = np.int64(actions[row])
        if slot.phase == PLAY:
            out[row] = relabel_card(action, np.int64(slot.order))
        else:
            out[row] = bid_action_of(bid_of(action, np.int64(rules[0].most_cards)), layout[0].most)


@kernel
def random_actions(slots, layout, state, out):
    """Draws a uniformly random legal action id for every game (the seat's own labels), 0 where the match is over.

    Args:
        slots: `SLOT` records [n].
        layout: One `LAYOUT` record.
        state: uint64 stream state.
        out: Integer array [n], written.

    Returns:
        The stream's next state.
    """
    for index in range(len(slots)):
        slot = slots[index]
        legal = np.int64(slot.legal)
        if legal == 0:
            out[index] = 0
            continue
        pick, state = bounded(state, popcount(legal))
        bit = nth_set(legal, pick)
        out[index] = bid_action_of(bit, layout[0].most) if slot.phase == BID else bit
    return state


@kernel
def encode_views(rules, views, canonical, layout, observations, masks, orders):
    """Writes what the seat to act of every view sees, and in which order of the suits (int16 [n]).

    The observations (int8 [n * size]) and masks (int8 [n * actions]) are flat, the rows one after the other.
    """
    for row in range(len(views)):
        view = views[row]
        seat = np.int64(view.seat)
        order = order_for(view, seat, canonical)
        orders[row] = order
        encode(rules[0], view, seat, order, layout[0], observations, layout[0].size * row)
        legal = relabel_legal(view, legal_bits(rules[0], view), order)
        encode_mask(view.phase, legal, layout[0], masks, layout[0].num_actions * row)


@kernel
def real_view_actions(rules, views, orders, layout, actions, out):
    """Turns action ids [n] as the seats of the views saw them into those of the rules and the real cards."""
    for row in range(len(views)):
        action = np.int64(actions[row])
        if views[row].phase == PLAY:
            out[row] = real_card(action, np.int64(orders[row]))
        else:
            out[row] = bid_action_of(bid_of(action, layout[0].most), np.int64(rules[0].most_cards))

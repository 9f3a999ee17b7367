"""Worlds, what other seats saw in them, and playouts, compiled; the choices in between are a network's.

Rows of choices are written one after the other into flat arrays, so that the network decides all of them in one call.
"""

from __future__ import annotations

import numpy as np

from agents.card_features import write_card_features
from bluke_env.bots.pimc_kernels import distinct_cards, stand_in
from bluke_env.bots.rule_kernels import hidden_cards
from bluke_env.bots.search import knowledge_stream
from bluke_env.engine.belief import draw_world, prepare
from bluke_env.engine.bid import make_bid
from bluke_env.engine.bits import lowest
from bluke_env.engine.encode import encode, encode_mask, order_for, relabel_legal
from bluke_env.engine.jit import inlined, kernel
from bluke_env.engine.play import put_card
from bluke_env.engine.random import stream
from bluke_env.engine.score import hand_points, standing_bid, standing_tricks
from bluke_env.engine.state import BID, NONE, PLAY
from bluke_env.engine.step import bid_action_of, bid_of, legal_bits
from bluke_env.engine.suits import real_card, relabel_card


@inlined
def write_choice(rules, game, layout, row, observations, masks, cards):
    """Writes what the seat to act sees and is told of its cards in row `row`; returns the order of its suits."""
    seat = np.int64(game.seat)
    order = order_for(game, seat, True)
    encode(rules, game, seat, order, layout, observations, layout.size * row)
    legal = relabel_legal(game, legal_bits(rules, game), order)
    encode_mask(game.phase, legal, layout, masks, layout.num_actions * row)
    cards[row] = 0
    write_card_features(rules, game, order, cards[row])
    return order


@kernel
def likely_cards(rules, views, orders, log_probs, least, actions, out):
    """Writes which cards are worth trying beside those that were chosen.

    Of cards that are worth the same only the lowest is.

    Args:
        rules: One `RULES` record.
        views: `GAME` records [n], playing.
        orders: int16 [n], the orders of the suits that the seats see.
        log_probs: float32 [n, actions], of the cards as they see them.
        least: The smallest log-probability of a card that is tried.
        actions: int64 [n], the cards that were chosen.
        out: int64 [n], written: masks of other cards.
    """
    seats = np.int64(rules[0].num_players)
    for row in range(len(views)):
        view = views[row]
        candidates = distinct_cards(rules[0], view, hidden_cards(rules[0], view, seats))
        out[row] = 0
        cards = legal_bits(rules[0], view)
        while cards:
            card: int = lowest(cards)
            cards &= cards - 1
            if log_probs[row, relabel_card(card, np.int64(orders[row]))] >= least:
                out[row] |= np.int64(1) << stand_in(card, candidates)
        out[row] &= ~(np.int64(1) << stand_in(actions[row], candidates))


@kernel
def draw_worlds(rules, views, seed, beliefs, table, worlds):
    """Draws worlds that agree with what the seats to act know.

    Each has a random stream of its own, hashed from the seed and from what the seat knows.

    Args:
        rules: One `RULES` record.
        views: `GAME` records [n].
        seed: uint64, the player's.
        beliefs: One `BELIEF` record of scratch space, as the table.
        table: float64 [TABLE_SIZE].
        worlds: `GAME` records [n * worlds of a view], written.
    """
    count = len(worlds) // len(views)
    for row in range(len(views)):
        view = views[row]
        prepare(rules[0], view, np.int64(view.seat), beliefs[0], table)
        start = knowledge_stream(view, np.int64(rules[0].num_players), seed)
        for number in range(count):
            at = row * count + number
            worlds[at] = view
            draw_world(beliefs[0], table, worlds[at], stream(start, number))


@inlined
def begin_hand(game, seats):
    """Takes a hand back to its first bid."""
    game.phase = BID
    game.seat = (game.dealer + 1) % seats
    game.leader = game.seat
    game.table = 0
    game.num_played = 0
    game.in_trick = 0
    game.led = NONE
    game.best_card = NONE
    game.best_seat = NONE
    game.trump_broken = 0
    for seat in range(seats):
        game.played[seat] = 0
        game.bids[seat] = NONE
        game.tricks[seat] = 0
        game.voids[seat] = 0


@inlined
def write_past(rules, game, worlds, first, last, did, layout, count, observations, masks, cards, labels, owners):
    """Writes the choice of a seat that did `did` at this point, in every world in which it had one."""
    seat = np.int64(game.seat)
    for at in range(first, last):
        game.hands[seat] = (worlds[at].hands[seat] | worlds[at].played[seat]) & ~game.played[seat]
        legal = legal_bits(rules, game)
        if legal & (legal - 1):
            order = write_choice(rules, game, layout, count, observations, masks, cards)
            labels[count] = bid_action_of(did, layout.most) if game.phase == BID else relabel_card(did, order)
            owners[count] = at
            count += 1
    return count


@kernel
def past_choices(rules, views, worlds, games, layout, observations, masks, cards, labels, owners):
    """Writes every choice that another seat has had in this hand as it looks in every world.

    Args:
        rules: One `RULES` record.
        views: `GAME` records [n].
        worlds: `GAME` records [n * worlds of a view].
        games: One `GAME` record of scratch space.
        layout: One `LAYOUT` record.
        observations: int8, flat, written: what the seats saw.
        masks: int8, flat, written.
        cards: int8 [rows, WIDTH], written: see `agents.card_features`.
        labels: int64, written: the actions that they chose, in their own suits and in the layout's numbering.
        owners: int64, written: the worlds.

    Returns:
        How many choices.
    """
    count, seats = 0, np.int64(rules[0].num_players)
    game = games[0]
    per_view = len(worlds) // len(views)
    for row in range(len(views)):
        view = views[row]
        first, last = row * per_view, (row + 1) * per_view
        games[0] = view
        begin_hand(game, seats)
        while game.phase == BID and view.bids[game.seat] != NONE:
            bid = np.int64(view.bids[game.seat])
            if game.seat != view.seat:
                count = write_past(
                    rules[0],
                    game,
                    worlds,
                    first,
                    last,
                    bid,
                    layout[0],
                    count,
                    observations,
                    masks,
                    cards,
                    labels,
                    owners,
                )
            make_bid(rules[0], game, bid)
        for place in range(view.num_played):
            card = np.int64(view.order[place])
            if game.seat != view.seat:
                count = write_past(
                    rules[0],
                    game,
                    worlds,
                    first,
                    last,
                    card,
                    layout[0],
                    count,
                    observations,
                    masks,
                    cards,
                    labels,
                    owners,
                )
            put_card(rules[0], game, card)
    return count


@kernel
def begin_playouts(rules, worlds, which, actions, games):
    """Copies the worlds `which` (int64 [m]) to the records `games` [m] and does there `actions` (int64 [m])."""
    for row in range(len(games)):
        games[row] = worlds[which[row]]
        game = games[row]
        if game.phase == BID:
            make_bid(rules[0], game, bid_of(actions[row], np.int64(rules[0].most_cards)))
        else:
            put_card(rules[0], game, actions[row])


@kernel
def next_choices(rules, games, rows, seats, layout, observations, masks, cards, orders, points):
    """Plays on to the next choice of every game, which is written, or to the end of its hand.

    Args:
        rules: One `RULES` record.
        games: `GAME` records [m].
        rows: int64 [k], the games to go on with; written from the start: those that wait for a choice.
        seats: int64 [m], whose points are asked for.
        layout: One `LAYOUT` record.
        observations: int8, flat, written.
        masks: int8, flat, written.
        cards: int8 [rows, WIDTH], written: see `agents.card_features`.
        orders: int64 [m], written: in which order the suits are seen.
        points: float64 [m], written where a hand has ended.

    Returns:
        How many games wait for a choice.
    """
    count = 0
    for row in rows:
        game, over = games[row], False
        while not over:
            legal = legal_bits(rules[0], game)
            if legal & (legal - 1):
                break
            if game.phase == BID:
                make_bid(rules[0], game, lowest(legal))
            else:
                over = put_card(rules[0], game, lowest(legal))
        if over:
            seat, size = seats[row], np.int64(game.hand_size)
            bid, tricks = standing_bid(rules[0], game, seat), standing_tricks(rules[0], game, seat)
            points[row] = hand_points(rules[0], size, bid, tricks)
        else:
            orders[count] = write_choice(rules[0], game, layout[0], count, observations, masks, cards)
            rows[count] = row
            count += 1
    return count


@kernel
def make_choices(rules, games, rows, layout, orders, labels):
    """Does in the games `rows` (int64 [k]) what was chosen there, int64 [k] in the labels of `next_choices`."""
    for at in range(len(rows)):
        game = games[rows[at]]
        if game.phase == PLAY:
            put_card(rules[0], game, real_card(labels[at], orders[at]))
        else:
            make_bid(rules[0], game, bid_of(labels[at], layout[0].most))

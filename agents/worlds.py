"""What cards make in likely worlds, if the own seat plays on by a small network and all others as rule bots."""

from __future__ import annotations

import numpy as np

from agents.playouts import PACKED, RULE, SCRATCH, Playouts, play_on
from bluke_env import Turn
from bluke_env.bots.inference_kernels import CHAIN, begin_chain, next_world
from bluke_env.bots.pimc_kernels import distinct_cards
from bluke_env.bots.rule_kernels import hidden_cards
from bluke_env.bots.search import knowledge_stream
from bluke_env.cards import NUM_CARDS
from bluke_env.engine.belief import BELIEF, TABLE_SIZE, prepare
from bluke_env.engine.bits import lowest
from bluke_env.engine.jit import kernel, subroutine
from bluke_env.engine.play import put_card
from bluke_env.engine.random import stream
from bluke_env.engine.score import standing_points
from bluke_env.engine.state import GAME
from bluke_env.engine.suits import relabel_card


def card_points(turn: Turn, orders: np.ndarray, worlds: int, seed: np.uint64, playouts: Playouts | None) -> np.ndarray:
    """Returns what every card makes for the seat that plays it, on average over the worlds, float64 [n, 54].

    A card stands where its seat sees it. Illegal cards have minus infinity, as have those that are worth the same as a
    lower one; where that leaves a single card nothing is played out, and it has 0.

    Args:
        turn: Decisions about cards; the other seats' hands are not read.
        orders: int16 [n], the orders of the suits that the seats see; see `Turn.encode`.
        worlds: How many, 1 or more.
        seed: The player's.
        playouts: By which the own seat plays on; with none it plays on as a rule bot too.
    """
    points = np.full((len(turn.views), NUM_CARDS), -np.inf)
    own, weights = (RULE, np.zeros((1, *PACKED), np.float32)) if playouts is None else (0, playouts.packed()[None])
    scratch = (
        np.zeros(2, GAME), np.zeros(1, BELIEF), np.zeros(TABLE_SIZE), np.zeros(NUM_CARDS, GAME), np.zeros(1, CHAIN),
        np.full(turn.rules.num_players, RULE), np.zeros(1, SCRATCH),
    )  # fmt: skip
    _play_out(turn.rules.record(), turn.views, orders, worlds, seed, own, weights, *scratch, points)
    return points


@kernel
def _play_out(
    rules, views, orders, worlds, seed, own, weights, games, beliefs, table, past, chains, styles, known, points
):
    seats, belief, chain = np.int64(rules[0].num_players), beliefs[0], chains[0]
    for row in range(len(views)):
        view, order = views[row], np.int64(orders[row])
        seat, hidden = np.int64(view.seat), hidden_cards(rules[0], view, seats)
        candidates = cards = distinct_cards(rules[0], view, hidden)
        while cards:
            card: int = lowest(cards)
            cards &= cards - 1
            points[row, relabel_card(card, order)] = 0.0
        if candidates & (candidates - 1) == 0:
            continue
        prepare(rules[0], view, seat, belief, table)
        begin_chain(rules[0], view, past, chain)
        games[0] = view
        styles[seat] = own
        start = knowledge_stream(view, seats, seed)
        for world in range(worlds):
            next_world(rules[0], view, belief, table, past, chain, games, world == 0, stream(start, world))
            cards = candidates
            while cards:
                card = lowest(cards)
                cards &= cards - 1
                made = _points_of(rules[0], games, card, hidden, styles, weights, known[0])
                points[row, relabel_card(card, order)] += made
        styles[seat] = RULE
        points[row] /= worlds


@subroutine
def _points_of(rules, games, card, hidden, styles, weights, known):
    """Returns what the seat to act makes in the world `games[0]` with a card; the hand is played out in `games[1]`."""
    games[1] = games[0]
    game = games[1]
    seat, seats = np.int64(game.seat), np.int64(rules.num_players)
    if not put_card(rules, game, card):
        play_on(rules, game, seats, hidden & ~(np.int64(1) << card), styles, weights, known)
    return standing_points(rules, game, seat)

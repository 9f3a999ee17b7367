"""Information-set Monte Carlo tree search with a single observer, compiled.

Cowling, Powley and Whitehouse, "Information Set Monte Carlo Tree Search", 2012 (SO-ISMCTS): one tree of what the
searching seat can see. Every simulation draws a world and walks down along cards that are legal in it; how much a card
is to be explored depends on the simulations in which it could have been played. Every seat wants its own points.
"""

from __future__ import annotations

import numpy as np

from bluke_env.bots.rule_kernels import best_bid, bid_stream, choose_card, hidden_cards, play_out, tally_tricks
from bluke_env.bots.search import knowledge_stream
from bluke_env.cards import NUM_CARDS
from bluke_env.engine.belief import draw_world, prepare
from bluke_env.engine.bits import lowest, nth_set, popcount
from bluke_env.engine.jit import inlined, kernel, subroutine
from bluke_env.engine.play import legal_cards, put_card
from bluke_env.engine.random import bounded, stream
from bluke_env.engine.score import standing_points
from bluke_env.engine.state import BID, NONE
from bluke_env.engine.step import bid_action_of
from bluke_env.rules import BOARD

NODE = np.dtype(
    [
        ("total", np.int64),  # points of the seat that plays the card, over all visits
        ("visits", np.int32),
        ("available", np.int32),  # simulations in which the card could have been played
        ("first", np.int32),  # child, or NONE
        ("next", np.int32),  # sibling, or NONE
        ("card", np.int8),
        ("seat", np.int8),  # that plays it
    ],
    align=True,
)
"""A card played after those on the way to it. Node 0 is the present, before any."""

SEARCH = np.dtype(
    [
        ("count", np.int64),  # nodes in use
        ("path", np.int64, (NUM_CARDS,)),  # the nodes of the present simulation
        ("tally", np.int64, (2, BOARD + 1)),  # see `tally_tricks`
    ],
    align=True,
)
"""What one decision needs beside the nodes."""


@inlined
def clear_tree(search, nodes):
    """Leaves nothing but the present."""
    search.count = 1
    nodes[0].first = NONE


@inlined
def open_node(search, nodes, parent, card, seat):
    """Adds a child to a node and returns its index."""
    index = search.count
    node = nodes[index]
    node.total = 0
    node.visits = 0
    node.available = 1
    node.first = NONE
    node.next = nodes[parent].first
    node.card = card
    node.seat = seat
    nodes[parent].first = index
    search.count += 1
    return index


@inlined
def most_promising(nodes, parent, legal, exploration):
    """Returns the legal child with the highest upper confidence bound, and the legal cards without a child.

    Counts the legal children as available.
    """
    choice, best, untried = np.int64(NONE), -np.inf, legal
    child = np.int64(nodes[parent].first)
    while child != NONE:
        node = nodes[child]
        bit = np.int64(1) << np.int64(node.card)
        if legal & bit:
            untried &= ~bit
            node.available += 1
            bound = node.total / node.visits + exploration * np.sqrt(np.log(np.float64(node.available)) / node.visits)
            if bound > best:
                choice, best = child, bound
        child = np.int64(node.next)
    return choice, untried


@inlined
def untried_card(rules, game, seats, hidden, untried, state):
    """Returns which of the cards without a node to try, the rule bot's first, and the stream's next state."""
    card = choose_card(rules, game, seats, hidden)
    if (untried >> card) & 1:
        return card, state
    pick, state = bounded(state, popcount(untried))
    return nth_set(untried, pick), state


@inlined
def simulate(rules, game, hidden, exploration, search, nodes, state):
    """Plays one world out, down the tree, one card beyond it and on by the rule bot, and counts what it brought."""
    seats = np.int64(rules.num_players)
    node, depth, over = np.int64(0), 0, False
    while not over:
        seat = np.int64(game.seat)
        node_before = node
        node, untried = most_promising(nodes, node_before, legal_cards(rules, game), exploration)
        if untried:
            card, state = untried_card(rules, game, seats, hidden, untried, state)
            node = open_node(search, nodes, node_before, card, seat)
        else:
            card = np.int64(nodes[node].card)
        search.path[depth] = node
        depth += 1
        hidden &= ~(np.int64(1) << card)
        over = put_card(rules, game, card)
        if untried and not over:
            play_out(rules, game, seats, hidden)
            over = True
    for place in range(depth):
        here = nodes[search.path[place]]
        here.visits += 1
        here.total += standing_points(rules, game, np.int64(here.seat))


@subroutine
def add_simulations(rules, view, first, last, exploration, seed, games, belief, table, search, nodes):
    """Runs the simulations `first` to `last` - 1; each has a random stream of its own."""
    seats = np.int64(rules.num_players)
    hidden = hidden_cards(rules, view, seats)
    prepare(rules, view, np.int64(view.seat), belief, table)
    start = knowledge_stream(view, seats, seed)
    games[0] = view
    for simulation in range(first, last):
        state = draw_world(belief, table, games[0], stream(start, simulation))
        games[1] = games[0]
        simulate(rules, games[1], hidden, exploration, search, nodes, state)


@inlined
def most_visited(nodes, otherwise):
    """Returns the card played most from the present, the better of equals, then the lower; `otherwise` for none."""
    choice, visits, mean = otherwise, np.int64(0), 0.0
    child = np.int64(nodes[0].first)
    while child != NONE:
        node = nodes[child]
        its_mean = node.total / node.visits
        better = its_mean > mean or (its_mean == mean and node.card < choice)
        if node.visits > visits or (node.visits == visits and better):
            choice, visits, mean = np.int64(node.card), np.int64(node.visits), its_mean
        child = np.int64(node.next)
    return choice


@kernel
def ismcts_actions(rules, views, first, last, exploration, seed, games, beliefs, table, searches, nodes, pack, out):
    """Chooses an action for every view.

    Args:
        rules: One `RULES` record.
        views: `GAME` records [n].
        first: The simulations `first` to `last` - 1 are run. Where `first` is not 0, `views` is one view, and those
            before were run in the call before.
        last: See `first`.
        exploration: Weight of the exploration term, in points.
        seed: uint64, the bot's.
        games: Two `GAME` records of scratch space, as all that follow but the last.
        beliefs: One `BELIEF` record.
        table: float64 [TABLE_SIZE].
        searches: One `SEARCH` record.
        nodes: `NODE` records, one more than there are simulations in all.
        pack: int8 [54].
        out: int64 [n], written: action ids.
    """
    seats, search = np.int64(rules[0].num_players), searches[0]
    for row in range(len(views)):
        view = views[row]
        if view.phase == BID:
            if first == 0:
                search.tally[:, :] = 0
            start = bid_stream(view, seats, seed)
            for world in range(first, last):
                games[0] = view
                tally_tricks(rules[0], games[0], seats, 1, stream(start, world), pack, search.tally)
            out[row] = bid_action_of(best_bid(rules[0], view, search.tally, 0.0), np.int64(rules[0].most_cards))
            continue
        if first == 0:
            clear_tree(search, nodes)
        legal = legal_cards(rules[0], view)
        if legal & (legal - 1) == 0:
            out[row] = lowest(legal)
            continue
        add_simulations(rules[0], view, first, last, exploration, seed, games, beliefs[0], table, search, nodes)
        out[row] = most_visited(nodes, choose_card(rules[0], view, seats, hidden_cards(rules[0], view, seats)))

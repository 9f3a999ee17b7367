"""Every hand of a small two-player game as a sequence form, and what is computed on it; compiled.

A *state* is all that a seat knows when it is to act: the dealer, the card turned up, the cards it was dealt and, in
order, the bids and the cards played. A *sequence* of a seat is a state and one of the actions there, hence all its own
decisions up to that one, since nothing is forgotten; sequences 0 and 1 are those of seats 0 and 1 before they decided
anything. A *leaf* is a hand before its last trick, in which nobody has a choice, with the last sequence of each seat.
Then the probability of a leaf is a product of three numbers, the chance of the deal and the *plan* of each seat at its
sequence, a plan being the product of the probabilities of all decisions in the sequence (von Stengel, "Efficient
computation of behavior strategies", 1996). Nothing below needs the tree itself.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.typed import Dict

from bluke_env.engine.bits import lowest, popcount
from bluke_env.engine.deal import set_deal
from bluke_env.engine.jit import inlined, kernel
from bluke_env.engine.random import GOLDEN, mix, stream
from bluke_env.engine.state import BID, NONE, OVER
from bluke_env.engine.step import apply_bit, legal_bits

MOST_ACTIONS = 8
"""Decisions that can be due before the last trick: two bids, and six cards in a hand of four."""

STATE = np.dtype(
    [
        ("key", np.int64),  # what the seat knows, as one number
        ("parent", np.int32),  # the seat's last sequence before
        ("first", np.int32),  # its first sequence; those of all actions follow one another
        ("deal", np.int32),  # a deal in which it comes about
        ("num_actions", np.int8),
        ("seat", np.int8),
        ("depth", np.int8),  # decisions of both seats before
        ("path", np.int8, (MOST_ACTIONS,)),  # these decisions, as the engine's bits
    ],
    align=True,
)
"""What is kept of a state. Every state comes after those that the same seat was in before."""

_NEW = -1


@inlined
def _place_of(rules, card):
    """Returns the place of a card in the pack, from 1."""
    return 1 + popcount(rules.pack_mask & ((np.int64(1) << card) - 1))


@inlined
def knowledge_key(rules, game, seat):
    """Returns all that a seat knows of a hand as one number: the digits are cards and bids in order.

    The first digit is not 0, so numbers of different length differ. They fit in 63 bits wherever the game is small
    enough to be walked (`bluke_env.evaluation.small_game.MOST_LEAVES`).
    """
    base = np.int64(rules.num_cards) + 2
    key = np.int64(1 + 2 * seat + game.dealer)
    key = key * base + (0 if game.turned_up == NONE else _place_of(rules, np.int64(game.turned_up)))
    cards = game.hands[seat] | game.played[seat]
    while cards:
        key = key * base + _place_of(rules, lowest(cards))
        cards &= cards - 1
    for place in range(1, 3):
        bid = np.int64(game.bids[(game.dealer + place) % 2])
        if bid != NONE:
            key = key * base + 1 + bid
    for place in range(game.num_played):
        key = key * base + _place_of(rules, np.int64(game.order[place]))
    return key


@inlined
def _add_state(rules, game, key, deal, depth, bits, parent, state, first, actions):
    """Writes a new state and its sequences from `first` on; returns the number of sequences so far."""
    legal = legal_bits(rules, game)
    state.key = key
    state.parent = parent
    state.first = first
    state.deal = deal
    state.num_actions = popcount(legal)
    state.seat = game.seat
    state.depth = depth
    for place in range(depth):
        state.path[place] = bits[place]
    while legal:
        actions[first] = lowest(legal)
        legal &= legal - 1
        first += 1
    return first


@inlined
def _play_out(rules, game):
    """Ends a hand in which nobody has a choice any more."""
    while game.phase != OVER:
        apply_bit(rules, game, lowest(legal_bits(rules, game)))


@kernel
def walk(rules, hands, turned_up, dealers, games, states, actions, leaves, points):
    """Plays every deal in every way and writes the sequence form.

    Args:
        rules: One `RULES` record.
        hands: int64 masks [deals, 2].
        turned_up: int8 [deals].
        dealers: int8 [deals].
        games: `GAME` records, one for each depth to the last trick and one beyond, the first started.
        states: `STATE` records, written.
        actions: int8 [sequences], written: the engine's bit of each sequence's last action.
        leaves: int32 [leaves, 2], written: by seat its last sequence.
        points: int16 [leaves, 2], written: what the seats score.

    Returns:
        The number of states, sequences and leaves.
    """
    last = len(games) - 2
    known = Dict.empty(types.int64, types.int64)
    num_states, num_sequences, num_leaves = 0, 2, 0
    left = np.zeros(last + 2, np.int64)  # by depth, the bits of the actions still to be tried,
    following = np.zeros(last + 1, np.int64)  # the sequence of the next one,
    reached = np.zeros((last + 2, 2), np.int64)  # the sequences of both seats so far
    bits = np.zeros(last + 1, np.int8)  # and the action being tried
    reached[0, 1] = 1
    actions[:2] = NONE
    for deal in range(len(hands)):
        set_deal(rules, games, 0, hands[deal], np.int64(turned_up[deal]), np.int64(NONE), np.int64(dealers[deal]))
        left[0] = _NEW
        depth = 0
        while depth >= 0:
            game = games[depth]
            seat = np.int64(game.seat)
            if depth == last:
                games[depth + 1] = game
                _play_out(rules[0], games[depth + 1])
                for side in range(2):
                    leaves[num_leaves, side] = reached[depth, side]
                    points[num_leaves, side] = games[depth + 1].last_points[side]
                num_leaves += 1
                depth -= 1
                continue
            if left[depth] == _NEW:
                key = knowledge_key(rules[0], game, seat)
                if key not in known:
                    known[key] = num_states
                    state, parent = states[num_states], reached[depth, seat]
                    num_sequences = _add_state(
                        rules[0], game, key, deal, depth, bits, parent, state, num_sequences, actions
                    )
                    num_states += 1
                left[depth] = legal_bits(rules[0], game)
                following[depth] = states[known[key]].first
            if left[depth] == 0:
                depth -= 1
                continue
            bits[depth] = lowest(left[depth])
            left[depth] &= left[depth] - 1
            games[depth + 1] = game
            apply_bit(rules[0], games[depth + 1], np.int64(bits[depth]))
            reached[depth + 1] = reached[depth]
            reached[depth + 1, seat] = following[depth]
            following[depth] += 1
            depth += 1
            left[depth] = _NEW
    return num_states, num_sequences, num_leaves


@kernel
def replay(rules, hands, turned_up, dealers, states, which, games):
    """Writes a game in each of the states `which` (int64 [n]) over `games` (`GAME` records [n], all started)."""
    for row in range(len(which)):
        state = states[which[row]]
        deal = state.deal
        set_deal(rules, games, row, hands[deal], np.int64(turned_up[deal]), np.int64(NONE), np.int64(dealers[deal]))
        for place in range(state.depth):
            apply_bit(rules[0], games[row], np.int64(state.path[place]))


@kernel
def knowledge_keys(rules, views, out):
    """Writes the key of what the seat to act knows of every view, int64 [n]."""
    for row in range(len(views)):
        out[row] = knowledge_key(rules[0], views[row], np.int64(views[row].seat))


@kernel
def draw_lots(views, games, seed, out):
    """Draws a number in [0, 1) for every view, float64 [n], from the seed, its game's number and the decision due."""
    for row in range(len(views)):
        view = views[row]
        hand = stream(stream(seed, games[row]), view.hand_number)
        decision = 64 + np.int64(view.seat) if view.phase == BID else np.int64(view.num_played)
        out[row] = np.float64(mix(stream(hand, decision) + GOLDEN) >> np.uint64(11)) * 2.0**-53


@kernel
def plan_of(states, probabilities, plan):
    """Writes the plan (float64 [sequences]) of both seats from the probabilities of actions (float64 [sequences])."""
    plan[0], plan[1] = 1.0, 1.0
    for index in range(len(states)):
        state = states[index]
        for sequence in range(state.first, state.first + state.num_actions):
            plan[sequence] = plan[state.parent] * probabilities[sequence]


@kernel
def sequence_values(leaves, points, plan, seat, opposing, values):
    """Writes what each sequence of a seat is worth at the leaves it ends in, weighted by the plan of the opponent.

    Args:
        leaves: int32 [leaves, 2].
        points: int16 [leaves, 2].
        plan: float64 [sequences].
        seat: Whose.
        opposing: How much each point of the opponent counts against it, 0 or 1.
        values: float64 [sequences], written; those of the other seat are 0.
    """
    values[:] = 0.0
    other = 1 - seat
    for leaf in range(len(leaves)):
        utility = np.int64(points[leaf, seat]) - opposing * np.int64(points[leaf, other])
        values[leaves[leaf, seat]] += plan[leaves[leaf, other]] * utility


@kernel
def respond(states, seat, values, choices):
    """Chooses the best action in every state of a seat, the last ones first.

    Args:
        states: `STATE` records.
        seat: Whose.
        values: float64 [sequences], from `sequence_values`; afterwards with all that follows, and at the place `seat`
            the value of the whole.
        choices: float64 [sequences], written for the seat: 1 for the action chosen, the first of the best, else 0.
    """
    for index in range(len(states) - 1, -1, -1):
        state = states[index]
        if state.seat != seat:
            continue
        best = np.int64(state.first)
        for sequence in range(state.first, state.first + state.num_actions):
            choices[sequence] = 0.0
            if values[sequence] > values[best]:
                best = sequence
        choices[best] = 1.0
        values[state.parent] += values[best]


@kernel
def take_regrets(states, seat, values, strategy, regrets):
    """Adds what every action would have gained over the strategy to its regret, nowhere below 0.

    Args:
        states: `STATE` records.
        seat: Whose.
        values: float64 [sequences], from `sequence_values`; afterwards with all that follows.
        strategy: float64 [sequences], probabilities.
        regrets: float64 [sequences], changed.
    """
    for index in range(len(states) - 1, -1, -1):
        state = states[index]
        if state.seat != seat:
            continue
        sequences = range(state.first, state.first + state.num_actions)
        value = 0.0
        for sequence in sequences:
            value += strategy[sequence] * values[sequence]
        for sequence in sequences:
            regrets[sequence] = max(0.0, regrets[sequence] + values[sequence] - value)
        values[state.parent] += value


@kernel
def match_regrets(states, seat, regrets, strategy, plan, weight, sums):
    """Makes a seat choose in proportion to its regrets and adds its new plan to the sums.

    Args:
        states: `STATE` records.
        seat: Whose.
        regrets: float64 [sequences].
        strategy: float64 [sequences], written for the seat: probabilities, uniform where nothing is regretted.
        plan: float64 [sequences], written for the seat.
        weight: Of the plan in the sums.
        sums: float64 [sequences], changed.
    """
    for index in range(len(states)):
        state = states[index]
        if state.seat != seat:
            continue
        sequences = range(state.first, state.first + state.num_actions)
        total = 0.0
        for sequence in sequences:
            total += regrets[sequence]
        for sequence in sequences:
            strategy[sequence] = regrets[sequence] / total if total > 0.0 else 1.0 / state.num_actions
            plan[sequence] = plan[state.parent] * strategy[sequence]
            sums[sequence] += weight * plan[sequence]


@kernel
def normalise(states, weights, out):
    """Writes probabilities in proportion to the weights of the actions of every state, uniform where all are 0."""
    out[0], out[1] = 1.0, 1.0
    for index in range(len(states)):
        state = states[index]
        sequences = range(state.first, state.first + state.num_actions)
        total = 0.0
        for sequence in sequences:
            total += weights[sequence]
        for sequence in sequences:
            out[sequence] = weights[sequence] / total if total > 0.0 else 1.0 / state.num_actions

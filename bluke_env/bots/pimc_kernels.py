"""Perfect-information Monte Carlo, compiled: what every card makes in the same sampled worlds."""

from __future__ import annotations

import numpy as np

from bluke_env.bots.endgame import distinct, endgame_points
from bluke_env.bots.inference_kernels import begin_chain, next_world
from bluke_env.bots.rule_kernels import best_bid, bid_stream, choose_card, hidden_cards, play_out, tally_tricks
from bluke_env.bots.search import knowledge_stream
from bluke_env.cards import NUM_CARDS
from bluke_env.engine.belief import prepare
from bluke_env.engine.bits import lowest
from bluke_env.engine.jit import inlined, kernel, subroutine
from bluke_env.engine.play import legal_cards, put_card
from bluke_env.engine.random import stream
from bluke_env.engine.score import standing_points
from bluke_env.engine.state import BID, PLAY
from bluke_env.engine.step import bid_action_of
from bluke_env.rules import BOARD, MAX_PLAYERS

WORLDS_PER_BID = 8
"""A bid weighs more than any card and comes once in a hand, so it is estimated from this many times the worlds."""

MOST_CARDS = 18
"""The most cards of an endgame where there are more than two sides: its time grows with the seats and the tricks."""

_LIFT = 0.02
"""Of `best_bid`, for every card but one: the bot plays better than its rollouts, the more so the longer the hand is."""

_CAUTION = 1.0
"""Standard errors by which a card must be better than the rule bot's to be played."""

SUMS = np.dtype(
    [
        ("gains", np.int64, (NUM_CARDS,)),  # points of each card less those of the rule bot's, over all worlds
        ("squares", np.int64, (NUM_CARDS,)),
        ("tally", np.int64, (2, BOARD + 1)),  # see `tally_tricks`
        ("points", np.int64, (MAX_PLAYERS,)),  # of all seats at the end of a hand
    ],
    align=True,
)
"""What is known so far about one decision."""


@inlined
def distinct_cards(rules, game, hidden):
    """Returns the legal cards, of those that are worth the same only the lowest."""
    in_play = hidden
    if game.in_trick > 0:
        in_play |= np.int64(1) << np.int64(game.best_card)
    return distinct(rules, legal_cards(rules, game), in_play)


@inlined
def stand_in(card, candidates):
    """Returns the candidate that stands for a card: itself or the next lower."""
    while not (candidates >> card) & 1:
        card -= 1
    return card


@subroutine
def points_of(rules, games, card, hidden, endgame, solver, points):
    """Returns what the seat to act makes in the world `games[0]` with a card; the hand is played out in `games[1]`.

    The last `endgame` tricks are solved, all others are played by the rule bot.
    """
    games[1] = games[0]
    game = games[1]
    seat, seats = np.int64(game.seat), np.int64(rules.num_players)
    over = put_card(rules, game, card)
    hidden &= ~(np.int64(1) << card)
    end_at = seats * (np.int64(game.hand_size) - endgame)
    while not over and (endgame == 0 or game.num_played < end_at):
        card = choose_card(rules, game, seats, hidden)
        hidden &= ~(np.int64(1) << card)
        over = put_card(rules, game, card)
    if over:
        return standing_points(rules, game, seat)
    endgame_points(rules, game, solver, points)
    return points[seat]


@subroutine
def add_worlds(rules, view, first, last, endgame, seed, games, belief, table, past, chain, solver, sums):
    """Plays the candidates out in the worlds `first` to `last` - 1; each has a random stream of its own."""
    seats, seat = np.int64(rules.num_players), np.int64(view.seat)
    hidden = hidden_cards(rules, view, seats)
    candidates = distinct_cards(rules, view, hidden)
    if candidates & (candidates - 1) == 0:
        return
    preferred = stand_in(choose_card(rules, view, seats, hidden), candidates)
    start = knowledge_stream(view, seats, seed)
    if first == 0:
        prepare(rules, view, seat, belief, table)
        begin_chain(rules, view, past, chain)
        games[0] = view
    for world in range(first, last):
        next_world(rules, view, belief, table, past, chain, games, world == 0, stream(start, world))
        base = points_of(rules, games, preferred, hidden, endgame, solver, sums.points)
        cards = candidates & ~(np.int64(1) << preferred)
        while cards:
            card: int = lowest(cards)
            cards &= cards - 1
            gain = points_of(rules, games, card, hidden, endgame, solver, sums.points) - base
            sums.gains[card] += gain
            sums.squares[card] += gain * gain


@subroutine
def add_hands(rules, view, first, last, seed, games, belief, table, past, chain, pack, sums):
    """Plays the hand to be bid out in the worlds `first` to `last` - 1 and tallies the tricks.

    The bids made before are believed; while there are none, or between partners, all worlds are equally likely.
    """
    seats, seat = np.int64(rules.num_players), np.int64(view.seat)
    start = bid_stream(view, seats, seed)
    if rules.teams or seat == view.leader:
        for world in range(first, last):
            games[0] = view
            tally_tricks(rules, games[0], seats, 1, stream(start, world), pack, sums.tally)
        return
    hidden = hidden_cards(rules, view, seats)
    if first == 0:
        prepare(rules, view, seat, belief, table)
        begin_chain(rules, view, past, chain)
        games[0] = view
        games[0].phase = PLAY
        games[0].seat = view.leader
    for world in range(first, last):
        next_world(rules, view, belief, table, past, chain, games, world == 0, stream(start, world))
        games[1] = games[0]
        play_out(rules, games[1], seats, hidden)
        sums.tally[0, games[1].tricks[seat]] += 1


@inlined
def best_card(rules, view, worlds, sums):
    """Returns the card with the most points, the rule bot's unless another is better by more than `_CAUTION`."""
    seats = np.int64(rules.num_players)
    hidden = hidden_cards(rules, view, seats)
    candidates = distinct_cards(rules, view, hidden)
    choice = choose_card(rules, view, seats, hidden)
    cards, best = candidates & ~(np.int64(1) << stand_in(choice, candidates)), 0.0
    while cards and worlds > 0:
        card: int = lowest(cards)
        cards &= cards - 1
        mean = sums.gains[card] / worlds
        variance = max(sums.squares[card] / worlds - mean * mean, 0.0)
        value = mean - _CAUTION * np.sqrt(variance / worlds)
        if value > best:
            choice, best = card, value
    return choice


@kernel
def pimc_actions(
    rules, views, first, last, endgame, seed, games, beliefs, table, past, chains, solvers, sums, pack, out
):
    """Chooses an action for every view.

    Args:
        rules: One `RULES` record.
        views: `GAME` records [n].
        first: The worlds `first` to `last` - 1 are looked at. Where `first` is not 0, `views` is one view, and those
            before were looked at in the call before.
        last: See `first`.
        endgame: How many tricks at the end are solved exactly, but of at most `MOST_CARDS` cards where there are more
            than two sides.
        seed: uint64, the bot's.
        games: Two `GAME` records of scratch space, as all that follow but the last.
        beliefs: One `BELIEF` record.
        table: float64 [TABLE_SIZE].
        past: `GAME` records [54].
        chains: One `CHAIN` record.
        solvers: One `ENDGAME` record.
        sums: One `SUMS` record.
        pack: int8 [54].
        out: int64 [n], written: action ids.
    """
    seats = np.int64(rules[0].num_players)
    total = sums[0]
    if seats > 2 and not rules[0].teams:
        endgame = min(endgame, MOST_CARDS // seats)
    for row in range(len(views)):
        view = views[row]
        if first == 0:
            total.gains[:] = 0
            total.squares[:] = 0
            total.tally[:, :] = 0
        if view.phase == BID:
            hands = first * WORLDS_PER_BID, last * WORLDS_PER_BID
            add_hands(rules[0], view, *hands, seed, games, beliefs[0], table, past, chains[0], pack, total)
            bid = best_bid(rules[0], view, total.tally, _LIFT * (view.hand_size - 1))
            out[row] = bid_action_of(bid, np.int64(rules[0].most_cards))
        else:
            add_worlds(
                rules[0], view, first, last, endgame, seed, games, beliefs[0], table, past, chains[0], solvers[0], total
            )
            out[row] = best_card(rules[0], view, last, total)

"""Cards by an oracle, compiled: it sees all hands and plays every card out in the true world."""

from __future__ import annotations

import numpy as np

from bluke_env.bots.rule_kernels import choose_card, hidden_cards, play_out
from bluke_env.engine.bits import lowest
from bluke_env.engine.jit import kernel, subroutine
from bluke_env.engine.play import legal_cards, put_card
from bluke_env.engine.score import standing_points


@subroutine
def true_points(rules, game, card, hidden, scratch):
    """Returns what the seat to act makes with a card if all seats go on by the rule bot's cards."""
    scratch[0] = game
    world = scratch[0]
    seat, seats = np.int64(game.seat), np.int64(rules.num_players)
    if not put_card(rules, world, card):
        play_out(rules, world, seats, hidden & ~(np.int64(1) << card))
    return standing_points(rules, world, seat)


@kernel
def oracle_cards(rules, games, scratch, out):
    """Chooses a card for the seat to act of every game: the rule bot's, or the lowest that makes more points than it.

    Args:
        rules: One `RULES` record.
        games: `GAME` records [n] in the play phase, with all hands.
        scratch: One `GAME` record of scratch space.
        out: int64 [n], written: card ids.
    """
    seats = np.int64(rules[0].num_players)
    for row in range(len(games)):
        game = games[row]
        hidden = hidden_cards(rules[0], game, seats)
        legal = legal_cards(rules[0], game)
        choice = np.int64(choose_card(rules[0], game, seats, hidden))
        others = legal & ~(np.int64(1) << choice)
        if others:
            best = true_points(rules[0], game, choice, hidden, scratch)
        while others:
            card: int = lowest(others)
            others &= others - 1
            made = true_points(rules[0], game, card, hidden, scratch)
            if made > best:
                choice, best = card, made
        out[row] = choice

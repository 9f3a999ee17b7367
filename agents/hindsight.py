"""What every card would make in the hand as it really is, with `rule` playing on: a guide for learning.

In training all hands are known. Playing a hand to its end with the compiled rule bot takes some millionths of a second,
so every legal card of every decision can be tried, with nothing left to chance. A policy that follows these values sees
only its own hand, so it learns their mean over the hands that others can have: the choice of perfect-information Monte
Carlo search with endlessly many worlds, drawn as they come up. It is biased, as the others do not play on as `rule`.
"""

from __future__ import annotations

import numpy as np

from bluke_env import BatchGame
from bluke_env.bots.rule_kernels import hidden_cards, play_out
from bluke_env.cards import NUM_CARDS
from bluke_env.engine.jit import kernel
from bluke_env.engine.play import put_card
from bluke_env.engine.score import hand_points, standing_bid, standing_tricks
from bluke_env.engine.state import GAME
from bluke_env.engine.suits import real_card


def card_values(batch: BatchGame, rows: np.ndarray, masks: np.ndarray, width: int) -> np.ndarray:
    """Returns what the cards of some decisions make, less the mean of them, float32 [m, width]; zero for others.

    Args:
        batch: Games in which a card is to be played.
        rows: Which of them, int64 [m].
        masks: int8 [n, actions], the cards to try, in the suit order of the batch.
        width: Columns wanted.
    """
    values = np.zeros((len(rows), width), np.float32)
    _play_on(batch.rules.record(), batch.records, batch.suit_orders, rows, masks, np.zeros(1, GAME), values)
    tried = masks[rows, :width] != 0
    return np.where(tried, values - values.sum(1, keepdims=True) / tried.sum(1, keepdims=True), np.float32(0))


@kernel
def _play_on(rules, games, orders, rows, masks, scratch, values):
    """Writes the points of the seat to act, or its side, after each card."""
    seats = np.int64(rules[0].num_players)
    for index in range(len(rows)):
        row = rows[index]
        seat, hidden = np.int64(games[row].seat), hidden_cards(rules[0], games[row], seats)
        for label in range(min(NUM_CARDS, values.shape[1])):
            if not masks[row, label]:
                continue
            scratch[0] = games[row]
            game, card = scratch[0], real_card(np.int64(label), np.int64(orders[row]))
            if not put_card(rules[0], game, card):
                play_out(rules[0], game, seats, hidden & ~(np.int64(1) << card))
            bid, tricks = standing_bid(rules[0], game, seat), standing_tricks(rules[0], game, seat)
            values[index, label] = hand_points(rules[0], np.int64(game.hand_size), bid, tricks)

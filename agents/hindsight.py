"""What every card would make in the hand as it really is, if all play on in a simple way: a guide for learning.

In training all hands are known. Playing a hand to its end with compiled policies (`agents.playouts`) takes some
millionths of a second, so every legal card of every decision can be tried, with nothing left to chance. A policy that
follows these values sees only its own hand, so it learns their mean over the hands that others can have: the choice of
perfect-information Monte Carlo search with endlessly many worlds, drawn as they come up. It is biased as far as the
seats do not play on so.

Bids of a policy are tried in the same way, once all are made: the seats that bid later bid as they did, or what comes
nearest to it where that is no longer legal.

The same values take chance out of what is learned from the points in the end, without bias: how good the hands as they
are were for a seat before it played, and whether the cards that were drawn later from the policies were luckier for it
than those they would have drawn on average, as in AIVAT (Burch et al. 2018).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from agents.playouts import SCRATCH, play_on
from bluke_env import BatchGame
from bluke_env.bots.rule_kernels import hidden_cards
from bluke_env.cards import NUM_CARDS
from bluke_env.engine.bid import legal_bids, make_bid
from bluke_env.engine.bits import highest
from bluke_env.engine.jit import inlined, kernel, subroutine
from bluke_env.engine.play import put_card
from bluke_env.engine.score import standing_points
from bluke_env.engine.state import BID, GAME, NONE
from bluke_env.engine.step import bid_of
from bluke_env.engine.suits import real_card
from bluke_env.rules import BOARD


@dataclass(frozen=True)
class Hindsight:
    """What is known afterwards of decisions.

    Attributes:
        guides: float32 [n, width], what actions make for the seat that decides, less the mean of all that are legal;
            zero for others.
        expected: float32 [n, seats], what every seat makes with the policy's card, on average; None for bids, where it
            would depend on later ones.
        luck: float32 [n, seats], how much more every seat makes with the card that was drawn; None for bids.
    """

    guides: torch.Tensor
    expected: torch.Tensor | None = None
    luck: torch.Tensor | None = None


@dataclass(frozen=True)
class Styles:
    """How seats play on.

    Attributes:
        of_seats: int64 [games, seats], rows of the weights, or `playouts.RULE`.
        weights: float32 [k, rows, WIDTH], see `Playouts.packed`.
    """

    of_seats: np.ndarray
    weights: np.ndarray


def hindsight(
    batch: BatchGame,
    rows: np.ndarray,
    masks: np.ndarray,
    log_probs: torch.Tensor,
    actions: torch.Tensor,
    styles: Styles,
) -> Hindsight:
    """Plays all cards of some decisions out.

    Args:
        batch: Games in which a card is to be played.
        rows: Which of them, int64 [n].
        masks: int8 [games, actions], the cards to try, in the suit order of the batch.
        log_probs: The policies, float32 [n, width]; at most `masks` has probabilities.
        actions: The cards drawn from them, int64 [n].
        styles: How all play on.
    """
    n, width, seats = len(rows), log_probs.shape[1], batch.rules.num_players
    guides, expected, chosen = (np.zeros((n, columns), np.float32) for columns in (width, seats, seats))
    facts = batch.rules.record(), batch.records, batch.suit_orders, rows, masks
    policies = log_probs.exp().numpy(), actions.numpy()
    scratch = np.zeros(1, GAME), np.zeros(1, SCRATCH)
    _try_cards(*facts, *policies, styles.of_seats, styles.weights, *scratch, guides, expected, chosen)
    return Hindsight(*(torch.from_numpy(array) for array in (guides, expected, chosen - expected)))


@kernel
def _try_cards(
    rules, games, orders, rows, masks, probs, actions, styles, weights, scratch, known, guides, expected, chosen
):
    """Writes what `Hindsight` is made of; `chosen` is what every seat makes with the card drawn."""
    seats = np.int64(rules[0].num_players)
    for index in range(len(rows)):
        row = rows[index]
        own, hidden = np.int64(games[row].seat), hidden_cards(rules[0], games[row], seats)
        for label in range(min(NUM_CARDS, guides.shape[1])):
            if not masks[row, label]:
                continue
            scratch[0] = games[row]
            game, card = scratch[0], real_card(np.int64(label), np.int64(orders[row]))
            if not put_card(rules[0], game, card):
                rest = hidden & ~(np.int64(1) << card)
                play_on(rules[0], game, seats, rest, styles[row], weights, known[0])
            for seat in range(seats):
                points = np.float32(standing_points(rules[0], game, seat))
                expected[index, seat] += probs[index, label] * points
                if label == actions[index]:
                    chosen[index, seat] = points
                if seat == own:
                    guides[index, label] = points
        _centre(guides[index], masks[row])


@inlined
def _centre(points, mask):
    """Takes the mean of what is legal from it; the rest is zero."""
    total, count = np.float32(0), 0
    for action in range(len(points)):
        if mask[action]:
            total += points[action]
            count += 1
    for action in range(len(points)):
        if mask[action]:
            points[action] -= total / np.float32(count)


def bid_hindsight(
    batch: BatchGame, rows: np.ndarray, seats: np.ndarray, masks: np.ndarray, styles: Styles
) -> Hindsight:
    """Plays hands out with other bids.

    Args:
        batch: Games in which the bids have just been made.
        rows: Which of them, int64 [n].
        seats: Whose bids, int64 [n].
        masks: int8 [n, actions], the bids that they could make.
        styles: How all play on.
    """
    guides = np.zeros(masks.shape, np.float32)
    games, most = batch.records, batch.layout.most_cards
    scratch = np.zeros(1, GAME), np.zeros(1, SCRATCH)
    _try_bids(batch.rules.record(), games, most, rows, seats, masks, styles.of_seats, styles.weights, *scratch, guides)
    return Hindsight(torch.from_numpy(guides))


@kernel
def _try_bids(rules, games, most, rows, seats, masks, styles, weights, scratch, known, guides):
    number = np.int64(rules[0].num_players)
    for index in range(len(rows)):
        row, own = rows[index], seats[index]
        hidden = hidden_cards(rules[0], games[row], number)
        for action in range(NUM_CARDS, guides.shape[1]):
            if not masks[index, action]:
                continue
            scratch[0] = games[row]
            game = scratch[0]
            _rebid(rules[0], game, games[row].bids, own, bid_of(action, most))
            play_on(rules[0], game, number, hidden, styles[row], weights, known[0])
            guides[index, action] = standing_points(rules[0], game, own)
        _centre(guides[index], masks[index])


@subroutine
def _rebid(rules, game, bids, own, own_bid):
    """Bids again from the first seat, all as in `bids` but `own`."""
    seats = np.int64(rules.num_players)
    first = (np.int64(game.dealer) + 1) % seats
    for seat in range(seats):
        game.bids[seat] = NONE
    game.phase, game.seat, game.leader = BID, first, first
    for step in range(seats):
        seat = (first + step) % seats
        bid, legal = np.int64(own_bid if seat == own else bids[seat]), legal_bids(rules, game)
        if not legal >> bid & 1:  # only teams have bids that depend on others: the one level of board, or fewer tricks
            bid = highest(legal if bid > BOARD else legal & ((np.int64(2) << BOARD) - 1))
        make_bid(rules, game, bid)

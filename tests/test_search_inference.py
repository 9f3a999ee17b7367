"""Worlds weighed by what the other seats did: drawn with the odds they say, and nearer to the truth."""

from collections import Counter

import numpy as np
import pytest
from test_bots import turn_of
from worlds import SMALL, World, agrees, candidates, held_by, order_of, played_by, small_positions

from bluke_env import BatchGame, Deal, Game, Rules, Turn, bots
from bluke_env.actions import bid_action
from bluke_env.bots.inference_kernels import _SURPRISE, CHAIN, begin_chain, bid_loss, next_world
from bluke_env.cards import BLUKES, NUM_CARDS, cards_of, mask_of
from bluke_env.engine.belief import BELIEF, TABLE_SIZE, draw_world, prepare
from bluke_env.engine.jit import kernel
from bluke_env.engine.random import stream
from bluke_env.engine.state import GAME


@kernel
def _worlds(rules, views, likely, seed, games, beliefs, table, past, chains, out):
    for row in range(len(views)):
        view = views[row]
        prepare(rules[0], view, np.int64(view.seat), beliefs[0], table)
        begin_chain(rules[0], view, past, chains[0])
        games[0] = view
        for number in range(out.shape[1]):
            state = stream(stream(seed, row), number)
            if likely:
                next_world(rules[0], view, beliefs[0], table, past, chains[0], games, number == 0, state)
            else:
                draw_world(beliefs[0], table, games[0], state)
            for seat in range(out.shape[2]):
                out[row, number, seat] = games[0].hands[seat]


def worlds_of(turn: Turn, number: int, likely: bool = True) -> np.ndarray:
    """Worlds of every row, masks of the hands, int64 [n, number, seats]."""
    out = np.zeros((len(turn.views), number, turn.rules.num_players), np.int64)
    scratch = (
        np.zeros(2, GAME),
        np.zeros(1, BELIEF),
        np.zeros(TABLE_SIZE),
        np.zeros(NUM_CARDS, GAME),
        np.zeros(1, CHAIN),
    )
    _worlds(turn.rules.record(), turn.views, likely, np.uint64(5), *scratch, out)
    return out


@kernel
def _bid_loss(rules, views, seat, dealt):
    return bid_loss(rules[0], views[0], seat, dealt)


# The odds of worlds.


def loss_of_world(game: Game, world: World) -> float:
    """Minus the log likelihood of what the other seats did, from the hand bid and played again in the engine."""
    own, rule, loss = game.current_player, bots.make("rule"), 0.0
    hands = [mask | played for mask, played in zip(world, played_by(game), strict=True)]
    again = Game(game.rules, 0, deals=[Deal([cards_of(hand) for hand in hands], game.turned_up, game.dealer)])
    for place in range(1, game.num_players + 1):
        seat = (game.dealer + place) % game.num_players
        again.apply_action(bid_action(game.bids[seat], game.rules.most_cards))
        if seat != own:
            loss += _bid_loss(game.rules.record(), turn_of(game).views, seat, hands[seat])
    for card in order_of(game):
        if again.current_player != own and int(rule.act(turn_of(again))[0]) != card:
            loss += _SURPRISE
        again.apply_action(card)
    return loss


@pytest.mark.parametrize("name", ["3 seats", "4 seats, trump for a Bluke", "2 seats", "Back Alley, 2 suits"])
def test_worlds_are_as_likely_as_they_explain_what_was_done(name: str) -> None:
    """All worlds of small positions, each drawn in proportion to its likelihood."""
    rules, number, checked = SMALL[name], 20_000, 0
    for game, _ in small_positions(rules, 400, 12):
        if len(game.legal_actions()) < 2 or (game.exchanged is not None):
            continue
        worlds = [world for world in candidates(game, game.current_player) if agrees(game, world)]
        losses = np.array([loss_of_world(game, world) for world in worlds])
        odds = np.exp(losses.min() - losses)
        odds /= odds.sum()
        drawn = Counter(map(tuple, worlds_of(turn_of(game), number)[0].tolist()))
        assert drawn.keys() <= set(worlds)
        shares = np.array([drawn[world] for world in worlds]) / number
        noise = np.sqrt(odds / number).sum() / 2
        assert abs(shares - odds).sum() / 2 < 0.01 + 2 * noise
        checked += abs(odds - 1 / len(odds)).sum() / 2 > 0.1
    assert checked > 1


# The truth.


def positions(rules: Rules, games: int, depth: int) -> tuple[Turn, np.ndarray]:
    """What is seen after some decisions of rule bots, and the hands that others hold then, int64 [games, seats]."""
    batch, rule = BatchGame(rules, games, seed=21, autoreset=False), bots.make("rule")
    for _ in range(depth):
        batch.step(rule.act(Turn(rules, batch.views(), batch.seats.copy(), np.arange(games))))
    turn = Turn(rules, batch.views(), batch.seats.copy(), np.arange(games))
    hands = batch.records["hands"][:, : rules.num_players].copy()
    hands[np.arange(games), turn.seats] = 0
    return turn, hands


def share_right(turn: Turn, hands: np.ndarray, likely: bool) -> np.ndarray:
    """The share of the other seats' cards that worlds put where they are, by row."""
    right = np.bitwise_count(worlds_of(turn, 60, likely) & hands[:, None, :]).sum(axis=(1, 2)) / 60
    return right / np.bitwise_count(hands).sum(axis=1)


@pytest.mark.parametrize(
    ("rules", "depth", "least"),
    [
        (Rules(schedule="13"), 4, 0.01),
        (Rules(schedule="13"), 30, 0.08),
        (Rules(schedule="5"), 4, 0.005),
        (Rules(schedule="5"), 12, 0.01),
        (Rules(2, "8"), 10, 0.02),
        (Rules(6, "8"), 26, 0.03),
        (Rules.preset("back_alley", schedule="13"), 30, 0.08),
    ],
)
def test_likely_worlds_are_nearer_to_the_truth(rules: Rules, depth: int, least: float) -> None:
    """Among rule bots: from the bids alone before the first lead, from bids and cards later."""
    turn, hands = positions(rules, 400, depth)
    gains = share_right(turn, hands, likely=True) - share_right(turn, hands, likely=False)
    assert gains.mean() - 2 * gains.std(ddof=1) / np.sqrt(len(gains)) > least


def test_who_bids_more_is_believed_to_hold_more() -> None:
    """Blukes and high trumps, before the first lead."""
    deal = Deal([cards_of(mask_of(range(first, first + 6))) for first in (0, 6, 12, 18)], 51, dealer=3)
    high = BLUKES | mask_of(range(44, 51))
    held = {}
    for bid in (1, 2, 3):
        game = Game(Rules(schedule="6"), 0, deals=[deal])
        for other_bid in (1, bid, 1, 1):
            game.apply_action(bid_action(other_bid))
        assert held_by(game)[0] & high == 0
        held[bid] = np.bitwise_count(worlds_of(turn_of(game), 300)[0, :, 1] & high).mean()
    assert held[1] + 0.3 < held[2]
    assert held[2] + 0.3 < held[3]

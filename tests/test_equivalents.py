"""Cards that do the same: which are left out of masks, and that it makes no difference."""

import random
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from agents.equivalents import Equivalents
from bluke_env import BatchGame, Game, ObservationLayout, Rules
from bluke_env.cards import LO_BLUKE, NUM_CARDS, NUM_RANKS

TABLES = {
    "four": Rules(num_players=4, schedule="9"),
    "two": Rules(num_players=2, schedule="13"),
    "seven": Rules(num_players=7, schedule="5"),
    "no trump": Rules(num_players=3, schedule="13nt"),
    "back alley": Rules.preset("back_alley", schedule="7"),
    "small pack": Rules.preset("mini"),
}

tables = pytest.mark.parametrize("name", TABLES)


def left_in(game: Game) -> list[int]:
    """The actions that the mask of the seat to act keeps."""
    seat = game.current_player
    assert seat is not None
    observation, mask = game.observe(seat)[None], game.action_mask(seat)[None]
    return np.flatnonzero(Equivalents(game.layout).without(observation, mask)[0]).tolist()


def plays(rules: Rules, seed: int) -> Iterator[tuple[Game, set[int]]]:
    """A game at each of its decisions, and the cards played so far."""
    game, rng, gone = Game(rules, seed=seed), random.Random(seed), set[int]()
    while not game.is_terminal:
        yield game, gone
        action = rng.choice(game.legal_actions())
        if action < NUM_CARDS:
            gone = gone | {action}
        game.apply_action(action)


@tables
def test_what_is_left_is_the_lowest_of_cards_with_nobody_elses_between(name: str) -> None:
    left_out = 0
    for seed in range(20):
        for game, played in plays(TABLES[name], seed):
            legal = game.legal_actions()
            on_table = {card for _, card in game.trick}
            own = set(game.hands[game.current_player or 0])
            anybodys = set(range(NUM_CARDS)) - own - (played - on_table) - {game.turned_up}
            expected = set(legal)
            for low, high in pairwise(sorted(card for card in legal if card < LO_BLUKE)):
                same_suit = low // NUM_RANKS == high // NUM_RANKS
                if same_suit and anybodys.isdisjoint(range(low + 1, high)):
                    expected.remove(high)
            assert left_in(game) == sorted(expected)
            left_out += len(legal) - len(expected)
    assert left_out > 20


@tables
def test_which_of_equivalent_cards_is_played_makes_no_difference(name: str) -> None:
    pairs = 0
    for seed in range(6):
        for game, _ in plays(TABLES[name], seed):
            left = left_in(game)
            for card in set(game.legal_actions()) - set(left):
                twin = max(other for other in left if other < card)
                outcomes = [finished(game, {}, twin, seed), finished(game, {twin: card, card: twin}, card, seed)]
                assert outcomes[0] == outcomes[1]
                pairs += 1
    assert pairs > 5


def finished(game: Game, swapped: dict[int, int], first: int, seed: int) -> tuple[int, ...]:
    """Plays a copy to the end at random, with two cards of one hand having changed places; returns the scores."""
    game, rng = game.clone(), random.Random(seed)
    game.apply_action(first)
    while not game.is_terminal:
        legal = sorted(swapped.get(action, action) for action in game.legal_actions())
        action = rng.choice(legal)
        game.apply_action(swapped.get(action, action))
    return game.scores


@tables
def test_masks_in_a_batch_with_canonical_suits_and_room_for_more_are_alike(name: str) -> None:
    rules = TABLES[name]
    own = ObservationLayout.of(rules)
    wide = ObservationLayout(
        min(15, own.num_players + 2), own.most_cards + 2, own.score_unit, own.num_suits, own.num_ranks, own.teams
    )
    batches = [BatchGame(rules, 30, 5, suit_order="canonical", layout=layout) for layout in (own, wide)]
    rng = np.random.default_rng(3)
    for _ in range(3 * rules.num_players):
        left = [Equivalents(batch.layout).without(batch.observations, batch.masks) for batch in batches]
        assert (left[0][:, :NUM_CARDS] == left[1][:, :NUM_CARDS]).all()
        assert (left[0][:, NUM_CARDS:] == batches[0].masks[:, NUM_CARDS:]).all()
        assert left[0].any(1).all()
        actions = (rng.random((30, own.num_actions)) * left[0])[:, : NUM_CARDS + own.most_cards + 1].argmax(1)
        for batch in batches:
            batch.step(actions)

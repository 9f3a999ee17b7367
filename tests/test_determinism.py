"""The same seed gives the same games everywhere, different seeds different ones, and all deals are fair."""

import hashlib
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tables import ALL_SEATS, rules_for
from variants import VARIANTS, every_variant, with_variants

from bluke_env import BatchGame, Game, Rules, bluke_v0

ROOT = Path(__file__).parent.parent
SHORT = rules_for(4, [5, 1, (3, True)])


def first_deals(rules: Rules, seed: int, games: int) -> np.ndarray:
    """The first deal of games 0, 1, ... of a seed, one row of numbers for each."""
    return dealt(BatchGame(rules, games, seed))


def dealt(batch: BatchGame) -> np.ndarray:
    """The deals of hands about to be bid, int64 [n, players + 2]: hands, turned-up card, dealer."""
    records = batch.records
    hands = records["hands"][:, : batch.rules.num_players]
    return np.column_stack([hands, records["turned_up"], records["dealer"]])


def all_deals(rules: Rules, seed: int, games: int, choice: str = "lowest") -> np.ndarray:
    """Every deal of whole matches, int64 [hands, n, players + 2], played by always choosing one end of the actions."""
    batch, deals = BatchGame(rules, games, seed, autoreset=False), []
    while not batch.is_over.any():
        if (batch.records["bids"][0, : rules.num_players] == -1).all():
            deals.append(dealt(batch))
        last = batch.layout.num_actions - 1
        batch.step(batch.masks.argmax(1) if choice == "lowest" else last - batch.masks[:, ::-1].argmax(1))
    return np.array(deals)


# The same games however they are run.


class Player:
    """Plays by what it sees alone, so alike wherever the same is seen, and keeps a hash of each game."""

    def __init__(self, games: int) -> None:
        self.hashes = np.zeros(games, np.uint64)

    def actions(self, observations: np.ndarray, masks: np.ndarray, seats: np.ndarray) -> np.ndarray:
        weights = np.arange(observations.shape[1], dtype=np.int16) % 251 + 1
        sums = np.einsum("ij,j->i", observations, weights, dtype=np.int64)
        counts = masks.sum(1)
        chosen = (masks.cumsum(1) == (abs(sums) % counts + 1)[:, None]).argmax(1)
        seen = (sums * 1000 + chosen * 20 + seats).astype(np.uint64)
        self.hashes = (self.hashes ^ seen) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(1)
        return chosen


def batch_hashes(rules: Rules, games: int, numbers: Any = None, **options: Any) -> list[int]:
    """Hashes of all that was seen and done in whole matches, and of their scores."""
    batch = BatchGame(rules, games, seed=11, numbers=numbers, **options)
    player = Player(games)
    while not batch.dones.any():
        batch.step(player.actions(batch.observations, batch.masks, batch.seats))
    assert batch.dones.all()
    weights = np.arange(1, rules.num_players + 1)
    return (player.hashes + (batch.final_scores @ weights).astype(np.uint64)).tolist()


@pytest.mark.parametrize("order", ["fixed", "canonical"])
@pytest.mark.parametrize("rules", [SHORT, *with_variants()])
def test_the_batch_size_changes_nothing(rules: Rules, order: str) -> None:
    most = 4096 if rules == SHORT else 512
    largest = batch_hashes(rules, most, suit_order=order)
    assert len(set(largest)) == most or rules == VARIANTS["pack_of_3"]
    assert batch_hashes(rules, 64, suit_order=order) == largest[:64]
    for number in (0, 1, 63, most - 1):
        assert batch_hashes(rules, 1, np.array([number]), suit_order=order) == [largest[number]]


@pytest.mark.parametrize("rules", [SHORT, *with_variants()])
def test_threads_and_the_order_of_the_games_change_nothing(rules: Rules) -> None:
    one = batch_hashes(rules, 64)
    for threads in (2, 3):
        assert batch_hashes(rules, 64, num_threads=threads) == one
    assert batch_hashes(rules, 64, np.arange(64)[::-1]) == one[::-1]


@pytest.mark.parametrize("order", ["fixed", "canonical"])
@pytest.mark.parametrize(
    "rules",
    [
        *(rules_for(seats, [min(5, 54 // seats), 1, (2, True)], min_bid=0) for seats in (2, 4, 7, 15)),
        *with_variants(),
        Rules.preset("back_alley"),
        Rules(num_players=2, schedule="extended"),
        Rules(num_players=3, schedule="extended"),
    ],
)
def test_game_batch_and_environment_play_the_same(rules: Rules, order: str) -> None:
    seats = rules.num_players
    batch = BatchGame(rules, 1, seed=21, suit_order=order)
    game = Game(rules, 21)
    env = bluke_v0.env(rules, suit_order=order)
    env.reset(seed=21)
    rng = random.Random(seats)
    totals = np.zeros(seats)
    while not game.is_terminal:
        seat = game.current_player or 0
        assert seat == batch.seats[0]
        assert env.agent_selection == f"player_{seat}"
        seen, _, over, cut, _ = env.last()
        assert seen is not None
        assert not over
        assert not cut
        assert (game.observe(seat, order) == batch.observations[0]).all()
        assert (seen["observation"] == batch.observations[0] * batch.layout.scale).all()
        assert (seen["action_mask"] == batch.masks[0]).all()
        assert (game.action_mask(suit_order=order) == batch.masks[0]).all()
        legal = np.array(game.legal_actions())
        labels = batch.relabel_actions(legal, np.zeros(len(legal), int))
        place = rng.randrange(len(legal))
        game.apply_action(int(legal[place]))
        batch.step(labels[[place]])
        env.step(int(labels[place]))
        assert env.game == game
        totals += batch.rewards[0]
        assert [env.rewards[f"player_{seat}"] for seat in range(seats)] == batch.rewards[0].tolist()
    assert batch.dones[0]
    assert all(env.terminations.values())
    assert totals.tolist() == batch.final_scores[0].tolist() == list(game.scores)


@pytest.mark.parametrize(
    "rules", [*(rules_for(seats, [4, 3, 5, (2, True), 1]) for seats in (2, 4, 9)), *with_variants()]
)
def test_the_deals_do_not_depend_on_the_play(rules: Rules) -> None:
    low, high = all_deals(rules, 3, 50, "lowest"), all_deals(rules, 3, 50, "highest")
    assert low.shape == (rules.num_hands, 50, rules.num_players + 2)
    assert (low == high).all()


DEALS_OF_SEVERAL_SEEDS = """
import hashlib, sys
import numpy as np
sys.path.insert(0, "tests")
from test_determinism import deals_digest
print(deals_digest())
"""


def deals_digest() -> str:
    """A hash of all deals of a few matches of a few seeds, for every number of players."""
    digest = hashlib.sha256()
    for seats in ALL_SEATS:
        for seed in (0, 1, 2**63 + 5):
            digest.update(all_deals(Rules(num_players=seats), seed, 2).astype("<i8").tobytes())
    return digest.hexdigest()


def test_the_deals_are_those_of_this_version() -> None:
    """Deals of a seed are part of published results.

    This hash may change only together with the version in the environment's name, and the changelog says so.
    """
    assert deals_digest() == "ca5494ac06435f21b3140d871d3e6b7fb2f1c316e1e2f9bc8c8e2d23fcdaef90"


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_other_processes_deal_the_same(hash_seed: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", DEALS_OF_SEVERAL_SEEDS]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == deals_digest()


def test_global_generators_are_left_alone() -> None:
    before = random.getstate(), str(np.random.get_state())  # noqa: NPY002
    batch_hashes(SHORT, 8, num_threads=2)
    game = Game(SHORT)
    while not game.is_terminal:
        game.apply_action(game.legal_actions()[0])
    env = bluke_v0.env(SHORT)
    env.reset()
    env.reset(seed=3)
    for agent in env.agent_iter():
        mask = env.observe(agent)["action_mask"]
        env.step(None if env.terminations[agent] else int(env.action_space(agent).sample(mask)))
    assert (random.getstate(), str(np.random.get_state())) == before  # noqa: NPY002


# Different games are different.


def test_c11_all_games_of_a_batch_differ_also_after_autoreset() -> None:
    rules = rules_for(4, [13])
    batch, state = BatchGame(rules, 512, seed=1), np.array([1], np.uint64)
    seen: set[bytes] = set()
    for matches in range(1, 4):
        seen |= {row.tobytes() for row in dealt(batch)}
        assert len(seen) == 512 * matches
        for _ in range(4 * 14):
            batch.step(batch.random_actions(state))


def test_c11_neighbouring_seeds_share_no_deals() -> None:
    """Neither the same hands of the same games nor shifted ones: no deal comes twice anywhere."""
    rules = rules_for(4, [13] * 8)
    seen: set[bytes] = set()
    for seed in (0, 1, 2, 3, 4, 2**32, 2**32 + 1, 2**64 - 1):
        seen |= {row.tobytes() for row in all_deals(rules, seed, 64)[:, :, :4].reshape(-1, 4)}
    assert len(seen) == 8 * 8 * 64


def test_hands_of_a_match_are_dealt_independently() -> None:
    """The cards that a seat holds in one hand say nothing about those of the next, nor of the next game's or seed's."""
    rules, games = rules_for(4, [13, 13]), 8000
    deals = all_deals(rules, 1, games)
    assert deals.shape[:2] == (2, games)
    expected, deviation = 13 * 13 / 54, (13 * 13 / 54 * (41 / 54) * (41 / 53)) ** 0.5
    first = deals[0, :, 0]
    for other in (deals[1, :, 0], np.roll(first, 1), first_deals(rules, 2, games)[:, 0]):
        common = np.bitwise_count(first & other)
        assert abs(common.mean() - expected) < 4 * deviation / games**0.5


# Every deal is as likely as any other. The seeds are fixed, so these never fail by chance.


def assert_uniform(counts: np.ndarray, expected: Any, freedom: int) -> None:
    """Pearson's test, by the normal approximation of Wilson and Hilferty: within four standard deviations."""
    statistic = ((counts - expected) ** 2 / expected).sum()
    spread = 2 / (9 * freedom)
    assert abs((statistic / freedom) ** (1 / 3) - (1 - spread)) < 4 * spread**0.5, statistic


@pytest.mark.parametrize("rules", [*(rules_for(seats, [1]) for seats in ALL_SEATS), *with_variants()])
def test_every_seat_is_as_likely_to_deal_first(rules: Rules) -> None:
    games, seats = 20_000, rules.num_players
    dealers = BatchGame(rules, games, seed=seats).records["dealer"]
    assert_uniform(np.bincount(dealers, minlength=seats), games / seats, seats - 1)


@pytest.mark.parametrize("seats", [2, 4, 15])
def test_the_first_dealer_says_nothing_about_the_deal(seats: int) -> None:
    """The highest card of a one-card hand is as likely to lie anywhere, counted from the dealer."""
    deals = first_deals(rules_for(seats, [1]), 9, 20_000)
    highest = deals[:, :seats].argmax(1)
    assert_uniform(np.bincount((highest - deals[:, -1]) % seats, minlength=seats), len(deals) / seats, seats - 1)


@pytest.fixture(scope="module")
def places_of_cards() -> np.ndarray:
    """Where every card of 50,000 deals lies, int [deals, 54]: seat 0..3 of 13 cards, 4 turned up, 5 the unseen card."""
    deals = first_deals(rules_for(4, [13]), 77, 50_000)
    held = (deals[:, :4, None] >> np.arange(54)) & 1
    places = np.where(held.any(1), held.argmax(1), 5)
    places[np.arange(len(deals)), deals[:, 4]] = 4
    return places


def test_every_card_is_as_likely_everywhere(places_of_cards: np.ndarray) -> None:
    counts = np.array([(places_of_cards == place).sum(0) for place in range(6)])
    expected = len(places_of_cards) * np.array([13, 13, 13, 13, 1, 1])[:, None] / 54
    assert (counts.sum(1) == expected[:, 0] * 54).all()
    assert_uniform(counts, expected, 53 * 5)
    for card in range(54):
        assert_uniform(counts[:, card], expected[:, 0], 5)


def test_any_two_cards_are_as_likely_to_lie_together(places_of_cards: np.ndarray) -> None:
    deals = len(places_of_cards)
    together = np.zeros((54, 54))
    for seat in range(4):
        held = (places_of_cards == seat).astype(np.float32)
        together += held.T @ held
    pairs = together[np.triu_indices(54, 1)]
    chance = 4 * 13 * 12 / (54 * 53)
    statistic = ((pairs - deals * chance) ** 2 / (deals * chance * (1 - chance))).sum()
    assert abs(statistic - len(pairs)) < 5 * (2 * len(pairs)) ** 0.5
    assert abs(pairs - deals * chance).max() < 5 * (deals * chance * (1 - chance)) ** 0.5


def test_every_card_is_as_likely_to_be_turned_up_with_few_cards_dealt() -> None:
    turned_up = first_deals(rules_for(3, [1]), 5, 30_000)[:, 3]
    assert_uniform(np.bincount(turned_up, minlength=54), len(turned_up) / 54, 53)


@every_variant
def test_every_card_of_any_pack_is_as_likely_everywhere(rules: Rules) -> None:
    """In a hand, turned up, drawn in exchange for a Blooper, which was held before, or left over."""
    games, size, seats, cards = 20_000, rules.schedule[0].cards, rules.num_players, np.array(rules.cards)
    records = BatchGame(rules, games, seed=6).records
    rows, holder = np.arange(games), records["exchanged"]
    held = (records["hands"][:, :seats, None] >> cards) & 1
    exchanged = rows[holder >= 0]
    swapped = records["drawn"], 105 - records["turned_up"]
    drawn, given_back = (np.searchsorted(cards, card[exchanged]) for card in swapped)
    assert held[exchanged, holder[exchanged], drawn].all()
    held[exchanged, holder[exchanged], drawn] = 0
    held[exchanged, holder[exchanged], given_back] = 1
    left = len(cards) - size * seats
    places = np.where(held.any(1), held.argmax(1), seats)
    if not rules.schedule[0].no_trump:
        places[rows, np.searchsorted(cards, records["turned_up"])] = seats + 1
        left -= 1
    counts = np.array([(places == place).sum(0) for place in range(seats + 2)])
    expected = games * np.array([size] * seats + [left, 0 if rules.schedule[0].no_trump else 1]) / len(cards)
    dealt = expected > 0
    assert not counts[~dealt].any()
    assert_uniform(counts[dealt], expected[dealt, None], (len(cards) - 1) * (dealt.sum() - 1))
    if rules.teams:
        assert_uniform(np.bincount(drawn, minlength=len(cards))[:-2], len(drawn) / (len(cards) - 2), len(cards) - 3)
        assert_uniform(np.bincount(holder[exchanged], minlength=seats), len(exchanged) / seats, seats - 1)

"""Intervals hold what they promise: in 200 repeated runs, 95 % of them cover the truth."""

from collections.abc import Callable

import numpy as np
import pytest

from bluke_env import Agent, Rules, Turn, bots
from bluke_env.evaluation import Estimate, measure

FIRST_BID = 54
RUNS = 200
BAND = range(179, 199)
"""Where a binomial variable of 200 runs with chance 95 % lies in 99.9 % of all cases."""

GAPS = ("over_same_seat", "over_opponents")


class Bidder:
    """Bids 1 or 0 on a hand of one card, by the card, the one turned up, and a lot in [0, 1) for each game."""

    def __init__(self, name: str, bids: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]) -> None:
        self.name, self.bids = name, bids

    def reset(self, num_games: int, seed: int) -> None:
        self.lots = np.random.default_rng(seed).random(num_games)

    def act(self, turn: Turn) -> np.ndarray:
        own = turn.views["hands"][np.arange(len(turn.seats)), turn.seats]
        bid = self.bids(np.log2(own).astype(int), turn.views["turned_up"].astype(int), self.lots[turn.games])
        return np.where(turn.views["phase"] == 0, FIRST_BID + bid, turn.masks.argmax(axis=1))


def never(card: np.ndarray, turned_up: np.ndarray, lot: np.ndarray) -> np.ndarray:
    return np.zeros(len(card), int)


def now_and_then(card: np.ndarray, turned_up: np.ndarray, lot: np.ndarray) -> np.ndarray:
    return (lot < 0.5).astype(int)


def with_a_good_card(card: np.ndarray, turned_up: np.ndarray, lot: np.ndarray) -> np.ndarray:
    """With a Bluke, a trump, or a queen or better of another suit."""
    trump = (turned_up < 52) & (card // 13 == turned_up // 13)
    return ((card >= 52) | trump | (card % 13 >= 10)).astype(int)


def gap_of_a_good_card() -> float:
    """Points that bidding `with_a_good_card` gains between two players, by all deals and both leaders."""
    own, other, turned_up = np.array(np.meshgrid(*[np.arange(54)] * 3)).reshape(3, -1)
    dealt = (own != other) & (own != turned_up) & (other != turned_up)
    own, other, turned_up = own[dealt], other[dealt], turned_up[dealt]

    def strength(card: np.ndarray, led: np.ndarray) -> np.ndarray:
        trump = (turned_up < 52) & (card // 13 == turned_up // 13)
        plain = np.where(card // 13 == led // 13, card % 13, -1)
        return np.where(card >= 52, 100 + card, np.where(trump, 50 + card % 13, plain))

    bids = with_a_good_card(own, turned_up, own)
    gains = [np.where(strength(own, led) > strength(other, led), 9, -10) for led in (own, other)]
    return float((bids * gains).mean())


def assert_covered(
    player: Callable[[], Agent], opponent: Callable[[], Agent], rules: Rules, gaps: dict[str, Estimate]
) -> None:
    """In enough of the runs, each of 40 deals, the interval reaches the gap, which may have one itself."""
    hits = dict.fromkeys(GAPS, 0)
    for run in range(RUNS):
        average = measure(player(), opponent(), rules, deals=40, seed=run).average
        for name in GAPS:
            estimate = average[name]
            hits[name] += abs(estimate.mean - gaps[name].mean) <= np.hypot(estimate.half_width, gaps[name].half_width)
    assert all(count in BAND for count in hits.values()), hits


def exactly(gap: float) -> dict[str, Estimate]:
    return dict.fromkeys(GAPS, Estimate(gap, 0.0, 1.0))


@pytest.mark.parametrize("num_players", [2, 4])
def test_a_deterministic_player_differs_from_itself_by_exactly_nothing(num_players: int) -> None:
    rules = Rules(num_players=num_players, min_bid=0, schedule="1")
    for opponent in (good := Bidder("good", with_a_good_card), Bidder("twin", with_a_good_card)):
        average = measure(good, opponent, rules, deals=200, seed=3).average
        assert [(average[name].mean, average[name].half_width) for name in GAPS] == [(0.0, 0.0)] * 2


def test_intervals_cover_a_gap_that_was_counted() -> None:
    rules = Rules(num_players=2, min_bid=0, schedule="1")
    gap = gap_of_a_good_card()
    assert_covered(lambda: Bidder("good", with_a_good_card), lambda: Bidder("never", never), rules, exactly(gap))
    assert 1 < gap < 3


def test_intervals_cover_the_gap_of_a_coin_among_four() -> None:
    """A bid of 1 gains 9 for the winner, in one of four cases, and costs the others 10; half of the time."""
    rules = Rules(num_players=4, min_bid=0, schedule="1")
    gap = (9 - 3 * 10) / 4 / 2
    assert_covered(lambda: Bidder("coin", now_and_then), lambda: Bidder("never", never), rules, exactly(gap))


@pytest.mark.slow
@pytest.mark.parametrize(("num_players", "schedule"), [(2, "2"), (3, "4,1"), (4, "5")])
def test_intervals_cover_nothing_between_twins(num_players: int, schedule: str) -> None:
    """A bot that draws lots, against its twin that draws others."""
    rules = Rules(num_players=num_players, schedule=schedule)
    assert_covered(lambda: bots.make("random"), lambda: bots.make("random"), rules, exactly(0.0))


@pytest.mark.slow
def test_intervals_cover_what_a_long_run_finds() -> None:
    """The long run has other deals, and 250 times as many."""
    rules = Rules(schedule="5")
    rule, random = (lambda: bots.make("rule")), (lambda: bots.make("random"))
    long = measure(rule(), random(), rules, deals=10_000, seed=1 << 40).average
    assert long["over_same_seat"].mean > 10
    assert_covered(rule, random, rules, long)

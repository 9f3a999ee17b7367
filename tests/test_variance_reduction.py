"""How much duplicate deals are worth."""

from collections.abc import Callable

import numpy as np
import pytest

from bluke_env import Agent, Rules, Turn
from bluke_env.evaluation import Pairing, Plan, measure, play_duplicate, rotations
from bluke_env.evaluation.measure import Participant, compared
from bluke_env.evaluation.statistics import variance_reduction
from bluke_env.schedule import ScheduledHand


class Fixed:
    """Chooses from the mask by a rule of its own."""

    def __init__(self, name: str, choose: Callable) -> None:
        self.name, self.choose = name, choose

    def reset(self, num_games: int, seed: int) -> None:
        pass

    def act(self, turn: Turn) -> np.ndarray:
        return np.array([int(self.choose(mask)) for mask in turn.masks])


def test_rotations_of_luck_that_all_share_are_worth_nothing() -> None:
    """If every rotation of a deal says the same, four of them are worth one."""
    deals = np.random.default_rng(0).integers(-20, 20, 100)
    assert variance_reduction(np.repeat(deals[:, None], 4, axis=1)) == pytest.approx(1 / 4)


def test_rotations_of_independent_luck_are_worth_as_many_deals() -> None:
    values = np.random.default_rng(1).integers(-20, 20, (50_000, 3))
    assert variance_reduction(values) == pytest.approx(1, abs=0.03)


def test_rotations_that_cancel_the_luck_are_worth_more() -> None:
    """Luck of the seat of variance 99, which sums to nothing over a deal, and of the play, of variance 1."""
    generator = np.random.default_rng(2)
    luck = generator.normal(0, np.sqrt(99), 20_000)
    values = np.stack((luck, -luck), axis=1) + generator.normal(0, 1, (20_000, 2))
    assert variance_reduction(values) == pytest.approx(100, rel=0.05)


def test_a_baseline_with_the_same_luck_is_worth_much_and_one_with_its_own_a_little_less_than_none() -> None:
    """The rival measures 3 hands of the player and 1 of the baseline, which has 3 seats, for each deal."""
    generator = np.random.default_rng(3)
    luck, play, other = (generator.normal(0, scale, (50_000, 3)) for scale in (3, 1, 3))
    assert variance_reduction(luck + play, luck) == pytest.approx((3 * (9 + 1) + 3 * 9) / (3 * 1), rel=0.05)
    assert variance_reduction(luck + play, other) == pytest.approx(1, abs=0.05)


def test_the_means_of_independent_deals_vary_as_much_more() -> None:
    """Counted instead of computed: 4,000 means of 10 duplicate deals, and of 30 hands of a deal each."""
    generator = np.random.default_rng(4)
    shared, own, play = generator.normal(0, 2, (40_000, 1)), generator.normal(0, 5, (40_000, 3)), 1.5
    values = shared + own - own.mean(axis=1, keepdims=True) + generator.normal(0, play, (40_000, 3))
    duplicate = values.reshape(4000, 10, 3).mean(axis=(1, 2)).var()
    independent = values[:39_990, 0].reshape(1333, 30).mean(axis=1).var()
    assert variance_reduction(values) == pytest.approx(independent / duplicate, rel=0.12)


def test_no_variance_at_all_has_no_ratio() -> None:
    assert variance_reduction(np.array([[7, -2, 1], [6, 6, -6], [1, 2, 3], [0, 6, 0]])) is None
    thirds = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert variance_reduction(thirds, thirds) is None


@pytest.mark.parametrize(
    ("values", "baseline", "shapes"),
    [
        (np.zeros((2, 4)), None, r"\(2, 4\)"),
        (np.zeros(9), None, r"\(9,\)"),
        (np.zeros((9, 4)), np.zeros((9, 1)), r"\(9, 4\) and \(9, 1\)"),
    ],
)
def test_bad_values_are_refused_in_a_sentence(values: np.ndarray, baseline: np.ndarray | None, shapes: str) -> None:
    with pytest.raises(ValueError, match=f"values have shape {shapes}, but they must be .* at least 3 deals"):
        variance_reduction(values, baseline)


def test_the_average_counts_hands_without_variance_for_the_rival() -> None:
    """With one card duplicate deals leave no variance, but independent ones would; the average weighs both."""
    rules = Rules(num_players=2, schedule="3-1", min_bid=0)
    first, last = Fixed("first", np.argmax), Fixed("last", lambda mask: len(mask) - 1 - np.argmax(mask[::-1]))
    comparison = measure(last, first, rules, deals=40, seed=3)
    independent = duplicate = 0.0
    for hand in comparison.hands:
        table, alone = (("last", "first"), ("first", "first"))
        agents: dict[str, Agent] = {"first": first, "last": last}
        at_table, baseline = (
            play_duplicate(rules, hand, rotations(rules, who), agents, 40, seed=3).points.astype(float)
            for who in (table, alone)
        )
        own, base = at_table[:, [0, 1], [0, 1]], baseline[:, 0]
        independent += own.var(axis=0, ddof=1).sum() + base.sum(axis=1).var(ddof=1)
        duplicate += (own - base).sum(axis=1).var(ddof=1)
    assert comparison.hands[ScheduledHand(1)]["over_same_seat"].half_width == 0
    assert comparison.variance_reduction["over_same_seat"] == pytest.approx(independent / duplicate)


def test_places_of_one_seating_are_dealt_together() -> None:
    """Two seats of a player at a table are one hand of the rival, not two independent ones."""
    rules, hand = Rules(num_players=4, min_bid=0), ScheduledHand(3)
    agents: dict[str, Agent] = {
        "first": Fixed("first", np.argmax), "last": Fixed("last", lambda mask: len(mask) - 1 - np.argmax(mask[::-1]))
    }  # fmt: skip
    pairing = Pairing("last", ("last", "last", "first", "first"), "first")
    plan = Plan(rules, pairing.tables, (hand,), 40, 3)
    results = plan.assembled({job: plan.play(job, agents.__getitem__) for job in plan.jobs()})
    who = {name: Participant(name) for name in agents}
    found = compared(plan, results, pairing, who).variance_reduction["over_same_seat"]
    points, base = results[pairing.table][0].points.astype(float), results[("first",) * 4][0].points[:, 0].astype(float)
    pairs = [(rotation % 4, (rotation + 1) % 4) for rotation in range(4)]
    own = np.stack([points[:, rotation, seats].sum(axis=1) for rotation, seats in enumerate(map(list, pairs))], axis=1)
    rival = np.stack([base[:, list(seats)].sum(axis=1) for seats in pairs], axis=1)
    independent = own.var(axis=0, ddof=1).sum() + rival.sum(axis=1).var(ddof=1)
    assert found == pytest.approx(independent / (own - rival).sum(axis=1).var(ddof=1))

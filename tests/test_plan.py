"""What is planned is played, each deal once, and whole matches are those of single games."""

from collections import Counter

import numpy as np
import pytest
from variants import VARIANTS

from bluke_env import Game, Rules, Turn, bots
from bluke_env.evaluation import DuplicateResult, Pairing, Plan, play_duplicate, play_matches, rotations
from bluke_env.evaluation import plan as plans
from bluke_env.evaluation.measure import Participant, compared
from bluke_env.evaluation.plan import DEALS_PER_JOB, Results, scheduled_times
from bluke_env.evaluation.seeds import deal_seed
from bluke_env.schedule import ScheduledHand

FIELDS = ("points", "bids", "tricks", "dealers", "trumps")


def choice(legal: np.ndarray, taste: int) -> int:
    """Some legal action, another one for another taste."""
    return int(legal[(int(legal.sum()) + taste) % len(legal)])


class Picky:
    """Chooses by its taste."""

    def __init__(self, taste: int) -> None:
        self.name, self.taste = f"taste {taste}", taste

    def reset(self, num_games: int, seed: int) -> None:
        pass

    def act(self, turn: Turn) -> np.ndarray:
        return np.array([choice(np.flatnonzero(mask), self.taste) for mask in turn.masks])


def assert_equal(one: DuplicateResult, other: DuplicateResult) -> None:
    for name in FIELDS:
        left, right = getattr(one, name), getattr(other, name)
        assert left.dtype == right.dtype
        assert np.array_equal(left, right), name


def results_of(plan: Plan) -> Results:
    """Plays a plan job by job, the last one first."""
    return plan.assembled({job: plan.play(job, bots.make) for job in reversed(plan.jobs())})


# Jobs.


@pytest.mark.parametrize("deals", [3, DEALS_PER_JOB - 1, DEALS_PER_JOB, DEALS_PER_JOB + 1, 2 * DEALS_PER_JOB + 7])
@pytest.mark.parametrize("matches", [False, True])
def test_jobs_cover_every_deal_of_every_table_once(deals: int, matches: bool) -> None:
    tables = (("rule",) * 4, ("random", "rule", "rule", "rule"), ("rule",) * 4)
    hands = None if matches else (ScheduledHand(13), ScheduledHand(1), ScheduledHand(13, True))
    plan = Plan(Rules(), tables, hands, deals, 0)
    covered = Counter(
        (job.table, job.hand, deal)
        for job in plan.jobs()
        for deal in range(job.first, job.last)
        if job.first < job.last
    )
    assert set(covered.values()) == {1}
    kinds = (None,) if hands is None else hands
    assert set(covered) == {(table, hand, deal) for table in tables for hand in kinds for deal in range(deals)}


def test_parts_put_together_are_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of bots that draw lots, too."""
    monkeypatch.setattr(plans, "DEALS_PER_JOB", 3)
    rules = Rules(num_players=3, schedule=[4, 2, (4, True)])
    tables = (("rule", "random", "random"), ("random",) * 3)
    plan = Plan(rules, tables, tuple(scheduled_times(rules)), 10, 7)
    assert len(plan.jobs()) == 2 * 3 * 4
    results = results_of(plan)
    for table in tables:
        agents = {name: bots.make(name) for name in table}
        for hand, result in zip(plan.kinds, results[table], strict=True):
            assert_equal(result, play_duplicate(rules, hand, rotations(rules, table), agents, 10, 7))


def test_parts_of_matches_put_together_are_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "DEALS_PER_JOB", 2)
    rules = VARIANTS["back_alley"]
    table = ("rule", "random")
    plan = Plan(rules, (table,), None, 5, 3)
    assert plan.kinds == rules.schedule
    agents = {name: bots.make(name) for name in table}
    whole = play_matches(rules, rotations(rules, table), agents, 5, 3)
    for one, other in zip(results_of(plan)[table], whole, strict=True):
        assert_equal(one, other)


def test_a_plan_without_sense_is_refused() -> None:
    table = ("rule",) * 4
    with pytest.raises(ValueError, match=r"^deals is 2, but an interval needs at least 3 matches$"):
        Plan(Rules(), (table,), None, 2, 0)
    with pytest.raises(ValueError, match=r"^the table rule, random has 2 places, but the game is for 4 players$"):
        Plan(Rules(), (table, ("rule", "random")), None, 3, 0)
    with pytest.raises(ValueError, match=r"^the table .* has 4 places, but the game is for 2 sides$"):
        Plan(VARIANTS["back_alley"], (table,), None, 3, 0)
    with pytest.raises(ValueError, match=r"^hand sizes: 14, 20 is not in the schedule, which has hands of 1, 2, 3, "):
        scheduled_times(Rules(), [13, 14, 20])
    for deals in (3.5, True, "3"):
        with pytest.raises(ValueError, match=r"^deals is .*, but it must be a whole number"):
            Plan(Rules(), (table,), None, deals, 0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^seed is -1, but"):
        Plan(Rules(), (table,), None, 3, -1)
    for hands in ((), (ScheduledHand(2), ScheduledHand(2))):
        with pytest.raises(ValueError, match=r"^hands must be one or more different kinds"):
            Plan(Rules(), (table,), hands, 3, 0)
    with pytest.raises(ValueError, match=r"^hand sizes: none"):
        scheduled_times(Rules(), [])


@pytest.mark.parametrize("deals", [range(5, 5), range(-2, 3), range(5, 0, -1)])
def test_deals_without_sense_are_refused(deals: range) -> None:
    with pytest.raises(ValueError, match=r"^deals is range\(.*, but it must be their number or an ascending range "):
        play_duplicate(Rules(), ScheduledHand(2), [("rule",) * 4], {"rule": bots.make("rule")}, deals, 0)
    with pytest.raises(ValueError, match=r"^seatings is empty"):
        play_matches(Rules(), [], {}, 3, 0)


# Matches.

MATCHES = VARIANTS | {
    **{f"{players} players": Rules(num_players=players, schedule="4-1-3", min_bid=0) for players in range(2, 7)},
    "extended": Rules(num_players=6, schedule="extended"),
    "standard": Rules(),
}


@pytest.mark.parametrize("variant", MATCHES)
def test_matches_are_those_of_single_games(variant: str) -> None:
    """In seating r a match is the game of its number with the player of place p at seat (or side) p + r."""
    rules, seed = MATCHES[variant], 11
    places = len(rules.sides)
    agents = {agent.name: agent for agent in map(Picky, range(places))}
    table = tuple(agents)
    seatings = rotations(rules, table)
    assert len(seatings) == places
    hands = play_matches(rules, seatings, agents, range(3, 5), seed)
    assert len(hands) == len(rules.schedule)
    for number in (3, 4):
        for seating, names in enumerate(seatings):
            game = Game(rules, deal_seed(seed, None), number=number)
            while not game.is_terminal:
                name = names[game.current_player]
                game.apply_action(choice(np.array(game.legal_actions()), agents[name].taste))
            assert len(game.history) == len(hands)
            for hand, result in zip(hands, game.history, strict=True):
                assert tuple(hand.points[number - 3, seating]) == result.points
                assert tuple(hand.bids[number - 3, seating]) == result.bids
                assert tuple(hand.tricks[number - 3, seating]) == result.tricks
                assert hand.dealers[number - 3] == result.dealer
                assert hand.trumps[number - 3] == (-1 if result.trump is None else result.trump)
            total = sum(hand.points[number - 3, seating] for hand in hands)
            assert tuple(total) == game.scores


def test_the_players_of_a_table_move_on_by_one_place() -> None:
    assert rotations(Rules(num_players=3), ("a", "b", "c")) == [("a", "b", "c"), ("c", "a", "b"), ("b", "c", "a")]
    assert rotations(Rules(num_players=4), ("a", "b", "a", "b")) == [("a", "b", "a", "b"), ("b", "a", "b", "a")]
    assert rotations(VARIANTS["back_alley"], ("a", "b")) == [("a", "b", "a", "b"), ("b", "a", "b", "a")]


def comparison_of(rules: Rules, matches: int) -> dict[str, float]:
    agents = {agent.name: agent for agent in map(Picky, range(2))}
    one, other = agents
    pairing = Pairing.one_among(one, other, len(rules.sides))
    plan = Plan(rules, pairing.tables, None, matches, 2)
    results = plan.assembled({job: plan.play(job, agents.__getitem__) for job in plan.jobs()})
    average = compared(plan, results, pairing, {name: Participant(name) for name in agents}).average
    return {name: estimate.mean for name, estimate in average.items()}


@pytest.mark.parametrize("variant", ["back_alley", "micro", "alley_of_14", "3 players"])
def test_a_match_that_ends_even_is_shared(variant: str) -> None:
    """The share of matches won is that of the winners that the games name."""
    rules, matches = MATCHES[variant], 20
    tastes = {name: taste for taste, name in enumerate(("taste 0", "taste 1"))}
    table = ("taste 0", *["taste 1"] * (len(rules.sides) - 1))
    shares, most = [], []
    for number in range(matches):
        for seats in rotations(rules, table):
            game = Game(rules, deal_seed(2, None), number=number)
            while not game.is_terminal:
                taste = tastes[seats[game.current_player]]
                game.apply_action(choice(np.array(game.legal_actions()), taste))
            own = [seat for seat in range(rules.num_players) if seats[seat] == "taste 0"]
            shares.append(len(set(own) & set(game.winners)) / len(game.winners))
            for hand in game.history:
                best = [seat for seat, points in enumerate(hand.points) if points == max(hand.points)]
                most.append(len(set(own) & set(best)) / len(best))
    average = comparison_of(rules, matches)
    assert average["match_wins"] == pytest.approx(np.mean(shares), abs=1e-12)
    assert average["most_points"] == pytest.approx(np.mean(most), abs=1e-12)
    assert 0 < average["match_wins"] < 1


def test_a_match_without_points_is_shared_by_all() -> None:
    for players in (2, 3, 6):
        rules = Rules(num_players=players, schedule="2", points_per_trick=0, points_per_overtrick=0)
        assert comparison_of(rules, 5)["match_wins"] == pytest.approx(1 / players, abs=1e-15)


def test_figures_of_matches_are_means_by_hand() -> None:
    """A match of one kind of hand, at one table of two players: everything counted by hand."""
    rules = Rules(num_players=2, schedule=[3, 3], min_bid=0)
    agents = {agent.name: agent for agent in map(Picky, range(2))}
    seatings = rotations(rules, tuple(agents))
    hands = play_matches(rules, seatings, agents, 8, 2)
    base = play_matches(rules, [("taste 1", "taste 1")], agents, 8, 2)
    own = [[hand.points[:, r, r] for r in range(2)] for hand in hands]
    others = [[hand.points[:, r, 1 - r] for r in range(2)] for hand in hands]
    same_seat = [[hand.points[:, 0, r] for r in range(2)] for hand in base]
    average = comparison_of(rules, 8)
    assert average["points"] == pytest.approx(np.mean(own))
    assert average["over_opponents"] == pytest.approx(np.mean(own) - np.mean(others))
    assert average["over_same_seat"] == pytest.approx(np.mean(own) - np.mean(same_seat))
    made = [[hand.tricks[:, r, r] >= hand.bids[:, r, r] for r in range(2)] for hand in hands]
    assert average["made"] == pytest.approx(np.mean(made))

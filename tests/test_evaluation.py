"""Duplicate tables and their statistics, with small players whose behaviour is known."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from bluke_env import Game, Rules, Turn, bots
from bluke_env.agent import Agent
from bluke_env.evaluation import AgentError, Comparison, DuplicateResult, Estimate, measure, play_duplicate, rotations
from bluke_env.evaluation.duplicate import foreign_rules
from bluke_env.evaluation.seeds import deal_seed
from bluke_env.evaluation.statistics import student_95
from bluke_env.schedule import ScheduledHand

FIRST_BID = 54
HI_BLUKE = 53


class Player:
    """Picks from the legal actions by a rule of its own."""

    def __init__(self, name: str, choose: Callable[[Turn], np.ndarray]) -> None:
        self.name = name
        self.choose = choose

    def reset(self, num_games: int, seed: int) -> None:
        pass

    def act(self, turn: Turn) -> np.ndarray:
        return self.choose(turn)


class Drawing:
    """Random, from streams of its own for each game."""

    name = "drawing"

    def reset(self, num_games: int, seed: int) -> None:
        self.generators = [np.random.default_rng([seed, game]) for game in range(num_games)]

    def act(self, turn: Turn) -> np.ndarray:
        rows = zip(turn.games, turn.masks, strict=True)
        return np.array([self.generators[game].choice(np.flatnonzero(mask)) for game, mask in rows])


def lowest(turn: Turn) -> np.ndarray:
    return turn.masks.argmax(axis=1)


def highest(turn: Turn) -> np.ndarray:
    return turn.masks.shape[1] - 1 - turn.masks[:, ::-1].argmax(axis=1)


def low_bid_high_card(turn: Turn) -> np.ndarray:
    bidding = lowest(turn) >= FIRST_BID
    return np.where(bidding, lowest(turn), highest(turn))


def low() -> Player:
    return Player("low", lowest)


def bold() -> Player:
    return Player("bold", low_bid_high_card)


def figures(comparison: Comparison) -> list[Estimate]:
    return [estimate for hand in comparison.hands.values() for estimate in hand.values()]


def assert_the_same(one: Comparison, other: Comparison) -> None:
    assert figures(one) == figures(other)
    assert one.average == other.average


def played(rules: Rules, hand: ScheduledHand, players: list[Agent], deals: int, seed: int) -> DuplicateResult:
    """Plays in all rotations; a player that occurs twice is two players of different names."""
    names = [f"{player.name} {place}" for place, player in enumerate(players)]
    agents = dict(zip(names, players, strict=True))
    return play_duplicate(rules, hand, rotations(rules, tuple(names)), agents, deals, seed)


# Tables.


@pytest.mark.parametrize("num_players", [2, 3, 7])
def test_a_table_plays_what_single_games_play(num_players: int) -> None:
    """In rotation r every deal is the game of its number with the players moved r seats to the left."""
    hand = ScheduledHand(4)
    rules = Rules(num_players=num_players, min_bid=0)
    players = [bold(), low(), Player("top", highest), bold(), low(), low(), bold()][:num_players]
    result = played(rules, hand, players, deals=5, seed=3)
    choices = {"low": lambda game: game.legal_actions()[0], "top": lambda game: game.legal_actions()[-1]}
    choices["bold"] = lambda game: game.legal_actions()[0 if game.phase == 0 else -1]
    for deal in range(5):
        for rotation in range(num_players):
            game = Game(rules.hands_of(4), seed=deal_seed(3, hand), number=deal)
            while not game.is_terminal:
                player = players[(game.current_player - rotation) % num_players]
                game.apply_action(choices[player.name](game))
            assert tuple(result.points[deal, rotation]) == game.last_hand.points
            assert tuple(result.bids[deal, rotation]) == game.last_hand.bids
            assert tuple(result.tricks[deal, rotation]) == game.last_hand.tricks


def test_places_follow_their_players_through_the_seats() -> None:
    """Only the player at place 2 bids high, so its bids stand out wherever it sits."""
    players = [low(), low(), Player("top", highest), low()]
    bids = played(Rules(), ScheduledHand(5), players, deals=3, seed=0).bids
    assert (bids == [[1, 1, 5, 1], [1, 1, 1, 5], [5, 1, 1, 1], [1, 5, 1, 1]]).all()


def test_a_player_meets_the_same_deals_in_all_seats_and_never_one_twice() -> None:
    """By deal and seat the hands seen at the bid are the same in all rotations; no two deals are equal."""
    hands: dict[tuple[int, int], set[tuple[int, ...]]] = {}

    def look(turn: Turn) -> np.ndarray:
        for view, seat, game in zip(turn.views, turn.seats, turn.games, strict=True):
            assert not np.delete(view["hands"], seat).any()
            if view["phase"] == 0:
                deal = (int(view["hands"][seat]), int(view["turned_up"]), int(view["dealer"]))
                hands.setdefault((int(game) // 4, int(seat)), set()).add(deal)
        return lowest(turn)

    played(Rules(), ScheduledHand(13), [Player("looking", look)] * 4, deals=50, seed=0)
    assert len(hands) == 50 * 4
    assert all(len(seen) == 1 for seen in hands.values())
    assert len(set.union(*hands.values())) == 50 * 4


def test_one_player_in_all_seats_is_symmetric() -> None:
    """Two thousand deals: all rotations are alike to the bit, and no seat is better than another."""
    result = played(Rules(), ScheduledHand(5), [bold()] * 4, deals=2000, seed=1)
    assert (result.points == result.points[:, :1]).all()
    by_seat = result.points[:, 0]
    for seat in range(4):
        difference = Estimate.by_deal(by_seat[:, seat] - by_seat.mean(axis=1))
        assert abs(difference.mean) < 1.5 * difference.half_width


def test_the_seed_and_the_kind_of_hand_decide_the_deals() -> None:

    def points(deals: int | range, seed: int) -> np.ndarray:
        return play_duplicate(Rules(), ScheduledHand(5), [["bold"] * 4], {"bold": bold()}, deals, seed).points

    one = points(200, seed=0)
    assert (one == points(200, seed=0)).all()
    assert (one[:100] == points(100, seed=0)).all()
    assert (one[60:90] == points(range(60, 90), seed=0)).all()
    assert (one != points(200, seed=1)).any()
    assert deal_seed(0, ScheduledHand(5)) != deal_seed(0, ScheduledHand(6))
    assert deal_seed(0, ScheduledHand(5)) != deal_seed(0, ScheduledHand(5, True))


# Comparisons.


def test_a_deterministic_player_differs_from_itself_by_exactly_nothing() -> None:
    for num_players in (2, 3, 4, 6):
        rules = Rules(num_players=num_players)
        same = bold()
        for opponent in (same, bold()):
            comparison = measure(same, opponent, rules, deals=40, seed=5)
            for estimates in (*comparison.hands.values(), comparison.average):
                for name in ("over_same_seat", "over_opponents"):
                    assert (estimates[name].mean, estimates[name].half_width) == (0.0, 0.0)
                assert estimates["most_points"].mean == pytest.approx(1 / num_players)


@pytest.mark.parametrize("games_at_once", [1, 7, 64])
def test_the_size_of_the_batch_changes_nothing(games_at_once: int) -> None:
    rules = Rules(num_players=3)
    whole = measure(bold(), Drawing(), rules, deals=20, seed=2, sizes=[4, 2])
    parts = measure(bold(), Drawing(), rules, deals=20, seed=2, sizes=[4, 2], games_at_once=games_at_once)
    assert_the_same(whole, parts)


def test_a_player_that_draws_lots_draws_others_than_its_twin() -> None:
    comparison = measure(Drawing(), Drawing(), Rules(), deals=150, seed=4, sizes=[3])
    estimate = comparison.average["over_same_seat"]
    assert 0 < abs(estimate.mean) < estimate.half_width


def test_bots_are_measured_alike_in_batches_of_any_size() -> None:
    """The bots draw lots, for a bid or for everything; one bot in all seats still equals itself exactly."""
    rules = Rules(num_players=3)
    for player, opponent in (("rule", "random"), ("random", "rule")):
        whole = measure(bots.make(player), bots.make(opponent), rules, deals=12, seed=1, sizes=[5])
        parts = measure(bots.make(player), bots.make(opponent), rules, deals=12, seed=1, sizes=[5], games_at_once=9)
        assert_the_same(whole, parts)
        assert str(whole.player) == f"{player} (version {bots.BOTS[player].version})"
    rule = bots.make("rule")
    itself = measure(rule, rule, rules, deals=12, seed=1, sizes=[5]).average["over_same_seat"]
    assert (itself.mean, itself.half_width) == (0.0, 0.0)


@pytest.mark.parametrize("num_players", [2, 4, 15])
def test_a_gap_that_can_be_counted_is_found_exactly(num_players: int) -> None:
    """With one card only the bid can be chosen: bidding 1 gains 9 for the winner and costs the others 10."""
    rules = Rules(num_players=num_players, min_bid=0)
    comparison = measure(Player("top", highest), low(), rules, deals=50, seed=0, sizes=[1])
    estimates = comparison.average
    gap = (9 - 10 * (num_players - 1)) / num_players
    assert estimates["over_same_seat"].mean == pytest.approx(gap, abs=1e-12)
    assert estimates["over_opponents"].mean == pytest.approx(gap, abs=1e-12)
    assert estimates["over_same_seat"].half_width < 1e-12
    assert estimates["made"].mean == pytest.approx(1 / num_players)
    assert estimates["bid"].mean == 1
    assert estimates["tricks"].mean == pytest.approx(1 / num_players)
    assert estimates["overtricks"].mean == 0
    assert estimates["most_points"].mean == pytest.approx(1 / num_players)


def test_a_gap_that_can_be_computed_lies_in_the_interval() -> None:
    """Bidding 1 with the Hi Bluke alone gains 9 points in one of 54 hands."""

    def sure(turn: Turn) -> np.ndarray:
        own = turn.views["hands"][np.arange(len(turn.seats)), turn.seats]
        bidding = turn.views["phase"] == 0
        return np.where(bidding, FIRST_BID + (own >> HI_BLUKE & 1), lowest(turn))

    comparison = measure(Player("sure", sure), low(), Rules(min_bid=0), deals=4000, seed=0, sizes=[1])
    estimate = comparison.average["over_same_seat"]
    assert abs(estimate.mean - 9 / 54) < estimate.half_width < 9 / 54


def test_ties_share_the_hand() -> None:
    """Where no points are to be had everyone shares every hand."""
    pointless = Rules(points_per_trick=0, points_per_overtrick=0)
    comparison = measure(bold(), low(), pointless, deals=10, seed=0, sizes=[3])
    assert comparison.average["most_points"].mean == 0.25
    assert comparison.average["most_points"].half_width == 0


def test_the_deal_is_the_unit() -> None:
    """The interval is that of means by deal: four rotations of a deal do not count as four deals."""
    rules, hand, deals = Rules(), ScheduledHand(6), 100
    estimate = measure(bold(), low(), rules, deals, seed=8, sizes=[6]).hands[hand]["points"]
    result = played(rules, hand, [bold(), low(), low(), low()], deals, seed=8)
    points = np.array([[result.points[deal, seat, seat] for seat in range(4)] for deal in range(deals)])
    means = points.mean(axis=1)
    assert estimate.mean == pytest.approx(points.mean())
    assert estimate.half_width == pytest.approx(1.98422 * means.std(ddof=1) / math.sqrt(deals), rel=1e-4)
    assert estimate.degrees_of_freedom == deals - 1


def test_the_average_weighs_hands_as_the_schedule_does() -> None:
    rules = Rules(num_players=3, schedule=[3, 2, 1, 2, 3, (3, True)])
    comparison = measure(bold(), low(), rules, deals=60, seed=0)
    weights = {ScheduledHand(3): 2, ScheduledHand(2): 2, ScheduledHand(1): 1, ScheduledHand(3, True): 1}
    assert comparison.times == weights
    for name, average in comparison.average.items():
        parts = [(weight / 6, comparison.hands[hand][name]) for hand, weight in weights.items()]
        assert average.mean == pytest.approx(sum(share * part.mean for share, part in parts))
        variance = sum((share * part.standard_error) ** 2 for share, part in parts)
        assert average.standard_error == pytest.approx(math.sqrt(variance))


@pytest.mark.parametrize(
    ("degrees_of_freedom", "point"),
    [(2, 4.302653), (3, 3.182446), (5, 2.570582), (10, 2.228139), (30, 2.042272), (1e9, 1.959964)],
)
def test_student_points(degrees_of_freedom: float, point: float) -> None:
    assert student_95(degrees_of_freedom) == pytest.approx(point, rel=0.01 if degrees_of_freedom == 2 else 0.002)


# What is refused.


def failing(turn: Turn) -> np.ndarray:
    raise KeyError("lost")


ILL_BEHAVED = {
    "an illegal action": (
        lambda turn: np.full(len(turn.seats), 54),
        "chose 54 WHERE.* its legal actions are 55 ",
    ),
    "an action out of range": (lambda turn: np.full(len(turn.seats), 1000), "chose 1000 WHERE, but"),
    "a negative action": (lambda turn: np.full(len(turn.seats), -1), "chose -1 WHERE, but"),
    "another shape": (
        lambda turn: lowest(turn)[1:],
        r"int64 and shape \(2,\) .*, first WHERE.* shape \(3,\)$",
    ),
    "one number": (lambda turn: 55, r"shape \(\) .*, first WHERE, but"),
    "floats": (lambda turn: lowest(turn).astype(np.float32), "dtype float32 .*, first WHERE, but"),
    "truth values": (lambda turn: lowest(turn) > 0, "dtype bool .*, first WHERE, but"),
    "nothing": (lambda turn: None, "dtype object .*, first WHERE, but"),
    "an exception": (failing, r"raised KeyError\('lost'\) .*, first WHERE$"),
}


@pytest.mark.parametrize("case", ILL_BEHAVED)
def test_whoever_misbehaves_is_named_with_deal_and_seat(case: str) -> None:
    """With two players and three deals one player bids first in one of the two rotations of each deal."""
    choose, reason = ILL_BEHAVED[case]

    def act(turn: Turn) -> np.ndarray:
        return choose(turn) if turn.views["hand_size"][0] == 2 else lowest(turn)

    place = r"in seat [01] of deal 0 \(hands of 2 cards, seated (culprit, low|low, culprit)\)"
    with pytest.raises(AgentError, match="^culprit .*" + reason.replace("WHERE", place)):
        measure(Player("culprit", act), low(), Rules(num_players=2, schedule=[3, 2]), deals=3, seed=0)


def test_a_player_that_cannot_start_is_named() -> None:
    class Unready(Drawing):
        name = "unready"

        def reset(self, num_games: int, seed: int) -> None:
            raise MemoryError

    with pytest.raises(AgentError, match=r"^unready raised MemoryError\(\) when reset for hands of 2 cards$"):
        measure(low(), Unready(), Rules(), deals=3, seed=0, sizes=[2])


def test_an_illegal_choice_is_pinned_to_its_row() -> None:
    def revoke_once(turn: Turn) -> np.ndarray:
        actions = lowest(turn)
        actions[turn.games == 4 * 9 + 2] = 54  # each deal has four rotations
        return actions

    with pytest.raises(
        AgentError, match=r"^revoker chose 54 in seat 2 of deal 9 \(hands of 3 cards, seated low, low, revoker, low\)"
    ):
        measure(Player("revoker", revoke_once), low(), Rules(), deals=12, seed=0, sizes=[3])


def test_players_cannot_change_the_game_through_what_they_are_shown() -> None:
    def vandal(turn: Turn) -> np.ndarray:
        actions = lowest(turn)
        turn.views.view(np.uint8)[:] = 0
        turn.seats[:] = 0
        turn.games[:] = 0
        turn.masks[:] = 1
        return actions

    spoilt = measure(Player("low", vandal), low(), Rules(), deals=20, seed=0, sizes=[5])
    assert_the_same(spoilt, measure(low(), low(), Rules(), deals=20, seed=0, sizes=[5]))


def test_a_player_for_another_number_of_seats_is_refused() -> None:
    trained = low()
    trained.rules = Rules(num_players=3)  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="low plays at tables of 3 players, but this table has 4"):
        measure(trained, bold(), Rules(), deals=10, seed=0)
    with pytest.raises(ValueError, match="low plays at tables of 3 players, but this table has 4"):
        measure(bold(), trained, Rules(), deals=10, seed=0)


def test_what_a_player_was_made_for_is_told_by_the_table_of_as_many_seats() -> None:
    trained = low()
    trained.tables = (Rules(num_players=2, min_bid=0), Rules(num_players=3))  # type: ignore[attr-defined]
    assert foreign_rules(Rules(num_players=3, schedule="2"), "low", trained) is None
    assert foreign_rules(Rules(num_players=2, min_bid=0), "low", trained) is None
    told = "low was made for min_bid 0, but here it plays with min_bid 1"
    assert foreign_rules(Rules(num_players=2), "low", trained) == told
    assert foreign_rules(Rules(num_players=2), "low", low()) is None


class Nameless:
    def reset(self, num_games: int, seed: int) -> None:
        pass


class Idle(Nameless):
    name = "idle"


def test_what_is_no_agent_is_refused_in_a_sentence() -> None:
    for nobody in ("rule", None, Drawing, Nameless(), Idle()):
        with pytest.raises(
            ValueError, match=r"is no agent, an object with a name .*: bots.make\(\"rule\"\) makes one$"
        ):
            measure(low(), nobody, Rules(), deals=10, seed=0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"deals": 2}, "deals is 2, but an interval needs at least 3 deals"),
        ({"deals": 0}, "deals is 0, but"),
        ({"seed": -1}, "seed is -1"),
        ({"sizes": [5, 14]}, "hand sizes: 14 is not in the schedule, which has hands of 1, 2, 3"),
        ({"sizes": []}, "hand sizes: none is not in the schedule"),
    ],
)
def test_bad_arguments_are_refused_in_a_sentence(changes: dict, sentence: str) -> None:
    arguments = {"deals": 10, "seed": 0, "sizes": [2]} | changes
    with pytest.raises(ValueError, match=sentence):
        measure(low(), low(), Rules(), **arguments)


def test_a_table_needs_a_player_for_each_seat() -> None:
    with pytest.raises(ValueError, match="3 players were given for a table of 4"):
        play_duplicate(Rules(), ScheduledHand(2), [["low"] * 3], {"low": low()}, deals=3, seed=0)

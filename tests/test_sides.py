"""Partners share everything: scores, rewards, the win, and how they are measured."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aec_play import decisions
from tables import FIRST_BID, play_hand, result_of
from variants import VARIANTS, with_variants

import agents
from agents import evaluate
from bluke_env import BatchGame, Deal, Game, Rules, Turn, bluke_v0, bots
from bluke_env.actions import BOARD
from bluke_env.cards import parse_card, parse_cards
from bluke_env.evaluation import DuplicateResult, measure, play_duplicate, rotations
from bluke_env.evaluation.measure import by_deal, by_place
from bluke_env.evaluation.seeds import deal_seed
from bluke_env.schedule import ScheduledHand

BACK_ALLEY = Rules.preset("back_alley")
SIDES = ((0, 2), (1, 3))

of_teams = pytest.mark.parametrize("rules", with_variants(lambda rules: rules.teams))


# Scores and winners.


def test_sides_of_the_rules() -> None:
    assert BACK_ALLEY.sides == SIDES
    assert Rules(num_players=3).sides == ((0,), (1,), (2,))


@of_teams
def test_partners_have_the_same_scores_and_win_together(rules: Rules) -> None:
    winners = set()
    for seed in range(30):
        game, rng = Game(rules, seed), random.Random(seed)
        while not game.is_terminal:
            play_hand(game, rng)
            for scores in (result_of(game).points, game.scores):
                assert (scores[0], scores[1]) == (scores[2], scores[3])
        ahead = game.scores[0] - game.scores[1]
        expected = SIDES[0] if ahead > 0 else SIDES[1] if ahead < 0 else (0, 1, 2, 3)
        assert game.winners == expected
        winners.add(expected)
    assert winners >= set(SIDES)


def test_moving_the_table_by_one_seat_swaps_the_sides() -> None:
    hands = [parse_cards(cards) for cards in ("AC KC", "2D 3D", "2H 3H", "2S 3S")]
    scores = []
    for turns in range(4):
        moved = [hands[(seat - turns) % 4] for seat in range(4)]
        deal = Deal(moved, parse_card("QC"), dealer=(3 + turns) % 4)
        game = Game(Rules.preset("back_alley", schedule="2"), deals=[deal])
        for action in [FIRST_BID + 2, FIRST_BID, FIRST_BID, FIRST_BID, *parse_cards("KC 2D 2H 2S AC 3D 3H 3S")]:
            game.apply_action(action)
        scores.append((game.scores, game.winners))
    assert scores[0] == scores[2] == ((10, 0, 10, 0), (0, 2))
    assert scores[1] == scores[3] == ((0, 10, 0, 10), (1, 3))


# Rewards.


@pytest.mark.parametrize("reward", ["points", "margin", "win"])
@of_teams
def test_rewards_of_partners_are_equal(rules: Rules, reward: str) -> None:
    env, game, rng = bluke_v0.env(rules, reward=reward), Game(rules, 3), random.Random(3)
    env.reset(seed=3)
    paid = 0
    while not game.is_terminal:
        number, action = game.hand_number, rng.choice(game.legal_actions())
        game.apply_action(action)
        env.step(action)
        points = result_of(game).points if game.hand_number > number else (0, 0, 0, 0)
        due = {
            "points": list(points),
            "margin": [own - opponents for own, opponents in zip(points, points[1:] + points[:1], strict=True)],
            "win": [int(seat in game.winners) for seat in range(4)],
        }
        assert list(env.rewards.values()) == due[reward]
        paid += any(due[reward])
    assert paid >= (1 if reward == "win" else rules.num_hands - 1)
    assert len(game.winners) == 2


def test_sides_that_tie_share_the_win_by_halves() -> None:
    """No trick is worth a point, so all are level."""
    env = bluke_v0.env(
        Rules.preset("back_alley", schedule="2", points_per_trick=0, points_per_overtrick=0), reward="win"
    )
    for _ in decisions(env, seed=1):
        pass
    assert env.game.winners == (0, 1, 2, 3)
    assert list(env.rewards.values()) == [0.5] * 4


def test_batches_pay_partners_alike() -> None:
    batch, stream = BatchGame(VARIANTS["alley_of_14"], 64, seed=1), np.array([1], np.uint64)
    paid = 0
    for _ in range(200):
        batch.step(batch.random_actions(stream))
        for rows in (batch.rewards, batch.final_scores):
            assert (rows[:, [0, 1]] == rows[:, [2, 3]]).all()
        paid += batch.rewards.any(1).sum()
    assert paid > 500


# Measuring a side.


class Player:
    """Picks from the legal actions by a rule of its own."""

    def __init__(self, name: str, choose: Callable[[Turn], np.ndarray]) -> None:
        self.name, self.choose = name, choose

    def reset(self, num_games: int, seed: int) -> None:
        pass

    def act(self, turn: Turn) -> np.ndarray:
        return self.choose(turn)


def lowest(turn: Turn) -> np.ndarray:
    return turn.masks.argmax(axis=1)


def highest(turn: Turn) -> np.ndarray:
    return turn.masks.shape[1] - 1 - turn.masks[:, ::-1].argmax(axis=1)


def bidding(*wanted: int) -> Callable[[Turn], np.ndarray]:
    """Bids the first of these bids that is legal, or else the lowest, and plays the highest cards."""

    def choose(turn: Turn) -> np.ndarray:
        actions, rows = highest(turn), np.arange(len(turn.seats))
        if turn.views["phase"][0] == 0:
            actions = lowest(turn)
            for bid in reversed(wanted):
                action = FIRST_BID + bid if bid <= BOARD else FIRST_BID + turn.rules.most_cards + bid - BOARD
                actions = np.where(turn.masks[rows, action] == 1, action, actions)
        return actions

    return choose


def low() -> Player:
    return Player("low", lowest)


def test_statistics_of_sides_worked_out_by_hand() -> None:
    """Two deals of three cards; the player is first seats 0 and 2, then 1 and 3, and then there is none.

    Deal 0: a bid of 2 made, a bid of 1 made with one over; deal 1: a double board made, a board missed.
    """
    bids = [[(1, 0, 1, 2), (28, 0, 0, 1), (0, 0, 0, 0)], [(29, 28, 0, 0), (0, 28, 0, 3), (0, 0, 0, 0)]]
    tricks = [[(2, 1, 0, 0), (1, 1, 0, 1), (1, 1, 1, 0)], [(3, 0, 0, 0), (1, 1, 0, 1), (0, 2, 0, 1)]]
    points = [[(10, -10), (-30, 6), (2, 1)], [(60, -30), (1, -30), (0, 3)]]
    by_seat = np.array([[2 * row for row in deal] for deal in points], np.int32)
    played = by_seat, np.array(bids, np.int8), np.array(tricks, np.int8)
    facts = np.zeros(2, np.int8), np.zeros(2, np.int8)
    result, baseline = (
        DuplicateResult(*(array[:, seatings] for array in played), *facts) for seatings in (slice(0, 2), slice(2, 3))
    )
    own = np.eye(2, dtype=bool)
    places = by_place(result, baseline, BACK_ALLEY, 3, own)
    statistics = {name: values.tolist() for name, values in by_deal(places, own).items()}
    assert statistics == {
        "points": [8, 15],
        "over_same_seat": [((10 - 2) + (6 - 1)) / 2, ((60 - 0) + (-30 - 3)) / 2],
        "over_opponents": [((10 + 10) + (6 + 30)) / 2, ((60 + 30) + (-30 - 1)) / 2],
        "most_points": [1, 0.5],
        "made": [1, 0.5],
        "bid": [1.5, 3],
        "tricks": [2, 2.5],
        "overtricks": [0.5, 0],
    }


CHOICES: dict[str, Callable[[Turn], np.ndarray]] = {
    "low": lowest,
    "two": bidding(2, 1),
    "board": bidding(BOARD + 1),
    "boards": bidding(BOARD + 4, BOARD + 3, BOARD + 2, BOARD + 1),
}


@pytest.mark.parametrize("name", CHOICES)
def test_statistics_follow_from_the_results_of_both_sides(name: str) -> None:
    """Every figure, worked out in plain Python, with the player's side at seats 0 and 2, then at 1 and 3."""
    hand, deals = ScheduledHand(3), 12
    rules = VARIANTS["alley_of_14"]
    player, opponent = Player(name, CHOICES[name]), Player("one", bidding(1))
    estimates = measure(player, opponent, rules, deals, seed=2, sizes=[3]).hands[hand]
    seatings = [[name, "one"] * 2, ["one", name] * 2, ["one"] * 4]
    result = play_duplicate(rules, hand, seatings, {name: player, "one": opponent}, deals, seed=2)
    told: dict[str, list[float]] = {statistic: [] for statistic in estimates}
    for deal in range(deals):
        points = [result.points[deal, seating] for seating in range(3)]
        for side, seats in enumerate(SIDES):
            bids, tricks = (array[deal, side][list(seats)].tolist() for array in (result.bids, result.tricks))
            bid, own, other = 3 if max(bids) > BOARD else sum(bids), points[side][side], points[side][1 - side]
            told["points"].append(own)
            told["over_same_seat"].append(own - points[2][side])
            told["over_opponents"].append(own - other)
            told["most_points"].append(1 if own > other else 0.5 if own == other else 0)
            told["made"].append(sum(tricks) >= bid)
            told["bid"].append(bid)
            told["tricks"].append(sum(tricks))
            told["overtricks"].append(max(0, sum(tricks) - bid))
    for statistic, values in told.items():
        assert estimates[statistic].mean == pytest.approx(np.mean(values), abs=1e-12)
        means = np.reshape(values, (deals, 2)).mean(1)
        assert estimates[statistic].standard_error == pytest.approx(means.std(ddof=1) / np.sqrt(deals), abs=1e-12)


def test_a_table_of_sides_plays_what_single_games_play() -> None:
    rules, hand = BACK_ALLEY, ScheduledHand(4)
    first, second = Player("board", bidding(BOARD + 1)), low()
    seatings, agents = rotations(rules, ("board", "low")), {"board": first, "low": second}
    assert seatings == [("board", "low") * 2, ("low", "board") * 2]
    result = play_duplicate(rules, hand, seatings, agents, deals=5, seed=3)
    for deal in range(5):
        for seating in range(2):
            game = Game(rules.hands_of(4), seed=deal_seed(3, hand), number=deal)
            while not game.is_terminal:
                legal = game.legal_actions()
                if game.current_player % 2 == seating:  # type: ignore[operator]
                    board = FIRST_BID + rules.most_cards + 1
                    action = (board if board in legal else legal[0]) if game.phase == 0 else legal[-1]
                game.apply_action(action if game.current_player % 2 == seating else legal[0])  # type: ignore[operator]
            for name in ("points", "bids", "tricks"):
                assert tuple(getattr(result, name)[deal, seating]) == getattr(game.last_hand, name)


def test_a_deterministic_side_differs_from_itself_by_exactly_nothing() -> None:
    for same, opponent in ((low(), low()), (Player("two", bidding(2)), Player("two", bidding(2)))):
        comparison = measure(same, opponent, BACK_ALLEY, deals=20, seed=5)
        for estimates in (*comparison.hands.values(), comparison.average):
            for name in ("over_same_seat", "over_opponents"):
                assert (estimates[name].mean, estimates[name].half_width) == (0.0, 0.0)
            assert estimates["most_points"].mean == 0.5
    rule = bots.make("rule:worlds=4")
    itself = measure(rule, rule, BACK_ALLEY, deals=6, seed=1, sizes=[5, 1]).average
    assert [(itself[name].mean, itself[name].half_width) for name in ("over_same_seat", "over_opponents")] == [
        (0, 0)
    ] * 2


def test_a_gap_between_sides_that_can_be_counted_is_found_exactly() -> None:
    """With one card a side that bids 1 scores 5 or loses 5, and the other takes 1 point in the second case."""
    one = Player("one", bidding(1))
    estimates = measure(one, low(), BACK_ALLEY, deals=60, seed=0, sizes=[1]).average
    made = estimates["made"].mean
    assert 0.2 < made < 0.8
    assert estimates["bid"].mean == 1
    assert estimates["tricks"].mean == estimates["most_points"].mean == made
    assert estimates["overtricks"].mean == 0
    assert estimates["points"].mean == pytest.approx(10 * made - 5)
    assert estimates["over_opponents"].mean == pytest.approx(11 * made - 6)


def test_the_rule_bots_as_partners_beat_random_ones() -> None:
    for rules in (BACK_ALLEY.hands_of(6), VARIANTS["alley_of_14"], VARIANTS["any_trump"]):
        estimates = measure(bots.make("rule:worlds=10"), bots.make("random"), rules, deals=60, seed=1).average
        for name in ("over_same_seat", "over_opponents"):
            assert estimates[name].mean > estimates[name].half_width


# The command line.


def evaluated(path: Path, *arguments: str) -> Any:
    evaluate.main([*arguments, "--json", str(path)])
    return json.loads(path.read_text(encoding="utf-8"))


def test_back_alley_is_evaluated_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--preset", "back_alley", "--deals", "8", "--sizes", "3", "1"]
    facts = evaluated(tmp_path / "report.json", "rule", "--against", "random", "rule", *options)
    text = capsys.readouterr().out
    assert Rules.from_dict(facts["rules"]) == BACK_ALLEY
    assert (facts["rotations"], facts["seed"]) == (2, 0)
    assert text.startswith("4 players in two sides, 8 deals of each hand size × 2 rotations, seed 0, ")
    assert "\n2 × rule (version 1) against 2 × random (version 1)\n" in text
    ahead, same = facts["comparisons"]
    assert [(hand["cards"], hand["times"]) for hand in ahead["hands"]] == [(3, 2), (1, 1)]
    assert same["average"]["over_same_seat"] == {"mean": 0.0, "half_width": 0.0}
    for hand in ahead["hands"]:
        average = hand["estimates"]
        assert 0 <= average["bid"]["mean"] <= hand["cards"]
        assert 0 <= average["tricks"]["mean"] <= hand["cards"]


@pytest.mark.parametrize(
    ("arguments", "rules"),
    [
        (["--preset", "mini"], Rules.preset("mini")),
        (["--preset", "micro", "--min-bid", "0"], Rules.preset("micro", min_bid=0)),
        (["--preset", "bluke", "--schedule", "2,3nt"], Rules(schedule="2,3nt")),
        (["--schedule", "3-1"], Rules(schedule="3-1")),
        (["--preset", "back_alley", "--schedule", "2-1,2"], Rules.preset("back_alley", schedule="2-1,2")),
        (
            ["--schedule", "extended", "--num-players", "3", "--sizes", "1", "2"],
            Rules(num_players=3, schedule="extended"),
        ),
    ],
)
def test_the_command_line_chooses_the_game(
    arguments: list[str], rules: Rules, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = evaluated(tmp_path / "report.json", "rule", "--against", "random", "--deals", "4", *arguments)
    assert Rules.from_dict(facts["rules"]) == rules
    rows = {(hand["cards"], hand["no_trump"]) for hand in facts["comparisons"][0]["hands"]}
    assert rows == ({(1, False), (2, False)} if "--sizes" in arguments else set(rules.schedule))
    assert ("3 NT" in capsys.readouterr().out) == ((3, True) in rows)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--preset", "whist"], "argument --preset: invalid choice: 'whist'"),
        (["--schedule", "5-5"], "'5-5' in the schedule '5-5' cannot be read: write numbers of cards as in '13-1-13'"),
        (["--schedule", "14"], "the number of cards of hand 0 of the schedule for 4 players is 14, but it must be"),
        (["--schedule", "extended"], "the schedule 'extended' exists for 2, 3, 6, 8, 9 players"),
        (["--preset", "back_alley", "--num-players", "3"], "teams are two pairs of partners, so num_players must be 4"),
        (["--preset", "back_alley", "--min-bid", "1"], "min_bid is 1, but with teams it must be 0"),
        (["--preset", "back_alley", "--schedule", "5,5nt"], "hand 1 of the schedule is at no trump, but teams play so"),
        (["--preset", "mini", "--sizes", "5"], "hand sizes: 5 is not in the schedule, which has hands of 3 cards"),
    ],
)
def test_games_that_cannot_be_are_refused_in_a_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        evaluate.main(["rule", "--deals", "4", *arguments])
    printed = capsys.readouterr()
    assert (ended.value.code, printed.out) == (2, "")
    assert printed.err.startswith(f"python -m agents.evaluate: error: {sentence}")
    assert printed.err.count("\n") == 1


# A player for the other form of the game.


@pytest.mark.parametrize(("trained_for", "table"), [("bluke", "back_alley"), ("back_alley", "bluke")])
def test_a_player_for_the_other_form_is_refused(
    trained_for: str, table: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def load(path: str) -> Any:
        player: Any = bots.make("rule")
        player.rules, player.name = Rules.preset(trained_for), path
        return player

    monkeypatch.setattr(agents, "load", load)
    with pytest.raises(SystemExit) as ended:
        evaluate.main(["some.pt", "--against", "random", "--preset", table, "--deals", "4", "--sizes", "1"])
    names = {"bluke": "Bluke", "back_alley": "Back Alley"}
    assert ended.value.code == 2
    sentence = f"some.pt plays {names[trained_for]}, but this table plays {names[table]}"
    assert capsys.readouterr().err == f"python -m agents.evaluate: error: {sentence}\n"

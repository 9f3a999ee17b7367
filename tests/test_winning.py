"""Playing for matches: the chance to win from the scores, and networks that learn to raise it."""

import functools
import json
import math
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
import torch
from tiny_runs import Learned, learner, options, run, trainer

import agents
import train
from agents import evaluate, exploiter
from agents.config import TrainConfig
from agents.network import Heads, Network
from agents.player import NetworkAgent
from agents.rollout import WHOLE_MATCH, Rollout
from agents.winning import MEAN, VARIANCE, WIN, chance_to_win, outlook, variance_ahead, win_shares
from bluke_env import BatchGame, Rules, Turn, bots
from bluke_env.engine.state import BID

FIFTEEN = Rules(num_players=15)
"""Its matches are short: five hands of up to three cards."""

MATCHES = {"reward": "wins", "num_players": 15}


# The chance.


def test_an_outlook_says_what_hands_of_the_rule_bot_make() -> None:
    made, rules = outlook(FIFTEEN), FIFTEEN
    assert made.shape == (rules.most_cards + 1, 2)
    ahead = variance_ahead(made, rules).tolist()
    one, two, three = made[1:, VARIANCE].tolist()
    assert ahead == pytest.approx(
        [0, three, three + two, three + two + one, three + 2 * two + one, 2 * (three + two) + one]
    )
    rule = bots.make("rule")
    rule.reset(2000, 1)
    for cards in (1, 2, 3):
        batch = BatchGame.hands_of(rules, cards, 2000, 7, autoreset=False)
        while not batch.is_over[0]:
            batch.step(rule.act(Turn(batch.rules, batch.views(), batch.seats, np.arange(2000))))
        points = batch.rewards.astype(float)
        error = 4 * points.mean(1).std() / math.sqrt(100)
        assert abs(points.mean() - made[cards, MEAN]) < error + 0.01
        differences = (points[:, :, None] - points[:, None, :])[:, ~np.eye(15, dtype=bool)]
        assert 0.7 < (differences**2).mean() / 2 / made[cards, VARIANCE] < 1.4


def test_against_one_other_it_is_the_normal_distribution() -> None:
    rng = np.random.default_rng(0)
    for own, other, variance, theirs in rng.uniform(1, 400, (50, 4)).tolist():
        expected = NormalDist().cdf((own - other) / math.sqrt(variance + theirs))
        numbers = (torch.tensor([value]) for value in (own, variance, theirs))
        score, *variances = numbers
        found = chance_to_win(score, torch.tensor([[other]]), *variances)
        assert float(found) == pytest.approx(expected, abs=0.01)


def test_it_is_what_drawn_matches_give() -> None:
    rng = np.random.default_rng(1)
    scores = torch.from_numpy(rng.normal(50, 40, (12, 4))).float()
    later = torch.from_numpy(rng.uniform(200, 4000, 12)).float()
    found = win_shares(scores, later)
    ends = scores.numpy()[:, None] + later.sqrt().numpy()[:, None, None] * rng.normal(size=(12, 40_000, 4))
    drawn = (ends == ends.max(2, keepdims=True)).mean(1)
    np.testing.assert_allclose(found.numpy(), drawn, atol=0.02)
    torch.testing.assert_close(found.sum(1), torch.ones(12))


def test_at_the_end_of_a_match_the_most_points_win_and_ties_are_shared() -> None:
    scores = torch.tensor([[5.0, 3, 3, 1], [5, 5, 3, 1], [2, 2, 2, 2], [-7, -8, -9, -7]])
    shares = win_shares(scores, torch.zeros(4))
    assert shares.tolist() == [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25] * 4, [0.5, 0, 0, 0.5]]


# The network.


@functools.cache
def learned_nothing() -> Network:
    shipped = agents.load("bluke-4p").network
    made = Network((Rules(),), Heads(shipped.heads.hidden_sizes, aim="wins")).eval()
    made.outlook.copy_(outlook(Rules()))
    made.begin_with(shipped.state_dict(), shipped.heads)
    return made


def network() -> Network:
    """The shipped network for four players, playing for wins before it has learned to."""
    made = learned_nothing()
    made.expect(Rules())
    return made


def at_bids(scores: list[int], hands: int) -> tuple[BatchGame, Turn]:
    """Matches about to bid with `hands` hands left, in which the seat to bid and the others have some scores."""
    batch = BatchGame(Rules(), 200, 4, autoreset=False)
    rule, games = bots.make("rule"), np.arange(200)
    rule.reset(200, 0)
    while Rules().num_hands - batch.records["hand_number"][0] > hands:
        batch.step(rule.act(Turn(batch.rules, batch.views(), batch.seats, games)))
    views = batch.views()
    for view in views:
        view["scores"][(view["seat"] + np.arange(4)) % 4] = scores
    return batch, Turn(batch.rules, views, batch.seats.copy(), games)


def test_it_begins_with_the_cards_of_the_network_that_maximised_points() -> None:
    made, shipped = network(), agents.load("bluke-4p")
    batch, _ = at_bids([0] * 4, 2)
    rule, cards = bots.make("rule"), 0
    rule.reset(200, 0)
    for _ in range(20):
        turn = Turn(batch.rules, batch.views(), batch.seats.copy(), np.arange(200))
        if not (turn.views["phase"] == BID).any():
            found = NetworkAgent(made, (Rules(),), "wins").act(turn)
            assert (found == shipped.act(turn)).all()
            cards += 1
        batch.step(rule.act(turn))
    assert cards > 10


def test_points_are_worth_the_chance_that_the_scores_leave() -> None:
    made, scores = network(), [130, 141, 90, -128]
    for hands in (1, 3, 20):
        _, turn = at_bids(scores, hands)
        seen = torch.from_numpy(turn.encode(made.layout, canonical=True).observations)
        points = torch.tensor([[-20.0, 0, 31]]).expand(200, -1)
        found = made.win_values(points, seen)
        mean, variance = made.outlook[Rules().schedule[-hands].cards].tolist()
        later = float(made.variance_ahead[hands - 1])
        rng = np.random.default_rng(hands)
        own = scores[0] + rng.normal(0, math.sqrt(later), 100_000)
        others = np.array(scores[1:]) + mean + rng.normal(0, math.sqrt(later + variance), (100_000, 3))
        for place, more in enumerate((-20, 0, 31)):
            expected = WIN * (own + more > others.max(1)).mean()
            assert found[:, place].numpy() == pytest.approx(expected, abs=0.01 * WIN)


def test_in_the_last_hand_a_seat_behind_bids_more_and_one_ahead_less() -> None:
    agent = NetworkAgent(network(), (Rules(),), "wins")
    behind, even, ahead = (agent.act(at_bids([own, 100, 100, 100], 1)[1]).mean() for own in (30, 100, 170))
    assert behind > even + 0.5
    assert ahead < even - 0.3


@pytest.mark.parametrize(("schedule", "least"), [("3", 0.22), ("5-1-5", 0.25)])
def test_it_knows_the_hands_of_other_schedules(schedule: str, least: float) -> None:
    rules = Rules(schedule=schedule)
    agent, rule = NetworkAgent(network(), (Rules(),), "wins"), bots.make("rule")
    batch, games = BatchGame(rules, 400, 3, autoreset=False), np.arange(400)
    rule.reset(400, 0)
    worth = agent.network.outlook[[hand.cards for hand in rules.schedule], VARIANCE]
    won = 0.0
    for seat in range(4):
        batch.reset(3)
        while not batch.is_over[0]:
            turn = Turn(rules, batch.views(), batch.seats.copy(), games)
            batch.step(np.where(batch.seats == seat, agent.act(turn), rule.act(turn)))
        top = batch.final_scores == batch.final_scores.max(1, keepdims=True)
        won += float((top / top.sum(1, keepdims=True))[:, seat].mean()) / 4
    assert float(agent.network.variance_ahead[-1]) == pytest.approx(float(worth.sum()))
    assert won > least


def test_the_outlook_of_a_run_is_that_of_its_own_rules(tmp_path: Path) -> None:
    with trainer(tmp_path / "first", **MATCHES) as first:
        first.save()
    other = learner(**MATCHES, min_bid=0, initial=str(tmp_path / "first" / "checkpoint.pt"))
    torch.testing.assert_close(other.network.outlook, outlook(Rules(num_players=15, min_bid=0)))
    assert not torch.equal(other.network.outlook, first.learner.network.outlook)


def test_a_network_that_maximised_points_has_never_looked_at_the_scores(tmp_path: Path) -> None:
    with trainer(tmp_path / "points", num_players=15, sizes_per_iteration=1, critic_sizes=(8,)) as points:
        points.save()
    made = learner(**MATCHES, critic_sizes=(8,), initial=str(tmp_path / "points" / "checkpoint.pt")).network
    scores = made.layout.slice("scores")
    for trunk in (made.trunk, made.critic_trunk):
        assert (trunk[0].weight[scores] == 0).all()
        assert (trunk[0].weight[made.layout.slice("hand")] != 0).any()


def test_it_can_be_exploited() -> None:
    target = agents.load("bluke-4p-wins")
    config = exploiter.settings(target.rules, target)
    config = replace(config, hands_per_size=8, sizes_per_iteration=1, minibatch_size=64, iterations=1, guide=0.0)
    started = exploiter.learner_against(target, config, target)
    torch.testing.assert_close(started.network.actions.weight, target.network.actions.weight)
    assert np.isfinite(started.iterate()["points"])


def test_a_longer_match_than_it_learned_is_refused() -> None:
    agent = NetworkAgent(network(), (Rules(),), "wins")
    rules = Rules(schedule=[13] * 60)
    batch = BatchGame(rules, 2, 0)
    with pytest.raises(ValueError, match=r"wins was trained to win matches of 25 hands, but the table plays \d+"):
        agent.act(Turn(rules, batch.views(), batch.seats, np.arange(2)))


# Training.


def test_every_hand_of_a_match_earns_the_chance_that_it_leaves() -> None:
    made = learner(**MATCHES, bot_share=0.5)
    rollout = Rollout(made.config, 0, WHOLE_MATCH, made.network, bots.make("rule"))
    groups, statistics = rollout.play(0, 0, "float32", None)
    games, hands = rollout._batch.records, FIFTEEN.num_hands
    assert len(groups) == len(statistics) == hands
    assert sum(hand.decisions for hand in statistics) == sum(4 * 15 * (hand.cards + 1) for hand in FIFTEEN.schedule)
    scores = games["scores"][:, :15]
    won = (
        WIN * (scores == scores.max(1, keepdims=True)) / (scores == scores.max(1, keepdims=True)).sum(1, keepdims=True)
    )
    last = torch.cat([part.returns for part in groups[-1]])
    assert set(np.round(last.numpy(), 3)) <= set(np.round(won.ravel(), 3).astype(np.float32))
    first = torch.cat([part.returns for part in groups[0]])
    assert first.std() < last.std()


@pytest.mark.parametrize("changes", [{}, {"critic": "points"}, {"bids": "policy", "critic": "points"}])
def test_a_run_for_wins_is_finite_and_repeats_itself(changes: dict, tmp_path: Path) -> None:
    rows = []
    for name in ("a", "b"):
        with trainer(tmp_path / name, **MATCHES, **changes) as made:
            rows.append(run(made, 2))
    assert all(np.isfinite(list(row.values())).all() for row in rows[0])
    assert [row["policy_loss"] for row in rows[0]] == [row["policy_loss"] for row in rows[1]]
    assert rows[0][0]["decisions"] == 8 * sum(15 * (hand.cards + 1) for hand in FIFTEEN.schedule)


def test_every_iteration_and_shard_has_matches_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    learned = Learned(monkeypatch)
    made = learner(**MATCHES)
    numbers: list[int] = []
    reset = BatchGame.reset

    def kept(self: BatchGame, seed: int | None = None, *, numbers_: list[int] = numbers, **options: np.ndarray) -> None:
        numbers_.extend(options["numbers"].tolist() if options.get("numbers") is not None else [])
        reset(self, seed, **options)

    monkeypatch.setattr(BatchGame, "reset", kept)
    made.iterate()
    made.iterate()
    assert sorted(numbers) == list(range(16))
    assert len(learned.calls) == 2


def test_the_command_line_trains_for_wins_and_measures_whole_matches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["train.py", *options(**MATCHES, run_dir=str(tmp_path / "run"), iterations=2)])
    train.main()
    printed = capsys.readouterr().out
    assert "of the matches won" in printed
    facts = json.loads((tmp_path / "run" / "evaluation.json").read_text("utf-8"))
    (comparison,) = facts["comparisons"]
    assert facts["unit"] == "match"
    assert 0 <= comparison["average"]["match_wins"]["mean"] <= 1
    path = str(tmp_path / "run" / "checkpoint.pt")
    evaluate.main([path, "--against", "random", "--matches", "--deals", "4"])
    assert "matches won" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"guide": 1.0}, "guide is 1.0, but it must be 0 for a reward of wins"),
        ({"live_minutes": 5}, "live_minutes is 5, but it must be 0 for a reward of wins"),
        ({"num_players": (3, 4)}, "num_players is .3, 4., but it must be one number for a reward of wins"),
        ({"algorithm": "dmc"}, "algorithm is 'dmc', but it must be ppo for a reward of wins"),
        (
            {"preset": "back_alley", "bids": "policy", "critic": "points"},
            "preset is 'back_alley', but it must be bluke for a reward of wins",
        ),
    ],
)
def test_what_does_not_go_with_matches_is_refused(changes: dict, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        TrainConfig(**({"reward": "wins", "guide": 0.0, "final_guide": 0.0} | changes))

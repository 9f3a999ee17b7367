"""Deep Monte Carlo: how it explores, what it learns from, that its numbers stay finite and that it learns to play."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import agents
import agents.learner
import train
from agents import checkpoint
from agents.config import TrainConfig
from agents.decisions import Decisions
from agents.learner import Learner
from agents.network import POINTS_UNIT
from agents.sampling import draw, epsilon_greedy
from agents.update import update
from bluke_env import bots
from bluke_env.cards import NUM_CARDS
from bluke_env.evaluation import Comparison, measure

BIDS: dict[str, dict[str, Any]] = {"tricks": {"bids": "tricks"}, "policy": {"bids": "policy", "critic": "points"}}


def config(**changes: Any) -> TrainConfig:
    """A run of a moment."""
    settings: dict[str, Any] = {
        "algorithm": "dmc", "iterations": 3, "sizes_per_iteration": 2, "hands_per_size": 8, "hidden_sizes": (8, 8),
        "epochs": 1, "minibatch_size": 64, "device": "cpu", "precision": "float32",
    }  # fmt: skip
    return TrainConfig(**(settings | changes))


@pytest.fixture
def updates(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The gradient steps that training wants to make; none is made."""
    wanted: list[tuple[Any, ...]] = []

    def kept(*arguments: Any) -> dict[str, float]:
        wanted.append(arguments)
        return {}

    monkeypatch.setattr(agents.learner, "update", kept)
    return wanted


def played(learner: Learner, updates: list[tuple[Any, ...]]) -> Decisions:
    """Plays the hands of an iteration; returns what is to be learned from."""
    learner.iterate()
    return Decisions.concatenate(updates[-1][3])


def scores_of(learner: Learner, decisions: Decisions) -> torch.Tensor:
    """What the actions head says, float32 [n, k]; illegal actions have -inf."""
    with torch.inference_mode():
        logits = learner.network.action_logits(learner.network.features(decisions.observations), decisions.cards)
    return logits.masked_fill(decisions.masks[:, : logits.shape[1]] == 0, -torch.inf)


# How it explores.


def test_the_best_action_and_now_and_then_any() -> None:
    scores = torch.tensor([[1.0, 3.0, -torch.inf, 2.0], [-torch.inf, -5.0, -torch.inf, -torch.inf]])
    probs = [epsilon_greedy(scores, epsilon).exp() for epsilon in (0.0, 0.3, 1.0)]
    for row, wanted in enumerate(([[0, 1, 0, 0], [0.1, 0.8, 0, 0.1], [1 / 3, 1 / 3, 0, 1 / 3]], [[0, 1, 0, 0]] * 3)):
        torch.testing.assert_close(
            torch.stack([each[row] for each in probs]), torch.tensor(wanted, dtype=torch.float32)
        )


def test_without_exploration_nothing_but_the_best_is_drawn() -> None:
    scores = torch.randn(500, 58, generator=torch.Generator().manual_seed(0))
    uniforms = np.tile([0.0, 0.5, np.nextafter(1.0, 0.0)], 167)[:500]
    actions, chosen = np.empty(500, np.int64), np.empty(500, np.float32)
    draw(epsilon_greedy(scores, 0.0).numpy(), uniforms, actions, chosen)
    assert actions.tolist() == scores.argmax(1).tolist()


@pytest.mark.parametrize("bids", BIDS)
def test_a_run_without_exploration_takes_the_best_action(bids: str, updates: list[tuple[Any, ...]]) -> None:
    learner = Learner(config(exploration=0.0, final_exploration=0.0, hands_per_size=32, **BIDS[bids]))
    decisions = played(learner, updates)
    rows = ~decisions.is_bid if bids == "tricks" else slice(None)
    assert decisions.actions[rows].tolist() == scores_of(learner, decisions)[rows].argmax(1).tolist()


@pytest.mark.parametrize("bids", BIDS)
def test_a_run_that_only_explores_takes_all_legal_actions_alike(bids: str, updates: list[tuple[Any, ...]]) -> None:
    learner = Learner(config(exploration=1.0, final_exploration=1.0, hands_per_size=256, bot_share=0.0, **BIDS[bids]))
    decisions = played(learner, updates)
    for rows in (decisions.is_bid, ~decisions.is_bid)[bids == "tricks" :]:
        legal, actions = decisions.masks[rows].double(), decisions.actions[rows]
        expected = legal / legal.sum(1, keepdim=True)
        best = scores_of(learner, decisions)[rows].argmax(1)
        for name, taken in (("best", best), ("first", legal.argmax(1))):
            share = expected.gather(1, taken[:, None])[:, 0]
            surplus = (actions == taken).double() - share
            assert abs(surplus.sum()) < 4.5 * (share * (1 - share)).sum().sqrt(), name
        assert legal.gather(1, actions[:, None]).all()


def test_exploration_falls_in_a_line() -> None:
    learner = Learner(config(exploration=0.5, final_exploration=0.1))
    assert [learner.iterate()["exploration"] for _ in range(3)] == pytest.approx([0.5, 0.3, 0.1])


# What it learns from.


@pytest.mark.parametrize("reward", ["points", "margin"])
def test_the_loss_is_the_squared_error_of_the_values_of_the_actions_taken(
    reward: str, updates: list[tuple[Any, ...]]
) -> None:
    """Against what the hand brought in the end, in units of points, as a share of all decisions of a step."""
    learner = Learner(config(minibatch_size=1 << 20, reward=reward, critic="points"))
    decisions = played(learner, updates)
    plays = ~decisions.is_bid
    values = scores_of(learner, decisions)[plays].gather(1, decisions.actions[plays, None])[:, 0]
    wanted = (values - decisions.returns[plays] / POINTS_UNIT).square().sum() / len(plays)
    assert update(*updates[-1])["value_loss"] == pytest.approx(float(wanted), rel=1e-5)


@pytest.mark.parametrize("bids", BIDS)
def test_nothing_else_is_learned(bids: str) -> None:
    """Neither a critic nor the values of actions that nobody took."""
    learner = Learner(config(preset="back_alley" if bids == "policy" else "bluke", **BIDS[bids]))
    before = {name: weights.clone() for name, weights in learner.network.state_dict().items()}
    learner.iterate()
    changed = {name: (weights != before[name]) for name, weights in learner.network.state_dict().items()}
    assert not changed["critic.weight"].any()
    assert not changed["critic.bias"].any()
    assert changed["actions.bias"][:NUM_CARDS].any()
    assert (bids == "policy") == changed["actions.bias"][NUM_CARDS:].any()
    if bids == "policy":
        assert not changed["actions.bias"].all()


@pytest.mark.parametrize("bids", BIDS)
def test_learning_again_and_again_from_the_same_decisions_lowers_the_loss(
    bids: str, updates: list[tuple[Any, ...]]
) -> None:
    Learner(config(hands_per_size=64, minibatch_size=256, hidden_sizes=(32, 32), **BIDS[bids])).iterate()
    losses = [update(*updates[0]) for _ in range(20)]
    assert losses[-1]["value_loss"] < 0.7 * losses[0]["value_loss"]
    if bids == "tricks":
        assert losses[-1]["bid_loss"] < losses[0]["bid_loss"] - 0.02


# Settings.

GAMES: dict[str, dict[str, Any]] = {
    "four players": {},
    "several tables": {"num_players": (2, 3)},
    "other players": {"bot_share": 0.4, "past_share": 0.6, "past_every": 1},
    "bids of nothing": {"min_bid": 0, "kl": 0.1},
}


@pytest.mark.parametrize("bids", BIDS)
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("game", GAMES)
def test_numbers_stay_finite(bids: str, precision: str, game: str) -> None:
    learner = Learner(config(precision=precision, **BIDS[bids], **GAMES[game]))
    with torch.no_grad():
        learner.network.actions.weight *= 1e4
    for _ in range(3):
        assert all(math.isfinite(value) for value in learner.iterate().values())
    assert all(weights.isfinite().all() for weights in learner.network.state_dict().values())


@pytest.mark.parametrize(
    ("name", "value"), [("critic_sizes", (8,)), ("imitation_iterations", 1), ("exploration", 1.5), ("bids", "policy")]
)
def test_settings_that_do_not_fit_are_refused(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=rf"^{'critic' if name == 'bids' else name} is .*, but it must be "):
        config(**{name: value})


def test_a_checkpoint_remembers_the_algorithm_and_plays(tmp_path: Path) -> None:
    learner = Learner(config(run_dir=str(tmp_path), evaluate_against=("random",)))
    learner.iterate()
    path = tmp_path / "checkpoint.pt"
    checkpoint.save(path, learner.contents())
    resumed, _ = train.parse(["--resume", str(path)])
    assert resumed == learner.config
    with pytest.raises(ValueError, match=r"^algorithm is 'ppo', but the checkpoint to resume has 'dmc'"):
        train.parse(["--resume", str(path), "--algorithm", "ppo"])
    compared = against(agents.load(path), "random", 8), against(learner.agent, "random", 8)
    assert compared[0].average["points"].mean == compared[1].average["points"].mean


def against(agent: Any, bot: str, deals: int) -> Comparison:
    return measure(agent, bots.make(bot), agent.rules, deals, seed=1)


@pytest.mark.slow
def test_a_minute_of_training_makes_a_better_player() -> None:
    settings = {"iterations": 30, "sizes_per_iteration": 4, "hands_per_size": 512, "hidden_sizes": (128, 128)}
    learner = Learner(config(minibatch_size=2048, **settings))
    before = [against(learner.agent, bot, 60).average["over_same_seat"] for bot in ("random", "rule")]
    for _ in range(30):
        learner.iterate()
    after = [against(learner.agent, bot, 60).average["over_same_seat"] for bot in ("random", "rule")]
    for early, late in zip(before, after, strict=True):
        assert late.interval[0] > early.interval[1]
    assert after[0].mean > 40

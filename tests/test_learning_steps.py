"""Learning steps: rewards, advantages, losses and their gradients, for every kind of critic and policy."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from tiny_runs import Learned, learner, perturb

import agents.network
import agents.precision
from agents.advantages import rewards
from agents.config import TrainConfig
from agents.decisions import Decisions
from agents.network import Network
from agents.update import losses, update
from bluke_env import Rules
from bluke_env.cards import NUM_CARDS

POLICY = {"bids": "policy", "critic": "points"}


@pytest.fixture
def learned(monkeypatch: pytest.MonkeyPatch) -> Learned:
    return Learned(monkeypatch)


# What is maximised.


def test_margins_are_a_sides_points_less_the_mean_of_the_others() -> None:
    points = np.array([[30, -20, 11, 0, 99], [5, 5, 5, 5, 99]])
    expected = [[30 - (-9 / 3), -20 - 41 / 3, 11 - 10 / 3, 0 - 21 / 3], [0] * 4]
    np.testing.assert_allclose(rewards(points, Rules(num_players=4), "margin")[:, :4], expected, rtol=1e-6)
    sides = rewards(points[:1, [0, 1, 0, 1, 4]], Rules.preset("back_alley"), "margin")
    assert sides[0, :4].tolist() == [50, -50, 50, -50]
    assert rewards(points, Rules(num_players=4), "points").tolist() == points.tolist()


@pytest.mark.parametrize("preset", ["bluke", "back_alley"])
@pytest.mark.parametrize("reward", ["points", "margin"])
def test_what_the_critic_predicts_is_the_reward(preset: str, reward: str, learned: Learned) -> None:
    """Of margins those of all sides add up to nothing."""
    made = learner(**POLICY, preset=preset, reward=reward, shards=1, sizes_per_iteration=1, bot_share=0.0)
    decisions = learned.played(made)
    (rollout,) = made._rollouts.values()
    rules = made.config.rules
    earned = rewards(rollout._batch.records["last_points"], rules, reward)[:, : rules.num_players]
    assert set(decisions.returns.tolist()) == set(earned.ravel().tolist())
    by_side = earned[:, np.array(rules.sides)[:, 0]]
    for side, seats in enumerate(rules.sides):
        for seat in seats:
            np.testing.assert_array_equal(earned[:, seat], by_side[:, side])
    assert (np.abs(by_side.sum(1)) < 1e-4).all() == (reward == "margin")


CRITICS: dict[str, dict[str, Any]] = {
    "tricks": {},
    "points": {"critic": "points"},
    "tricks, all hands": {"critic_sizes": (8, 8)},
    "points, all hands, bids": {**POLICY, "critic_sizes": (8, 8)},
}


@pytest.mark.parametrize("scale", ["size", "batch"])
@pytest.mark.parametrize("case", CRITICS)
def test_advantages_are_what_the_critic_did_not_expect(case: str, scale: str, learned: Learned) -> None:
    """Of hands of one size or of all; bids that come from predicted tricks have none."""
    settings = {"advantages": scale, "gae_lambda": 1.0, "sizes_per_iteration": 3, "shards": 1}
    made = learner(**settings, **CRITICS[case])
    decisions, network = learned.played(made), made.network
    by_gradient = ~decisions.is_bid | torch.tensor(network.heads.bids == "policy")
    assert (decisions.advantages[~by_gradient] == 0).all()
    with torch.inference_mode():
        states = decisions.states if network.heads.critic_sizes else None
        seen = network.critic_features(network.features(decisions.observations), states)
        unexpected = decisions.returns - network.values(seen, decisions.observations)
    sizes = decisions.observations[:, network.layout.slice("hand_size")].argmax(1)
    assert len(sizes.unique()) == 3
    for size in sizes.unique():
        group = by_gradient & ((sizes == size) | torch.tensor(scale == "batch"))
        wanted = (unexpected - unexpected[group].mean()) / unexpected[group].std()
        torch.testing.assert_close(
            decisions.advantages[group], wanted[group], rtol=0, atol=1e-3, msg=f"hands of {int(size) + 1}"
        )


def test_a_critic_that_sees_all_hands_is_shown_those_of_the_decision(learned: Learned) -> None:
    made = learner(critic_sizes=(8,), sizes_per_iteration=3)
    decisions, layout = learned.played(made), made.network.layout
    assert torch.equal(decisions.states[:, : layout.size], decisions.observations)
    others = decisions.states[:, layout.slice("other_hands")].view(-1, 3, NUM_CARDS)
    own = decisions.observations[:, layout.slice("hand")]
    assert (others.sum(1) + own).max() == 1
    at_start = decisions.is_bid
    sizes = decisions.observations[at_start][:, layout.slice("hand_size")].argmax(1) + 1
    assert torch.equal(others[at_start].sum(2, dtype=torch.long), sizes[:, None].expand(-1, 3))


# The gradient.

GRADIENTS: dict[str, dict[str, Any]] = {
    "the default": {},
    "bids of the policy": {**POLICY, "critic_sizes": (8,), "reward": "margin"},
    "near the policy that played": {"kl": 0.5},
    "imitation": {"imitation_iterations": 1},
}


def plain_loss(network: Network, decisions: Decisions, config: TrainConfig) -> torch.Tensor:
    """The loss of some decisions as the papers have it, one row after the other and without any short cuts."""
    features = network.features(decisions.observations)
    states = decisions.states if network.heads.critic_sizes else None
    log_probs = network.action_log_probs(features, decisions.cards, decisions.masks)
    seen = network.critic_features(features, states)
    loss, sharpness = torch.zeros(()), network.heads.sharpness
    for row, is_bid in enumerate(decisions.is_bid.tolist()):
        action, tricks = int(decisions.actions[row]), int(decisions.tricks[row])
        here, view = slice(row, row + 1), decisions.observations[row : row + 1]
        if is_bid and config.bids == "tricks":
            after_bids = network.bid_trick_log_probs(features[here], view)[0]
            loss = loss - config.critic_weight * after_bids[action - NUM_CARDS, tricks]
            continue
        if config.critic == "tricks":
            critic_loss = -network.trick_log_probs(seen[here], view)[0, tricks]
        else:
            critic_loss = ((network.values(seen[here], view)[0] - decisions.returns[row]) / 10) ** 2
        loss = loss + config.critic_weight * critic_loss
        legal = decisions.masks[row, : log_probs.shape[1]] != 0
        policy, before = log_probs[row, legal], decisions.log_probs[row]
        if config.imitation_iterations:
            loss = loss - log_probs[row, action] / sharpness
            continue
        ratio = (log_probs[row, action] - before[action if config.kl else 0]).exp()
        gain, bounded = ratio * decisions.advantages[row], ratio.clamp(0.8, 1.2) * decisions.advantages[row]
        softened = torch.log_softmax(policy / sharpness, 0)
        entropy = -(softened.exp() * softened).sum()
        loss = loss - min(gain, bounded) / sharpness - config.entropy * entropy
        if decisions.guides.shape[1]:
            loss = loss - (softened.exp() * decisions.guides[row, legal]).sum()
        if config.kl:
            loss = loss + config.kl * (policy.exp() * (policy - before[legal])).sum()
    return loss / len(decisions)


@pytest.mark.parametrize("case", GRADIENTS)
def test_the_gradient_over_shards_is_that_of_all_rows_at_once(case: str, learned: Learned) -> None:
    settings = {"shards": 4, "minibatch_size": 1 << 20, "max_grad_norm": 1e9, "critic_weight": 0.3}
    made = learner(**settings, **GRADIENTS[case])
    everything = learned.played(made)
    perturb(made, 0.05)  # otherwise no probability would have changed
    plain_loss(made.network, everything, made.config).backward()
    whole = made.weights.gradient.clone()
    *_, learning, _, algorithm = learned.calls[0]
    at_once, _ = losses(made.network, everything, torch.arange(len(everything)), learning, algorithm)
    made.weights.gradient.zero_()
    (at_once / len(everything)).backward()
    torch.testing.assert_close(made.weights.gradient, whole, rtol=1e-3, atol=1e-6)
    gradients: list[torch.Tensor] = []
    made.optimizer.register_step_pre_hook(lambda *_: gradients.append(made.weights.gradient.clone()))
    measured = update(*learned.calls[0])
    assert len(gradients) == 1
    assert whole.norm() > 0.01
    torch.testing.assert_close(gradients[0], whole, rtol=1e-3, atol=1e-6)
    assert measured["grad_norm"] == pytest.approx(float(whole.norm()), rel=1e-3)


def test_long_gradients_are_shortened(learned: Learned) -> None:
    lengths: list[float] = []
    for bound in (1e9, 1e-3):
        made = learner(max_grad_norm=bound, minibatch_size=1 << 20)
        made.iterate()
        made.optimizer.register_step_pre_hook(lambda *_, made=made: lengths.append(float(made.weights.gradient.norm())))
        update(*learned.calls[-1])
    assert lengths[0] > 1e-2
    assert lengths[1] == pytest.approx(1e-3, rel=0.01)


def test_round_shapes_change_no_decision(learned: Learned, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for shape in (64, 1, 7):
        monkeypatch.setattr(agents.precision, "SHAPE", shape)
        monkeypatch.setattr(agents.network, "SHAPE", shape)
        made = learner(hands_per_size=22, past_share=0.5, past_every=1, critic_sizes=(8,), kl=0.1)
        found.append([learned.played(made) for _ in range(2)])
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            for field in dataclasses.fields(Decisions):
                a, b = getattr(one, field.name), getattr(two, field.name)
                torch.testing.assert_close(a, b, rtol=0, atol=1e-4, msg=lambda text, name=field.name: f"{name}: {text}")


# Near the policy that played.


def test_the_weight_of_the_divergence_keeps_the_policy_near(learned: Learned) -> None:
    divergences = []
    for kl in (1e-6, 3.0):
        made = learner(kl=kl, hands_per_size=32, minibatch_size=256, epochs=8, learning_rate=0.01)
        decisions = learned.played(made)
        plays = ~decisions.is_bid
        before = log_probs_of(made.network, decisions)[plays]
        update(*learned.calls[-1])
        after = log_probs_of(made.network, decisions)[plays]
        legal = decisions.masks[plays, :NUM_CARDS] != 0
        apart = (after.exp() * (after - before).masked_fill(~legal, 0.0)).sum(1)
        divergences.append(float(apart.mean()))
    assert divergences[1] < 0.5 * divergences[0]


def log_probs_of(network: Network, decisions: Decisions) -> torch.Tensor:
    with torch.inference_mode():
        return network.action_log_probs(network.features(decisions.observations), decisions.cards, decisions.masks)

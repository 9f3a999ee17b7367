"""MaskablePPO, which training is compared with, is fed right. No rate is asserted."""

from pathlib import Path

import numpy as np
import pytest
from tiny_runs import python, without

from bluke_env import BatchGame, IllegalAction, Rules
from bluke_env.batch import derive_seed

pytest.importorskip("sb3_contrib")

import torch

from benchmarks.maskable_ppo import learner, maskable_ppo_rate

RULES, SIZES, HANDS, SEED = Rules(num_players=3), (2, 5), 8, 4
SLOTS = (4, 8)  # as many decisions as eight hands of each size


def test_an_update_holds_what_was_seen_and_done() -> None:
    model = learner(RULES, (16, 8), SIZES, HANDS, minibatch=64, epochs=2, seed=SEED)
    steps, slots = model.n_steps, model.n_envs
    assert (steps, slots) == (3 * (5 + 1), sum(SLOTS))
    model.learn(steps * slots)
    assert model.num_timesteps == steps * slots == HANDS * sum(3 * (cards + 1) for cards in SIZES)
    assert model.policy.optimizer.state_dict()["state"][0]["step"] == 2 * np.ceil(steps * slots / 64)

    buffer = model.rollout_buffer  # flattened by the update, slot after slot
    observations = buffer.observations.reshape(slots, steps, -1)
    masks, actions = buffer.action_masks.reshape(slots, steps, -1), buffer.actions.reshape(slots, steps)
    first = 0
    for cards, count in zip(SIZES, SLOTS, strict=True):
        batch = BatchGame.hands_of(RULES, cards, count, derive_seed(SEED, cards), suit_order="canonical")
        rows = slice(first, first + count)
        ended = np.zeros(count, np.int64)
        for step in range(steps):
            np.testing.assert_array_equal(observations[rows, step], batch.observations)
            np.testing.assert_array_equal(masks[rows, step], batch.masks)
            seats = batch.seats.copy()
            batch.step(actions[rows, step])  # refuses what is illegal
            np.testing.assert_array_equal(buffer.rewards[step, rows], batch.rewards[np.arange(count), seats])
            ended += batch.dones
        assert (ended == steps // (3 * (cards + 1))).all()
        first += count


def test_the_network_is_one_trunk_with_two_heads() -> None:
    policy = learner(RULES, (16, 8), SIZES, HANDS, minibatch=64, epochs=1, seed=SEED).policy
    shapes = [tuple(weights.shape) for name, weights in policy.named_parameters() if name.endswith("weight")]
    inputs, actions = policy.observation_space.shape[0], policy.action_space.n
    assert sorted(set(shapes)) == sorted([(16, inputs), (8, 16), (actions, 8), (1, 8)])
    assert len({id(weights) for weights in policy.parameters()}) == 8  # a trunk that is not shared would have four more


def test_without_masks_an_illegal_action_is_refused() -> None:
    model = learner(RULES, (16, 8), SIZES, HANDS, minibatch=64, epochs=1, seed=SEED)
    with pytest.raises(IllegalAction):
        model.learn(model.n_steps * model.n_envs, use_masking=False)


def test_a_rate_is_measured_and_the_threads_are_given_back() -> None:
    before = torch.get_num_threads()
    rate = maskable_ppo_rate(RULES, (16, 8), SIZES, HANDS, 64, 1, threads=2, repeats=2, seed=SEED, seconds=0.01)
    assert torch.get_num_threads() == before
    assert (rate.name, rate.unit) == ("MaskablePPO, threads: 2", "decisions")
    assert 0 < rate.minimum <= rate.median <= rate.maximum
    assert rate.first_call > 0


def test_that_it_is_not_installed_is_said_in_one_line(tmp_path: Path) -> None:
    done = python("-m", "benchmarks.maskable_ppo", on_path=without(tmp_path / "blocked", "sb3_contrib"))
    assert (done.returncode, done.stdout) == (1, "")
    wanted = "MaskablePPO: not installed: pip install -e \".[bench]\" (No module named 'sb3_contrib')\n"
    assert done.stderr == wanted

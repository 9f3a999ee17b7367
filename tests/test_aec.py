"""The PettingZoo environment: its contract and its bookkeeping."""

import copy
import random
import re
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from aec_play import decisions, played_out
from gymnasium.utils.passive_env_checker import check_action_space, check_obs, check_observation_space
from pettingzoo.utils.wrappers import (
    AssertOutOfBoundsWrapper,
    OrderEnforcingWrapper,
    TerminateIllegalWrapper,
)
from variants import VARIANTS, with_variants

from bluke_env import IllegalAction, Rules, bluke_v0

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # PettingZoo's tests import one of its old environments
    from pettingzoo.test import api_test, seed_test

SEATS = (2, 3, 4, 6, 15)
FIRST_BID = 54

DICT_WARNINGS = (
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete",
)
"""What PettingZoo's api_test says about every environment whose observation is a dictionary."""


# PettingZoo's and Gymnasium's own tests.


@pytest.mark.parametrize(
    "options",
    [
        *({"num_players": seats} for seats in SEATS),
        {"suit_order": "canonical", "min_bid": 0, "bluke_lead": "trump"},
        {"hand_size": 5, "reward": "margin"},
        {"num_players": 3, "reward": "win"},
        *({"rules": rules} for rules in VARIANTS.values()),
        {"rules": Rules.preset("back_alley"), "suit_order": "canonical", "reward": "margin"},
        {"num_players": 2, "schedule": "extended"},
    ],
)
def test_api(options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for message in DICT_WARNINGS:
            warnings.filterwarnings("ignore", f"^{re.escape(message)}$")
        api_test(bluke_v0.env(**options), num_cycles=2000)


rules_to_try = pytest.mark.parametrize("rules", [*(Rules(num_players=seats) for seats in SEATS), *with_variants()])


@rules_to_try
def test_same_seed_same_match(rules: Rules) -> None:
    seed_test(lambda: bluke_v0.env(rules), num_cycles=300)


@rules_to_try
def test_spaces(rules: Rules) -> None:
    env = bluke_v0.env(rules)
    observation_space, action_space = env.observation_space("player_0"), env.action_space("player_0")
    check_observation_space(observation_space)
    check_action_space(action_space)
    for agent in env.possible_agents:
        assert env.observation_space(agent) is observation_space
        assert env.action_space(agent) is action_space
    assert observation_space["observation"].shape == (env.layout.size,)
    assert action_space == gymnasium.spaces.Discrete(env.layout.num_actions)
    assert env.layout.num_actions == rules.num_actions
    for _, observation, action in decisions(env, seed=3):
        check_obs(observation, observation_space, "last")
        assert action in action_space


def test_action_space_draws_what_discrete_draws() -> None:
    ours, theirs = bluke_v0.ActionSpace(68), gymnasium.spaces.Discrete(68)
    ours.seed(5)
    theirs.seed(5)
    rng = np.random.default_rng(0)
    for _ in range(300):
        mask = rng.integers(0, 2, 68).astype(np.int8)
        assert ours.sample(mask) == theirs.sample(mask)
        assert ours.sample() == theirs.sample()
    assert ours.sample(probability=mask / mask.sum()) == theirs.sample(probability=mask / mask.sum())
    assert ours.sample(np.zeros(68, np.int8)) == theirs.sample(np.zeros(68, np.int8)) == 0
    with pytest.raises(AssertionError, match="dtype"):
        ours.sample(np.ones(68, np.float32))


# Rewards and the end of a match.


@pytest.mark.parametrize("seats", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("reward", ["points", "margin", "win"])
def test_rewards_add_up_either_way(seats: int, reward: str) -> None:
    env = bluke_v0.env(num_players=seats, reward=reward)
    rng = random.Random(seats)
    for seed in range(4):
        env.reset(seed=seed)
        by_last = dict.fromkeys(env.possible_agents, 0)
        by_step = dict.fromkeys(env.possible_agents, 0)
        for agent in env.agent_iter():
            observation, payment, termination, _, _ = env.last()
            by_last[agent] += payment
            if not termination:
                assert env.game.last_hand or payment == 0
                before = env.game.scores
                env.step(rng.choice(np.flatnonzero(observation["action_mask"]).tolist()))
                assert env.game.scores != before or not any(env.rewards.values())
            else:
                env.step(None)
            for other, step_reward in env.rewards.items():
                by_step[other] += step_reward
        assert by_last == by_step
        assert env._cumulative_rewards == {}
        scores = env.game.scores
        if reward == "points":
            assert tuple(by_last.values()) == scores
        elif reward == "margin":
            expected = [own - (sum(scores) - own) / (seats - 1) for own in scores]
            assert list(by_last.values()) == pytest.approx(expected)
        else:
            share = 1 / len(env.game.winners)
            expected = [share if seat in env.game.winners else 0 for seat in range(seats)]
            assert list(by_last.values()) == expected


def test_a_tie_shares_the_win() -> None:
    """No trick is worth a point, so all are level."""
    env = bluke_v0.env(num_players=2, hand_size=1, min_bid=0, reward="win", points_per_trick=0, points_per_overtrick=0)
    for _ in decisions(env, seed=1):
        pass
    assert env.game.winners == (0, 1)
    assert env.rewards == {"player_0": 0.5, "player_1": 0.5}


@pytest.mark.parametrize("seats", SEATS)
def test_the_end(seats: int) -> None:
    env = played_out(num_players=seats)
    assert env.agents == env.possible_agents
    assert list(env.terminations.values()) == [True] * seats
    assert list(env.truncations.values()) == [False] * seats
    assert all(type(flag) is bool for flag in (*env.terminations.values(), *env.truncations.values()))
    before = env.game.to_bytes()
    with pytest.raises(ValueError, match=f"{env.agent_selection} is done"):
        env.step(5)
    assert env.agents == env.possible_agents
    gone = []
    for agent in env.agent_iter():
        observation, _, termination, truncation, info = env.last()
        assert (termination, truncation) == (True, False)
        assert observation["action_mask"].all()
        assert info["score"] == env.game.scores[int(agent.split("_")[1])]
        assert list(env.infos) == env.agents
        env.step(None)
        gone.append(agent)
    assert sorted(gone) == sorted(env.possible_agents)
    assert env.agents == []
    assert env.num_agents == 0
    for call in (env.last, lambda: env.step(None), lambda: env.step(5)):
        with pytest.raises(gymnasium.error.ResetNeeded, match=r"reset\(\)"):
            call()
    assert env.observe("player_1")["observation"] in env.observation_space("player_1")["observation"]
    assert env.game.to_bytes() == before
    env.reset(seed=1)
    assert env.agents == env.possible_agents
    assert not any(env.terminations.values())


def test_reset_while_agents_are_being_taken_out() -> None:
    env = played_out(num_players=3)
    env.step(None)
    fresh = bluke_v0.env(num_players=3)
    assert [(agent, action) for agent, _, action in decisions(env, seed=9)] == [
        (agent, action) for agent, _, action in decisions(fresh, seed=9)
    ]
    assert env.agent_selection == fresh.agent_selection == env.agents[0]


# Before the first reset, and around other people's wrappers.


def test_before_reset() -> None:
    env = bluke_v0.env(num_players=3)
    assert env.possible_agents == ["player_0", "player_1", "player_2"]
    assert env.max_num_agents == 3
    assert env.render_mode is None
    assert env.metadata["name"] == str(env) == "bluke_v0"
    assert not env.metadata["is_parallelizable"]
    assert env.unwrapped is env
    for name in ("agents", "num_agents", "rewards", "infos", "terminations", "agent_selection", "game"):
        assert not hasattr(env, name)
    calls = (
        env.last,
        env.render,
        env.state,
        lambda: env.step(54),
        lambda: env.observe("player_0"),
        lambda: next(iter(env.agent_iter())),
        lambda: env.agents,
    )
    for call in calls:
        with pytest.raises(gymnasium.error.ResetNeeded, match=r"call reset\(\) first"):
            call()
    assert copy.deepcopy(env).possible_agents == env.possible_agents
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = env.nonsense
    env.reset(seed=None, options=None)
    assert env.num_agents == 3


def wrapped() -> Any:
    env = TerminateIllegalWrapper(bluke_v0.env(), illegal_reward=-100)
    return OrderEnforcingWrapper(AssertOutOfBoundsWrapper(env))


def transcript(env: Any) -> list[tuple[str, int, float]]:
    """Plays on with the highest legal actions to the end of the match."""
    lines = []
    for agent in env.agent_iter():
        observation, reward, termination, truncation, _ = env.last()
        layer = env
        while layer is not env.unwrapped:
            assert layer.agent_selection == env.unwrapped.agent_selection
            layer = layer.env
        done = termination or truncation
        action = None if done else int(np.flatnonzero(observation["action_mask"])[-1])
        lines.append((agent, action, reward))
        env.step(action)
    return lines


@pytest.mark.parametrize("look_first", [True, False])
def test_terminate_illegal_wrapper(look_first: bool, caplog: pytest.LogCaptureFixture) -> None:
    env = wrapped()
    env.reset(seed=7)
    for _ in range(30):
        env.step(int(np.flatnonzero(env.observe(env.agent_selection)["action_mask"])[0]))
    offender = env.agent_selection
    illegal = int(np.flatnonzero(env.unwrapped.game.action_mask() == 0)[0])
    assert illegal < FIRST_BID  # so that it is illegal as a bid as well
    if look_first:
        env.last()
    env.step(illegal)
    assert all(env.terminations.values())
    rewards = {}
    for agent in env.agent_iter():
        _, rewards[agent], _, _, info = env.last()
        assert info == env.infos[agent]
        env.step(None)
    assert rewards == {agent: -100 if agent == offender else 0 for agent in env.possible_agents}
    assert not env.agents
    fresh = bluke_v0.env()
    env.reset(seed=42)
    fresh.reset(seed=42)
    first = transcript(fresh)
    assert transcript(env) == first
    env.reset(seed=42)
    env.step(FIRST_BID + 1)
    env.step(illegal)
    env.step(None)
    env.reset(seed=42)
    assert transcript(env) == first
    assert env.agent_selection == fresh.agent_selection
    assert "Illegal move" in caplog.text


def test_out_of_bounds_wrapper() -> None:
    env = wrapped()
    env.reset(seed=7)
    with pytest.raises(AssertionError, match="not in action space"):
        env.step(1000)


def test_order_enforcing_wrapper_before_reset() -> None:
    env = wrapped()
    assert env.possible_agents == ["player_0", "player_1", "player_2", "player_3"]
    with pytest.raises(AssertionError, match=r"reset\(\) needs to be called"):
        env.step(54)
    with pytest.raises(AttributeError):
        _ = env.agents


# What is handed out belongs to the user.


def test_what_was_handed_out_never_changes() -> None:
    env = bluke_v0.env(schedule=(5, 3))
    kept: list[tuple[Any, Any]] = []
    for agent, observation, _ in decisions(env, seed=5):
        handed = (observation["observation"], observation["action_mask"], env.last()[4], env.infos[agent])
        handed += (env.observe(agent)["observation"], env.state())
        kept += [(thing, copy.deepcopy(thing)) for thing in handed]
    for thing, before in kept:
        assert np.array_equal(thing, before) if isinstance(thing, np.ndarray) else thing == before


def test_writing_into_what_was_handed_out_changes_nothing() -> None:
    env, twin = bluke_v0.env(schedule=(5, 3)), bluke_v0.env(schedule=(5, 3))
    twin.reset(seed=5)
    for agent, observation, action in decisions(env, seed=5):
        legal = set(np.flatnonzero(observation["action_mask"]).tolist())
        observation["action_mask"][:] = 1
        observation["observation"][:] = 0
        env.state()[:] = 0
        env.last()[4].clear()
        env.infos[agent].clear()
        illegal = next(a for a in range(68) if a not in legal)
        with pytest.raises(IllegalAction):
            env.step(illegal)
        again, expected = env.last(), twin.last()
        assert np.array_equal(again[0]["observation"], expected[0]["observation"])
        assert np.array_equal(again[0]["action_mask"], expected[0]["action_mask"])
        assert again[1:] == expected[1:]
        twin.step(action)


# Infos.


@pytest.mark.parametrize("rules", [Rules(num_players=3), VARIANTS["back_alley"], VARIANTS["mini"]])
def test_infos_hold_numbers_under_the_same_keys(rules: Rules) -> None:
    env = bluke_v0.env(rules)
    keys = {"hand_number", "hand_size", "bid", "tricks", "score"}
    for agent, _, _ in decisions(env, seed=1):
        info = env.last()[4]
        assert info == env.infos[agent]
        for seat, other in enumerate(env.agents):
            facts = env.infos[other]
            assert set(facts) == keys
            assert all(type(value) is int for value in facts.values())
            bid = env.game.bids[seat]
            assert facts["bid"] == (-1 if bid is None else bid)
            assert facts["tricks"] == env.game.tricks[seat]
            assert facts["score"] == env.game.scores[seat]
            assert (facts["hand_number"], facts["hand_size"]) == (env.game.hand_number, env.game.hand_size)


# Options.


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"rules": Rules(), "num_players": 3}, TypeError, "rules and num_players are both given"),
        ({"rules": 4}, TypeError, "rules is 4, but it must be a Rules object"),
        (
            {"players": 3},
            TypeError,
            "'players' is no option of bluke_v0: the options are rules, .*num_players",
        ),
        ({"num_players": 1}, ValueError, "num_players is 1, but it must be a whole number from 2 to 15"),
        ({"num_players": 16}, ValueError, "num_players is 16"),
        ({"num_players": 4.0}, ValueError, r"num_players is 4\.0"),
        ({"min_bid": 2}, ValueError, "min_bid is 2"),
        ({"reward": "score"}, ValueError, "reward is 'score', but it must be one of points, margin, win"),
        ({"suit_order": "sorted"}, ValueError, "suit_order is 'sorted', .* fixed, canonical"),
        ({"render_mode": "rgb"}, ValueError, "render_mode is 'rgb', .* None, ansi, human"),
        ({"render_mode": ["ansi"]}, ValueError, "render_mode is"),
        ({"hand_size": 0}, ValueError, "hand_size is 0, but it must be a whole number from 1 to 13"),
        ({"hand_size": 14}, ValueError, "hand_size is 14"),
        ({"hand_size": True}, ValueError, "hand_size is True"),
        ({"hand_size": "5"}, ValueError, "hand_size is '5'"),
        ({"num_players": 6, "hand_size": 9}, ValueError, "from 1 to 8"),
    ],
)
def test_bad_options(options: dict[str, Any], error: type[Exception], message: str) -> None:
    for make in (bluke_v0.env, bluke_v0.raw_env):
        with pytest.raises(error, match=message) as caught:
            make(**options)
        assert "\n" not in str(caught.value)


def test_rules_and_fields_of_them_say_the_same() -> None:
    fields: dict[str, Any] = {
        "num_players": 3,
        "schedule": ((4, True), 2),
        "min_bid": 0,
        "points_per_trick": 5,
    }
    assert bluke_v0.env(**fields).rules == bluke_v0.env(rules=Rules(**fields)).rules == Rules(**fields)
    assert bluke_v0.env().rules == Rules()

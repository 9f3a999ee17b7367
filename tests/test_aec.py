"""The PettingZoo environment: its contract, its bookkeeping, and that it plays the same game as `Game`."""

import copy
import os
import pickle
import random
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.passive_env_checker import check_action_space, check_obs, check_observation_space
from pettingzoo.utils.wrappers import (
    AssertOutOfBoundsWrapper,
    OrderEnforcingWrapper,
    TerminateIllegalWrapper,
)
from referee import PACK, playable

from bluke_env import BatchGame, Game, IllegalAction, Rules, bluke_v0

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # PettingZoo's tests import one of its old environments
    from pettingzoo.test import api_test, seed_test

SEATS = (2, 3, 4, 6, 15)
FIRST_BID = 54
ROOT = Path(__file__).parent.parent

DICT_WARNINGS = (
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete",
)
"""What PettingZoo's api_test says about every environment whose observation is a dictionary."""


def decisions(env: Any, seed: int, rng: random.Random | None = None) -> Iterator[tuple[str, Any, int]]:
    """Plays a match of random legal actions; yields agent, observation and action before each step."""
    rng = rng or random.Random(seed)
    env.reset(seed=seed)
    while not any(env.terminations.values()):
        agent = env.agent_selection
        observation = env.last()[0]
        action = rng.choice(np.flatnonzero(observation["action_mask"]).tolist())
        yield agent, observation, action
        env.step(action)


def played_out(seed: int = 1, **options: Any) -> bluke_v0.raw_env:
    """An environment whose match has just ended, before the agents are taken out."""
    env = bluke_v0.env(**options)
    for _ in decisions(env, seed):
        pass
    return env


def in_mid_trick(seed: int = 1, **options: Any) -> bluke_v0.raw_env:
    """An environment in the second hand with one card on the table."""
    env = bluke_v0.env(**options)
    for _ in decisions(env, seed):
        if env.game.hand_number == 1 and len(env.game.trick) == 1:
            return env
    raise AssertionError("the match has no second hand")


def deals_of(env: Any) -> list[Any]:
    """All that is dealt in the match that has been reset, played with the lowest legal actions."""
    deals = []
    for agent in env.agent_iter():
        _, _, termination, _, _ = env.last()
        game = env.unwrapped.game
        if not game.is_terminal and len(deals) == game.hand_number:
            deals.append((game.dealer, game.turned_up, game.hands))
        env.step(None if termination else int(np.flatnonzero(env.observe(agent)["action_mask"])[0]))
    return deals


# PettingZoo's and Gymnasium's own tests.


@pytest.mark.parametrize(
    "options",
    [
        *({"num_players": seats} for seats in SEATS),
        {"suit_order": "canonical", "min_bid": 0, "bluke_lead": "trump"},
        {"hand_size": 5, "reward": "margin"},
        {"num_players": 3, "reward": "win"},
    ],
)
def test_api(options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for message in DICT_WARNINGS:
            warnings.filterwarnings("ignore", f"^{re.escape(message)}$")
        api_test(bluke_v0.env(**options), num_cycles=2000)


@pytest.mark.parametrize("seats", SEATS)
def test_same_seed_same_match(seats: int) -> None:
    seed_test(lambda: bluke_v0.env(num_players=seats), num_cycles=300)


@pytest.mark.parametrize("seats", SEATS)
def test_spaces(seats: int) -> None:
    env = bluke_v0.env(num_players=seats)
    observation_space, action_space = env.observation_space("player_0"), env.action_space("player_0")
    check_observation_space(observation_space)
    check_action_space(action_space)
    for agent in env.possible_agents:
        assert env.observation_space(agent) is observation_space
        assert env.action_space(agent) is action_space
    assert observation_space["observation"].shape == (env.layout.size,)
    assert action_space == gymnasium.spaces.Discrete(env.layout.num_actions)
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


# The same game as everywhere else.


@pytest.mark.parametrize("suit_order", ["fixed", "canonical"])
@pytest.mark.parametrize("options", [{"num_players": seats} for seats in SEATS] + [{"hand_size": 4}])
def test_agrees_with_batch_game(options: dict[str, Any], suit_order: str) -> None:
    env = bluke_v0.env(suit_order=suit_order, **options)
    rules = Rules(num_players=options.get("num_players", 4))
    size = options.get("hand_size")
    choices = {"seed": 11, "suit_order": suit_order, "autoreset": False}
    batch = BatchGame.hands_of(rules, size, 1, **choices) if size else BatchGame(rules, 1, **choices)
    totals = np.zeros(rules.num_players, int)
    for agent, observation, action in decisions(env, seed=11):
        assert agent == f"player_{batch.seats[0]}"
        assert np.array_equal(observation["observation"], batch.observations[0] * batch.layout.scale)
        assert np.array_equal(observation["action_mask"], batch.masks[0])
        batch.step(np.array([action]))
        totals += batch.rewards[0]
    assert batch.is_over[0]
    assert tuple(totals) == env.game.scores == tuple(batch.final_scores[0])


@pytest.mark.parametrize("seats", SEATS)
def test_agrees_with_game(seats: int) -> None:
    env = bluke_v0.env(num_players=seats, min_bid=0)
    game = Game(Rules(num_players=seats, min_bid=0), seed=2)
    for agent, observation, action in decisions(env, seed=2):
        assert env.game == game
        assert agent == f"player_{game.current_player}"
        assert np.flatnonzero(observation["action_mask"]).tolist() == game.legal_actions()
        game.apply_action(action)
    assert env.game == game


def test_any_agent_can_be_observed_at_any_time() -> None:
    env = bluke_v0.env(num_players=3, schedule=(4, 2))
    env.reset(seed=1)
    while True:
        for seat, agent in enumerate(env.possible_agents):
            seen = env.observe(agent)
            assert np.array_equal(seen["observation"], env.game.observe(seat) * env.layout.scale)
            if not env.game.is_terminal:
                assert np.array_equal(seen["action_mask"], env.game.action_mask(seat))
        if env.game.is_terminal:
            break
        env.step(env.game.legal_actions()[-1])
    with pytest.raises(ValueError, match=r"no agent 'player_3'.*player_0, player_1, player_2"):
        env.observe("player_3")


@pytest.mark.parametrize("suit_order", ["fixed", "canonical"])
def test_state_is_the_selected_agents_view_and_the_other_hands(suit_order: str) -> None:
    env = bluke_v0.env(num_players=3, schedule=(4, 2), suit_order=suit_order)
    for agent, observation, _ in decisions(env, seed=4):
        state = env.state()
        assert state in env.state_space
        assert np.array_equal(state[: env.layout.size], observation["observation"])
        seat = int(agent[-1])
        expected = env.game.state(seat, suit_order) * env.layout.state_scale
        assert np.array_equal(state, expected)
    assert env.state() in env.state_space


def canonical_suits(dealt: list[int], trump: int | None) -> list[int]:
    """Where each suit goes: trump first, then by length, ties by the cards themselves."""
    ranks = [[card % 13 for card in sorted(dealt) if card < 52 and card // 13 == suit] for suit in range(4)]
    order = sorted(range(4), key=lambda s: (s == trump, len(ranks[s]), ranks[s][::-1]), reverse=True)
    return [order.index(suit) for suit in range(4)]


@pytest.mark.parametrize("seats", SEATS)
def test_canonical_suits_are_the_same_game(seats: int) -> None:
    env = bluke_v0.env(num_players=seats, suit_order="canonical")
    game = Game(Rules(num_players=seats), seed=6)
    dealt: list[list[int]] = []
    for _, observation, action in decisions(env, seed=6):
        if all(bid is None for bid in game.bids):
            dealt = [list(hand) for hand in game.hands]
        places = canonical_suits(dealt[game.current_player or 0], game.trump)

        def label(real: int, places: list[int] = places) -> int:
            return real if real >= 52 else 13 * places[real // 13] + real % 13

        labels = {label(real): real for real in game.legal_actions()}
        assert sorted(labels) == np.flatnonzero(observation["action_mask"]).tolist()
        game.apply_action(labels[action])
    assert env.game == game


@pytest.mark.parametrize("cards", [1, 7, 13])
def test_single_hands(cards: int) -> None:
    env = bluke_v0.env(hand_size=cards)
    assert env.layout == bluke_v0.env().layout
    acting = [agent for agent, _, _ in decisions(env, seed=8)]
    assert all(acting.count(agent) == cards + 1 for agent in env.possible_agents)
    assert env.game.last_hand is not None
    assert env.game.last_hand.size == cards
    assert env.terminations == dict.fromkeys(env.possible_agents, True)


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
    """Two play one card each without points for overtricks: whoever passes and takes nothing is level."""
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


# Masks and illegal actions.


@pytest.mark.parametrize("seats", range(2, 16))
def test_masks(seats: int) -> None:
    options = {"num_players": seats, "min_bid": seats % 2, "bluke_lead": ("none", "trump")[seats % 2]}
    env = bluke_v0.env(**options)
    env.action_space("player_0").seed(seats)
    for seed in range(4):
        env.reset(seed=seed)
        while not any(env.terminations.values()):
            mask = env.last()[0]["action_mask"]
            assert type(mask) is np.ndarray
            assert mask.dtype == np.int8
            assert mask.shape == (env.action_space("player_0").n,)
            assert mask.max() == 1
            assert np.flatnonzero(mask).tolist() == expected_actions(env.game)
            env.step(env.action_space("player_0").sample(mask))


def expected_actions(game: Game) -> list[int]:
    """The legal actions by the plain referee."""
    if game.phase == 0:
        return [FIRST_BID + tricks for tricks in range(game.rules.min_bid, game.hand_size + 1)]
    hand = [PACK[card] for card in game.hands[game.current_player or 0]]
    trick = [(seat, PACK[card]) for seat, card in game.trick]
    trump = None if game.trump is None else "CDHS"[game.trump]
    return sorted(PACK.index(card) for card in playable(hand, trick, trump, game.rules.bluke_lead))


@pytest.mark.parametrize("seats", [2, 4, 7, 15])
@pytest.mark.parametrize("suit_order", ["fixed", "canonical"])
def test_every_illegal_action_is_refused_and_changes_nothing(seats: int, suit_order: str) -> None:
    env = bluke_v0.env(num_players=seats, suit_order=suit_order)
    tried = 0
    for agent, observation, _ in decisions(env, seed=seats):
        if env.game.phase == 1 and not env.game.trick:
            continue
        tried += 1
        if tried > 125:
            break
        other = copy.deepcopy(env)
        before, rewards = other.game.to_bytes(), dict(other._cumulative_rewards)
        for illegal in np.flatnonzero(observation["action_mask"] == 0):
            with pytest.raises(IllegalAction, match=agent):
                other.step(illegal)
        assert other.game.to_bytes() == before
        assert (other.agent_selection, other._cumulative_rewards) == (agent, rewards)
        assert np.array_equal(other.last()[0]["observation"], observation["observation"])


@pytest.mark.parametrize(
    "action",
    [None, True, np.True_, 1.0, "54", -1, 68, 10**30, float("nan"), np.array([54]), np.float32(54), (54,)],
)
def test_what_is_no_action_is_refused(action: Any) -> None:
    env = bluke_v0.env()
    env.reset(seed=1)
    before = env.game.to_bytes()
    with pytest.raises(IllegalAction, match=r"in hand 0 the legal actions of player_\d are 55 \(bid 1\), "):
        env.step(action)
    assert env.game.to_bytes() == before


@pytest.mark.parametrize("kind", [int, np.int64, np.int8, np.uint8, np.array])
def test_whole_numbers_of_any_kind_are_actions(kind: Any) -> None:
    env = bluke_v0.env()
    env.reset(seed=1)
    env.step(kind(55))
    assert 1 in env.game.bids


# Infos.


def test_infos_hold_numbers_under_the_same_keys() -> None:
    env = bluke_v0.env(num_players=3)
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


# Seeds.


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**63 - 1, 2**64 - 1, np.int64(3)])
def test_a_seed_is_a_match(seed: int) -> None:
    env, other = bluke_v0.env(), bluke_v0.env()
    env.reset(seed=seed)
    other.reset(seed=seed)
    first = deals_of(env)
    assert first == deals_of(other)
    env.reset(seed=seed)
    assert deals_of(env) == first
    assert len(first) == 25
    other.reset(seed=int(seed) ^ 1)
    assert deals_of(other) != first


def test_later_matches_of_a_seed() -> None:
    env = bluke_v0.env(num_players=3)
    for seed in (5, 0):
        for number in range(3):
            env.reset(seed=seed) if number == 0 else env.reset()
            assert env.game == Game(env.rules, seed, number=number)


def test_environments_without_a_seed_differ() -> None:
    first, second = bluke_v0.env(), bluke_v0.env()
    hands = set()
    for env in (first, second):
        for _ in range(3):
            env.reset()
            hands.add(env.game.hands)
    assert len(hands) == 6


@pytest.mark.parametrize("seed", [-1, 1.5, True, "7", 2**64])
def test_what_is_no_seed_is_refused(seed: Any) -> None:
    env = in_mid_trick(num_players=3)
    before = env.game.to_bytes()
    with pytest.raises(ValueError, match=r"seed is .*whole number"):
        env.reset(seed=seed)
    assert env.game.to_bytes() == before
    env.reset()
    assert env.game == Game(env.rules, 1, number=1)


def test_other_processes_deal_the_same() -> None:
    program = (
        "from bluke_env import bluke_v0\n"
        "env = bluke_v0.env()\n"
        "for seed in (5, None, None):\n"
        "    env.reset(seed=seed)\n"
        "    print(env.game.hands, env.game.dealer)\n"
    )
    outputs = [run([sys.executable, "-c", program], PYTHONHASHSEED=str(salt)) for salt in (0, 1)]
    games = [Game(seed=5, number=number) for number in range(3)]
    expected = "".join(f"{game.hands} {game.dealer}\n" for game in games)
    assert outputs == [expected, expected]


def run(command: list[str], **environment: str) -> str:
    result = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


# Copies.


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("suit_order", ["fixed", "canonical"])
def test_copies_play_on_alike(copied: Any, suit_order: str) -> None:
    env = in_mid_trick(seed=3, suit_order=suit_order)
    env.action_space("player_0").seed(1)
    other = copied(env)
    assert other.game == env.game
    assert other.game is not env.game
    assert other.action_space("player_1") is other.action_space("player_0")
    for agent in env.agent_iter():
        assert other.agent_selection == agent
        ours, theirs = env.last(), other.last()
        assert np.array_equal(ours[0]["observation"], theirs[0]["observation"])
        assert np.array_equal(ours[0]["action_mask"], theirs[0]["action_mask"])
        assert ours[1:] == theirs[1:]
        action = None if ours[2] else env.action_space(agent).sample(ours[0]["action_mask"])
        assert ours[2] or other.action_space(agent).sample(theirs[0]["action_mask"]) == action
        env.step(action)
        assert other.game != env.game or ours[2]
        other.step(action)
        assert other.rewards == env.rewards
    assert other.game == env.game
    env.reset()
    other.reset()
    assert other.game == env.game


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


def test_example_runs() -> None:
    output = run([sys.executable, "examples/aec_loop.py"])
    scores = [int(score) for score in re.findall(r"^player_\d: (-?\d+) points$", output, re.MULTILINE)]
    winners = [f"player_{seat}" for seat, score in enumerate(scores) if score == max(scores)]
    assert len(scores) == 4
    assert output.endswith(f"winners: {', '.join(winners)}\n")
    assert output == run([sys.executable, "examples/aec_loop.py"])

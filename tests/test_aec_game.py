"""The PettingZoo environment plays the same game as everything else, from the same seeds."""

import copy
import pickle
import sys
from typing import Any

import numpy as np
import pytest
from aec_play import decisions, in_mid_trick, run
from back_alley_referee import may_be_led, may_follow
from referee import PACK, playable
from variants import with_variants

from bluke_env import BatchGame, Game, IllegalAction, Rules, bluke_v0
from bluke_env.actions import BOARD

SEATS = (2, 3, 4, 6, 15)
FIRST_BID = 54


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


# Masks and illegal actions.


@pytest.mark.parametrize(
    "rules",
    [
        *(Rules(num_players=seats, bluke_lead="trump") for seats in range(3, 16, 2)),
        *(Rules(num_players=seats, min_bid=0) for seats in range(2, 16, 2)),
        *with_variants(),
    ],
)
def test_masks(rules: Rules) -> None:
    env = bluke_v0.env(rules)
    env.action_space("player_0").seed(rules.num_players)
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
    """The legal actions by the plain referees."""
    rules, seat = game.rules, game.current_player or 0
    partners_bid = game.bids[(seat + 2) % 4] if rules.teams else None
    if game.phase == 0:
        left = 0 if partners_bid is not None and partners_bid > BOARD else game.hand_size - (partners_bid or 0)
        bids = [FIRST_BID + tricks for tricks in range(rules.min_bid, left + 1)]
        boards = sum(bid is not None and bid > BOARD for bid in game.bids)
        return [*bids, FIRST_BID + rules.most_cards + boards + 1] if rules.teams else bids
    hand = [PACK[card] for card in game.hands[seat]]
    trick = [(seat, PACK[card]) for seat, card in game.trick]
    trump = None if game.trump is None else "CDHS"[game.trump]
    if not rules.teams:
        cards = playable(hand, trick, trump, rules.bluke_lead)
    elif trick:
        cards = may_follow(hand, trick[0][1], trump, rules.bluke_lead)
    else:
        board = max(game.bids[seat] or 0, partners_bid or 0) > BOARD
        cards = may_be_led(hand, trump, may_lead_trump=game.trump_broken or board)
    return sorted(PACK.index(card) for card in cards)


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


# Seeds.


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

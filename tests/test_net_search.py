"""Search on top of a network: its worlds, what they are weighed by, its playouts, and what it may depend on."""

import random

import numpy as np
import pytest
import torch
from test_bots import decisions, hand_of, play, turn_of, until_seat_0
from test_hidden import redrawn
from test_search_blind import seen_in, states
from variants import VARIANTS
from worlds import agreeing

from agents.card_features import card_features
from agents.equivalents import Equivalents
from agents.network import Heads, Network
from agents.options import load_player
from agents.player import NetworkAgent
from agents.search import _SLIP, _TEMPERATURE, _TRUST, NetSearchAgent, _best
from agents.search_kernels import draw_worlds
from bluke_env import Deal, Game, Rules, Turn
from bluke_env.cards import NUM_CARDS, cards_of
from bluke_env.engine.belief import BELIEF, TABLE_SIZE
from bluke_env.engine.state import GAME, PLAY

torch.set_num_threads(1)  # several wait for each other wherever something else computes too

TABLES = {
    "2": Rules(2, "13,4"),
    "4": Rules(4, "13,3"),
    "4 with passes, trump for a Bluke": Rules(4, "7,6nt,2", min_bid=0, bluke_lead="trump"),
    "15": Rules(15, "3,1", min_bid=0),
    "back_alley": VARIANTS["back_alley"],
    "mini": VARIANTS["mini"],
}

every_table = pytest.mark.parametrize("rules", [pytest.param(TABLES[name], id=name) for name in TABLES])


def network_agent(rules: Rules, seed: int = 0) -> NetworkAgent:
    """A network with random weights, unsure enough for its second choices to be tried."""
    heads = Heads((16, 16), bids="policy", critic="points") if rules.teams else Heads((16, 16))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Network((rules,), heads)
        torch.nn.init.normal_(network.actions.weight, std=0.3)
        if not rules.teams:
            torch.nn.init.normal_(network.bid_correction.weight, std=0.3)
    return NetworkAgent(network.eval(), (rules,), f"network {seed}")


def test_a_network_that_learned_with_fixed_suits_is_refused() -> None:
    agent = network_agent(Rules())
    fixed = NetworkAgent(agent.network, agent.tables, "fixed", suit_order="fixed")
    with pytest.raises(ValueError, match=r"^fixed was trained with fixed suits, but searches look at canonical ones$"):
        NetSearchAgent(fixed)


def search_of(rules: Rules, worlds: int = 6) -> NetSearchAgent:
    return NetSearchAgent(network_agent(rules), worlds)


def part_of(turn: Turn, rows: np.ndarray) -> Turn:
    return Turn(turn.rules, turn.views[rows], turn.seats[rows], turn.games[rows])


# What it may depend on.


@every_table
def test_hidden_cards_change_no_action(rules: Rules) -> None:
    """Not even where they are left in the views; and what it is shown stays as it was."""
    records, rng, player = states(rules, 40), random.Random(9), search_of(rules)
    turn = seen_in(rules, records)
    views = turn.views.copy()
    actions = player.act(turn)
    assert (turn.views == views).all()
    others = np.concatenate([redrawn(rules, row[None], int(row["seat"]), rng) for row in records])
    assert (player.act(seen_in(rules, others)) == actions).all()
    assert (player.act(Turn(rules, others, turn.seats, turn.games)) == actions).all()
    assert turn.masks[np.arange(len(actions)), actions].all()


@every_table
def test_the_batch_the_order_the_game_and_the_past_change_nothing(rules: Rules) -> None:
    turn, player, other = seen_in(rules, states(rules, 40)), search_of(rules), search_of(rules)
    actions = player.act(turn)
    order = np.random.default_rng(11).permutation(len(actions))
    mixed = Turn(rules, turn.views[order], turn.seats[order], turn.games[order] * 7 + 3)
    other.reset(5, 0)
    assert (other.act(mixed) == actions[order]).all()
    for row in order[:20]:
        assert other.act(part_of(turn, np.array([row]))) == actions[row]
    assert (player.act(turn) == actions).all()


def test_it_searches_and_the_seed_matters() -> None:
    rules = TABLES["4"]
    turn, player = seen_in(rules, states(rules, 60)), search_of(rules)
    actions, alone = player.act(turn), network_agent(rules).act(turn)
    bidding = turn.views["phase"] != PLAY
    assert (actions == alone)[bidding].all()
    assert (actions != alone).sum() > 3
    player.reset(1, 1)
    assert (player.act(turn) != actions).any()
    player.reset(120, 0)
    assert (player.act(turn) == actions).all()


@pytest.mark.parametrize("worlds", [0, 1, 2])
@pytest.mark.parametrize(
    "rules", [Rules(2, "27,1", min_bid=0), Rules(6, "9,1nt"), VARIANTS["alley_of_14"], VARIANTS["pack_of_3"]]
)
def test_the_smallest_budgets_and_tables_give_legal_actions(rules: Rules, worlds: int) -> None:
    player, alone = search_of(rules, worlds), network_agent(rules)
    for turn in decisions(rules, num_games=1):
        actions = player.act(turn)
        assert turn.masks[np.arange(len(actions)), actions].all()
        if worlds < 2:
            assert (actions == alone.act(turn)).all()


# Worlds and their weights.


@every_table
def test_worlds_agree_with_what_is_seen(rules: Rules) -> None:
    """No own, played or turned-up card, the right numbers of cards, nothing of a suit that a seat showed out of."""
    records = states(rules, 40)
    playing = records[records["phase"] == PLAY]
    views = seen_in(rules, playing).views
    worlds = np.zeros(len(views) * 20, GAME)
    draw_worlds(rules.record(), views, np.uint64(3), np.zeros(1, BELIEF), np.zeros(TABLE_SIZE), worlds)
    for row, record in enumerate(playing):
        hands = worlds["hands"][row * 20 : (row + 1) * 20, : rules.num_players]
        game = Game.from_record(rules, playing[row : row + 1])
        seat = int(record["seat"])
        assert (hands[:, seat] == record["hands"][seat]).all()
        assert agreeing(game, hands.copy()).all()


def log_chances(agent: NetworkAgent, game: Game, own: int, world: np.ndarray) -> float:
    """The log likelihood of what the other seats did in a hand that began with a world, played again in the engine."""
    rules, network = game.rules, agent.network
    hands = [cards_of(int(mask)) for mask in world]
    again = Game(rules, 0, deals=[Deal(hands, game.turned_up, game.dealer)])
    done = [NUM_CARDS + int(game._record["bids"][0, (game.dealer + step) % 4]) for step in range(1, 5)]
    total = 0.0
    for action in [*done, *game._record["order"][0][: game._record["num_played"][0]].tolist()]:
        legal = again.legal_actions()
        if again.current_player != own and len(legal) > 1:
            turn = turn_of(again)
            encoded = turn.encode(network.layout, canonical=True)
            label = next(
                label
                for label in np.flatnonzero(encoded.masks[0])
                if turn.real_actions(np.array([label]), encoded)[0] == action
            )
            left = Equivalents(network.layout).without(encoded.observations, encoded.masks)
            while not left[0, label]:  # the network chooses among cards that differ
                label -= 1
            seen, mask = torch.from_numpy(encoded.observations), torch.from_numpy(left)
            cards = torch.from_numpy(card_features(turn.rules, turn.views, encoded.orders, np.arange(1)))
            with torch.inference_mode():
                features = network.features(seen)
                if label < NUM_CARDS:
                    log_prob = network.action_log_probs(features, cards, mask)[0, label]
                else:
                    log_prob = network.bid_log_probs(features, seen, mask, _TEMPERATURE)[0, label - NUM_CARDS]
            total += np.log((1 - _SLIP) * np.exp(float(log_prob)) + _SLIP / len(legal))
        again.apply_action(action)
    return total


def test_worlds_count_by_what_the_network_would_have_done_in_them() -> None:
    rules, rng = Rules(schedule="6"), random.Random(4)
    agent = network_agent(rules)
    player = NetSearchAgent(agent, 5)
    for number, stop in enumerate((4, 9, 14, 21)):
        game = Game(rules, number)
        for _ in range(stop):
            game.apply_action(rng.choice(game.legal_actions()))
        views = turn_of(game).views
        worlds = np.zeros(5, GAME)
        draw_worlds(rules.record(), views, np.uint64(3), np.zeros(1, BELIEF), np.zeros(TABLE_SIZE), worlds)
        with torch.inference_mode():
            weights = player._weights(rules.record(), player._layout(rules), views, worlds)[0]
        own = int(views["seat"][0])
        dealt = worlds["hands"][:, :4] | worlds["played"][:, :4]
        expected = np.exp([_TRUST * log_chances(agent, game, own, world) for world in dealt])
        np.testing.assert_allclose(weights, expected / expected.sum(), rtol=1e-3)


# Playouts and the choice.


def test_points_are_those_of_the_network_in_all_seats() -> None:
    rules, rng = Rules(schedule="6"), random.Random(5)
    agent = network_agent(rules)
    player = NetSearchAgent(agent, 3)
    for number, stop in enumerate((4, 9, 14, 21)):
        game = Game(rules, number)
        for _ in range(stop):
            game.apply_action(rng.choice(game.legal_actions()))
        views = turn_of(game).views
        seat = int(views["seat"][0])
        worlds = np.repeat(game._record, 3)
        tried = game.legal_actions()
        with torch.inference_mode():
            (points,) = player._points(rules.record(), player._layout(rules), views, worlds, [list(tried)])
        for card, made in zip(tried, points, strict=True):
            end = game.clone()
            end.apply_action(card)
            while not end.is_terminal:
                end.apply_action(int(agent.act(turn_of(end))[0]))
            assert made.tolist() == [end.scores[seat]] * 3


def test_another_card_has_to_be_better_by_more_than_its_standard_error() -> None:
    even = np.full(4, 0.25)
    base = np.zeros(4)
    assert _best(np.array([base, [1, 1, 1, 1]]), even) == 1
    assert _best(np.array([base, [-1, -1, -1, -1]]), even) == 0
    assert _best(np.array([base, [40, -20, -20, 4]]), even) == 0
    assert _best(np.array([base, [1, 1, 1, 1], [9, 9, 9, 5]]), even) == 2
    assert _best(np.array([base, base]), even) == 0
    assert _best(np.array([base, [9, 9, 9, 9]]), np.array([1.0, 0.0, 0.0, 0.0])) == 0, "one world says nothing"
    assert _best(np.array([base, [9, 9, -9, -9]]), np.array([0.5, 0.5, 0.0, 0.0])) == 1


@pytest.mark.parametrize("cards", ["AC KC QC LB HB"])
def test_no_sure_trick_is_lost(cards: str) -> None:
    """Clubs are trump."""
    game = until_seat_0(hand_of(cards, 4, 2, "2C", min_bid=0))
    player = search_of(game.rules, 20)
    while not game.is_terminal:
        game.apply_action(int(player.act(turn_of(game))[0]))
    assert game.last_hand is not None
    assert game.last_hand.tricks[0] == 5


@pytest.mark.slow
def test_search_is_better_than_a_network_that_knows_nothing() -> None:
    rules = Rules(schedule="5")
    alone, player = network_agent(rules), search_of(rules, 24)
    base = play(rules, [alone] * 4, 300, 7)[0][:, 0]
    gains = play(rules, [player, alone, alone, alone], 300, 7)[0][:, 0] - base
    assert gains.mean() > 2 * gains.std(ddof=1) / np.sqrt(len(gains))


# Names.


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("net-search:", "names no checkpoint"),
        ("net-search:,worlds=3", "names no checkpoint"),
        ("net-search:nowhere.pt", "there is no checkpoint at nowhere.pt"),
        ("net-search:nowhere.pt,worlds=many", "worlds of net-search is 'many', but it must be a whole number"),
        ("net-search:nowhere.pt,worlds=-1", "worlds of net-search is '-1', but it must be a whole number"),
    ],
)
def test_a_wrong_name_is_refused_in_one_sentence(spec: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        load_player(spec)

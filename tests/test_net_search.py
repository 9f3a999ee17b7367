"""Search on top of a network: what it chooses by, and what it may depend on."""

import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from test_bots import decisions, hand_of, play, turn_of, until_seat_0
from test_hidden import redrawn
from test_search_blind import seen_in, states
from variants import VARIANTS

from agents.network import Heads, Network
from agents.options import load_player
from agents.player import NetworkAgent
from agents.playouts import Playouts, parted, playout_features
from agents.search import NetSearchAgent
from agents.worlds import card_points
from bluke_env import Game, Rules, Turn, bots
from bluke_env.bots.pimc import PimcBot
from bluke_env.bots.pimc_kernels import SUMS
from bluke_env.engine.state import PLAY
from bluke_env.engine.suits import FIXED_ORDER

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


def network_agent(rules: Rules, seed: int = 0, playouts: bool = True) -> NetworkAgent:
    """A network with random weights, unsure enough for its second choices to be tried."""
    heads = Heads((16, 16), bids="policy", critic="points") if rules.teams else Heads((16, 16))
    heads = replace(heads, playouts=playouts)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Network((rules,), heads)
        torch.nn.init.normal_(network.actions.weight, std=0.3)
        if not rules.teams:
            torch.nn.init.normal_(network.bid_correction.weight, std=0.3)
        if network.playouts is not None:
            torch.nn.init.normal_(network.playouts.out.weight)
    return NetworkAgent(network.eval(), (rules,), f"network {seed}")


def search_of(rules: Rules, worlds: int = 6) -> NetSearchAgent:
    return NetSearchAgent(network_agent(rules), worlds)


def points_of(turn: Turn, worlds: int, playouts: Playouts | None) -> np.ndarray:
    """What cards make, by their ids."""
    return card_points(turn, np.full(len(turn.views), FIXED_ORDER, np.int16), worlds, np.uint64(0), playouts)


def part_of(turn: Turn, rows: np.ndarray) -> Turn:
    return Turn(turn.rules, turn.views[rows], turn.seats[rows], turn.games[rows])


# What it may depend on.


@every_table
@pytest.mark.parametrize("playouts", [False, True])
def test_hidden_cards_change_nothing(rules: Rules, playouts: bool) -> None:
    """Not even where they are left in the views; and what it is shown stays as it was."""
    agent = network_agent(rules, playouts=playouts)
    records, rng, player = states(rules, 40), random.Random(9), NetSearchAgent(agent, 6)
    turn = seen_in(rules, records)
    views = turn.views.copy()
    actions = player.act(turn)
    assert (turn.views == views).all()
    others = np.concatenate([redrawn(rules, row[None], int(row["seat"]), rng) for row in records])
    assert (player.act(seen_in(rules, others)) == actions).all()
    assert (player.act(Turn(rules, others, turn.seats, turn.games)) == actions).all()
    assert turn.masks[np.arange(len(actions)), actions].all()
    playing = np.flatnonzero(turn.views["phase"] == PLAY)
    seen, left_in = (points_of(part_of(Turn(rules, rows, turn.seats, turn.games), playing), 6, agent.network.playouts)
                     for rows in (turn.views, others))  # fmt: skip
    assert (seen == left_in).all()


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
    turn, player = seen_in(rules, states(rules, 200)), search_of(rules)
    actions, alone = player.act(turn), network_agent(rules).act(turn)
    cards = turn.views["phase"] == PLAY
    assert (actions != alone)[cards].sum() > 3
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
        if worlds == 0:
            assert (actions == alone.act(turn)).all()


# The choice.


@every_table
def test_bids_are_the_networks(rules: Rules) -> None:
    records = states(rules, 60)
    turn = seen_in(rules, records[records["phase"] != PLAY])
    assert (search_of(rules).act(turn) == network_agent(rules).act(turn)).all()


def test_a_network_that_wins_matches_bids_as_it_does_and_plays_matches_of_any_length() -> None:
    rules = TABLES["4"]
    made = network_agent(rules)
    network = Network((rules,), replace(made.network.heads, aim="wins", playouts=False)).eval()
    network.begin_with(made.network.state_dict(), made.network.heads)
    agent = NetworkAgent(network, (rules,), "wins")
    turn, player = seen_in(rules, states(rules, 60)), NetSearchAgent(agent, 6)
    actions, bidding = player.act(turn), turn.views["phase"] != PLAY
    assert (actions == agent.act(turn))[bidding].all()
    assert turn.masks[np.arange(len(actions)), actions].all()
    short = Rules(4, "3")
    player.act(seen_in(short, states(short, 20)))
    assert (player.act(turn) == actions).all()


@every_table
@pytest.mark.parametrize("suit_order", ["canonical", "fixed"])
def test_points_in_the_worlds_and_the_networks_opinion_are_added(rules: Rules, suit_order: str) -> None:
    made = network_agent(rules)
    agent = NetworkAgent(made.network, made.tables, "network", suit_order=suit_order)
    player, playouts = NetSearchAgent(agent, 7), made.network.playouts
    records = states(rules, 60)
    turn = seen_in(rules, records[records["phase"] == PLAY])
    log_probs, encoded = agent.card_log_probs(turn)
    points = card_points(turn, encoded.orders, 7, np.uint64(0), playouts)
    real = points_of(turn, 7, playouts)
    alone = agent.act(turn)
    for row, action in enumerate(player.act(turn).tolist()):
        cards = np.flatnonzero(np.isfinite(points[row]) & np.isfinite(log_probs[row]))
        if len(cards) > 1:
            best = cards[(points[row] + log_probs[row])[cards].argmax()]
            assert turn.real_actions(np.full(len(points), best), encoded)[row] == action
        likeliest = turn.real_actions(np.full(len(points), log_probs[row].argmax()), encoded)[row]
        assert likeliest == alone[row]
        for label in cards:
            assert real[row, turn.real_actions(np.full(len(points), label), encoded)[row]] == points[row, label]


@pytest.mark.parametrize("playouts", [False, True])
def test_points_are_what_the_cards_make_in_the_end(playouts: bool) -> None:
    """Where two share all 54 cards there is only one world; the other seat is a rule bot."""
    rules, rng, compared, unlike = Rules(2, "27", min_bid=0), random.Random(6), 0, 0
    small = network_agent(rules, playouts=playouts).network.playouts
    for number in range(24):
        game = Game(rules, number)
        for _ in range(rng.randrange(4, 46)):
            game.apply_action(rng.choice(game.legal_actions()))
        turn = turn_of(game)
        points = points_of(turn, 3, small)[0]
        cards = np.flatnonzero(np.isfinite(points)).tolist()
        for card in cards if len(cards) > 1 else ():
            assert points[card] == ended(game, card, small)
            compared += 1
            unlike += points[card] != ended(game, card, None)
    assert compared > 50
    assert (unlike > 5) == playouts


@every_table
def test_without_a_small_network_cards_make_what_pimc_finds(rules: Rules) -> None:
    """In the same worlds, each with a random stream of its own, and between cards, since `pimc` sums up differences."""
    worlds, compared, bot = 7, 0, PimcBot(7)
    records = states(rules, 60)
    turn = seen_in(rules, records[records["phase"] == PLAY])
    for row, points in enumerate(points_of(turn, worlds, None)):
        bot.act(part_of(turn, np.array([row])))
        gains = next(part["gains"][0] for part in bot._scratch[0] if part.dtype == SUMS)
        cards = np.flatnonzero(np.isfinite(points))
        found = gains[cards] / worlds
        assert points[cards] - points[cards[0]] == pytest.approx(found - found[0])
        compared += len(set(found))
    assert compared > len(turn.views)


def ended(game: Game, card: int, playouts: Playouts | None) -> int:
    """The points of the seat to act if a card is played, it plays on by a small network and the other as a rule bot."""
    end, rule, own = game.clone(), bots.make("rule"), game.current_player
    end.apply_action(card)
    while not end.is_terminal:
        turn = turn_of(end)
        learned = playouts is not None and end.current_player == own
        end.apply_action(best_of(playouts, turn) if learned else int(rule.act(turn)[0]))
    return end.scores[own]


def best_of(playouts: Playouts, turn: Turn) -> int:
    """The card that a small network prefers, by its features rounded to 1/50."""
    most, order = 27, np.array([FIXED_ORDER], np.int16)
    seen = torch.from_numpy(playout_features(turn.rules, turn.views, order, np.array([0]), most))
    of_hand, labels, of_card = parted(seen, most)
    logits = playouts(of_hand, of_card)[0]
    return int(labels[0, logits.masked_fill(labels[0] < 0, -torch.inf).argmax()])


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


def test_a_name_makes_the_player_that_has_it() -> None:
    for name in ("net-search:bluke-4p,worlds=3", "net-search:back-alley,worlds=0"):
        assert load_player(name).name == name
    assert load_player("net-search:bluke-4p").name == "net-search:bluke-4p,worlds=30"


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("net-search:", "names no checkpoint"),
        ("net-search:,worlds=3", "names no checkpoint"),
        ("net-search:nowhere.pt", "there is no checkpoint at nowhere.pt"),
        ("net-search:bluke-4p,world=3", "has the option 'world=3', but the only one of net-search is worlds=N"),
        ("net-search:bluke-4p,world=3,worlds=3", "has the option 'world=3', but the only one of net-search"),
        (
            "net-search:bluke-4p,worlds=3,world=2",
            "has the option 'world=2', but the only one of net-search is worlds=N",
        ),
        ("net-search:nowhere.pt,worlds=many", "worlds of net-search is 'many', but it must be a whole number"),
        ("net-search:nowhere.pt,worlds=-1", "worlds of net-search is '-1', but it must be a whole number"),
    ],
)
def test_a_wrong_name_is_refused_in_one_sentence(spec: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        load_player(spec)

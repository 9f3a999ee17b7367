"""The network's masked distributions, and the network as a player."""

import random
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from referee import hand_points
from tables import ALL_SEATS, deal_of, rules_for

from agents.card_features import WIDTH, card_features
from agents.equivalents import Equivalents
from agents.network import Heads, Network, log_softmax, score_table
from agents.player import NetworkAgent
from agents.precision import autocast
from agents.rank_order import RankOrder
from agents.sampling import draw
from bluke_env import BatchGame, Game, Rules, Turn
from bluke_env.cards import NUM_CARDS
from bluke_env.engine.batch import views_all
from bluke_env.engine.state import GAME

torch.set_num_threads(1)  # several wait for each other wherever something else computes too

RULES = Rules()
BIDS = RULES.most_cards + 1
NO_CARDS = torch.zeros((96, WIDTH), dtype=torch.int8)
CPU = torch.device("cpu")

precisions = pytest.mark.parametrize("precision", ["float32", "bfloat16"])


def network_of(rules: Rules, seed: int = 0, hidden_sizes: tuple[int, ...] = (16, 16)) -> Network:
    """A network with random weights that are large enough for its choices to vary."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Network((rules,), Heads(hidden_sizes))
        torch.nn.init.normal_(network.actions.weight)
        torch.nn.init.normal_(network.bid_correction.weight, std=0.3)
    return network.eval()


def agent_of(rules: Rules, seed: int = 0) -> NetworkAgent:
    return NetworkAgent(network_of(rules, seed), (rules,), f"network {seed}")


def turn_of(batch: BatchGame, rows: np.ndarray | None = None) -> Turn:
    rows = np.arange(batch.num_games) if rows is None else rows
    return Turn(batch.rules, batch.views(rows), batch.seats[rows].copy(), rows)


def part_of(turn: Turn, rows: np.ndarray) -> Turn:
    return Turn(turn.rules, turn.views[rows], turn.seats[rows], turn.games[rows])


def random_turns(rules: Rules, num_games: int, seed: int = 1) -> Iterator[Turn]:
    """Every decision of some matches of random play."""
    batch, stream = BatchGame(rules, num_games, seed, autoreset=False), np.array([seed], np.uint64)
    while not batch.is_over.all():
        yield turn_of(batch)
        batch.step(batch.random_actions(stream))


# The masked distributions.


def masks_of(rng: np.random.Generator, outcomes: slice, rows: int = 96) -> torch.Tensor:
    """Masks with 1, 2, some and all of the outcomes legal, in turn."""
    masks = np.zeros((rows, NUM_CARDS + BIDS), np.int8)
    places = np.arange(NUM_CARDS + BIDS)[outcomes]
    for row, mask in enumerate(masks):
        count = (1, 2, int(rng.integers(3, len(places))), len(places))[row % 4]
        mask[rng.permutation(places)[:count]] = 1
    return torch.from_numpy(masks)


def logits_of(rng: np.random.Generator, shape: tuple[int, int]) -> dict[str, torch.Tensor]:
    values = {
        "equal": np.zeros(shape),
        "enormous": rng.choice([0.0, 1e4, -1e4], shape),
        "wide": rng.standard_normal(shape) * 50,
    }
    return {name: torch.tensor(value, dtype=torch.float32, requires_grad=True) for name, value in values.items()}


def check_distribution(log_probs: torch.Tensor, legal: torch.Tensor, inputs: torch.Tensor) -> None:
    """Checks a masked distribution, its entropy, and the gradients of both."""
    probs = log_probs.exp()
    assert log_probs.dtype == torch.float32
    assert (probs[~legal] == 0).all()
    assert torch.isfinite(log_probs[legal]).all()
    torch.testing.assert_close(probs.sum(1), torch.ones(len(probs)))
    entropy = -(probs * log_probs.masked_fill(~legal, 0.0)).sum(1)
    assert torch.isfinite(entropy).all()
    assert (entropy >= -1e-6).all()
    assert (entropy[legal.sum(1) == 1] == 0).all()
    (entropy.sum() + log_probs[legal].sum()).backward()
    assert inputs.grad is not None
    assert torch.isfinite(inputs.grad).all()
    if inputs.shape == legal.shape:
        assert (inputs.grad[~legal] == 0).all()


@precisions
def test_illegal_cards_have_probability_zero(precision: str) -> None:
    rng = np.random.default_rng(1)
    network = Network((RULES,), Heads((NUM_CARDS,)))
    torch.nn.init.eye_(network.actions.weight)  # so that the features are the logits
    for name, features in logits_of(rng, (96, NUM_CARDS)).items():
        masks = masks_of(rng, slice(0, NUM_CARDS))
        with autocast(CPU, precision):
            log_probs = network.action_log_probs(features, NO_CARDS, masks)
        check_distribution(log_probs, masks[:, :NUM_CARDS] != 0, features)
        gradient = network.actions.weight.grad
        assert gradient is not None, name
        assert torch.isfinite(gradient).all(), name


@precisions
@pytest.mark.parametrize("temperature", [0.05, 1.0, 5.0])
def test_illegal_bids_have_probability_zero(
    precision: str, temperature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, network = np.random.default_rng(2), network_of(RULES)
    monkeypatch.setattr(network, "bid_values", lambda features, _: features)  # so that the features are the values
    for values in logits_of(rng, (96, BIDS)).values():
        masks = masks_of(rng, slice(NUM_CARDS, None))
        with autocast(CPU, precision):
            log_probs = network.bid_log_probs(values, torch.empty(0), masks, temperature)
        check_distribution(log_probs, masks[:, NUM_CARDS:] != 0, values)


@precisions
def test_illegal_bids_of_a_policy_have_probability_zero(precision: str) -> None:
    rng, actions = np.random.default_rng(8), NUM_CARDS + BIDS
    network = Network((RULES,), Heads((actions,), bids="policy", critic="points"))
    torch.nn.init.eye_(network.actions.weight)
    for features in logits_of(rng, (96, actions)).values():
        masks = masks_of(rng, slice(NUM_CARDS, None))
        with autocast(CPU, precision):
            log_probs = network.action_log_probs(features, NO_CARDS, masks)
        check_distribution(log_probs, masks != 0, features)


def test_log_probabilities_are_those_of_pytorch() -> None:
    rng = np.random.default_rng(9)
    for logits in logits_of(rng, (96, BIDS)).values():
        legal = masks_of(rng, slice(NUM_CARDS, None))[:, NUM_CARDS:] != 0
        masked = logits.masked_fill(~legal, -torch.inf)
        torch.testing.assert_close(log_softmax(masked, 1), torch.log_softmax(masked, 1))
        weights = torch.from_numpy(rng.standard_normal(legal.shape)).float()[legal]
        (ours,) = torch.autograd.grad((log_softmax(masked, 1)[legal] * weights).sum(), logits, retain_graph=True)
        (theirs,) = torch.autograd.grad((torch.log_softmax(masked, 1)[legal] * weights).sum(), logits)
        torch.testing.assert_close(ours, theirs)


@precisions
def test_only_numbers_of_tricks_that_can_still_be_taken_have_a_probability(precision: str) -> None:
    network = network_of(RULES)
    for turn in random_turns(Rules(schedule=[13, (4, True)]), 6):
        seen = torch.from_numpy(turn.encode(network.layout, canonical=True).observations)
        taken = turn.views["tricks"][np.arange(6), turn.seats]
        held = [bin(hand).count("1") for hand in turn.views["hands"][np.arange(6), turn.seats].tolist()]
        tricks = np.arange(BIDS)
        possible = torch.from_numpy((tricks >= taken[:, None]) & (tricks <= (taken + held)[:, None]))
        with autocast(CPU, precision), torch.inference_mode():
            features = network.features(seen)
            after_bids = network.bid_trick_log_probs(features, seen).exp()
            ends = network.trick_log_probs(features, seen).exp()
        for probs in (ends, *after_bids.unbind(1)):
            assert (probs[~possible] == 0).all()
            torch.testing.assert_close(probs.sum(1), torch.ones(6))


def drawn(log_probs: torch.Tensor, uniforms: np.ndarray) -> np.ndarray:
    """Draws an outcome for every row and checks what is told about it."""
    actions, chosen = np.empty(len(log_probs), np.int64), np.empty(len(log_probs), np.float32)
    draw(log_probs.numpy(), uniforms, actions, chosen)
    np.testing.assert_array_equal(chosen, log_probs.numpy()[np.arange(len(actions)), actions])
    return actions


ENDS = [0.0, 2.0**-60, 0.5, 1 - 2.0**-24, 1 - 2.0**-53]
"""Uniform numbers, the least and the greatest possible among them."""


def test_the_loss_of_predicted_tricks_is_their_cross_entropy() -> None:
    """Of those that are possible; also where a network is sure of something else."""
    network = network_of(RULES)
    for scale, turn in zip((1.0, 30.0, 1e4), random_turns(Rules(schedule=[8]), 40), strict=False):
        seen = torch.from_numpy(turn.encode(network.layout, canonical=True).observations)
        fewest, most = network.possible_tricks(seen).unbind(1)
        bids = torch.arange(40) % 9
        for tricks in (fewest, most):
            logits = scale * network.made_bid_trick_logits(network.features(seen), bids)
            loss = network.trick_loss(logits, seen, tricks)
            (gradient,) = torch.autograd.grad(loss, logits, retain_graph=True)
            places = torch.arange(BIDS)
            possible = (places >= fewest[:, None]) & (places <= most[:, None])
            plain = torch.log_softmax(logits.masked_fill(~possible, -torch.inf), 1).gather(1, tricks[:, None])
            (expected,) = torch.autograd.grad(-plain.sum(), logits)
            torch.testing.assert_close(loss, -plain.sum(), rtol=1e-4, atol=1e-3)
            torch.testing.assert_close(gradient, expected, rtol=1e-4, atol=1e-5)
            assert (gradient[~possible] == 0).all()


def test_the_tricks_after_a_bid_are_those_after_all_bids() -> None:
    network = network_of(RULES)
    turn = next(random_turns(RULES, 32))
    seen = torch.from_numpy(turn.encode(network.layout, canonical=True).observations)
    with torch.inference_mode():
        features = network.features(seen)
        after_bids = network.bid_trick_log_probs(features, seen)
        for bid in range(BIDS):
            after_this = network.made_bid_trick_logits(features, torch.full((32,), bid))
            torch.testing.assert_close(
                torch.log_softmax(after_this, 1), after_bids[:, bid]
            )  # of 13 cards, all possible


def test_what_is_drawn_is_legal() -> None:
    rng = np.random.default_rng(3)
    masks = masks_of(rng, slice(0, NUM_CARDS), rows=400)[:, :NUM_CARDS] != 0
    for logits in logits_of(rng, (400, NUM_CARDS)).values():
        log_probs = torch.log_softmax(logits.detach().masked_fill(~masks, -torch.inf), 1)
        for uniforms in (*(np.full(400, end) for end in ENDS), *rng.random((60, 400))):
            assert masks[torch.arange(400), drawn(log_probs, uniforms)].all()


@pytest.mark.parametrize("end", ENDS)
def test_what_is_drawn_has_a_probability_at_the_ends_of_the_uniform_numbers(end: float) -> None:
    """Also where rounded probabilities add up to a little less or more than one."""
    for less in (0.0, 1e-4, -1e-4):
        log_probs = torch.tensor([[-torch.inf, -torch.inf, -0.6931472 - less, -0.6931472 - less, -torch.inf]])
        assert drawn(log_probs, np.array([end])).tolist() == [2 if end < 0.5 * np.exp(-less) else 3]


def test_outcomes_are_drawn_as_often_as_their_probability_says() -> None:
    probs = torch.tensor([0.5, 0.0, 0.3, 0.15, 0.05])
    draws = 200_000
    uniforms = np.random.default_rng(4).random(draws)
    counts = torch.bincount(torch.from_numpy(drawn(probs.log().repeat(draws, 1), uniforms)), minlength=5)
    deviation = (draws * probs * (1 - probs)).sqrt()
    assert ((counts - draws * probs).abs() <= 4.5 * deviation).all()


# The points that bids are worth.


@pytest.mark.parametrize(
    "rules", [RULES, Rules(num_players=9, min_bid=0), Rules(points_per_trick=7, points_per_overtrick=3)]
)
def test_the_score_table_is_that_of_the_rules(rules: Rules) -> None:
    numbers = range(rules.most_cards + 1)
    points = (rules.points_per_trick, rules.points_per_overtrick)
    expected = [[hand_points(bid, tricks, *points) for tricks in numbers] for bid in numbers]
    assert score_table(rules.most_cards, rules).tolist() == expected


def test_values_are_expected_points(monkeypatch: pytest.MonkeyPatch) -> None:
    network = network_of(RULES)
    turn = next(turn for turn in random_turns(RULES, 8) if not turn.masks[:, NUM_CARDS:].any())
    seen = torch.from_numpy(turn.encode(network.layout, canonical=True).observations)
    bids = network.own_bids(seen)
    assert bids.tolist() == turn.views["bids"][np.arange(8), turn.seats].tolist()
    half = torch.full((8, BIDS), -torch.inf)
    half[:, [2, 4]] = float(np.log(0.5))
    monkeypatch.setattr(network, "trick_logits", lambda *_: half)
    expected = [(hand_points(int(bid), 2) + hand_points(int(bid), 4)) / 2 for bid in bids]
    for with_gradients in (True, False):
        with torch.set_grad_enabled(with_gradients):
            assert network.values(torch.empty(0), seen).tolist() == pytest.approx(expected)
    monkeypatch.setattr(network, "bid_trick_log_probs", lambda *_: half[:1, None, :].expand(1, BIDS, BIDS))
    points = network.bid_values(torch.empty(0), seen)
    assert points[0, :6].tolist() == pytest.approx([3, 12, 21, 0.5, 0, -50])


def test_at_first_every_bid_is_expected_to_take_the_same_tricks() -> None:
    network = Network((RULES,), Heads((16,)))
    turn = next(random_turns(RULES, 32))
    seen = torch.from_numpy(turn.encode(network.layout, canonical=True).observations)
    log_probs = network.bid_trick_log_probs(network.features(seen), seen)
    assert (log_probs == log_probs[:, :1]).all()
    assert len(log_probs[:, 0].unique(dim=0)) == 32


def test_a_head_gives_the_same_for_a_part_of_the_rows_as_for_all() -> None:
    """Whatever the rows around it that are worked out with it."""
    network = network_of(RULES)
    turn = next(turn for turn in random_turns(RULES, 200) if not turn.masks[:, NUM_CARDS:].any())
    encoded = turn.encode(network.layout, canonical=True)
    seen, masks = torch.from_numpy(encoded.observations), torch.from_numpy(encoded.masks)
    cards = torch.from_numpy(card_features(RULES, turn.views, encoded.orders, np.arange(200)))
    with torch.inference_mode():
        features = network.features(seen)
        bids = network.own_bids(seen)
        for part in (slice(0, 1), slice(63, 65), slice(64, 128), slice(70, 200), slice(199, 200)):
            for rows, whole in (
                (
                    network.action_log_probs(features, cards[part], masks[part], part),
                    network.action_log_probs(features, cards, masks),
                ),
                (network.trick_logits(features, part), network.trick_logits(features)),
                (
                    network.made_bid_trick_logits(features, bids[part], part),
                    network.made_bid_trick_logits(features, bids),
                ),
            ):
                torch.testing.assert_close(rows, whole[part])


# The network as a player.


@pytest.mark.parametrize("seats", ALL_SEATS)
def test_a_network_with_random_weights_only_does_what_is_legal(seats: int) -> None:
    """About 30,000 decisions in all, of whole matches in which networks sit in all seats."""
    rules = rules_for(seats, min_bid=seats % 2, bluke_lead=("none", "trump")[seats % 2])
    batch, agent, decisions = BatchGame(rules, 5, seats, autoreset=False), agent_of(rules, seats), 0
    while not batch.is_over.all():
        batch.step(agent.act(turn_of(batch)))  # which refuses what is illegal
        decisions += 5
    assert decisions == 5 * sum(seats * (hand.cards + 1) for hand in rules.schedule)


def test_it_makes_the_most_probable_play_and_the_bid_worth_most() -> None:
    agent = NetworkAgent(network_of(RULES), (RULES,), "network")
    network, kinds = agent.network, set()
    for turn in random_turns(Rules(schedule=[9, 4]), 8):
        encoded = turn.encode(network.layout, canonical=True)
        seen = encoded.observations.copy()
        masks = Equivalents(network.layout).without(seen, encoded.masks)
        facts = turn.rules, turn.views, encoded.orders, np.arange(8)
        shown = card_features(*facts)
        labels = RankOrder(network.layout, "in_play").relabel(*facts, (seen, np.zeros((8, 0), np.int8), masks, shown))
        with torch.inference_mode():
            features = network.features(torch.from_numpy(seen))
            log_probs = network.action_log_probs(features, torch.from_numpy(shown), torch.from_numpy(masks)).numpy()
            cards = np.take_along_axis(log_probs, labels[:, :NUM_CARDS], 1)
            points = network.bid_values(features, torch.from_numpy(seen)).numpy()
        is_bid = masks[0, NUM_CARDS:].any()
        values = np.where(masks[:, NUM_CARDS:] == 1, points, -np.inf) if is_bid else cards
        chosen = agent.act(turn)
        best = values.max(1)
        rows = [turn.real_actions(np.full(8, action), encoded) == chosen for action in np.arange(values.shape[1])]
        if is_bid:
            rows = [np.equal(chosen, NUM_CARDS + bid) for bid in range(values.shape[1])]
        taken = values[np.arange(8), np.argmax(rows, axis=0)]
        np.testing.assert_allclose(taken, best, rtol=0, atol=1e-4)
        kinds.add(bool(is_bid))
    assert kinds == {True, False}


def test_who_else_acts_and_in_which_order_does_not_matter() -> None:
    agent, rng = agent_of(RULES), np.random.default_rng(5)
    for turn in random_turns(Rules(schedule=[7, 2]), 300):
        together = agent.act(turn)
        order = rng.permutation(300)
        np.testing.assert_array_equal(agent.act(part_of(turn, order)), together[order])
        for rows in (order[:1], order[:17], order[-257:]):
            np.testing.assert_array_equal(agent.act(part_of(turn, rows)), together[rows])


def test_it_does_not_look_at_the_match() -> None:
    """The same hand is played alike in the first and the last hand of a match, whoever leads it."""
    agent, rng = agent_of(RULES), np.random.default_rng(6)
    for turn in random_turns(Rules(schedule=[13]), 64):
        views = turn.views.copy()
        views["scores"][:, :4] = rng.integers(-900, 900, (64, 4))
        views["hand_number"] = 24
        ahead = Turn(RULES, views, turn.seats, turn.games)
        assert (ahead.observations != Turn(RULES, turn.views, turn.seats, turn.games).observations).any(1).all()
        np.testing.assert_array_equal(agent.act(ahead), agent.act(turn))


SUITS = 4


def relabelled(action: int, suits: list[int]) -> int:
    """An action when suit s is called `suits[s]`; Blukes and bids stay what they are."""
    return action if action >= 13 * SUITS else 13 * suits[action // 13] + action % 13


def distinct(hand: tuple[int, ...]) -> bool:
    """Whether no two suits of a hand have the same ranks, so that nothing but the cards orders them."""
    return len({frozenset(card % 13 for card in hand if card // 13 == suit) for suit in range(SUITS)}) == SUITS


def test_relabelling_the_suits_relabels_what_it_does() -> None:
    """Whole hands, each also with its suits permuted, played by the same agent."""
    agent, rng, rules = agent_of(RULES), random.Random(7), rules_for(4, [13])
    suits: list[list[int]] = []
    games: list[Game] = []
    others: list[Game] = []
    while len(games) < 40:
        pack = rng.sample(range(NUM_CARDS), NUM_CARDS)
        hands, turned_up = [tuple(pack[13 * seat : 13 * seat + 13]) for seat in range(4)], pack[52]
        if not all(map(distinct, hands)):
            continue
        suits.append(rng.sample(range(SUITS), SUITS))
        there = [[relabelled(card, suits[-1]) for card in hand] for hand in hands]
        games.append(Game(rules, deals=[deal_of(hands, turned_up, 0)]))
        others.append(Game(rules, deals=[deal_of(there, relabelled(turned_up, suits[-1]), 0)]))
    while not games[0].is_terminal:
        actions, in_others = (agent.act(turn_in(tables)).tolist() for tables in (games, others))
        assert in_others == [relabelled(action, order) for action, order in zip(actions, suits, strict=True)]
        for game, action in zip(games + others, actions + in_others, strict=True):
            game.apply_action(action)


def turn_in(games: list[Game]) -> Turn:
    """The decisions due in single games of the same rules."""
    records = np.concatenate([game._record for game in games])
    views = np.zeros(len(games), GAME)
    views_all(records, np.arange(len(games)), views)
    return Turn(games[0].rules, views, views["seat"].copy(), np.arange(len(games)))


def test_a_table_of_other_players_is_refused_in_a_sentence() -> None:
    turn = next(random_turns(Rules(num_players=3), 2))
    with pytest.raises(ValueError, match="network 0 was trained for 4 players, but the table has 3") as refused:
        agent_of(RULES).act(turn)
    assert "\n" not in str(refused.value)


def test_a_table_of_back_alley_is_refused_in_a_sentence() -> None:
    turn = next(random_turns(Rules.preset("back_alley"), 2))
    sentence = "^network 0 was trained for Bluke, but the table plays Back Alley$"
    with pytest.raises(ValueError, match=sentence):
        agent_of(RULES).act(turn)


def test_a_table_with_a_larger_pack_is_refused_in_a_sentence() -> None:
    mini, whole = Rules.preset("mini"), Rules(num_players=2, schedule=[3])
    with pytest.raises(ValueError, match="the observation layout has num_suits=2, but the rules need 4") as refused:
        agent_of(mini).act(next(random_turns(whole, 2)))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("table", ["mini", "micro"])
@pytest.mark.parametrize("trained_for", ["mini", "whole pack"])
def test_networks_play_small_packs_legally(trained_for: str, table: str) -> None:
    """Also one that learned with more cards."""
    rules = Rules.preset(table, min_bid=0)
    agent = agent_of(Rules.preset("mini") if trained_for == "mini" else Rules(num_players=2))
    batch = BatchGame(rules, 200, 1, autoreset=False)
    while not batch.is_over.all():
        batch.step(agent.act(turn_of(batch)))  # which refuses what is illegal
    assert batch.final_scores.any(1).all()


def test_larger_hands_than_it_learned_are_refused_in_a_sentence() -> None:
    turn = next(random_turns(Rules(num_players=2, schedule=[26]), 2))
    with pytest.raises(ValueError, match="hands of up to 13 cards, but the table plays 26"):
        agent_of(Rules(num_players=2)).act(turn)


def test_a_row_without_a_legal_action_is_refused_by_number() -> None:
    batch = BatchGame(Rules(schedule=[1]), 3, 0, autoreset=False)
    over = batch.views()
    over["phase"][1] = 2
    turn = Turn(batch.rules, over, batch.seats.copy(), np.arange(3))
    assert turn.masks.any(1).tolist() == [True, False, True]
    with pytest.raises(ValueError, match="row 1 of the turn has no legal action"):
        agent_of(RULES).act(turn)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_an_initial_network_of_another_sharpness_plays_its_cards_alike(dtype: torch.dtype) -> None:
    """Also where its weights are stored with half the digits."""
    first = Network((RULES,), Heads((16,), sharpness=1.0)).to(dtype).float().eval()
    second = Network((RULES,), Heads((16,), sharpness=3.0)).eval()
    second.begin_with({name: values.to(dtype) for name, values in first.state_dict().items()}, first.heads)
    batch = BatchGame(RULES, 40, 3, suit_order="canonical", layout=first.layout)
    for _ in range(RULES.num_players):
        batch.step(batch.masks.argmax(1))
    seen, masks = torch.from_numpy(batch.observations.copy()), torch.from_numpy(batch.masks.copy())
    cards = torch.from_numpy(card_features(RULES, batch.records, batch.suit_orders, np.arange(40)))
    with torch.inference_mode():
        one, other = (made.action_log_probs(made.features(seen), cards, masks) for made in (first, second))
    torch.testing.assert_close(one, other, rtol=0, atol=1e-5)
    assert one.isfinite().sum(1).max() > 3

"""The small network that plays hands on: true features, cards as PyTorch finds them, no peeking, and learning."""

from pathlib import Path

import numpy as np
import pytest
import torch
from test_card_features import GAMES, TABLES, features_of, turns
from tiny_runs import Learned, learner, run, trainer

import agents
from agents.equivalents import Equivalents
from agents.hindsight import Styles, hindsight
from agents.network import Network
from agents.playouts import OF_CARD, OF_HAND, PACKED, RULE, SCRATCH, Playouts, learned_card, parted, playout_features
from agents.ppo import _playout_loss
from agents.rollout import BOT, NETWORK, Rollout
from bluke_env import BatchGame, ObservationLayout, Rules, Turn, bots
from bluke_env.bots.rule_kernels import hidden_cards
from bluke_env.cards import BLUKES, NUM_CARDS, NUM_RANKS, cards_of
from bluke_env.engine.jit import kernel
from bluke_env.engine.state import PLAY
from bluke_env.engine.suits import relabel_card

MOST = 27


@kernel
def cards_played(rules, games, orders, weights, scratch, out):
    seats = np.int64(rules[0].num_players)
    for row in range(len(games)):
        hidden = hidden_cards(rules[0], games[row], seats)
        card = learned_card(rules[0], games[row], seats, hidden, weights, scratch[0])
        out[row] = relabel_card(np.int64(card), np.int64(orders[row]))


def played(rules: Rules, views: np.ndarray, orders: np.ndarray, playouts: Playouts) -> np.ndarray:
    """The cards that compiled code plays, as their seats see them, int64 [n]."""
    out = np.zeros(len(views), np.int64)
    cards_played(rules.record(), views, orders, playouts.packed(), np.zeros(1, SCRATCH), out)
    return out


def learned(seed: int) -> Playouts:
    """A small network with weights that make a difference."""
    torch.manual_seed(seed)
    playouts = Playouts()
    with torch.no_grad():
        for weights in playouts.parameters():
            weights.copy_(torch.randn_like(weights))
    return playouts


def known(turn: Turn, orders: np.ndarray) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    features = playout_features(turn.rules, turn.views, orders, np.arange(len(turn.views)), MOST)
    return parted(torch.from_numpy(features), MOST)


@pytest.mark.parametrize("name", TABLES)
def test_compiled_code_plays_the_card_that_the_module_finds_best(name: str) -> None:
    playouts, compared = learned(1), 0
    for turn, orders in turns(TABLES[name], "canonical")[::2]:
        of_hand, labels, of_card = known(turn, orders)
        with torch.no_grad():
            logits = playouts(of_hand, of_card).masked_fill(labels < 0, -torch.inf)
        for row, card in enumerate(played(turn.rules, turn.views, orders, playouts)):
            (place,) = np.flatnonzero(labels[row] == card)
            assert logits[row, place] > logits[row].max() - 0.6  # features are rounded to fiftieths
            compared += int((labels[row] >= 0).sum() > 1)
    assert compared > 100


@pytest.mark.parametrize("name", TABLES)
def test_before_learning_it_plays_a_card_that_is_worth_as_much_as_the_rule_bots(name: str) -> None:
    rule, compared = bots.make("rule"), 0
    rule.reset(GAMES, 0)
    for turn, orders in turns(TABLES[name])[::3]:
        features = features_of(turn, orders).astype(int)
        worth = features[:, 0] - features[:, 1]
        cards = played(turn.rules, turn.views, orders, Playouts())
        for row, choice in enumerate(rule.act(turn).tolist()):
            assert turn.masks[row, cards[row]]
            assert worth[row, cards[row]] >= worth[row, choice] - 2  # they are rounded
            compared += int(turn.masks[row].sum() > 1)
    assert compared > 100


def needed(turn: Turn, view: np.void, seat: int) -> int:
    """Tricks that a seat, or its side, still needs, from the rules alone."""
    side = [seat, (seat + 2) % 4] if turn.rules.teams else [seat]
    bids = [max(0, int(view["bids"][member])) for member in side]
    boards = turn.rules.teams and max(bids) > view["hand_size"]
    bid = int(view["hand_size"]) if boards else sum(bids)
    return max(0, bid - sum(int(view["tricks"][member]) for member in side))


def unseen_by(turn: Turn, view: np.void) -> set[int]:
    """Cards that other seats may hold, from what a seat knows."""
    seen = set(cards_of(int(view["hands"][view["seat"]])))
    for cards in view["played"].tolist():
        seen |= set(cards_of(cards))
    if view["turned_up"] >= 0:
        seen.add(int(view["turned_up"]))
        if turn.rules.teams and view["turned_up"] in cards_of(BLUKES):  # then there are none in the hands
            seen |= set(cards_of(BLUKES))
    return set(cards_of(int(turn.rules.record()[0]["pack_mask"]))) - seen


def higher_of(card: int, unseen: set[int]) -> list[bool]:
    """Of every unseen card of a card's suit, or unseen Bluke, whether it is higher."""
    return [other > card for other in unseen if other // NUM_RANKS == card // NUM_RANKS]


def beats(card: int, best: int, trump: int) -> bool:
    if card // NUM_RANKS == best // NUM_RANKS:
        return card > best
    return card in cards_of(BLUKES) or (best not in cards_of(BLUKES) and card // NUM_RANKS == trump)


@pytest.mark.parametrize("name", TABLES)
def test_what_it_knows_of_a_hand_is_true(name: str) -> None:
    for turn, orders in turns(TABLES[name])[::10]:
        of_hand, labels, of_card = known(turn, orders)
        card_features = features_of(turn, orders)
        for row, view in enumerate(turn.views):
            seats, seat = turn.rules.num_players, int(view["seat"])
            hand, in_trick = cards_of(int(view["hands"][seat])), int(view["in_trick"])
            need = [needed(turn, view, (seat + step) % seats) for step in range(seats)]
            later = need[1 : seats - in_trick]
            facts = dict(zip(OF_HAND, of_hand[row].tolist(), strict=True))
            wanted = sum(min(each, 6) for each in need) - len(hand)
            expected = {
                "needed": min(need[0] / 3, 2.5),
                "left": min(len(hand) / 6, 2.5),
                "needed_of_left": min(need[0] / len(hand), 2.5),
                "has_enough": need[0] == 0,
                "needs_all": need[0] >= len(hand),
                "played": in_trick / (seats - 1),
                "leads": in_trick == 0,
                "blukes": sum(card in cards_of(BLUKES) for card in hand),
                "trumps": min(sum(card // NUM_RANKS == view["trump"] for card in hand) / 3, 2.5),
                "trumpless": view["trump"] < 0,
                "wanted": max(-2.5, min(wanted / 3, 2.5)),
                "later_need": np.mean([each > 0 for each in later]) if later else 0,
                "choices": min(int((labels[row] >= 0).sum()) / 6, 2.5),
                "tops": min(sum(not any(higher_of(card, unseen_by(turn, view))) for card in hand) / 3, 2.5),
                "best_takes": of_card[row, labels[row] >= 0, 0].max(),
                "all_keeps": min(float(of_card[row, labels[row] >= 0, 1].sum()) / 2, 2.5),
                "best_needs": in_trick > 0 and needed(turn, view, int(view["best_seat"])) > 0,
                "others_need": np.mean([each > 0 for each in need[1:]]),
            }
            assert expected.keys() == facts.keys()
            for fact, value in expected.items():
                rounded = 0.08 if fact == "all_keeps" else 0.011  # the worth of every card is rounded
                assert facts[fact] == pytest.approx(float(value), abs=rounded), fact
            for place, label in enumerate(labels[row][labels[row] >= 0].tolist()):
                about = dict(zip(OF_CARD, of_card[row, place].tolist(), strict=True))
                formula = card_features[row, :2, label] / 100
                assert [about["takes"], about["keeps"]] == pytest.approx(formula.tolist(), abs=0.021)
                assert about["trump"] == (label // NUM_RANKS == view["trump"])
                higher = higher_of(label, unseen_by(turn, view))
                assert about["higher"] == pytest.approx(sum(higher) / 12.5, abs=0.011)
                assert about["lower"] == pytest.approx((len(higher) - sum(higher)) / 12.5, abs=0.011)
                assert about["bluke"] == (label in cards_of(BLUKES))
                assert about["wins"] == (in_trick == 0 or beats(label, int(view["best_card"]), int(view["trump"])))
                assert about["top"] == (not any(higher))
                length = min(sum(card // NUM_RANKS == label // NUM_RANKS for card in hand) / 5, 2.5)
                assert about["length"] == pytest.approx(length)
                assert len(about) == 9  # and all of them are looked at


@pytest.mark.parametrize("name", TABLES)
def test_its_cards_are_among_those_of_masks_without_equivalents(name: str) -> None:
    """It leaves out some more: the higher of two Blukes in one hand, for instance."""
    rules = TABLES[name]
    layout = ObservationLayout.of(rules)
    for turn, _ in turns(rules)[::5]:
        encoded = turn.encode(layout, canonical=True)
        masks = Equivalents(layout).without(encoded.observations, encoded.masks)[:, :NUM_CARDS]
        _, labels, _ = known(turn, encoded.orders)
        for row in range(len(masks)):
            cards = set(labels[row][labels[row] >= 0].tolist())
            assert cards
            assert cards <= set(np.flatnonzero(masks[row]).tolist())
            assert min(cards) == masks[row].argmax()


@pytest.mark.parametrize("name", TABLES)
def test_other_hands_change_nothing(name: str) -> None:
    """In training they stand beside the own one."""
    playouts, rules, rng = learned(2), TABLES[name], np.random.default_rng(4)
    batch, rows, compared = BatchGame(rules, GAMES, 6, autoreset=False), np.arange(GAMES), 0
    while not batch.is_over.any() and compared < 20:
        games, orders = batch.records.copy(), batch.suit_orders
        if (games["phase"] == PLAY).all():
            others = np.arange(games["hands"].shape[1]) != games["seat"][:, None]
            for hands in (0, rng.integers(0, 1 << NUM_CARDS, others.sum())):
                changed = games.copy()
                changed["hands"][others] = hands
                seen, unseen = (playout_features(rules, each, orders, rows, MOST) for each in (games, changed))
                assert (seen == unseen).all()
                cards = [played(rules, each, orders, playouts) for each in (games, changed)]
                assert (cards[0] == cards[1]).all()
            compared += int((games["hands"][others] != 0).any())
        batch.step((rng.random(batch.masks.shape) * batch.masks).argmax(1))
    assert compared > 2


def test_every_seat_plays_on_in_its_own_style() -> None:
    """Hindsight against hands that are played on at the table, seat by seat."""
    rules, rule, playouts = Rules(num_players=4), bots.make("rule"), learned(3)
    batch = BatchGame.hands_of(rules, 5, 16, 3, autoreset=False, suit_order="canonical")
    games, of_seats = np.arange(16), np.random.default_rng(1).integers(RULE, 2, (16, 4))
    styles = Styles(of_seats, np.stack([playouts.packed(), learned(4).packed()]))
    rule.reset(16, 0)

    def actions() -> np.ndarray:
        bidding = batch.masks[0, NUM_CARDS:].any()
        chosen = batch.relabel_actions(rule.act(Turn(rules, batch.views(), batch.seats, games)), games)
        if not bidding:
            style = of_seats[games, batch.seats]
            for number, network in enumerate((playouts, learned(4))):
                own = played(rules, batch.views(), batch.suit_orders, network)
                chosen = np.where(style == number, own, chosen)
        return chosen

    while batch.masks[0, NUM_CARDS:].any():
        batch.step(actions())
    for _ in range(2):
        batch.step(actions())
    seats, masks, drawn = batch.seats.copy(), batch.masks, actions()
    policy = torch.zeros(16, NUM_CARDS)
    found = hindsight(batch, games, masks.copy(), policy.log_softmax(1), torch.from_numpy(drawn), styles)
    legal = masks[:, :NUM_CARDS] != 0
    expected, own = found.expected, torch.from_numpy(seats.astype(np.int64))
    assert expected is not None
    assert found.luck is not None
    made = (expected + found.luck)[games, own]  # with the card drawn, which is what the style plays
    while not batch.is_over[0]:
        batch.step(actions())
    points = batch.records["last_points"][games, own]
    np.testing.assert_allclose(made, points, atol=1e-3)
    assert (legal.sum(1) > 1).any()


def test_a_bot_plays_on_by_its_own_network_or_as_the_rule_bot() -> None:
    made = learner(guide=1.0, final_guide=1.0)
    players = np.array([[NETWORK, BOT, NETWORK, BOT]])
    network = Rollout(made.config, 0, 5, made.network, bots.make("rule"))
    assert network._styles(players).of_seats.tolist() == [[NETWORK, RULE, NETWORK, RULE]]
    for opponent, style in ((made.agent, BOT), (agents.load("bluke-4p-wins"), RULE)):
        rollout = Rollout(made.config, 0, 5, made.network, opponent)
        assert rollout._styles(players).of_seats.tolist() == [[NETWORK, style, NETWORK, style]]
    plain = learner(guide=1.0, final_guide=1.0, plays_on="rule")
    rollout = Rollout(plain.config, 0, 5, plain.network, bots.make("rule"))
    assert rollout._styles(players).of_seats.tolist() == [[RULE] * 4]


@pytest.mark.parametrize("changes", [{}, {"bids": "policy", "critic": "points"}, {"num_players": (2, 4)}, {"kl": 0.1}])
def test_it_learns_from_what_the_large_network_learns_from(changes: dict, tmp_path: Path) -> None:
    settings = {"hands_per_size": 128, "iterations": 12, "sizes_per_iteration": 5, "learning_rate": 5e-3}
    with trainer(tmp_path, guide=1.0, final_guide=1.0, entropy=0.0, final_entropy=0.0, **settings, **changes) as made:
        before = made.learner.network.playouts.packed()
        rows = run(made, 12)
        after = made.learner.network.playouts.packed()
    losses = [row["playout_loss"] for row in rows]
    assert np.isfinite(losses).all()
    assert np.mean(losses[-3:]) < np.mean(losses[:3]) - 0.003
    assert after.shape == PACKED
    assert (before != after).any()


def test_bids_teach_it_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents.ppo, "_LESSONS", 1)
    step = Learned(monkeypatch)
    made = learner(guide=1.0, final_guide=1.0, bids="policy", critic="points")
    decisions = step.played(made)
    cards = decisions.taken(torch.nonzero(~decisions.is_bid)[:, 0], torch.device("cpu"))
    assert 0 < len(cards) < len(decisions)
    of_all, of_cards = (_playout_loss(made.network, part, slice(len(part)), 0.5) for part in (decisions, cards))
    torch.testing.assert_close(of_all, of_cards)


def test_without_it_nothing_is_learned_for_it() -> None:
    made = learner(guide=1.0, final_guide=1.0, plays_on="rule")
    assert made.network.playouts is None
    assert made.iterate()["playout_loss"] == 0


def test_networks_with_it_begin_with_those_without_and_the_other_way_round() -> None:
    old = agents.load("bluke-4p-wins").network
    tables, heads = agents.load("bluke-4p-wins").tables, old.heads
    assert not heads.playouts
    new = Network(tables, type(heads)(**(vars(heads) | {"playouts": True})))
    new.begin_with(old.state_dict(), heads)
    assert new.playouts is not None
    assert torch.equal(new.actions.weight, old.actions.weight)
    back = Network(tables, heads)
    back.begin_with(new.state_dict(), new.heads)
    assert torch.equal(back.actions.weight, old.actions.weight)

"""What a network is told of each card: true, in its own suits, and from nothing that its seat cannot know."""

import numpy as np
import pytest

from agents.card_features import CARD_FEATURES, CARDS_UNIT, UNIT, card_features
from bluke_env import BatchGame, ObservationLayout, Rules, Turn, bots
from bluke_env.cards import BLUKES, LO_BLUKE, NUM_CARDS, NUM_RANKS, cards_of
from bluke_env.engine.state import PLAY

TABLES = {
    "four": Rules(),
    "two": Rules(num_players=2),
    "six": Rules(num_players=6, bluke_lead="trump"),
    "mini": Rules.preset("mini"),
    "back alley": Rules.preset("back_alley"),
}
GAMES = 60


def turns(rules: Rules, suit_order: str = "fixed") -> list[tuple[Turn, np.ndarray]]:
    """Decisions about cards in random play, with the order of the suits that the seats see."""
    batch = BatchGame(rules, GAMES, 5, autoreset=False, suit_order=suit_order)  # type: ignore[arg-type]
    rng, games, found = np.random.default_rng(3), np.arange(GAMES), []
    while not batch.is_over.any() and len(found) < 150:
        if (batch.views()["phase"] == PLAY).all():
            found.append((Turn(rules, batch.views(), batch.seats.copy(), games), batch.suit_orders.copy()))
        batch.step((rng.random(batch.masks.shape) * batch.masks).argmax(1))
    return found


def features_of(turn: Turn, orders: np.ndarray) -> np.ndarray:
    """Features by name and card, int8 [n, features, cards]."""
    made = card_features(turn.rules, turn.views, orders, np.arange(len(turn.views)))
    return made.reshape(len(made), len(CARD_FEATURES), NUM_CARDS)


@pytest.mark.parametrize("name", TABLES)
def test_unseen_cards_are_counted(name: str) -> None:
    for turn, orders in turns(TABLES[name])[::15]:
        features = features_of(turn, orders)
        for row, view in enumerate(turn.views):
            pack = set(cards_of(int(turn.rules.record()[0]["pack_mask"])))
            seen = set(cards_of(int(view["hands"][view["seat"]])))
            for played in view["played"].tolist():
                seen |= set(cards_of(played))
            if view["turned_up"] >= 0:
                seen.add(int(view["turned_up"]))
                if turn.rules.teams and view["turned_up"] >= LO_BLUKE:  # then there are no Blukes
                    seen |= set(cards_of(BLUKES))
            legal = np.flatnonzero(turn.masks[row, :NUM_CARDS]).tolist()
            for card in legal:
                suit = [other for other in pack - seen if other // NUM_RANKS == card // NUM_RANKS]
                higher = sum(other > card for other in suit)
                counts = features[row, 2:, card] * CARDS_UNIT / UNIT
                assert counts.tolist() == [higher, len(suit) - higher]
            assert not np.delete(features[row], legal, axis=1).any()


@pytest.mark.parametrize("name", TABLES)
def test_the_rule_bot_plays_a_card_that_is_worth_most(name: str) -> None:
    """Of every suit's cards it looks at the lowest, the lowest that takes the trick and the highest that does."""
    rule, compared = bots.make("rule"), 0
    rule.reset(GAMES, 0)
    for turn, orders in turns(TABLES[name]):
        features = features_of(turn, orders).astype(int)
        worth = features[:, 0] - features[:, 1]
        for row, choice in enumerate(rule.act(turn).tolist()):
            legal = np.flatnonzero(turn.masks[row, :NUM_CARDS])
            looked_at = []
            for suit in range(5):
                cards = legal[legal // NUM_RANKS == suit]
                taking = cards[features[row, 0, cards] > 0]
                looked_at += [*cards[:1], *taking[:1], *taking[-1:]]
            assert worth[row, choice] >= max(worth[row, looked_at]) - 2  # they are rounded
            compared += len(legal) > 1
    assert compared > 200


@pytest.mark.parametrize("name", TABLES)
def test_they_stand_where_the_seat_sees_its_cards(name: str) -> None:
    for turn, orders in turns(TABLES[name], "canonical")[::5]:
        encoded = turn.encode(ObservationLayout.of(turn.rules), canonical=True)
        assert (encoded.orders == orders).all()
        seen, real = features_of(turn, orders), features_of(turn, np.full(len(orders), 0b11_10_01_00, np.int16))
        for label in range(NUM_CARDS):
            rows = np.flatnonzero(encoded.masks[:, label])
            cards = turn.real_actions(np.full(len(orders), label), encoded)[rows]
            assert (seen[rows, :, label] == real[rows, :, cards]).all()


def test_hands_of_others_change_nothing() -> None:
    for turn, orders in turns(Rules())[::5]:
        views = turn.views.copy()
        features = features_of(turn, orders)
        for view in views:
            own = view["hands"][view["seat"]]
            view["hands"] = np.random.default_rng(1).integers(0, 1 << 54, len(view["hands"]))
            view["hands"][view["seat"]] = own
        assert (card_features(turn.rules, views, orders, np.arange(GAMES)) == features.reshape(GAMES, -1)).all()


def test_nothing_is_said_of_bids_and_the_last_player_knows_whether_it_takes_the_trick() -> None:
    batch = BatchGame(Rules(), GAMES, 5, autoreset=False)
    assert not card_features(batch.rules, batch.views(), batch.suit_orders, np.arange(GAMES)).any()
    for turn, orders in turns(Rules()):
        takes = features_of(turn, orders)[turn.views["in_trick"] == 3, 0]
        assert set(takes.ravel().tolist()) <= {0, int(UNIT)}

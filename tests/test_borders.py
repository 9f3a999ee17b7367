"""What enters from Python at less obvious borders: records, layouts, relabelled actions, vectors to decode."""

from typing import Any

import numpy as np
import pytest
from tables import rules_for
from variants import VARIANTS

from bluke_env import BatchGame, Game, ObservationLayout, Rules, Turn, bluke_v0
from bluke_env.actions import action_text, bid_text

OTHER_RULES = [
    (Rules(num_players=2, schedule="27"), Rules.preset("micro")),
    (Rules(), Rules(num_players=5)),
    (Rules(num_players=5), Rules()),
    (Rules(schedule="5"), Rules(schedule="4")),
    (Rules(), Rules.preset("mini", num_players=4, schedule="2")),
]


@pytest.mark.parametrize(("played", "given"), OTHER_RULES)
def test_a_record_of_other_rules_is_refused(played: Rules, given: Rules) -> None:
    with pytest.raises(ValueError, match=r"^the record's game does not fit the rules"):
        Game.from_record(given, BatchGame(played, 1, 0).records[:1].copy())


def test_a_record_with_a_board_is_refused_where_there_are_none() -> None:
    batch = BatchGame(Rules.preset("back_alley"), 1, 0)
    batch.step(np.array([batch.layout.num_actions - 4]))
    with pytest.raises(ValueError, match=r"^the record's game does not fit the rules"):
        Game.from_record(Rules(min_bid=0), batch.records[:1].copy())


@pytest.mark.parametrize("rules", VARIANTS.values(), ids=VARIANTS.keys())
def test_games_of_a_batch_fit_their_rules_at_any_time(rules: Rules) -> None:
    batch, state = BatchGame(rules, 3, 1, autoreset=False), np.array([1], np.uint64)
    while not batch.is_over.all():
        batch.step(batch.random_actions(state))
        assert [batch.game(index).is_terminal for index in range(3)] == batch.is_over.tolist()


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int32])
def test_a_layout_of_numpy_integers_is_the_same(kind: Any) -> None:
    layout = ObservationLayout(kind(4), kind(13), kind(100), kind(4), kind(13))
    assert layout == ObservationLayout(4, 13, 100)
    assert layout.size == ObservationLayout(4, 13, 100).size
    assert layout.record == ObservationLayout(4, 13, 100).record


@pytest.mark.parametrize("teams", [None, "yes", 1])
def test_a_layout_with_or_without_teams_says_so(teams: Any) -> None:
    with pytest.raises(ValueError, match=r"the layout's teams is .* must be True or False"):
        ObservationLayout(4, 13, 15, teams=teams)


def test_unknown_slices_are_refused() -> None:
    with pytest.raises(ValueError, match="there is no slice 'foo': the slices are phase, played"):
        ObservationLayout(4, 13, 15).slice("foo")


def test_rows_of_finished_games_hold_no_observation() -> None:
    batch = BatchGame(Rules.preset("micro"), 1, 0, autoreset=False)
    while not batch.is_over.all():
        batch.step(batch.masks.argmax(1))
    for vector in (batch.observations[0], batch.states()[0], np.full(batch.layout.size, np.nan, np.float32)):
        with pytest.raises(ValueError, match=r"^the vector holds no observation"):
            batch.layout.decode(vector)


@pytest.mark.parametrize("action", [-1, 68, 1000])
def test_actions_to_relabel_must_exist(action: int) -> None:
    rules = Rules(schedule="13")
    batch = BatchGame(rules, 1, 0)
    for _ in range(4):
        batch.step(batch.masks.argmax(1))
    turn = Turn(rules, batch.views(), batch.seats.copy(), np.arange(1))
    encoded = turn.encode(batch.layout, canonical=True)
    with pytest.raises(ValueError, match="action ids run from 0 to 67"):
        turn.real_actions(np.array([action]), encoded)
    with pytest.raises(ValueError, match="action ids run from 0 to 67"):
        batch.relabel_actions(np.array([action]), np.array([0]))


@pytest.mark.parametrize("schedule", ["5-5nt", "3-5-5nt", "5-5", "1\u0663", b"13", np.array(5)])
def test_schedules_that_cannot_be_read_are_refused(schedule: Any) -> None:
    with pytest.raises(ValueError, match="schedule"):
        rules_for(4, schedule)


def test_texts_of_actions_that_cannot_be_are_refused() -> None:
    for action in (-1, 54 + 13 + 5, True):
        with pytest.raises(ValueError, match="the action is"):
            action_text(action, 13)
    for bid in (-1, 32):
        with pytest.raises(ValueError, match="the bid is"):
            bid_text(bid)


@pytest.mark.parametrize(("seats", "cards"), [(2, 26), (3, 18)])
def test_single_hands_are_at_no_trump_where_the_schedule_says_so(seats: int, cards: int) -> None:
    rules = Rules(seats, "extended")
    assert rules.hands_of(cards).schedule == ((cards, True),)
    assert rules.hands_of(5).schedule == ((5, False),)
    assert rules.hands_of(5, no_trump=True).schedule == ((5, True),)
    assert (BatchGame.hands_of(rules, cards, 4, 0).records["turned_up"] == -1).all()
    env = bluke_v0.env(rules, hand_size=cards)
    env.reset(seed=0)
    assert env.game.turned_up is None


def test_scores_of_the_largest_single_hand_fit_the_layout() -> None:
    rules = Rules(schedule="1", most_cards=13, points_per_trick=1000, min_bid=0)
    env = bluke_v0.env(rules, hand_size=13)
    env.reset(seed=1)
    while not env.game.is_terminal:
        mask = env.observe(env.agent_selection)["action_mask"]
        env.step(int(np.flatnonzero(mask)[-1]))
    facts = env.layout.decode(env.last()[0]["observation"])
    assert tuple(facts["scores"]) == env.game.scores == (-13000,) * 4

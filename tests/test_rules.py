"""`Rules`: the schedules of the rules page, what is refused, and the forms that rules can take."""

import json
import random
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import play_hand, rules_for

from bluke_env import Game, Rules
from bluke_env.rules import MAX_HANDS

# Players, most cards, hands: the table of the rules page.
STANDARD = [
    (2, 13, 25), (3, 13, 25), (4, 13, 25), (5, 10, 19), (6, 8, 15), (7, 7, 13), (8, 6, 11), (9, 5, 9), (10, 5, 9),
    (11, 4, 7), (12, 4, 7), (13, 4, 7), (14, 3, 5), (15, 3, 5),
]  # fmt: skip


@pytest.mark.parametrize(("players", "most_cards", "hands"), STANDARD)
def test_standard_schedules(players: int, most_cards: int, hands: int) -> None:
    rules = Rules(num_players=players)
    sizes = [hand.cards for hand in rules.schedule]
    assert (rules.most_cards, rules.num_hands) == (most_cards, hands)
    assert sizes == [*range(most_cards, 0, -1), *range(2, most_cards + 1)]
    assert not any(hand.no_trump for hand in rules.schedule)


def test_every_number_of_players_is_in_the_table() -> None:
    assert [players for players, _, _ in STANDARD] == list(range(2, 16))


@pytest.mark.parametrize(
    ("players", "added"),
    [(2, [*range(14, 26), (26, True)]), (3, [*range(14, 18), (18, True)]), (6, [9]), (8, [(6, True)]), (9, [6])],
)
def test_extended_schedules_fit(players: int, added: list[Any]) -> None:
    standard = [hand.cards for hand in Rules(num_players=players).schedule]
    rules = rules_for(players, [*standard, *added])
    assert rules.num_hands == len(standard) + len(added)
    assert rules.schedule[-1].no_trump
    assert [hand.no_trump for hand in rules.schedule[:-1]] == [False] * (rules.num_hands - 1)


def test_forms_of_a_schedule() -> None:
    expected = ((5, False), (3, True))
    for schedule in (
        [5, (3, True)],
        ((5, False), (3, True)),
        [[5, False], [3, True]],
        [5, [3, np.True_]],
        [np.int64(5), (np.int8(3), np.bool_(True))],
    ):
        rules = rules_for(4, schedule)
        assert rules.schedule == expected
        assert [type(value) for hand in rules.schedule for value in hand] == [int, bool] * 2


@pytest.mark.parametrize(("players", "cards"), [(2, 27), (3, 18), (6, 9), (9, 6)])
def test_the_whole_pack_is_always_at_no_trump(players: int, cards: int) -> None:
    assert rules_for(players, [cards]).schedule == ((cards, True),)
    assert rules_for(players, [cards]) == rules_for(players, [(cards, False)]) == rules_for(players, [(cards, True)])


# What is refused, and that the sentence says where and what would be right.

REFUSED: list[tuple[dict[str, Any], str]] = [
    *(
        ({"num_players": players}, f"num_players is {players!r}, but it must be a whole number from 2 to 15")
        for players in (0, 1, 16, -4, "4", 4.0, True, None, [4], np.float64(4), 1 + 0j)
    ),
    *(
        ({"min_bid": bid}, f"min_bid is {bid!r}, but it must be a whole number from 0 to 1")
        for bid in (2, -1, "0", 0.0, False, None)
    ),
    *(
        ({name: points}, f"{name} is {points!r}, but it must be a whole number from 0 to 1000")
        for name in ("points_per_trick", "points_per_overtrick")
        for points in (-1, 1001, 10.0, "10", True, None)
    ),
    *(
        ({"bluke_lead": lead}, f"bluke_lead is {lead!r}, but it must be one of none, trump")
        for lead in ("", "Trump", "suit", None, 0, True, ["none"])
    ),
    ({"schedule": []}, "the schedule has 0 hands, but a match has from 1 to 127"),
    ({"schedule": [1] * 128}, "the schedule has 128 hands, but a match has from 1 to 127"),
    ({"schedule": "13"}, "schedule is '13', but it must be a list of hands: (cards, no_trump) or cards alone"),
    ({"schedule": 13}, "schedule is 13, but it must be a list of hands: (cards, no_trump) or cards alone"),
    ({"schedule": {5, 3}}, "schedule is {3, 5}, but it must be a list of hands"),
    ({"schedule": {5: True}}, "schedule is {5: True}, but it must be a list of hands"),
    *(
        (
            {"schedule": [1, cards]},
            f"the number of cards of hand 1 is {cards!r}, but it must be a whole number from 1 to 13",
        )
        for cards in (0, -1, 14, "5", 5.0, True, None, (5,), (5, True, 1))
    ),
    (
        {"num_players": 15, "schedule": [4]},
        "the number of cards of hand 0 is 4, but it must be a whole number from 1 to 3",
    ),
    *(
        ({"schedule": [(5, no_trump)]}, f"no_trump of hand 0 is {no_trump!r}, but it must be True or False")
        for no_trump in (0, 1, "no", None)
    ),
    (
        {"points_per_trick": 1000, "schedule": [10, 10, 11]},
        "a seat could win or lose 31000 points in a match, but at most 30000 can be kept: "
        "lower points_per_trick or points_per_overtrick, or play fewer hands",
    ),
    ({"points_per_overtrick": 1000}, "a seat could win or lose 181000 points in a match, but at most 30000"),
]


@pytest.mark.parametrize(("wrong", "sentence"), REFUSED)
def test_wrong_arguments_get_one_sentence(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as refused:
        Rules(**wrong)
    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)


def test_wrong_changes_of_valid_rules_are_refused_too() -> None:
    with pytest.raises(ValueError, match="cards of hand 0 is 13"):
        replace(Rules(), num_players=5)
    with pytest.raises(ValueError, match="cards of hand 0 is 14"):
        Rules().hands_of(14)
    with pytest.raises(FrozenInstanceError):
        Rules().num_players = 5  # type: ignore[misc]


def test_limits_are_reached() -> None:
    assert rules_for(4, [1] * MAX_HANDS).num_hands == MAX_HANDS
    assert rules_for(4, [10, 10, 10], points_per_trick=1000).most_points == 30_000
    assert Rules(points_per_trick=0, points_per_overtrick=0).most_points == 0


# Presets and dictionaries.


def test_presets() -> None:
    assert Rules.preset("bluke") == Rules()
    assert Rules.preset("bluke", num_players=6, min_bid=0) == Rules(num_players=6, min_bid=0)
    for name in ("Bluke", "", "whist", None, 3, ["bluke"]):
        with pytest.raises(ValueError, match=r"^there is no preset .*: the presets are bluke"):
            Rules.preset(name)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="num_players is 1"):
        Rules.preset("bluke", num_players=1)


@st.composite
def any_rules(draw: st.DrawFn) -> Rules:
    players = draw(st.integers(2, 15))
    hands = st.tuples(st.integers(1, 54 // players), st.booleans())
    return rules_for(
        players,
        draw(st.one_of(st.none(), st.lists(hands, min_size=1, max_size=20))),
        min_bid=draw(st.integers(0, 1)),
        bluke_lead=draw(st.sampled_from(["none", "trump"])),
        points_per_trick=draw(st.integers(0, 50)),
        points_per_overtrick=draw(st.integers(0, 50)),
    )


@given(any_rules())
def test_dictionaries_hold_all_there_is_and_survive_json(rules: Rules) -> None:
    data = rules.to_dict()
    assert list(data) == [field.name for field in fields(Rules)]
    restored = Rules.from_dict(json.loads(json.dumps(data)))
    assert restored == rules
    assert hash(restored) == hash(rules)
    assert restored.to_dict() == data


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^'players' is no field of the rules: the fields are num_players, schedule"):
        Rules.from_dict({"players": 4})
    with pytest.raises(ValueError, match="num_players is '4'"):
        Rules.from_dict({"num_players": "4"})
    assert Rules.from_dict({}) == Rules()


# Equality and records.


def test_equal_rules_are_equal_however_they_are_written() -> None:
    standard = Rules()
    written_out = rules_for(np.int64(4), [*range(13, 0, -1), *range(2, 14)])  # type: ignore[arg-type]
    assert written_out == standard
    assert hash(written_out) == hash(standard)
    changes: list[dict[str, Any]] = [
        {"num_players": 3},
        {"schedule": [13]},
        {"min_bid": 0},
        {"bluke_lead": "trump"},
        {"points_per_trick": 5},
        {"points_per_overtrick": 0},
    ]
    assert len({standard, *(Rules(**change) for change in changes)}) == len(changes) + 1


def test_hands_of_keeps_all_but_the_schedule() -> None:
    rules = Rules(num_players=3, min_bid=0, bluke_lead="trump", points_per_trick=7, points_per_overtrick=2)
    single = rules.hands_of(5, no_trump=True)
    assert single.schedule == ((5, True),)
    assert replace(single, schedule=rules.schedule) == rules
    assert rules.hands_of(18).schedule == ((18, True),)


@given(any_rules())
def test_records_hold_the_same_facts(rules: Rules) -> None:
    record = rules.record()
    assert record.shape == (1,)
    assert not record.flags.writeable
    for name in ("num_players", "min_bid", "num_hands", "points_per_trick", "points_per_overtrick"):
        assert record[name][0] == getattr(rules, name)
    assert record["bluke_lead_trump"][0] == (rules.bluke_lead == "trump")
    schedule = list(zip(record["hand_sizes"][0].tolist(), record["no_trump"][0].tolist(), strict=True))
    assert schedule[: rules.num_hands] == list(rules.schedule)
    assert set(schedule[rules.num_hands :]) <= {(0, 0)}
    assert Rules.from_dict(rules.to_dict()).record().tobytes() == record.tobytes()


@pytest.mark.parametrize(("per_trick", "per_overtrick"), [(10, 1), (1, 10), (0, 5)])
def test_no_seat_passes_the_bound_on_points(per_trick: int, per_overtrick: int) -> None:
    rules = rules_for(2, [2, 1, 2], points_per_trick=per_trick, points_per_overtrick=per_overtrick, min_bid=0)
    assert rules.most_points == 5 * max(per_trick, per_overtrick)
    reached = 0
    for seed in range(300):
        game, rng = Game(rules, seed=seed), random.Random(seed)
        while not game.is_terminal:
            play_hand(game, rng)
            reached = max(reached, *map(abs, game.scores))
    assert reached == rules.most_points

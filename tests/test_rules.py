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
from bluke_env.schedule import MAX_HANDS

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

BACK_ALLEY: dict[str, Any] = {"teams": True, "min_bid": 0, "bluke_lead": "high_low"}

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
    ({"schedule": 13}, "schedule is 13, but it must be a text such as '13-1-13' or a list of hands: (cards, no_trump)"),
    ({"schedule": {5, 3}}, "schedule is {3, 5}, but it must be a text such as '13-1-13' or a list of hands"),
    ({"schedule": {5: True}}, "schedule is {5: True}, but it must be a text such as '13-1-13' or a list of hands"),
    *(
        (
            {"schedule": [1, cards]},
            f"the number of cards of hand 1 of the schedule for 4 players is {cards!r}, but it must be a whole number "
            "from 1 to 13",
        )
        for cards in (0, -1, 14, "5", 5.0, True, None, (5,), (5, True, 1))
    ),
    (
        {"num_players": 15, "schedule": [4]},
        "the number of cards of hand 0 of the schedule for 15 players is 4, but it must be a whole number from 1 to 3",
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
    # Small packs.
    *(
        ({name: number}, f"{name} is {number!r}, but it must be a whole number from 1 to {most}")
        for name, most in (("num_suits", 4), ("num_ranks", 13))
        for number in (0, -1, most + 1, "2", 2.0, True, None)
    ),
    (
        {"num_suits": 2, "num_ranks": 1, "num_players": 5, "schedule": [1]},
        "2 suits of 1 ranks and the Blukes are 4 cards, too few for 5 players: take more suits or ranks, or fewer",
    ),
    (
        {"num_suits": 1, "num_ranks": 2, "num_players": 4},
        "4 cards are too few for a standard match of 4 players, which leaves at least one to turn up: take more",
    ),
    (
        {"num_players": 2, "num_suits": 2, "num_ranks": 4, "schedule": "6"},
        "the number of cards of hand 0 of the schedule for 2 players is 6, but it must be a whole number from 1 to 5",
    ),
    (
        {"num_players": 2, "num_ranks": 12, "schedule": "extended"},
        "the schedule 'extended' exists for 2, 3, 6, 8, 9 players and the whole pack only",
    ),
    # Room for cards.
    *(
        (
            {"most_cards": most, "schedule": "10-1"},
            f"most_cards (None stands for the most of the schedule) is {most!r}, but it must be a whole number from 10 "
            "to 13",
        )
        for most in (0, 9, 14, "13", 13.0, True)
    ),
    # Texts of schedules.
    *(
        (
            {"schedule": text},
            f"{part!r} in the schedule {text!r} cannot be read: write numbers of cards as in '13-1-13'",
        )
        for text, part in {
            "": "",
            "0": "0",
            "05": "05",
            "3.5": "3.5",
            "5 nt": "5 nt",
            "5NT": "5NT",
            "nt": "nt",
            "-5": "-5",
            "5-": "5-",
            "5--1": "5--1",
            "5-5": "5-5",
            "1-3-3-1": "1-3-3-1",
            "100": "100",
            "13\N{EN DASH}1": "13\N{EN DASH}1",
            "13-1-13,": "",
            ",5": "",
            "5,six": "six",
            "5, 6": " 6",
            "5\n": "5\n",
            "Standard": "Standard",
            "standard,5": "standard",
        }.items()
    ),
    ({"schedule": "extended"}, "the schedule 'extended' exists for 2, 3, 6, 8, 9 players and the whole pack only"),
    ({"schedule": "13-1-14"}, "the number of cards of hand 25 of the schedule for 4 players is 14, but it must be a"),
    ({"schedule": "99"}, "the number of cards of hand 0 of the schedule for 4 players is 99, but it must be a whole"),
    ({"schedule": "1-13-1-13-1-13-1-13-1-13-1-13"}, "the schedule has 133 hands, but a match has from 1 to 127"),
    # Teams.
    *(({"teams": teams}, f"teams is {teams!r}, but it must be True or False") for teams in (0, 1, "yes", None, [0, 2])),
    (
        {"teams": True, "min_bid": 0, "bluke_lead": "trump", "num_players": 3},
        "teams are two pairs of partners, so num_players must be 4, but it is 3",
    ),
    (
        {"teams": True, "bluke_lead": "trump"},
        "min_bid is 1, but with teams it must be 0, since a partner may have bid all the tricks: start from",
    ),
    (
        {"teams": True, "min_bid": 0},
        "bluke_lead is 'none', but it must be one of trump, high_low",
    ),
    ({"bluke_lead": "high_low"}, "bluke_lead is 'high_low', but it must be one of none, trump"),
    *(
        (
            {**BACK_ALLEY, "schedule": schedule},
            "hand 1 of the schedule is at no trump, but teams play so only when a Blooper is turned up: leave out nt",
        )
        for schedule in ("5,5nt", [5, (5, True)])
    ),
    (
        {**BACK_ALLEY, "num_suits": 2, "num_ranks": 5, "schedule": [3]},
        "the number of cards of hand 0 of the schedule for 4 players is 3, but it must be a whole number from 1 to 2",
    ),
    (
        {**BACK_ALLEY, "points_per_trick": 15},
        "a seat could win or lose 43440 points in a match, but at most 30000 can be kept: lower points_per_trick",
    ),
    (
        {**BACK_ALLEY, "num_suits": 1, "num_ranks": 3},
        "1 suits of 3 ranks and the Blukes are 5 cards, too few for 4 players in teams: take more suits or ranks",
    ),
]


@pytest.mark.parametrize(("wrong", "sentence"), REFUSED)
def test_wrong_arguments_get_one_sentence(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as refused:
        Rules(**wrong)
    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)


def test_wrong_changes_of_valid_rules_are_refused_too() -> None:
    with pytest.raises(ValueError, match="cards of hand 0 of the schedule for 5 players is 13"):
        replace(Rules(), num_players=5)
    with pytest.raises(ValueError, match="cards of a hand is 14"):
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
    assert Rules.preset("back_alley") == Rules(**BACK_ALLEY, points_per_trick=5)
    assert Rules.preset("back_alley", points_per_trick=10) == Rules(**BACK_ALLEY)
    for name in ("Bluke", "", "whist", None, 3, ["bluke"]):
        with pytest.raises(
            ValueError, match=r"^there is no preset .*: the presets are bluke, back_alley, mini, micro$"
        ):
            Rules.preset(name)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^teams are two pairs of partners, so num_players must be 4, but it is 5$"):
        Rules.preset("back_alley", num_players=5)
    with pytest.raises(ValueError, match="num_players is 1"):
        Rules.preset("bluke", num_players=1)


@st.composite
def any_rules(draw: st.DrawFn) -> Rules:
    teams = draw(st.booleans())
    players = 4 if teams else draw(st.integers(2, 15))
    num_ranks = draw(st.integers(-(-players // 4), 13))
    num_suits = draw(st.integers(-(-players // num_ranks), 4))
    cards = num_suits * num_ranks + 2
    most = (cards - 2) // 4 if teams else cards // players
    hands = st.tuples(st.integers(1, most), st.just(False) if teams else st.booleans())
    schedule = draw(st.one_of(st.none(), st.lists(hands, min_size=1, max_size=20)))
    rules = rules_for(
        players,
        schedule,
        min_bid=0 if teams else draw(st.integers(0, 1)),
        bluke_lead=draw(st.sampled_from(["high_low" if teams else "none", "trump"])),
        points_per_trick=draw(st.integers(0, 9)),
        points_per_overtrick=draw(st.integers(0, 50)),
        teams=teams,
        num_suits=num_suits,
        num_ranks=num_ranks,
    )
    return replace(rules, most_cards=draw(st.integers(rules.most_cards, most)))


@given(any_rules())
def test_schedules_are_read_back_from_their_text(rules: Rules) -> None:
    text = rules.schedule_text
    again = replace(rules, schedule=text)
    assert again == rules
    assert again.schedule_text == text
    assert replace(rules, schedule=list(rules.schedule)) == rules
    assert set(text) <= set("0123456789-,nt")


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
        {"num_suits": 3, "schedule": standard.schedule_text.replace("13", "10")},
        {"num_ranks": 12, "schedule": "12-1-12"},
        {"schedule": "10-1-10"},
        {"schedule": "10-1-10", "most_cards": 13},
        BACK_ALLEY,
    ]
    assert len({standard, *(Rules(**change) for change in changes)}) == len(changes) + 1


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        (Rules(), ""),
        (Rules(num_players=3), ""),
        (Rules.preset("back_alley"), ""),
        (Rules.preset("back_alley", schedule="2", points_per_trick=10), "schedule 2, points_per_trick 10"),
        (Rules(min_bid=0, bluke_lead="trump"), "min_bid 0, bluke_lead trump"),
        (Rules(schedule=[(1, True), 2]), "schedule 1nt,2"),
        (Rules.preset("mini"), "schedule 3, num_suits 2, num_ranks 4"),
    ],
)
def test_what_makes_a_variant_is_said(rules: Rules, text: str) -> None:
    assert rules.variant_text == text


def test_hands_of_keeps_all_but_the_schedule() -> None:
    rules = Rules(num_players=3, min_bid=0, bluke_lead="trump", points_per_trick=7, points_per_overtrick=2)
    single = rules.hands_of(5, no_trump=True)
    assert single.schedule == ((5, True),)
    assert replace(single, schedule=rules.schedule) == rules
    assert rules.hands_of(18).schedule == ((18, True),)
    assert (rules.most_cards, rules.hands_of(5).most_cards, rules.hands_of(18).most_cards) == (13, 13, 18)
    assert rules.hands_of(5).hands_of(3) == rules.hands_of(3)


@pytest.mark.parametrize("cards", [0, 14, 5.0, "5", True, None])
def test_hands_of_a_size_that_cannot_be_are_refused(cards: Any) -> None:
    for rules in (Rules(), Rules.preset("back_alley")):
        with pytest.raises(ValueError, match=rf"^the number of cards of a hand is {cards!r}, but .* from 1 to 13$"):
            rules.hands_of(cards)
    with pytest.raises(ValueError, match=r"^hand 0 of the schedule is at no trump, but teams play so only when"):
        Rules.preset("back_alley").hands_of(5, no_trump=True)


@given(any_rules())
def test_records_hold_the_same_facts(rules: Rules) -> None:
    record = rules.record()
    assert record.shape == (1,)
    assert not record.flags.writeable
    for name in (
        "num_players", "num_cards", "most_cards", "min_bid", "teams", "num_hands", "points_per_trick",
        "points_per_overtrick",
    ):  # fmt: skip
        assert record[name][0] == getattr(rules, name)
    assert record["bluke_lead_trump"][0] == (rules.bluke_lead in ("trump", "high_low"))
    assert record["bluke_lead_high_low"][0] == (rules.bluke_lead == "high_low")
    assert record["pack_mask"][0] == sum(1 << card for card in rules.cards)
    assert record["pack"][0].tolist() == [*rules.cards, *[0] * (54 - rules.num_cards)]
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

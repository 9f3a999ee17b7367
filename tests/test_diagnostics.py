"""Facts about a player's bids, against groups of hands counted by hand."""

import json
from typing import Any

import numpy as np
import pytest

from bluke_env import Rules, bots
from bluke_env.evaluation import DuplicateResult, play_duplicate, rotations
from bluke_env.evaluation.diagnostics import diagnose
from bluke_env.evaluation.measure import own_places
from bluke_env.rules import BOARD
from bluke_env.schedule import ScheduledHand


def result_of(points: Any, bids: Any, tricks: Any, dealers: Any, trumps: Any) -> DuplicateResult:
    return DuplicateResult(
        np.array(points, np.int32), *(np.array(part, np.int8) for part in (bids, tricks, dealers, trumps))
    )


THREE = result_of(  # two deals in two seatings of hands of three cards, two players: [deals, seatings, seats]
    points=[[[20, -10], [11, 10]], [[10, 20], [-20, 21]]],
    bids=[[[2, 1], [1, 1]], [[1, 2], [2, 2]]],
    tricks=[[[2, 0], [2, 1]], [[1, 2], [1, 3]]],
    dealers=[1, 0],
    trumps=[2, -1],
)
OWN = np.array([[True, False], [False, True]])


def test_bids_against_tricks_counted_by_hand() -> None:
    """Its hands: 2 bid 2 made; 1 bid 1 made; and at no trump 1 bid 1 made; 2 bid 3 made."""
    facts = diagnose(Rules(2, "3"), {ScheduledHand(3): THREE}, OWN)
    even = {"made": 1.0, "over": 0.0, "under": 0.0}
    assert facts["calibration"] == [
        {"cards": 3, "no_trump": False, "bid": 1, "hands": 1, "tricks": 1.0, **even},
        {"cards": 3, "no_trump": False, "bid": 2, "hands": 1, "tricks": 2.0, **even},
        {"cards": 3, "no_trump": True, "bid": 1, "hands": 1, "tricks": 1.0, **even},
        {"cards": 3, "no_trump": True, "bid": 2, "hands": 1, "tricks": 3.0, **even, "over": 1.0},
    ]
    assert facts["by_trump"] == [
        {"no_trump": False, "hands": 2, "made": 1.0, "points": 15.0, "bid": 1.5},
        {"no_trump": True, "hands": 2, "made": 1.0, "points": 15.5, "bid": 1.5},
    ]


def test_seats_are_counted_from_the_dealers_left() -> None:
    """Seat 0 bids first where seat 1 deals, and seat 1 where seat 0 does; the other player misses as second."""
    facts = diagnose(Rules(2, "3"), {ScheduledHand(3): THREE}, ~OWN)
    assert facts["by_seat"] == [
        {"seat": 0, "hands": 2, "made": 1.0, "points": 15.5, "bid": 1.5},  # deal 0 seating 1, deal 1 seating 0
        {"seat": 1, "hands": 2, "made": 0.0, "points": -15.0, "bid": 1.5},
    ]
    assert facts["calibration"] == [
        {"cards": 3, "no_trump": False, "bid": 1, "hands": 2, "tricks": 1.0, "made": 0.5, "over": 0.5, "under": 0.5},
        {"cards": 3, "no_trump": True, "bid": 2, "hands": 2, "tricks": 1.5, "made": 0.5, "over": 0.0, "under": 0.5},
    ]


def test_a_cell_of_several_hands_has_their_means() -> None:
    """Both seats count for a player that has both: bid 1 at trump took 2, 0 and 1."""
    facts = diagnose(Rules(2, "3"), {ScheduledHand(3): THREE}, np.ones((2, 2), bool))
    cell = facts["calibration"][0]
    assert (cell["bid"], cell["no_trump"], cell["hands"], cell["tricks"]) == (1, False, 3, 1.0)
    assert [cell[name] for name in ("made", "over", "under")] == pytest.approx([2 / 3, 1 / 3, 1 / 3])


def test_kinds_of_hands_weigh_what_they_do_in_the_schedule() -> None:
    """One card is played twice as often as three, but was measured on one deal instead of two."""
    one = result_of([[[10, -10], [10, -10]]], [[[1, 1], [1, 1]]], [[[1, 0], [1, 0]]], [1], [0])
    facts = diagnose(Rules(2, [1, 3, 1]), {ScheduledHand(3): THREE, ScheduledHand(1): one}, OWN)
    assert [(cell["cards"], cell["hands"]) for cell in facts["calibration"]] == [(1, 2), (3, 1), (3, 1), (3, 1), (3, 1)]
    trump = facts["by_trump"][0]
    assert trump["hands"] == 4
    assert trump["points"] == pytest.approx((1 * 20 + 1 * 10 + 4 * 10 + 4 * -10) / (1 + 1 + 4 + 4))


def test_partners_are_one_hand_and_a_board_bids_all_tricks() -> None:
    """Seats 0 and 2 bid 1 + 2 and take 4; then 0 and a double board and take all three."""
    hands = result_of(
        points=[[[16, 0, 16, 0], [9, 9, 9, 9]], [[30, 0, 30, 0], [9, 9, 9, 9]]],
        bids=[[[1, 0, 2, 0], [4, 0, 0, 0]], [[0, 0, BOARD + 2, 0], [4, 0, 0, 0]]],
        tricks=[[[2, 0, 2, 0], [0, 0, 0, 0]], [[3, 0, 1, 0], [0, 0, 0, 0]]],
        dealers=[3, 0],
        trumps=[1, 1],
    )
    own = np.array([[True, False], [False, False]])
    facts = diagnose(Rules.preset("back_alley", schedule="4"), {ScheduledHand(4): hands}, own)
    assert facts["calibration"] == [
        {"cards": 4, "no_trump": False, "bid": 3, "hands": 1, "tricks": 4.0, "made": 1.0, "over": 1.0, "under": 0.0},
        {"cards": 4, "no_trump": False, "bid": 4, "hands": 1, "tricks": 4.0, "made": 1.0, "over": 0.0, "under": 0.0},
    ]
    assert facts["by_seat"] == [
        {"seat": 0, "hands": 1, "made": 1.0, "points": 16.0, "bid": 3.0},  # seat 0 is left of the dealer, seat 3
        {"seat": 1, "hands": 1, "made": 1.0, "points": 30.0, "bid": 4.0},  # seat 0 deals, seat 2 is second to bid
    ]


@pytest.mark.parametrize("rules", [Rules(), Rules(6, "5,9nt"), Rules.preset("back_alley", schedule="6")])
def test_all_hands_played_are_in_every_list(rules: Rules) -> None:
    table = ("rule", *["random"] * (len(rules.sides) - 1))
    agents = {name: bots.make(name) for name in table}
    kinds = rules.schedule[-2:]
    seatings = rotations(rules, table)
    hands = {hand: play_duplicate(rules, hand, seatings, agents, 30, seed=1) for hand in kinds}
    facts = json.loads(json.dumps(diagnose(rules, hands, own_places(table, "rule"))))
    for cells in facts.values():
        assert sum(cell["hands"] for cell in cells) == 30 * len(hands) * len(rules.sides)
    assert [cell["seat"] for cell in facts["by_seat"]] == list(range(len(rules.sides)))
    for cell in facts["calibration"]:
        assert cell["tricks"] == pytest.approx(cell["bid"] + cell["over"] - cell["under"])
        assert cell["no_trump"] or cell["cards"] * rules.num_players < rules.num_cards


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"ScheduledHand\(cards=3, no_trump=False\) is not in the schedule 2"):
        diagnose(Rules(2, "2"), {ScheduledHand(3): THREE}, OWN)
    for own in (OWN.astype(int), np.ones((2, 3), bool), np.zeros((2, 2), bool), OWN[0]):
        with pytest.raises(ValueError, match=r"must be bool \[seatings, 2\], True somewhere"):
            diagnose(Rules(2, "3"), {ScheduledHand(3): THREE}, own)

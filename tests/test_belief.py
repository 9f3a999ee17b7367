"""Beliefs: exactly the worlds that the rules allow, all of them equally often, and nothing that a seat cannot know."""

import math
import random
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tables import ALL_SEATS, bid, play, start
from worlds import (
    SMALL,
    World,
    agreeing,
    agrees,
    assert_uniform,
    candidates,
    games_of,
    held_by,
    held_counts,
    hidden_from,
    name_of,
    num_limits,
    small_positions,
)

from bluke_env import BatchGame, Game, Phase, Rules
from bluke_env.belief import Belief
from bluke_env.cards import FULL_PACK, NUM_CARDS, cards_of, mask_of, parse_card, parse_cards
from bluke_env.engine.belief import TABLE_SIZE
from bluke_env.engine.state import NONE

FULL = [
    *(Rules(num_players=seats, schedule=[(NUM_CARDS // seats, True)]) for seats in (2, 4, 6, 9)),
    *(Rules(num_players=seats, schedule=[NUM_CARDS // seats, 2], bluke_lead="trump") for seats in ALL_SEATS),
    Rules.preset("back_alley", schedule="13,5,2"),
    Rules.preset("back_alley", schedule="8", bluke_lead="trump"),
]


def worlds_of(belief: Belief, count: int, seed: int = 0) -> list[World]:
    return list(map(tuple, belief.sample(count, seed).tolist()))


def assert_like_samples(marginals: np.ndarray, worlds: np.ndarray) -> None:
    """The hands of the worlds hold every card as often as the marginals say, up to five standard errors."""
    share = ((worlds[:, :, None] >> np.arange(NUM_CARDS)) & 1).mean(0)
    error = np.sqrt(marginals[:-1] * (1 - marginals[:-1]).clip(0) / len(worlds))
    assert (np.abs(share - marginals[:-1]) <= 5 * error + 1e-9).all()


# Against all worlds.


@pytest.mark.parametrize("rules", SMALL.values(), ids=SMALL)
def test_the_worlds_are_those_in_which_every_card_played_was_legal(rules: Rules) -> None:
    """All deals of the hidden cards are tried: so no proof is missing, and none is claimed that is not there."""
    limits = Counter[int]()
    for game, seat in small_positions(rules, most=1000, count=50):
        belief = Belief.of(game, seat)
        worlds = [world for world in candidates(game, seat) if agrees(game, world)]
        assert held_by(game) in worlds
        assert belief.num_worlds == len(worlds)
        held = np.array(worlds)[:, :, None] >> np.arange(NUM_CARDS) & 1
        stock = (hidden_from(game, seat) >> np.arange(NUM_CARDS) & 1) - held.sum(1)
        stock += np.array(worlds)[:, seat, None] >> np.arange(NUM_CARDS) & 1
        expected = np.concatenate([held.mean(0), stock.mean(0)[None]])
        np.testing.assert_allclose(belief.marginals(), expected, atol=1e-12)
        if len(worlds) > 1:
            assert_uniform(Counter(worlds_of(belief, 30 * len(worlds), seed=seat)), worlds)
        limits[num_limits(belief)] += 1
    assert max(limits) >= (1 if rules.num_players == 2 else 2)


@pytest.mark.parametrize("rules", SMALL.values(), ids=SMALL)
def test_the_number_of_worlds_of_very_many_positions(rules: Rules) -> None:
    """The same with a second way to see which worlds agree, quick enough for positions with more worlds."""
    for game, seat in small_positions(rules, most=2600, count=150):
        every = np.array(list(candidates(game, seat)))
        agree = agreeing(game, every)
        assert Belief.of(game, seat).num_worlds == agree.sum()
        sample = random.Random(0).randrange(len(every))
        assert agrees(game, tuple(every[sample].tolist())) == agree[sample]


# What the rules prove: options, hands of seats 0 and 1, bids, cards played, a seat, what seat 3 knows that it lacks.
# The pack has T J Q K A of every suit, and TH is turned up.
CLUBS, DIAMONDS, TRUMPS, SPADES = "TC JC QC KC AC", "TD JD QD KD AD", "JH QH KH AH", "TS JS QS KS AS"
PLAIN = f"{CLUBS} {DIAMONDS} {SPADES}"
BLUKE: dict[str, Any] = {}
BACK_ALLEY: dict[str, Any] = {"teams": True, "min_bid": 0, "bluke_lead": "high_low"}
ANY_TRUMP = BACK_ALLEY | {"bluke_lead": "trump"}
ONES, PASSES, BOARD, FROM_2 = (1, 1, 1, 1), (0, 0, 0, 0), (4, 0, 0, 0), (0, 0, 4, 0)
PROOFS = {
    "out of the suit led": (BLUKE, "AS TC JC / QC JH LB", ONES, "AS QC", 1, SPADES),
    "a trump on another suit": (BLUKE, "AS TC JC / QC JH LB", ONES, "AS JH", 1, SPADES),
    "a Bluke at any time": (BLUKE, "AS TC JC / QC JS LB", ONES, "AS LB", 1, ""),
    "a Bluke asks for nothing": (BLUKE, "HB TC JC / QC JH LB", ONES, "HB QC", 1, ""),
    "a Bluke asks for trump": ({"bluke_lead": "trump"}, "HB TC JC / QC AS LB", ONES, "HB QC", 1, TRUMPS),
    "a Blooper on another suit": (BACK_ALLEY, "AS TC JC / QC JH LB", PASSES, "AS LB", 1, SPADES),
    "a Blooper on a trump": (BACK_ALLEY, "JH QH KH / QC TC LB", PASSES, "QH LB", 1, ""),
    "out of trump": (BACK_ALLEY, "JH QH KH / QC TC JC", PASSES, "QH QC", 1, f"{TRUMPS} LB HB"),
    "out of trump for a Blooper": (BACK_ALLEY, "HB QH JH / QC JC TC", PASSES, "HB QC", 1, f"{TRUMPS} LB"),
    "the highest trump": (BACK_ALLEY, "HB QH KH / QC JH TC", PASSES, "HB JH", 1, "QH KH AH LB"),
    "the highest trump, a Blooper": (BACK_ALLEY, "HB QH KH / QC JH LB", PASSES, "HB LB", 1, ""),
    "the lowest trump": (BACK_ALLEY, "LB QH JH / QC KH AH", PASSES, "LB KH", 1, "QH JH"),
    "the lowest trump, a Blooper": (BACK_ALLEY, "LB QH JH / QC HB TC", PASSES, "LB HB", 1, TRUMPS),
    "any trump for a Blooper": (ANY_TRUMP, "HB QH JH / QC KH AH", PASSES, "HB KH", 1, ""),
    "nothing but trumps to lead": (BACK_ALLEY, "LB QH JH / QC KH TC", PASSES, "QH", 0, PLAIN),
    "nothing but trumps, a Blooper": (ANY_TRUMP, "LB QH HB / QC TC JC", PASSES, "LB", 0, PLAIN),
    "a trump led after a board": (BACK_ALLEY, "LB QC JH / KC KH TC", BOARD, "JH", 0, ""),
    "a trump led after the partner's board": (BACK_ALLEY, "LB KD JH / KC KH TC", FROM_2, "QD TD KD KC JH", 0, ""),
    "a trump led when trump is broken": (BACK_ALLEY, "AC KC TS / QH KH KD", PASSES, "AC QH QS KS KH", 1, CLUBS),
}  # fmt: skip


@pytest.mark.parametrize(("options", "hands", "bids", "cards", "seat", "denied"), PROOFS.values(), ids=PROOFS)
def test_what_a_card_proves(
    options: dict[str, Any], hands: str, bids: Sequence[int], cards: str, seat: int, denied: str
) -> None:
    game = start([*hands.split(" / "), "AD QD QS", "TD JD KS"], "TH", num_ranks=5, **options)
    bid(game, *bids)
    play(game, cards)
    hidden = hidden_from(game, 3)
    may_hold = np.flatnonzero(Belief.of(game, 3).marginals()[seat]).tolist()
    assert hidden & ~mask_of(may_hold) == hidden & mask_of(parse_cards(denied))


# Large packs.


@pytest.mark.parametrize("rules", FULL, ids=name_of)
def test_sampled_worlds_break_no_rule_and_cost_little(rules: Rules) -> None:
    """At every decision of random matches; all of them together sample more than 100,000 worlds."""
    sampled, slowest = 0, 0.0
    for seed in range(max(2, 12 // rules.num_players)):
        rng = random.Random(seed)
        for game in games_of(rules, seed):
            seat = rng.randrange(rules.num_players)
            began = time.perf_counter()
            belief = Belief.of(game, seat)
            worlds = belief.sample(60, seed)
            if sampled:  # before that, the kernels may have had to be compiled
                slowest = max(slowest, time.perf_counter() - began)
            sampled += len(worlds)
            others = worlds.copy()
            others[:, seat] = 0
            assert (worlds[:, seat] == held_by(game)[seat]).all()
            assert (np.bitwise_count(others) == held_counts(game, seat)).all()
            assert (np.bitwise_or.reduce(others, 1) == others.sum(1)).all()
            assert not (others & ~hidden_from(game, seat)).any()
            assert agreeing(game, worlds).all()
    assert sampled > 100_000 / len(FULL)
    assert slowest < 0.5


def shown_out(rules: Rules, cards_played: int, sets_of_suits: Sequence[int]) -> tuple[np.ndarray, int]:
    """A view in the middle of a hand in which the others have shown out of these suits, in turn, and its seat."""
    for seed in range(100):
        game = next(game for game in games_of(rules, seed) if game._record["num_played"][0] == cards_played)
        seat, view = game.current_player, game._record.copy()
        assert seat is not None
        others = [other for other in range(rules.num_players) if other != seat]
        view["voids"][0, others] = [sets_of_suits[place % len(sets_of_suits)] for place in range(len(others))]
        try:
            Belief(rules, view)
        except ValueError:
            continue
        return view, seat
    raise AssertionError


WORST = {
    "4 seats of 13": (4, 13, 8, [1, 2, 3]),
    "6 seats of 9": (6, 9, 18, [1, 2, 4, 3, 5]),
    "7 seats of 7": (7, 7, 21, [1, 2, 4, 3, 5, 6]),
    "8 seats of 6": (8, 6, 18, [1, 2, 4, 3, 5, 6, 7]),
    "9 seats of 6": (9, 6, 22, [1, 2, 4, 3, 5, 6, 7]),
    "9 seats of 5": (9, 5, 27, [1, 2, 4, 8, 3, 5, 9, 6]),
    "13 seats of 4": (13, 4, 26, [1, 2, 3]),
    "15 seats of 3": (15, 3, 30, [1, 2, 3]),
    "2 seats of 13": (2, 13, 6, [1]),
}


@pytest.mark.parametrize(("seats", "size", "cards_played", "sets_of_suits"), WORST.values(), ids=WORST)
def test_as_many_different_limits_as_there_can_be(
    seats: int, size: int, cards_played: int, sets_of_suits: list[int]
) -> None:
    """Too many worlds to try all, but the marginals must fit them: those of one seat are counted in two other ways."""
    rules = Rules(num_players=seats, schedule=[(size, seats * size == NUM_CARDS)])
    view, seat = shown_out(rules, cards_played, sets_of_suits)
    belief = Belief(rules, view)
    began = time.perf_counter()
    belief = Belief(rules, view)
    assert time.perf_counter() - began < 0.25
    assert num_limits(belief) == len(set(sets_of_suits))
    worlds, marginals = belief.sample(20_000, 1), belief.marginals()
    held = np.bitwise_count(worlds[0])
    np.testing.assert_allclose(marginals[:-1].sum(1), held, rtol=1e-9)
    assert set(marginals.sum(0).round(9).tolist()) == {0.0, 1.0}
    assert_like_samples(marginals, worlds)
    for other in range(seats):
        for suit in range(4):
            if other != seat and view["voids"][0, other] >> suit & 1:
                assert not (worlds[:, other] >> 13 * suit & 0x1FFF).any()
    assert belief.num_worlds > 20_000


def most_entries(seats: int, size: int, trick: int, others: int, own: int) -> float:
    """A bound on the entries of a table in the middle of a trick, from 1, to which some other seats have played.

    Of g groups that lack n cards, all but the largest have at most ((n + g) / g) ** (g - 1) states. A trick shows seats
    out of one suit at most, and those that have yet to play to this one show no more than after the last.
    """
    left = size - trick
    before, now = 2 ** min(trick - 1, 4) - 1, 2 ** min(trick, 4) - 1
    groups = max(1, min(now, others + min(before, seats - 1 - others)))
    if seats == 4:
        groups = 3  # as many as there are others, since Back Alley proves more than voids
    cards = others * left + (seats - 1 - others) * (left + 1)
    unseen = NUM_CARDS - seats * (trick - 1) - others - own - (left + 1 - own)
    return ((cards + groups) / groups) ** (groups - 1) * (unseen + 2)


def test_no_position_needs_a_larger_table() -> None:
    positions = [
        (seats, size, trick, others, own)
        for seats in ALL_SEATS
        for size in range(1, NUM_CARDS // seats + 1)
        for trick in range(1, size + 1)
        for others in range(seats)
        for own in (0, 1)
    ]
    assert 0.8 * TABLE_SIZE < max(most_entries(*position) for position in positions) <= TABLE_SIZE


# The belief as an object.


def test_before_the_first_card_every_hidden_card_is_anywhere() -> None:
    game = Game(Rules(num_players=4), seed=3)
    belief = Belief.of(game, 2)
    marginals = belief.marginals()
    hidden = list(cards_of(hidden_from(game, 2)))
    np.testing.assert_allclose(marginals[[0, 1, 3]][:, hidden], 13 / 40, rtol=1e-12)
    np.testing.assert_allclose(marginals[4, hidden], 1 / 40, rtol=1e-12)
    assert (marginals[2, list(game.hands[2])] == 1).all()
    assert marginals.sum() == pytest.approx(53)
    assert belief.num_worlds == math.factorial(40) // math.factorial(13) ** 3
    assert (belief.rules, belief.seat) == (game.rules, 2)
    assert_like_samples(marginals, belief.sample(50_000, 1))


@pytest.mark.parametrize(
    ("rules", "plays"),
    [
        (Rules(num_players=2, schedule=[27]), 0),
        (Rules(num_players=2, schedule=[27]), 21),
        (Rules(num_players=2, num_suits=1, num_ranks=2, schedule="1"), 2),
        (Rules(num_players=15, schedule="1"), 15),
    ],
    ids=name_of,
)
def test_a_single_world(rules: Rules, plays: int) -> None:
    """The rest of a whole pack, and hands that are over."""
    for game in games_of(rules, 1):
        if game.is_terminal or (game.phase is Phase.PLAY and game._record["num_played"][0] == plays):
            break
    belief = Belief.of(game, 1)
    assert belief.num_worlds == 1
    assert set(belief.sample(100, 1)[:, 0].tolist()) == {held_by(game)[0]}
    assert set(belief.marginals().reshape(-1).tolist()) <= {0.0, 1.0}


def test_a_world_forced_by_what_was_shown() -> None:
    """Seat 1 is out of clubs, so of the two cards that are left it holds the diamond."""
    game = start(["KC AC", "KD AD", "LB HB"], None, num_suits=2, num_ranks=2)
    bid(game, 1, 1, 1)
    play(game, "KC KD LB")
    belief = Belief.of(game, 2)
    assert belief.num_worlds == 1
    assert set(worlds_of(belief, 100)) == {held_by(game)}
    assert np.argwhere(belief.marginals() == 1).tolist() == [
        [0, parse_card("AC")], [1, parse_card("AD")], [2, parse_card("HB")]
    ]  # fmt: skip


def test_sampling_is_a_function_of_the_seed() -> None:
    (game, seat) = small_positions(SMALL["Back Alley, 2 suits"], 2000, 1)[0]
    belief = Belief.of(game, seat)
    worlds = belief.sample(1000, 5)
    assert (worlds.dtype, worlds.shape) == (np.int64, (1000, 4))
    belief.marginals()
    assert (belief.sample(1000, 5) == worlds).all()
    assert (belief.sample(10, 5) == worlds[:10]).all()
    assert (Belief.of(game.clone(), seat).sample(1000, 5) == worlds).all()
    assert (belief.sample(1000, 6) != worlds).any()
    assert (belief.sample(1000) != belief.sample(1000)).any()
    assert belief.sample(0, 5).shape == (0, 4)


@pytest.mark.parametrize("rules", [SMALL["4 seats, trump for a Bluke"], FULL[2], FULL[-2]], ids=name_of)
def test_nothing_hidden_enters(rules: Rules) -> None:
    rng = np.random.default_rng(0)
    for game in games_of(rules, 2):
        if game.is_terminal:
            break
        view, seat = game._record.copy(), game.current_player
        before = view.tobytes()
        belief = Belief(rules, view)
        assert view.tobytes() == before
        assert belief.seat == seat
        for other in range(15):
            if other != seat:
                view["hands"][0, other] = rng.integers(0, FULL_PACK)
        view["key"], view["drawn"] = rng.integers(0, 1 << 63), rng.integers(0, 54)
        peeking = Belief(rules, view)
        assert (peeking.sample(20, 1) == belief.sample(20, 1)).all()
        assert (peeking.marginals() == belief.marginals()).all()
        assert peeking.num_worlds == belief.num_worlds


def test_a_view_of_a_batch() -> None:
    batch = BatchGame(Rules(num_players=3), 5, 1)
    view = batch.views()[3:4]
    belief = Belief(batch.rules, view)
    assert belief.seat == batch.seats[3]
    assert (belief.sample(9, 1) == Belief.of(batch.game(3), belief.seat).sample(9, 1)).all()
    assert (belief.sample(9, 1) == Belief(batch.rules, batch.records[3:4]).sample(9, 1)).all()


def test_what_cannot_be_believed_is_refused() -> None:
    game = start(["QS KS", "QC KC", "AS QD"], "KD", num_suits=4, num_ranks=3)
    bid(game, 1, 1, 1)
    play(game, "QS")

    def refused(match: str, name: str, place: tuple[Any, ...], value: int, rules: Rules = game.rules) -> None:
        view = game._record.copy()
        view[name][(0, *place)] = value
        with pytest.raises(ValueError, match=match):
            Belief(rules, view, seat=None if name == "seat" else rules.num_players - 1)

    refused("more seats than the rules", "played", (2,), 1 << parse_card("AS"), Rules(num_players=2))
    refused("not in the pack", "hands", (2,), 1)
    refused("contradict", "hands", (2,), 1 << parse_card("QS"))
    refused("contradict", "num_played", (), 2)
    refused("contradict", "hand_size", (), 0)
    refused("seat 2 holds 2 cards, but the view shows 0", "hands", (2,), 0)
    refused("no deal agrees with what seat 2 sees", "voids", (slice(2),), 15)
    refused("nobody is to act", "seat", (), NONE)
    with pytest.raises(ValueError, match="rules is None, but it must be a Rules object"):
        Belief(None, game._record)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seat is 3, but it must be a whole number from 0 to 2"):
        Belief.of(game, 3)
    with pytest.raises(ValueError, match="game is None, but it must be a Game"):
        Belief.of(None, 0)
    for view in (None, game, game._record[0], np.concatenate([game._record] * 2), np.zeros(1)):
        with pytest.raises(ValueError, match="an array of one GAME record"):
            Belief(game.rules, view)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="num_worlds is -1"):
        Belief.of(game, 0).sample(-1)
    with pytest.raises(ValueError, match="seed is -1"):
        Belief.of(game, 0).sample(1, -1)

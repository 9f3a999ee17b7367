"""What holds at every moment of every match, whatever the rules and however it is played."""

import itertools
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import FIRST_BID, NUM_CARDS, play_hand, result_of, rules_for

from bluke_env import Game, IllegalAction, Rules

BLUKES = {52, 53}

NO_ACTIONS: list[Any] = [
    None,
    "",
    "1",
    "AS",
    b"1",
    True,
    False,
    1.0,
    54.0,
    float("nan"),
    np.float64(3),
    np.bool_(True),
]
NO_ACTIONS += [(), [], [1], {}, np.array([1]), 1 + 0j, -1, -54, 2**31, 2**63, -(2**63), 10**30]


@st.composite
def all_rules(draw: st.DrawFn) -> Rules:
    """Rules of every form, pack, seat count and option, with up to four hands, some as large as the pack allows."""
    teams = draw(st.sampled_from([False, False, True]))
    pack = st.sampled_from([(4, 13), (4, 13), (4, 13), *itertools.product(range(1, 5), range(1, 14))])
    num_suits, num_ranks = draw(pack.filter(lambda sizes: sizes[0] * sizes[1] >= 4))
    num_cards = num_suits * num_ranks + 2
    seats = 4 if teams else draw(st.integers(2, min(15, num_cards - 1)))
    most = (num_cards - 2) // 4 if teams else num_cards // seats
    sizes = st.one_of(
        st.integers(1, min(5, most)), st.sampled_from([most, most if teams else (num_cards - 1) // seats])
    )
    return rules_for(
        seats,
        draw(st.lists(st.tuples(sizes, st.just(False) if teams else st.booleans()), min_size=1, max_size=4)),
        min_bid=0 if teams else draw(st.integers(0, 1)),
        bluke_lead=draw(st.sampled_from(["high_low" if teams else "none", "trump"])),
        points_per_trick=draw(st.integers(0, 20)),
        points_per_overtrick=draw(st.integers(0, 20)),
        teams=teams,
        num_suits=num_suits,
        num_ranks=num_ranks,
    )


seeds = st.integers(0, 2**63 - 1)
for_matches = settings(max_examples=60, deadline=None)


def random_match(rules: Rules, seed: int) -> Iterator[tuple[Game, int]]:
    """A match played at random: the game before each action, and that action."""
    rng = random.Random(seed)
    game = Game(rules, seed=seed)
    while not game.is_terminal:
        action = rng.choice(game.legal_actions())
        yield game, action
        game.apply_action(action)


@for_matches
@given(all_rules(), seeds)
def test_the_pack_is_whole_at_every_moment(rules: Rules, seed: int) -> None:
    """Held and played cards and the card turned up are distinct, and with the unseen rest make the pack."""
    hand_number = -1
    played: list[int] = []
    dealt: list[int] = []
    for game, action in random_match(rules, seed):
        held = [card for hand in game.hands for card in hand]
        if game.hand_number != hand_number:
            hand_number, played, dealt = game.hand_number, [], held
            size, no_trump = rules.schedule[hand_number]
            assert [len(hand) for hand in game.hands] == [size] * rules.num_players
            assert (game.turned_up is None) == (no_trump or size * rules.num_players == rules.num_cards)
        turned_up = [] if game.turned_up is None else [game.turned_up]
        if rules.teams and game.turned_up in BLUKES:
            assert BLUKES.isdisjoint(dealt)
        shown = [*held, *played, *turned_up]
        assert len(set(shown)) == len(shown) == len(dealt) + len(turned_up) <= rules.num_cards
        assert set(shown) == {*dealt, *turned_up} <= set(rules.cards) <= set(range(NUM_CARDS))
        assert [card for _, card in game.trick] == played[len(played) - len(game.trick) :]
        if action < FIRST_BID:
            played.append(action)


@for_matches
@given(all_rules(), seeds)
def test_tricks_add_up_to_the_size_of_the_hand(rules: Rules, seed: int) -> None:
    ended = 0
    for game, _ in random_match(rules, seed):
        cards_out = sum(len(hand) for hand in game.hands) + len(game.trick)
        assert cards_out == rules.num_players * (game.hand_size - sum(game.tricks))
        if game.hand_number > ended:
            ended = game.hand_number
            assert sum(result_of(game).tricks) == result_of(game).size == rules.schedule[ended - 1].cards
    assert sum(result_of(game).tricks) == result_of(game).size == rules.schedule[-1].cards


@for_matches
@given(all_rules(), seeds)
def test_scores_change_only_when_a_hand_ends(rules: Rules, seed: int) -> None:
    hand_number, scores = 0, [0] * rules.num_players
    for game, _ in random_match(rules, seed):
        if game.hand_number != hand_number:
            hand_number = game.hand_number
            scores = [total + points for total, points in zip(scores, result_of(game).points, strict=True)]
        assert list(game.scores) == scores
    assert list(game.scores) == [total + points for total, points in zip(scores, result_of(game).points, strict=True)]


@for_matches
@given(all_rules(), seeds)
def test_the_seat_to_act_always_has_a_legal_action_and_the_mask_says_so(rules: Rules, seed: int) -> None:
    for game, _ in random_match(rules, seed):
        legal = game.legal_actions()
        assert legal
        assert legal == sorted(set(legal))
        mask = game.action_mask()
        assert (mask.dtype, mask.shape) == (np.int8, (FIRST_BID + rules.most_cards + (5 if rules.teams else 1),))
        assert np.flatnonzero(mask).tolist() == legal
        assert mask.max() == 1
    assert game.legal_actions() == []


@for_matches
@given(all_rules(), seeds)
def test_the_winners_are_all_seats_of_the_highest_total(rules: Rules, seed: int) -> None:
    for game, _ in random_match(rules, seed):
        assert not game.is_terminal
    scores = list(game.scores)
    assert all(scores[seat] == scores[side[0]] for side in rules.sides for seat in side)
    assert list(game.winners) == [seat for seat in range(rules.num_players) if scores[seat] == max(scores)]


@for_matches
@given(all_rules(), seeds)
def test_the_deal_passes_to_the_left(rules: Rules, seed: int) -> None:
    first_dealer = Game(rules, seed=seed).dealer
    for game, _ in random_match(rules, seed):
        assert game.dealer == (first_dealer + game.hand_number) % rules.num_players


@settings(max_examples=20, deadline=None)
@given(all_rules(), seeds)
def test_illegal_actions_are_refused_and_change_nothing(rules: Rules, seed: int) -> None:
    sample = random.Random(seed)
    for game, _ in random_match(rules, seed):
        if sample.random() < 0.9:
            continue
        before = game.to_bytes()
        legal = set(game.legal_actions())
        for action in range(-2, rules.num_actions + 4):
            if action not in legal:
                with pytest.raises(IllegalAction, match=f"seat {game.current_player}"):
                    game.apply_action(action)
        for thing in NO_ACTIONS:
            refuse(game, thing)
        assert game.to_bytes() == before
    refuse(game, 0)
    refuse(game, FIRST_BID + 1)
    refuse(game, rules.num_actions - 1)


def refuse(game: Game, thing: Any) -> None:
    before = game.to_bytes()
    with pytest.raises(ValueError, match=r"\w"):
        game.apply_action(thing)
    assert game.to_bytes() == before


@for_matches
@given(all_rules(), seeds)
def test_the_deals_do_not_depend_on_the_play(rules: Rules, seed: int) -> None:
    def deals(play_seed: int) -> list[Any]:
        rng, game, dealt = random.Random(play_seed), Game(rules, seed=seed), []
        while not game.is_terminal:
            play_hand(game, rng)
            result = result_of(game)
            dealt.append((result.dealer, result.turned_up, result.hands))
        return dealt

    assert deals(1) == deals(2)

"""A match drawn anew for a seat: nothing that it sees changes, and nothing that it cannot see comes through."""

import random
from collections import Counter
from typing import Any

import pytest
from tables import result_of
from worlds import SMALL, agrees, assert_uniform, candidates, games_of, held_by, name_of, small_positions

from bluke_env import Deal, Game, Phase, Rules
from bluke_env.belief import Belief
from bluke_env.cards import HI_BLUKE, LO_BLUKE, cards_of, mask_of


def public(game: Game, seat: int) -> tuple[Any, ...]:
    """What a seat sees of a match."""
    hands = [
        (
            hand.number,
            hand.hands,
            hand.order,
            hand.bids,
            hand.points,
            hand.exchanged,
            hand.drawn if hand.exchanged == seat else 0,
        )
        for hand in game.history
    ]
    facts = game.phase, game.current_player, game.hand_number, game.turned_up, game.scores, game.trick, game.exchanged
    mask = game.action_mask(seat)
    return (
        facts,
        hands,
        game.hands[seat],
        game.observe(seat).tolist(),
        game.observe(seat, "canonical").tolist(),
        mask.tolist(),
    )


@pytest.mark.parametrize(
    "rules",
    [
        *SMALL.values(),
        Rules(num_players=3, schedule="4-2-3"),
        Rules.preset("back_alley", num_ranks=3, schedule="3-1-3"),
    ],
    ids=name_of,
)
def test_a_resampled_match_differs_in_nothing_that_the_seat_sees(rules: Rules) -> None:
    for match in range(4):
        for game in games_of(rules, match):
            seat, before = random.Random(match).randrange(rules.num_players), game.to_bytes()
            again = game.resample(seat, 11)
            assert game.to_bytes() == before
            assert public(again, seat) == public(game, seat)
            assert again.seed != game.seed
            assert again.to_bytes() == game.resample(seat, 11).to_bytes()
            assert again.to_bytes() != game.resample(seat, 12).to_bytes()
            assert (
                game.resample(seat, 12).to_bytes() == again.resample(seat, 12).to_bytes()
            )  # nothing hidden got through
            for record in again._history:
                assert record["key"] == again._record["key"]
            if again._history and not again.is_terminal:
                dealt = again._record["hands"] | again._record["played"]
                assert (again._history[-1]["hands"] == dealt).all()
            worlds = Belief.of(game, seat).num_worlds
            assert len({held_by(game.resample(seat, seed)) for seed in range(12)}) > (1 if worlds > 4 else 0)


def test_resampled_hands_are_uniform() -> None:
    game, seat = max(small_positions(SMALL["4 seats at no trump"], 100, 25), key=lambda one: Belief.of(*one).num_worlds)
    worlds = [world for world in candidates(game, seat) if agrees(game, world)]
    assert len(worlds) > 20
    counts = Counter(held_by(game.resample(seat, seed)) for seed in range(30 * len(worlds)))
    assert_uniform(counts, worlds)


def test_resampled_deals_to_come() -> None:
    """Given deals are forgotten: none but the seat's own cards of the hand in play is known."""
    deals = [Deal([[0, 1], [2, 3]], 4, dealer=0), Deal([[5, 6], [7, 8]], 9)]
    game = Game(Rules(num_players=2, schedule="2,2"), deals=deals)
    again = [game.resample(1, seed) for seed in range(3)]
    for one in [game, *again]:
        rng = random.Random(0)
        while one.hand_number == 0:
            one.apply_action(rng.choice(one.legal_actions()))
    assert held_by(game) == (mask_of([5, 6]), mask_of([7, 8]))
    assert len({held_by(one) for one in [game, *again]}) == 4
    assert {result_of(one).hands[1] for one in again} == {(2, 3)}


def test_which_card_was_drawn_for_a_blooper_is_known_to_its_seat_alone() -> None:
    rules = Rules.preset("back_alley", schedule="3,3,3")
    deal = Deal([[0, 1, 2], [13, 14, LO_BLUKE], [26, 27, 28], [39, 40, 41]], HI_BLUKE, next_card=15)
    game = Game(rules, deals=[Deal(deal.hands, HI_BLUKE, 3, 15), *[deal] * 2])
    actions = iter([54, 54, 54, 54, 0, 13, 26, 39, 1, 14, 27, 40, 2, 15, 28, 41] * 3)
    rng = random.Random(0)
    dealt_now, dealt_last = Counter[int](), Counter[int]()
    while not game.is_terminal:
        legal = game.legal_actions()
        action = next(actions)
        game.apply_action(action if action in legal else rng.choice(legal))
        own = game.resample(1, 0)
        assert own._record["drawn"] == game._record["drawn"]
        assert [hand.drawn for hand in own.history] == [hand.drawn for hand in game.history]
        for _ in range(30):
            again = game.resample(0, rng.getrandbits(64))
            drawn, hand = int(again._record["drawn"][0]), again.hands[1] if again.phase is Phase.BID else None
            assert drawn in (hand or cards_of(int(again._record["played"][0, 1]) | mask_of(again.hands[1])))
            for result in again.history:
                assert result.drawn in (13, 14, 15)
                assert again.history[result.number] == result
            if again.history:
                assert again.last_hand == again.history[-1]
                dealt_last[again.history[0].drawn or 0] += 1
            if hand:
                dealt_now[hand.index(drawn)] += 1
    assert_uniform(dealt_now, range(3))
    assert_uniform(dealt_last, (13, 14, 15))


def test_a_resampled_match_plays_on_but_is_not_written_down() -> None:
    game = Game(Rules(num_players=3, schedule="2-1"), seed=1)
    again, rng = game.resample(0, 1), random.Random(0)
    with pytest.raises(ValueError, match="cannot be written down"):
        again.record()
    assert Game.from_bytes(again.to_bytes()) == again
    while not again.is_terminal:
        again.apply_action(rng.choice(again.legal_actions()))
    assert len(again.history) == 2
    with pytest.raises(ValueError, match="seat is 3"):
        game.resample(3, 1)
    with pytest.raises(ValueError, match="seed is -1"):
        game.resample(0, -1)

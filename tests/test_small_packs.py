"""Packs of fewer suits and ranks: the same game with fewer cards, and observations that shrink with it."""

import itertools
from dataclasses import replace

import pytest
from tables import bid, play, rules_for
from variants import every_variant

from bluke_env import Deal, Game, ObservationLayout, Rules
from bluke_env.bots import make
from bluke_env.cards import card_text, parse_card, parse_cards
from bluke_env.evaluation import measure


def texts(rules: Rules) -> str:
    return " ".join(map(card_text, rules.cards))


def pack_rules(num_suits: int, num_ranks: int, schedule: str = "1", **options: int) -> Rules:
    return rules_for(options.pop("seats", 2), schedule, num_suits=num_suits, num_ranks=num_ranks, **options)


# The pack.


def test_the_pack_has_the_first_suits_the_highest_ranks_and_both_blukes() -> None:
    assert texts(pack_rules(1, 1)) == "AC LB HB"
    assert texts(pack_rules(2, 3)) == "QC KC AC QD KD AD LB HB"
    assert texts(pack_rules(4, 2)) == "KC AC KD AD KH AH KS AS LB HB"
    assert texts(pack_rules(1, 13)) == "2C 3C 4C 5C 6C 7C 8C 9C TC JC QC KC AC LB HB"
    assert Rules().cards == tuple(range(54))
    for num_suits, num_ranks in itertools.product(range(1, 5), range(1, 14)):
        rules = pack_rules(num_suits, num_ranks)
        assert len(set(rules.cards)) == rules.num_cards == num_suits * num_ranks + 2


def test_presets_of_small_games() -> None:
    mini, micro = Rules.preset("mini"), Rules.preset("micro")
    assert (mini.num_players, texts(mini), mini.schedule_text) == (2, "JC QC KC AC JD QD KD AD LB HB", "3")
    assert (micro.num_players, texts(micro), micro.schedule_text) == (2, "QC KC AC QD KD AD LB HB", "2")
    for rules in (mini, micro):
        assert replace(rules, num_suits=4, num_ranks=13, schedule=None, most_cards=None) == Rules(num_players=2)


def test_a_hand_of_a_small_pack_worked_out_by_hand() -> None:
    """Clubs are trump: the queen of clubs takes the king of diamonds, and the Hi Bluke the Lo."""
    deal = Deal([parse_cards("AD KD HB"), parse_cards("QC JD LB")], parse_card("KC"), dealer=1)
    game = Game(Rules.preset("mini", min_bid=0), deals=[deal])
    bid(game, 2, 0)
    play(game, "AD JD")
    play(game, "KD QC")
    assert game.legal_actions() == [parse_card("LB")]
    play(game, "LB HB")
    assert (game.last_hand.tricks, game.scores, game.winners) == ((2, 1), (20, 1), (0,))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("deal", "sentence"),
    [
        (Deal([(0, 8), (9, 22)], 11, 0), "a card of deal 0 is 2C, but the pack has"),
        (Deal([(9, 10), (11, 30)], 12, 0), "a card of deal 0 is 6H, but the pack has"),
        (Deal([(9, 10), (11, 12)], 51, 0), "the turned-up card of deal 0 is AS, but the pack has"),
    ],
)
def test_deals_of_cards_outside_the_pack_are_refused(deal: Deal, sentence: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as refused:
        Game(Rules.preset("mini", schedule="2"), deals=[deal])
    assert str(refused.value) == f"{sentence} 2 suits of 4 ranks and the Blukes: JC QC KC AC JD QD KD AD LB HB"


# Observations.


def size_of(rules: Rules) -> int:
    """Entries of an observation, part by part."""
    seats, cards, suits, bids = rules.num_players, rules.num_cards, rules.num_suits, rules.most_cards + 1
    boards, teams = (4, 1 + seats) if rules.teams else (0, 0)
    once = 3 + 4 * cards + suits + (rules.num_ranks + 2) + rules.most_cards + 1 + teams
    by_seat = cards + suits + (bids + boards) + bids + 1 + 4 + 2
    return once + seats * by_seat


@every_variant
def test_observations_shrink_with_the_pack(rules: Rules) -> None:
    layout = ObservationLayout.of(rules)
    assert layout.size == size_of(rules)
    assert layout.state_size == layout.size + (rules.num_players - 1) * rules.num_cards
    assert layout.num_actions == rules.num_actions
    assert layout.card_ids.tolist() == list(rules.cards)
    whole = ObservationLayout.of(replace(rules, num_suits=4, num_ranks=13))
    assert whole.size - layout.size == (54 - rules.num_cards) * (4 + rules.num_players) + (
        (4 - rules.num_suits) * (1 + rules.num_players) + 13 - rules.num_ranks
    )


def test_sizes_of_the_presets() -> None:
    """Entries of an observation and of a state, and actions; the first of them since the first version."""
    sizes = {"bluke": (624, 786, 68), "back_alley": (645, 807, 72), "mini": (109, 119, 58), "micro": (91, 99, 57)}
    for name, expected in sizes.items():
        layout = ObservationLayout.of(Rules.preset(name))
        assert (layout.size, layout.state_size, layout.num_actions) == expected


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (3, 5), (4, 2), (1, 13), (4, 12)])
def test_every_card_of_a_small_pack_has_its_entry(shape: tuple[int, int]) -> None:
    """Held, turned up, played and seen in the other hand: each card in each place."""
    rules = pack_rules(*shape, min_bid=0)
    layout = ObservationLayout.of(rules)
    for place, held in enumerate(rules.cards):
        other, turned_up = rules.cards[place - 1], rules.cards[place - 2]
        game = Game(rules, deals=[Deal([(held,), (other,)], turned_up, dealer=1)])
        state = game.state(0)
        seen = layout.decode(state)
        assert (seen["hand"], seen["other_hands"], seen["turned_up"]) == ([held], [[other]], turned_up)
        assert seen["trump"] == (None if turned_up >= 52 else turned_up // 13)
        assert state[layout.slice("hand")].sum() == state[layout.slice("other_hands")].sum() == 1
        bid(game, 0, 0)
        game.apply_action(held)
        assert layout.decode(game.observe(1))["played"] == [[], [held]]


# The players.


def test_a_small_game_is_measured_like_any_other() -> None:
    comparison = measure(make("rule"), make("random"), Rules.preset("mini"), deals=300, seed=1)
    estimate = comparison.average["over_same_seat"]
    assert estimate.mean > estimate.half_width

"""What docs/rules.md says of packs, dealers, hands and trump (C16 and C19 of the faults of similar projects)."""

import random
from collections import Counter
from typing import Any

import pytest
from referee import standard_schedule
from tables import ALL_SEATS, NUM_CARDS, bid, play, play_hand, result_of, rules_for, start

from bluke_env import Deal, Game, Rules
from bluke_env.cards import FULL_PACK, HI_BLUKE, LO_BLUKE, card_text, mask_of, parse_card, parse_cards


def assert_spread_evenly(counts: Counter[int], places: int) -> None:
    """A chi-square test; where the places are equally likely it fails about once in 10,000 times."""
    expected = counts.total() / places
    statistic = sum((counts[place] - expected) ** 2 / expected for place in range(places))
    degrees = places - 1
    assert statistic < degrees + 4.5 * (2 * degrees) ** 0.5 + 8, counts


def hands_of(rules: Rules) -> list[tuple[int, bool]]:
    return [tuple(hand) for hand in rules.schedule]


# Dealers.


def first_dealers(seats: int) -> Counter[int]:
    rules = rules_for(seats, [1])
    return Counter(Game(rules, seed=seed).dealer for seed in range(5_000))


def test_choice_players_tied_for_highest_draw_again_among_themselves() -> None:
    """A tie that went to a fixed seat would show: the highest of 15 cards tie more than every fifth time."""
    assert_spread_evenly(first_dealers(15), 15)


@pytest.mark.parametrize("seats", ALL_SEATS)
def test_c16_every_seat_is_as_likely_to_deal_first(seats: int) -> None:
    assert_spread_evenly(first_dealers(seats), seats)


@pytest.mark.parametrize("dealer", range(3))
def test_a_given_deal_names_the_first_dealer(dealer: int) -> None:
    deals = [Deal([[0], [1], [2]], 3, dealer), Deal([[0], [1], [2]], 3)]
    game = Game(rules_for(3, [1, 1]), deals=deals)
    assert game.dealer == dealer
    play_hand(game, random.Random(1))
    assert game.dealer == (dealer + 1) % 3


@pytest.mark.parametrize("seats", ALL_SEATS)
def test_c16_the_deal_passes_to_the_left_through_the_whole_match(seats: int) -> None:
    for seed in range(20):
        rng = random.Random(seed)
        game = Game(Rules(num_players=seats), seed=seed)
        first_dealer = game.dealer
        for number in range(len(standard_schedule(seats))):
            dealer = (first_dealer + number) % seats
            left_of_dealer = (dealer + 1) % seats
            assert (game.hand_number, game.dealer, game.current_player) == (number, dealer, left_of_dealer)
            bidders = []
            while game.phase.name == "BID":
                bidders.append(game.current_player)
                game.apply_action(rng.choice(game.legal_actions()))
            assert bidders == [(left_of_dealer + turn) % seats for turn in range(seats)]
            assert game.current_player == left_of_dealer
            play_hand(game, rng)
            assert result_of(game).dealer == dealer


def test_every_card_is_as_likely_in_every_hand_and_turned_up() -> None:
    rules = rules_for(4, [5, 5])
    hands: list[Counter[int]] = [Counter() for _ in range(4)]
    turned_up: Counter[int] = Counter()
    for seed in range(2_000):
        game = Game(rules, seed=seed)
        play_hand(game, random.Random(seed))
        for dealt in (result_of(game).hands, game.hands):
            for counts, hand in zip(hands, dealt, strict=True):
                counts.update(hand)
        turned_up.update(card for card in (result_of(game).turned_up, game.turned_up) if card is not None)
    assert turned_up.total() == 4_000
    for counts in (*hands, turned_up):
        assert_spread_evenly(counts, NUM_CARDS)


def test_the_deals_depend_on_the_seed_alone_and_not_on_the_play() -> None:
    dealt = []
    for style in range(3):
        game, rng = Game(Rules(schedule="3-1-3"), seed=5), random.Random(style)
        hands = [(game.dealer, game.hands, game.turned_up)]
        while not game.is_terminal:
            play_hand(game, rng)
            if not game.is_terminal:
                hands.append((game.dealer, game.hands, game.turned_up))
        dealt.append(hands)
    assert dealt[0] == dealt[1] == dealt[2]


# The hands of a match.


@pytest.mark.parametrize("seats", ALL_SEATS)
def test_c19_the_standard_hands_leave_a_card_to_turn_up(seats: int) -> None:
    rules = Rules(num_players=seats)
    assert hands_of(rules) == standard_schedule(seats)
    rng = random.Random(seats)
    game = Game(rules, seed=seats)
    for cards, _ in standard_schedule(seats):
        dealt = [card for hand in game.hands for card in hand]
        assert [len(hand) for hand in game.hands] == [cards] * seats
        assert game.turned_up is not None
        assert len({*dealt, game.turned_up}) == seats * cards + 1
        play_hand(game, rng)
    assert game.is_terminal


@pytest.mark.parametrize("seats", [-1, 0, 1, 16, "4", 4.0, None, True])
def test_c19_impossible_numbers_of_players_are_refused(seats: Any) -> None:
    with pytest.raises(ValueError, match="num_players"):
        Rules(num_players=seats)


@pytest.mark.parametrize("seats", ALL_SEATS)
def test_c19_hands_that_do_not_fit_the_pack_are_refused(seats: int) -> None:
    most = NUM_CARDS // seats
    assert rules_for(seats, [most]).most_cards == most
    for cards in (0, most + 1):
        with pytest.raises(ValueError, match="cards of hand 1"):
            rules_for(seats, [1, cards])


def test_choice_five_players_play_19_hands() -> None:
    rules = Rules(num_players=5)
    assert [hand.cards for hand in rules.schedule] == [*range(10, 0, -1), *range(2, 11)]
    with pytest.raises(ValueError, match="cards of hand 0"):
        rules_for(5, [11])


EXTENDED = {
    2: [*((cards, False) for cards in range(14, 26)), (26, True)],
    3: [(14, False), (15, False), (16, False), (17, False), (18, True)],
    6: [(9, True)],
    8: [(6, True)],
    9: [(6, True)],
}
"""By number of players, the hands that follow the standard ones."""


@pytest.mark.parametrize("seats", EXTENDED, ids="{} players".format)
def test_the_extended_match_goes_on_to_a_last_hand_at_no_trump(seats: int) -> None:
    rules = Rules(num_players=seats, schedule="extended")
    assert hands_of(rules) == [*standard_schedule(seats), *EXTENDED[seats]]
    game, rng = Game(rules, seed=seats), random.Random(seats)
    for cards, no_trump in hands_of(rules):
        assert game.hand_size == cards
        assert (game.turned_up is None) == no_trump
        play_hand(game, rng)
        assert sum(result_of(game).tricks) == cards
    assert game.is_terminal


def test_choice_nine_players_may_add_a_last_hand_of_6() -> None:
    game, rng = Game(Rules(num_players=9, schedule="extended"), seed=9), random.Random(9)
    for _ in range(9):
        play_hand(game, rng)
    assert (game.hand_number, game.hand_size, game.trump, game.turned_up) == (9, 6, None, None)
    assert sum(mask_of(hand) for hand in game.hands) == FULL_PACK
    play_hand(game, rng)
    assert game.is_terminal


@pytest.mark.parametrize("seats", sorted(set(ALL_SEATS) - set(EXTENDED)))
def test_no_other_number_of_players_has_an_extended_match(seats: int) -> None:
    with pytest.raises(ValueError, match="'extended' exists for 2, 3, 6, 8, 9 players"):
        Rules(num_players=seats, schedule="extended")


# Schedules as text.


@pytest.mark.parametrize(
    ("text", "hands"),
    [
        ("5", [(5, False)]),
        ("5nt", [(5, True)]),
        ("13-11", [(13, False), (12, False), (11, False)]),
        ("2-4-3", [(2, False), (3, False), (4, False), (3, False)]),
        ("1-3-1-2", [(cards, False) for cards in (1, 2, 3, 2, 1, 2)]),
        ("3,3,2nt", [(3, False), (3, False), (2, True)]),
        ("2-1-2nt,3", [(2, True), (1, True), (2, True), (3, False)]),
        ("13-1-13", [(cards, False) for cards in [*range(13, 0, -1), *range(2, 14)]]),
    ],
)
def test_a_schedule_text_walks_by_ones_and_plays_each_turning_point_once(
    text: str, hands: list[tuple[int, bool]]
) -> None:
    rules = Rules(schedule=text)
    assert hands_of(rules) == hands
    assert rules.schedule_text == text
    assert rules == Rules(schedule=hands)


def test_any_schedule_is_read_back_from_its_text() -> None:
    rng = random.Random(6)
    for _ in range(2_000):
        hands = [(rng.randint(1, rng.choice((3, 13))), rng.random() < 0.3) for _ in range(rng.randint(1, 30))]
        rules = Rules(schedule=hands)
        assert hands_of(Rules(schedule=rules.schedule_text)) == hands


@pytest.mark.parametrize("seats", ALL_SEATS)
def test_standard_names_the_standard_match(seats: int) -> None:
    most = standard_schedule(seats)[0][0]
    assert Rules(num_players=seats, schedule="standard") == Rules(num_players=seats)
    assert Rules(num_players=seats).schedule_text == f"{most}-1-{most}"


# Small packs.


@pytest.mark.parametrize(
    ("suits", "ranks", "cards"),
    [
        (1, 1, "AC LB HB"),
        (1, 3, "QC KC AC LB HB"),
        (2, 3, "QC KC AC QD KD AD LB HB"),
        (2, 4, "JC QC KC AC JD QD KD AD LB HB"),
        (3, 2, "KC AC KD AD KH AH LB HB"),
        (4, 1, "AC AD AH AS LB HB"),
    ],
)
def test_choice_a_small_pack_has_the_first_suits_the_highest_ranks_and_both_blukes(
    suits: int, ranks: int, cards: str
) -> None:
    rules = Rules(num_players=2, schedule="1", num_suits=suits, num_ranks=ranks)
    assert " ".join(map(card_text, rules.cards)) == cards
    assert rules.num_cards == len(cards.split())
    dealt = {card for seed in range(300) for hand in Game(rules, seed=seed).hands for card in hand}
    assert dealt == set(rules.cards)


def test_the_whole_pack_is_the_pack_of_four_suits_of_13_ranks() -> None:
    assert mask_of(Rules(num_suits=4, num_ranks=13).cards) == FULL_PACK
    assert Rules(num_suits=4, num_ranks=13) == Rules()


@pytest.mark.parametrize(
    ("seats", "suits", "ranks", "schedule"),
    [
        (2, 2, 4, "4-1-4"),
        (2, 2, 3, "3-1-3"),
        (2, 1, 3, "2-1-2"),
        (2, 1, 1, "1"),
        (3, 1, 12, "4-1-4"),
        (4, 4, 12, "12-1-12"),
        (15, 2, 13, "1"),
    ],
)
def test_the_standard_match_of_a_small_pack_begins_with_the_most_cards_that_leave_one(
    seats: int, suits: int, ranks: int, schedule: str
) -> None:
    rules = Rules(num_players=seats, num_suits=suits, num_ranks=ranks)
    assert rules.schedule_text == schedule
    assert seats * rules.most_cards < rules.num_cards <= seats * (rules.most_cards + 1)


@pytest.mark.parametrize(
    ("suits", "ranks", "schedule"), [(4, 13, "13-1-13"), (2, 5, "2-1-2"), (3, 4, "3-1-3"), (1, 4, "1")]
)
def test_the_standard_match_of_back_alley_leaves_two_cards(suits: int, ranks: int, schedule: str) -> None:
    assert Rules.preset("back_alley", num_suits=suits, num_ranks=ranks).schedule_text == schedule


def test_a_pack_too_small_for_its_players_is_refused() -> None:
    with pytest.raises(ValueError, match="3 cards are too few for a standard match of 3 players"):
        Rules(num_players=3, num_suits=1, num_ranks=1)
    assert Rules(num_players=3, num_suits=1, num_ranks=1, schedule="1").schedule_text == "1nt"
    with pytest.raises(ValueError, match="3 cards, too few for 4 players"):
        Rules(num_players=4, num_suits=1, num_ranks=1, schedule="1")


@pytest.mark.parametrize(("name", "suits", "ranks", "cards", "pack"), [("mini", 2, 4, 3, 10), ("micro", 2, 3, 2, 8)])
def test_presets_of_small_games(name: str, suits: int, ranks: int, cards: int, pack: int) -> None:
    rules = Rules.preset(name)
    assert rules == Rules(num_players=2, num_suits=suits, num_ranks=ranks, schedule=[cards])
    assert rules.num_cards == pack
    rng = random.Random(3)
    for seed in range(50):
        game = Game(rules, seed=seed)
        play_hand(game, rng)
        assert set(result_of(game).order) <= set(rules.cards)
        assert (sum(result_of(game).tricks), game.is_terminal) == (cards, True)


# Trump.


def test_the_suit_of_the_turned_up_card_is_trump_and_it_takes_no_part() -> None:
    for seed in range(200):
        game = Game(rules_for(4, [3]), seed=seed)
        assert game.turned_up is not None
        assert all(game.turned_up not in hand for hand in game.hands)
        assert game.trump == (None if game.turned_up in (LO_BLUKE, HI_BLUKE) else game.turned_up // 13)


@pytest.mark.parametrize(("turned_up", "other"), [("LB", "HB"), ("HB", "LB")])
def test_a_turned_up_bluke_means_no_trump_and_the_other_still_wins(turned_up: str, other: str) -> None:
    game = start(["AS 2H", f"3D {other}"], turned_up)
    assert game.trump is None
    bid(game, 1, 1)
    play(game, f"AS {other} 3D 2H")
    assert list(result_of(game).tricks) == [0, 2]


def test_choice_no_card_is_turned_up_in_a_hand_scheduled_at_no_trump() -> None:
    game = Game(Rules(schedule="5nt"), seed=1)
    assert (game.trump, game.turned_up) == (None, None)
    assert sum(len(hand) for hand in game.hands) == 20


def test_at_no_trump_only_a_bluke_beats_the_highest_card_of_the_suit_led() -> None:
    game = start(["2C LB", "AD AH", "3C HB", "AS KS"], None)
    bid(game, 1, 1, 1, 1)
    play(game, "2C AD 3C AS")
    assert list(game.tricks) == [0, 0, 1, 0]
    play(game, "HB KS LB AH")
    assert list(result_of(game).tricks) == [0, 0, 2, 0]


@pytest.mark.parametrize("scheduled", [False, True], ids=["by itself", "as scheduled"])
@pytest.mark.parametrize(
    ("seats", "cards", "suits", "ranks"),
    [(2, 27, 4, 13), (3, 18, 4, 13), (6, 9, 4, 13), (9, 6, 4, 13), (2, 5, 2, 4), (4, 2, 2, 3)],
    ids=["27 × 2", "18 × 3", "9 × 6", "6 × 9", "5 × 2 of 10", "2 × 4 of 8"],
)
def test_a_hand_of_the_whole_pack_is_at_no_trump(
    seats: int, cards: int, suits: int, ranks: int, scheduled: bool
) -> None:
    rules = rules_for(seats, [(cards, scheduled)], num_suits=suits, num_ranks=ranks)
    assert (rules.schedule_text, rules.most_cards) == (f"{cards}nt", cards)
    for seed in range(5):
        game = Game(rules, seed=seed)
        assert (game.turned_up, game.trump) == (None, None)
        assert sorted(card for hand in game.hands for card in hand) == list(rules.cards)
        with_hi_bluke = next(seat for seat, hand in enumerate(game.hands) if HI_BLUKE in hand)
        play_hand(game, random.Random(seed))
        result = result_of(game)
        assert sorted(result.order) == list(rules.cards)
        assert sum(result.tricks) == cards
        assert result.tricks[with_hi_bluke] >= 1


def test_a_card_that_the_pack_lacks_cannot_be_dealt() -> None:
    rules = Rules.preset("micro")
    deal = Deal([parse_cards("QC KC"), parse_cards("JC AC")], parse_card("QD"))
    with pytest.raises(ValueError, match=r"a card of deal 0 is JC, but the pack has 2 suits of 3 ranks"):
        Game(rules, deals=[deal])

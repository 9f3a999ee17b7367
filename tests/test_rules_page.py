"""The engine against the sentences of the rules page, and the faults of similar projects (C16 to C20)."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from referee import hand_points, standard_schedule
from tables import ALL_SEATS, FIRST_BID, NUM_CARDS, bid, deal_of, play, play_hand, result_of, rules_for, start

from bluke_env import Game, Rules
from bluke_env.cards import FULL_PACK, HI_BLUKE, LO_BLUKE, mask_of, parse_card, parse_cards


def assert_spread_evenly(counts: Counter[int], places: int) -> None:
    """A chi-square test; where the places are equally likely it fails about once in 10,000 times."""
    expected = counts.total() / places
    statistic = sum((counts[place] - expected) ** 2 / expected for place in range(places))
    degrees = places - 1
    assert statistic < degrees + 4.5 * (2 * degrees) ** 0.5 + 8, counts


def first_dealers(seats: int) -> Counter[int]:
    rules = rules_for(seats, [1])
    return Counter(Game(rules, seed=seed).dealer for seed in range(5_000))


# Choices, each by the name of what was chosen.


def test_choice_tied_for_highest_draw_again_among_themselves() -> None:
    """A tie that went to a fixed seat would show: the highest of 15 cards tie more than every fifth time."""
    assert_spread_evenly(first_dealers(15), 15)


def test_choice_five_players_play_19_hands() -> None:
    rules = Rules(num_players=5)
    assert [hand.cards for hand in rules.schedule] == [*range(10, 0, -1), *range(2, 11)]
    with pytest.raises(ValueError, match="cards of hand 0"):
        rules_for(5, [11])


def test_choice_nine_players_may_add_a_last_hand_of_6() -> None:
    rng = random.Random(9)
    game = Game(rules_for(9, [*standard_schedule(9), (6, True)]), seed=9)
    for _ in range(9):
        play_hand(game, rng)
    assert (game.hand_number, game.hand_size, game.trump, game.turned_up) == (9, 6, None, None)
    assert sum(mask_of(hand) for hand in game.hands) == FULL_PACK
    play_hand(game, rng)
    assert game.is_terminal


def test_choice_a_bluke_lead_asks_for_no_suit() -> None:
    game = start(["LB 2S", "AH 3C", "2H 4D"], "9H")
    bid(game, 1, 1, 1)
    play(game, "LB")
    assert game.legal_actions() == sorted(parse_cards("AH 3C"))
    play(game, "3C")
    assert game.legal_actions() == sorted(parse_cards("2H 4D"))


# Options.


def test_option_bluke_lead_trump_asks_for_trumps() -> None:
    game = start(["LB 2S", "AH 3C", "HB 2H", "3S 4D", "3H 5D"], "9H", bluke_lead="trump")
    bid(game, 1, 1, 1, 1, 1)
    play(game, "LB")
    assert game.legal_actions() == [parse_card("AH")]
    play(game, "AH")
    assert game.legal_actions() == sorted(parse_cards("HB 2H"))
    play(game, "2H")
    assert game.legal_actions() == sorted(parse_cards("3S 4D"))
    play(game, "3S")
    assert game.legal_actions() == [parse_card("3H")]


def test_option_bluke_lead_trump_asks_for_nothing_at_no_trump() -> None:
    for turned_up in (None, "HB"):
        game = start(["LB 2S", "AH 3C"], turned_up, bluke_lead="trump")
        bid(game, 1, 1)
        play(game, "LB")
        assert game.legal_actions() == sorted(parse_cards("AH 3C"))


def test_option_min_bid_0_lets_players_pass() -> None:
    hands = ["AS KS", "2S 3S"]
    assert list(start(hands, "9H").legal_actions()) == [FIRST_BID + 1, FIRST_BID + 2]
    game = start(hands, "9H", min_bid=0)
    assert game.legal_actions() == [FIRST_BID, FIRST_BID + 1, FIRST_BID + 2]
    bid(game, 0, 0)
    play(game, "AS 2S KS 3S")
    assert list(result_of(game).points) == [2, 0]


def test_option_points() -> None:
    game = start(["AS KS QS", "2S 3S 4S"], "9H", points_per_trick=7, points_per_overtrick=3)
    bid(game, 1, 2)
    play(game, "AS 2S KS 3S QS 4S")
    assert list(result_of(game).points) == [7 + 3 + 3, -14]


# Deal, trump and bidding.


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


@pytest.mark.parametrize(("seats", "cards"), [(2, 27), (3, 18), (6, 9), (9, 6)])
@pytest.mark.parametrize("no_trump", [False, True])
def test_a_hand_of_the_whole_pack_is_at_no_trump(seats: int, cards: int, no_trump: bool) -> None:
    game = Game(rules_for(seats, [(cards, no_trump)]), seed=1)
    assert (game.turned_up, game.trump) == (None, None)
    assert sum(mask_of(hand) for hand in game.hands) == FULL_PACK


def test_bids_may_add_up_to_more_or_fewer_than_the_tricks() -> None:
    for bids in ([1, 1, 1], [3, 3, 3], [1, 3, 1], [1, 1, 2]):
        game = start(["2C 3C 4C", "2D 3D 4D", "2S 3S 4S"], "9H")
        for tricks in bids:
            assert game.legal_actions() == [FIRST_BID + 1, FIRST_BID + 2, FIRST_BID + 3]
            bid(game, tricks)
        assert list(game.bids) == bids


# C16: dealer, first bidder and first leader.


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


@pytest.mark.parametrize("seats", ALL_SEATS)
def test_c16_every_seat_is_as_likely_to_deal_first(seats: int) -> None:
    assert_spread_evenly(first_dealers(seats), seats)


# C17: the boundaries of hands.


@pytest.mark.parametrize("min_bid", [0, 1])
def test_c17_every_trick_of_every_hand_is_counted(min_bid: int) -> None:
    rng = random.Random(17)
    sizes = [*range(13, 0, -1), *range(2, 14)]
    for seed in range(50):
        game = Game(Rules(num_players=4, min_bid=min_bid), seed=seed)
        for number, size in enumerate(sizes):
            assert (game.hand_number, game.hand_size, [len(hand) for hand in game.hands]) == (
                number,
                size,
                [size] * 4,
            )
            assert game.legal_actions() == [FIRST_BID + tricks for tricks in range(min_bid, size + 1)]
            before = list(game.scores)
            play_hand(game, rng)
            result = result_of(game)
            assert (result.number, result.size, sum(result.tricks)) == (number, size, size)
            assert list(game.scores) == [total + points for total, points in zip(before, result.points, strict=True)]
        assert game.is_terminal


def test_c17_the_last_trick_goes_to_its_winner_and_to_the_next_lead() -> None:
    game = start(["AS 2H", "KS 3H", "QS AH"], "9D")
    bid(game, 1, 1, 1)
    play(game, "AS KS QS 2H 3H")
    assert list(game.tricks) == [1, 0, 0]
    play(game, "AH")
    assert list(result_of(game).tricks) == [1, 0, 1]


# C18: points.


def hand_with_tricks(size: int, taken: int) -> tuple[list[str], str, str]:
    """Hands for two, the turned-up card and the play in which seat 0 takes `taken` of `size` tricks.

    Seat 0 cashes the top spades while seat 1 discards hearts, then leads diamonds; a Bluke and trumps win.
    """
    spades = [f"{rank}S" for rank in "AKQJT98765432"][:taken]
    hearts = [f"{rank}H" for rank in "23456789TJQKA"][:taken]
    diamonds = [f"{rank}D" for rank in "23456789TJQKA"][: size - taken]
    winners = ["HB", *(f"{rank}C" for rank in "3456789TJQKA")][: size - taken]
    cards = [card for pair in zip(spades, hearts, strict=True) for card in pair]
    for trick, (low, high) in enumerate(zip(diamonds, winners, strict=True)):
        cards += [low, high] if trick == 0 else [high, low]
    return [" ".join(spades + diamonds), " ".join(hearts + winners)], "2C", " ".join(cards)


@pytest.mark.parametrize("size", range(1, 14))
def test_c18_points_of_every_bid_and_number_of_tricks(size: int) -> None:
    for taken in range(size + 1):
        hands, turned_up, cards = hand_with_tricks(size, taken)
        for tricks_bid in range(size + 1):
            game = start(hands, turned_up, min_bid=0)
            bid(game, tricks_bid, size - tricks_bid)
            play(game, cards)
            expected = [hand_points(tricks_bid, taken), hand_points(size - tricks_bid, size - taken)]
            assert list(result_of(game).tricks) == [taken, size - taken]
            assert list(result_of(game).points) == list(game.scores) == expected
            assert all(type(points) is int for points in [*result_of(game).points, *game.scores])


@pytest.mark.parametrize(
    ("size", "tricks_bid", "taken", "points"),
    [
        (1, 0, 0, 0),
        (1, 0, 1, 1),
        (1, 1, 0, -10),
        (1, 1, 1, 10),
        (13, 0, 13, 13),
        (13, 13, 13, 130),
        (13, 1, 13, 22),
        (13, 13, 12, -130),
        (13, 4, 5, 41),
        (13, 2, 0, -20),
    ],
)
def test_c18_points_as_the_rules_page_gives_them(size: int, tricks_bid: int, taken: int, points: int) -> None:
    hands, turned_up, cards = hand_with_tricks(size, taken)
    game = start(hands, turned_up, min_bid=0)
    bid(game, tricks_bid, 0)
    play(game, cards)
    assert game.scores[0] == points


# C19: as many cards as the pack has.


@pytest.mark.parametrize("seats", ALL_SEATS)
def test_c19_the_standard_hands_leave_a_card_to_turn_up(seats: int) -> None:
    rules = Rules(num_players=seats)
    assert [(hand.cards, hand.no_trump) for hand in rules.schedule] == standard_schedule(seats)
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


# C20: ties.


def one_card_hands(winners: Sequence[int], seats: int, first_dealer: int) -> Game:
    """Plays one-card hands, everyone bidding 1, in which the ace of trumps is dealt to the given seats."""
    deals = []
    for number, winner in enumerate(winners):
        cards = iter(parse_cards("2C 3C 4C 5C 6C 7C 8C 9C TC JC QC KC AC 2D 3D"))
        hands = [[parse_card("AS")] if seat == winner else [next(cards)] for seat in range(seats)]
        deals.append(deal_of(hands, parse_card("2S"), (first_dealer + number) % seats))
    game = Game(rules_for(seats, [1] * len(winners)), deals=deals)
    while not game.is_terminal:
        game.apply_action(game.legal_actions()[0])
    return game


@pytest.mark.parametrize("first_dealer", range(4))
@pytest.mark.parametrize("winners", [(0, 2), (2, 0), (1, 3), (3, 1), (0, 1, 2), (3, 2, 1, 0)])
def test_c20_equal_totals_share_the_win(winners: tuple[int, ...], first_dealer: int) -> None:
    game = one_card_hands(winners, 4, first_dealer)
    best = 10 - 10 * (len(winners) - 1)
    assert list(game.scores) == [best if seat in winners else best - 20 for seat in range(4)]
    assert list(game.winners) == sorted(winners)


@pytest.mark.parametrize("seats", ALL_SEATS)
def test_c20_a_symmetric_match_is_won_by_all(seats: int) -> None:
    assert list(one_card_hands(range(seats), seats, 0).winners) == list(range(seats))

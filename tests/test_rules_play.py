"""What docs/rules.md says of bidding and of tricks (C17 of the faults of similar projects)."""

import random

import pytest
from tables import FIRST_BID, bid, play, play_hand, result_of, start

from bluke_env import Game, IllegalAction, Rules

# Bidding.


def test_bids_run_from_1_to_the_number_of_cards() -> None:
    game = start(["2C 3C 4C", "2D 3D 4D"], "9H", most_cards=13)
    assert game.legal_actions() == [FIRST_BID + 1, FIRST_BID + 2, FIRST_BID + 3]
    for tricks in (0, 4, 13):
        with pytest.raises(IllegalAction, match="its legal actions are"):
            game.apply_action(FIRST_BID + tricks)


def test_every_player_bids_once_from_the_left_of_the_dealer_on() -> None:
    for seed in range(5):
        game = Game(Rules(num_players=3, schedule="2"), seed=seed)
        first = (game.dealer + 1) % 3
        for turn in range(3):
            assert (game.current_player, game.bids.count(None)) == ((first + turn) % 3, 3 - turn)
            bid(game, 2)
        assert (game.phase.name, game.bids, game.current_player) == ("PLAY", (2, 2, 2), first)


def test_bids_may_add_up_to_more_or_fewer_than_the_tricks() -> None:
    for bids in ([1, 1, 1], [3, 3, 3], [1, 3, 1], [1, 1, 2]):
        game = start(["2C 3C 4C", "2D 3D 4D", "2S 3S 4S"], "9H")
        for tricks in bids:
            assert game.legal_actions() == [FIRST_BID + 1, FIRST_BID + 2, FIRST_BID + 3]
            bid(game, tricks)
        assert list(game.bids) == bids


def test_option_min_bid_0_lets_players_pass() -> None:
    hands = ["AS KS", "2S 3S"]
    assert list(start(hands, "9H").legal_actions()) == [FIRST_BID + 1, FIRST_BID + 2]
    game = start(hands, "9H", min_bid=0)
    assert game.legal_actions() == [FIRST_BID, FIRST_BID + 1, FIRST_BID + 2]
    bid(game, 0, 0)
    play(game, "AS 2S KS 3S")
    assert list(result_of(game).points) == [2, 0]


# Tricks.


def test_the_left_of_the_dealer_leads_first_and_then_the_winner_of_each_trick() -> None:
    game = start(["2S AD 4S", "5S 3H 3C", "6S 2D 7C"], "9H")
    bid(game, 1, 1, 1)
    for leader, trick in ((0, "2S 5S 6S"), (2, "2D AD 3H"), (1, "3C 7C 4S")):
        assert game.leader == game.current_player == leader
        play(game, trick)
    assert result_of(game).tricks == (0, 1, 2)


def test_c17_the_last_trick_is_counted_for_its_winner() -> None:
    game = start(["AS 2H", "KS 3H", "QS AH"], "9D")
    bid(game, 1, 1, 1)
    play(game, "AS KS QS 2H 3H")
    assert list(game.tricks) == [1, 0, 0]
    play(game, "AH")
    assert list(result_of(game).tricks) == [1, 0, 1]


@pytest.mark.parametrize("min_bid", [0, 1])
def test_c17_a_hand_of_one_card_is_one_bid_each_and_one_trick(min_bid: int) -> None:
    game, rng = Game(Rules(schedule="2-1-2", min_bid=min_bid), seed=17), random.Random(17)
    play_hand(game, rng)
    before = game.scores
    assert (game.hand_number, game.hand_size, [len(hand) for hand in game.hands]) == (1, 1, [1] * 4)
    for _ in range(4):
        assert game.legal_actions() == [FIRST_BID + tricks for tricks in range(min_bid, 2)]
        bid(game, 1)
    for _ in range(4):
        assert game.scores == before
        assert game.legal_actions() == list(game.hands[game.current_player])
        game.apply_action(game.legal_actions()[0])
    assert sorted(result_of(game).points) == [-10, -10, -10, 10]
    assert game.scores == tuple(total + points for total, points in zip(before, result_of(game).points, strict=True))
    assert (game.hand_number, game.hand_size) == (2, 2)


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


def test_15_players_play_round_the_table() -> None:
    """The second trick is led by seat 13 and goes on past seat 14 to seat 0."""
    clubs = ["3C", "4C", "5C", "6C", "7C", "8C", "2H", "9C", "TC", "JC", "QC", "KC"]
    diamonds = ["2D", "3D", "5D", "6D", "7D", "8D", "9D", "TD", "JD", "QD", "KD", "AD"]
    hands = ["2S AS", *map(" ".join, zip(clubs, diamonds, strict=True)), "3H 4D", "AC LB"]
    game = start(hands, "9H")
    for seat in range(15):
        assert game.current_player == seat
        bid(game, 1)
    play(game, " ".join(["2S", *clubs, "3H", "AC"]))
    assert (game.tricks.index(1), game.current_player) == (13, 13)
    play(game, "4D LB AS")
    assert game.current_player == 1
    play(game, " ".join(diamonds))
    assert result_of(game).tricks == (*[0] * 13, 1, 1)
    assert result_of(game).points == (*[-10] * 13, 10, 10)

"""What docs/rules.md says of points and of winning (C18 and C20 of the faults of similar projects)."""

from collections.abc import Sequence

import pytest
from referee import hand_points
from tables import ALL_SEATS, bid, deal_of, play, result_of, rules_for, start

from bluke_env import Game
from bluke_env.cards import parse_card, parse_cards

# Points.


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


def test_worked_hand_of_5_cards() -> None:
    game = start(["AC KC QC 2S 3S", "2D 3D 2H AD KD", "4S 5S 6S 7S 3H", "2C 3C 4C 4D 5D"], "9H")
    bid(game, 2, 1, 1, 3)
    play(game, "AC 2D 4S 2C KC 3D 5S 3C QC 2H 6S 4C AD 7S 4D 2S KD 3H 5D 3S")
    assert result_of(game).tricks == (2, 2, 1, 0)
    assert result_of(game).points == (20, 11, 10, -30)


def test_worked_hand_of_13_cards() -> None:
    """At no trump; seats 0, 1, 2 and 3 hold clubs, diamonds, hearts and spades, but for the Blukes of seats 1 and 3."""
    clubs, diamonds, hearts, spades = ([f"{rank}{suit}" for rank in "AKQJT98765432"] for suit in "CDHS")
    leads = [*clubs[:6], *diamonds[:3], *spades[:4]]
    hands = [clubs, [*diamonds[:12], "HB"], hearts, [*spades[:12], "LB"]]
    game = start([" ".join(hand) for hand in hands], None)
    bid(game, 4, 3, 2, 5)
    for trick, lead in enumerate(leads):
        seat = game.current_player
        assert seat is not None
        play(game, lead)
        for other in ((seat + turn) % 4 for turn in range(1, 4)):
            blukes_due = (other == 1 and trick == 5) or (other == 3 and trick == 8)
            game.apply_action(game.hands[other][-1 if blukes_due else 0])
    assert result_of(game).tricks == (5, 3, 0, 5)
    assert result_of(game).points == (41, 30, -20, 50)


def test_option_points() -> None:
    game = start(["AS KS QS", "2S 3S 4S"], "9H", points_per_trick=7, points_per_overtrick=3)
    bid(game, 1, 2)
    play(game, "AS 2S KS 3S QS 4S")
    assert list(result_of(game).points) == [7 + 3 + 3, -14]


# The end of the match.


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

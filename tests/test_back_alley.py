"""Back Alley by the sentences of the rules page, worked by hand: engine and referee must both agree."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from back_alley_referee import BOARDS
from back_alley_tables import FOLLOWING, SIDE_POINTS
from judged import IDS, JudgedMatch, action_id
from referee import Bid
from tables import FIRST_BID, result_of

from bluke_env import Deal, Game, IllegalAction, Rules

BOARD, DOUBLE, TRIPLE, QUADRUPLE = BOARDS


def start(
    hands: Sequence[str], turned_up: str, *, dealer: int = 3, next_card: str | None = None, **options: Any
) -> JudgedMatch:
    """A match of one hand; seat 0 bids first unless another dealer is given."""
    cards = [[IDS[card] for card in hand.split()] for hand in hands]
    deal = Deal(cards, IDS[turned_up], dealer, None if next_card is None else IDS[next_card])
    match = JudgedMatch(Rules.preset("back_alley", schedule=[len(cards[0])], **options), deals=[deal])
    match.deal()
    return match


def bid(match: JudgedMatch, *bids: Bid) -> None:
    for number in bids:
        match.act(number)


def play(match: JudgedMatch, cards: str) -> None:
    for card in cards.split():
        match.act(card)


def legal_cards(match: JudgedMatch) -> str:
    return " ".join(str(card) for card in match.referee.legal())


# Bids.


def test_back_alley_bids_run_from_0_to_the_cards_and_then_board() -> None:
    match = start(["2C 3C 4C", "2D 3D 4D", "2H 3H 4H", "2S 3S 4S"], "9H")
    for _ in range(2):
        assert match.referee.legal() == [0, 1, 2, 3, BOARD]
        bid(match, 0)
    for _ in range(2):
        assert match.referee.legal() == [0, 1, 2, 3, BOARD]
        bid(match, 3)
    assert match.game.bids == (0, 0, 3, 3)


@pytest.mark.parametrize("most_cards", [3, 13])
def test_back_alley_each_later_board_is_one_level_above_the_last(most_cards: int) -> None:
    match = start(["2C 3C 4C", "2D 3D 4D", "2H 3H 4H", "2S 3S 4S"], "9H", most_cards=most_cards)
    for place, board in enumerate(BOARDS):
        legal = match.referee.legal()
        assert legal == [*range(4), board] if place < 2 else legal == [0, board]
        assert match.game.legal_actions()[-1] == FIRST_BID + most_cards + board[1]
        bid(match, board)
    assert match.game.bids == (28, 29, 30, 31)


def test_back_alley_the_next_board_is_open_whoever_bid_the_last() -> None:
    match = start(["2C 3C 4C", "2D 3D 4D", "2H 3H 4H", "2S 3S 4S"], "9H")
    bid(match, 1, BOARD)
    assert match.referee.legal() == [0, 1, 2, DOUBLE]
    bid(match, 2)
    assert match.referee.legal() == [0, DOUBLE]
    bid(match, DOUBLE)
    assert match.game.bids == (1, 28, 2, 29)


def test_choice_the_bids_of_partners_may_not_exceed_the_cards() -> None:
    match = start(["2C 3C 4C", "2D 3D 4D", "2H 3H 4H", "2S 3S 4S"], "9H")
    bid(match, 2, 3)
    assert match.referee.legal() == [0, 1, BOARD]
    with pytest.raises(IllegalAction):
        match.game.apply_action(action_id(2, match.rules))
    bid(match, 1)
    assert match.referee.legal() == [0, BOARD]
    bid(match, 0)
    assert match.game.bids == (2, 3, 1, 0)


def test_back_alley_the_partner_of_a_board_bids_0_or_the_next_board() -> None:
    match = start(["2C 3C 4C", "2D 3D 4D", "2H 3H 4H", "2S 3S 4S"], "9H")
    bid(match, BOARD)
    assert match.referee.legal() == [0, 1, 2, 3, DOUBLE]
    bid(match, 3)
    assert match.referee.legal() == [0, DOUBLE]
    bid(match, 0)
    assert match.referee.legal() == [0, DOUBLE]


# The first lead.


@pytest.mark.parametrize("dealer", range(4))
@pytest.mark.parametrize(
    ("bids", "leader"),
    [
        ((1, 2, 0, 1), 1),
        ((2, 1, 1, 0), 0),
        ((0, 0, 1, 3), 3),
        ((0, 0, 3, 1), 2),
        ((0, 2, 2, 1), 1),
        ((1, 1, 2, 2), 2),
        ((1, 1, 1, 1), 0),
        ((0, 1, 1, 0), 1),
        ((0, 0, 0, 1), 3),
        ((3, BOARD, 0, 0), 1),
        ((BOARD, 3, 0, 0), 0),
        ((BOARD, 3, DOUBLE, 0), 2),
        ((BOARD, DOUBLE, 0, 0), 1),
        ((0, BOARD, 3, DOUBLE), 3),
        ((BOARD, DOUBLE, TRIPLE, QUADRUPLE), 3),
        ((BOARD, DOUBLE, TRIPLE, 0), 2),
        ((0, 0, 0, BOARD), 3),
    ],
)
def test_back_alley_the_highest_bidder_leads_and_the_earliest_of_equals(
    dealer: int, bids: tuple[Bid, ...], leader: int
) -> None:
    match = start(["2C 3C 4C", "2D 3D 4D", "2H 3H 4H", "2S 3S 4S"], "9H", dealer=dealer)
    assert match.game.leader == (dealer + 1) % 4
    bid(match, *bids)
    assert match.game.leader == match.game.current_player == (dealer + 1 + leader) % 4


def test_choice_four_bids_of_0_are_scored_as_0_and_left_of_the_dealer_leads() -> None:
    match = start(["2C KC", "2D 3C", "2S 4C", "AC 3S"], "9H", dealer=1)
    bid(match, 0, 0, 0, 0)
    assert match.game.leader == 2
    play(match, "4C AC KC 3C")
    play(match, "3S 2C 2D 2S")
    assert match.referee.tricks == [0, 0, 0, 2]
    assert match.referee.points == [0, 2, 0, 2]


# The Bloopers are trumps.


@pytest.mark.parametrize(("hand", "lead", "trump", "bluke_lead", "expected"), FOLLOWING)
def test_back_alley_following(hand: str, lead: str, trump: str | None, bluke_lead: str, expected: str) -> None:
    spare = iter([card for card in IDS if card[1] in "CD" and card not in hand.split()])
    hands = [" ".join([lead, next(spare), next(spare)]), hand]
    hands += [" ".join(next(spare) for _ in range(3)) for _ in range(2)]
    match = start(hands, "LB" if trump is None else f"Q{trump}", bluke_lead=bluke_lead)
    bid(match, BOARD, 0, 0, 0)
    play(match, lead)
    assert sorted(match.referee.legal()) == sorted(expected.split())


@pytest.mark.parametrize("blooper", ["LB", "HB"])
def test_back_alley_a_trump_lead_must_be_followed_with_a_blooper(blooper: str) -> None:
    match = start(["2H 3H", f"AS {blooper}", "2C 3C", "2D 3D"], "9H")
    bid(match, 0, 0, 0, 0)
    play(match, "2H")
    assert legal_cards(match) == blooper
    play(match, f"{blooper} 2C 2D")
    assert match.referee.tricks == [0, 1, 0, 0]


@pytest.mark.parametrize("blooper", ["LB", "HB"])
def test_back_alley_a_blooper_may_not_be_played_to_a_suit_that_can_be_followed(blooper: str) -> None:
    match = start(["2S 3S", f"4S {blooper}", "5C 6C", "2D 3D"], "9H")
    bid(match, 0, 0, 0, 0)
    play(match, "2S")
    assert legal_cards(match) == "4S"


def test_back_alley_who_cannot_follow_may_play_anything() -> None:
    match = start(["2S 3S", "LB 4C", "5H 6C", "2D HB"], "9H")
    bid(match, 0, 0, 0, 0)
    play(match, "2S")
    for hand in ("LB 4C", "5H 6C", "2D HB"):
        assert legal_cards(match) == hand
        play(match, hand.split()[0])


@pytest.mark.parametrize(
    ("trick", "winner"), [("2S LB 3S HB", 3), ("AS KH LB 2S", 2), ("AS KH 2S AH", 3), ("2S HB AH LB", 1)]
)
def test_back_alley_the_bloopers_are_the_highest_trumps(trick: str, winner: int) -> None:
    match = start(trick.split(), "9H")
    bid(match, 0, 0, 0, 0)
    play(match, trick)
    assert match.referee.tricks[winner] == 1


# Broken trump.


def test_back_alley_trump_may_not_be_led_until_it_is_broken() -> None:
    match = start(["2H LB 3S", "4S HB 5S", "6S 7S 8S", "2D 3D 9S"], "9H")
    bid(match, 1, 0, 0, 0)
    assert legal_cards(match) == "3S"
    for card in ("2H", "LB"):
        with pytest.raises(IllegalAction):
            match.game.apply_action(IDS[card])
    play(match, "3S 4S 6S 9S")
    assert (match.referee.seat, match.referee.trump_broken) == (3, False)


@pytest.mark.parametrize("breaker", ["2H", "LB", "HB"])
def test_back_alley_a_trump_to_another_suits_trick_breaks_trump(breaker: str) -> None:
    match = start(["3S 4S", f"{breaker} 5C", "6S 7H", "7S 8H"], "9H")
    bid(match, 0, 0, 0, 0)
    play(match, "3S")
    assert not match.game.trump_broken
    play(match, breaker)
    assert match.game.trump_broken
    play(match, "6S 7S 5C")
    assert match.game.trump_broken


def test_back_alley_broken_trump_may_be_led() -> None:
    match = start(["3S 4S 4C", "2H 5C AH", "6S 7C 7D", "7S 8C 8D"], "9H")
    bid(match, 0, 0, 0, 0)
    play(match, "3S 2H 6S 7S")
    assert legal_cards(match) == "5C AH"
    play(match, "AH 7C 8C 4S")
    assert match.referee.tricks == [0, 2, 0, 0]


def test_back_alley_who_has_only_trumps_may_lead_one_which_does_not_break_it() -> None:
    match = start(["2H LB", "3H 4S", "AH 4C", "5H 5S"], "9H")
    bid(match, 1, 0, 0, 0)
    assert legal_cards(match) == "2H LB"
    play(match, "2H 3H AH 5H")
    assert not match.game.trump_broken
    assert legal_cards(match) == "4C"


def test_back_alley_a_side_that_bid_board_may_lead_trump_and_does_not_break_it() -> None:
    match = start(["2H 3C", "AH 4C", "3H 4S", "4H 5S"], "9H")
    bid(match, BOARD, 0, 0, 0)
    assert legal_cards(match) == "2H 3C"
    play(match, "2H AH 3H 4H")
    assert not match.game.trump_broken


def test_back_alley_a_board_stands_for_the_partner_who_may_lead_trump_too() -> None:
    match = start(["2S 3C 4C", "3S 5C 2D", "AS 3H 4D", "4S 6C 5D"], "9H")
    bid(match, BOARD, 0, 0, 0)
    play(match, "2S 3S AS 4S")
    assert legal_cards(match) == "3H 4D"


def test_back_alley_the_other_sides_board_does_not_let_a_player_lead_trump() -> None:
    match = start(["2S 3C 4C", "AS 3H 2D", "3S 6C 4D", "4S 5C 5D"], "9H")
    bid(match, BOARD, 0, 0, 0)
    play(match, "2S AS 3S 4S")
    assert legal_cards(match) == "2D"


def test_back_alley_trump_is_unbroken_again_in_the_next_hand() -> None:
    hands = [["2S", "3S"], ["2H", "4C"], ["3H", "5S"], ["4H", "6S"]]
    cards = [[IDS[card] for card in hand] for hand in hands]
    deals = [Deal(cards, IDS["9H"], dealer) for dealer in (3, 0)]
    match = JudgedMatch(Rules.preset("back_alley", schedule=[2, 2]), deals=deals)
    match.deal()
    bid(match, 0, 0, 0, 0)
    play(match, "2S 2H 5S 6S")
    assert match.game.trump_broken
    play(match, "4C 3H 4H 3S")
    match.deal()
    bid(match, 0, 0, 0, 0)
    assert (match.referee.seat, legal_cards(match)) == (1, "4C")


# Blooper leads.


def test_choice_a_big_blooper_lead_takes_everybodys_highest_trump() -> None:
    match = start(["HB 2C 5C", "2H AH AS", "LB KH 2S", "3C 4C 6C"], "9H")
    bid(match, BOARD, 0, 0, 0)
    play(match, "HB")
    for expected, card in (("AH", "AH"), ("LB", "LB"), ("3C 4C 6C", "3C")):
        assert legal_cards(match) == expected
        play(match, card)
    assert match.referee.tricks == [1, 0, 0, 0]


def test_choice_a_little_blooper_lead_takes_everybodys_lowest_trump() -> None:
    match = start(["LB 2C 5C", "AH 2H 2D", "HB KH 3D", "3C 4C 6C"], "9H")
    bid(match, BOARD, 0, 0, 0)
    play(match, "LB")
    for expected, card in (("2H", "2H"), ("KH", "KH"), ("3C 4C 6C", "3C")):
        assert legal_cards(match) == expected
        play(match, card)
    assert match.referee.tricks == [1, 0, 0, 0]


def test_choice_a_little_blooper_lead_draws_a_lone_big_one_which_wins() -> None:
    match = start(["LB 2C", "AH 2H", "HB 5C", "3C 4C"], "9H")
    bid(match, BOARD, 0, 0, 0)
    play(match, "LB 2H")
    assert legal_cards(match) == "HB"
    play(match, "HB 3C")
    assert match.referee.tricks == [0, 0, 1, 0]


@pytest.mark.parametrize("blooper", ["LB", "HB"])
def test_option_bluke_lead_trump_lets_everybody_choose_a_trump(blooper: str) -> None:
    match = start([f"{blooper} 2C", "2H AH", "TH KH", "3C 4C"], "9H", bluke_lead="trump")
    bid(match, BOARD, 0, 0, 0)
    play(match, blooper)
    for expected in ("2H AH", "TH KH", "3C 4C"):
        assert legal_cards(match) == expected
        play(match, expected.split()[1])


# The exchange.


@pytest.mark.parametrize("seat", range(4))
@pytest.mark.parametrize(("turned_up", "other"), [("LB", "HB"), ("HB", "LB")])
def test_back_alley_the_other_blooper_is_exchanged_for_the_next_card(seat: int, turned_up: str, other: str) -> None:
    hands = [["2C", "3C"], ["2D", "3D"], ["2H", "3H"], ["2S", "3S"]]
    hands[seat][0] = other
    match = start([" ".join(hand) for hand in hands], turned_up, next_card="AC")
    assert (match.game.trump, match.game.exchanged, match.game.phase.name) == (None, seat, "BID")
    assert match.game.hands[seat] == tuple(sorted([IDS["AC"], IDS[hands[seat][1]]]))
    bid(match, 0, 0, 0, 0)
    while match.referee.phase == "play":
        match.act(match.referee.legal()[-1])
    result = result_of(match.game)
    assert (result.exchanged, result.drawn) == (seat, IDS["AC"])
    assert IDS["AC"] in result.order
    assert IDS[other] not in result.order


@pytest.mark.parametrize("turned_up", ["LB", "HB"])
def test_back_alley_nothing_is_exchanged_where_nobody_holds_the_other_blooper(turned_up: str) -> None:
    match = start(["2C 3C", "2D 3D", "2H 3H", "2S 3S"], turned_up)
    assert (match.game.trump, match.game.exchanged) == (None, None)
    bid(match, 0, 0, 0, 0)
    assert legal_cards(match) == "2C 3C"
    play(match, "2C 2D 2H 2S 3C 3D 3H 3S")
    assert (match.referee.tricks, result_of(match.game).drawn) == ([2, 0, 0, 0], None)


def test_back_alley_every_card_of_the_rest_is_as_likely_to_be_drawn() -> None:
    """In hands of one card the hand that is left is the card drawn."""
    rules = Rules.preset("back_alley", schedule=[1], num_suits=2, num_ranks=4)
    drawn: Counter[int] = Counter()
    for seed in range(6_000):
        game = Game(rules, seed=seed)
        if game.exchanged is not None:
            drawn.update(game.hands[game.exchanged])
    assert sorted(drawn) == [9, 10, 11, 12, 22, 23, 24, 25]
    expected = 6_000 * (2 / 10) * (4 / 9) / 8
    assert all(0.6 * expected < count < 1.5 * expected for count in drawn.values()), drawn


# Points.


def played_for(first: int, taken: int, bids: Sequence[Bid], dealer: int, **options: Any) -> JudgedMatch:
    """A hand of 5 at no trump, led by seat `first`, whose side takes `taken` tricks.

    Each seat holds a suit of its own, so that whoever leads wins; but the leader also holds low diamonds, with
    the first of which it loses the lead to the diamonds of the next seat.
    """
    clubs, diamonds, hearts, spades = ([rank + suit for rank in "23456"] for suit in "CDHS")
    leads, winners = clubs[:taken] + diamonds[: 5 - taken], [f"{rank}D" for rank in "AKQJT"]
    hands = [leads, winners, hearts, spades]
    match = start([" ".join(hands[(seat - first) % 4]) for seat in range(4)], "LB", dealer=dealer, **options)
    bid(match, *bids)
    for trick in range(5):
        cards = [leads[trick], winners[4 - trick], hearts[trick], spades[trick]]
        play(match, " ".join(cards if trick <= taken else cards[1:] + cards[:1]))
    return match


@pytest.mark.parametrize("first", range(4))
@pytest.mark.parametrize(("bids", "points"), SIDE_POINTS[:5])
def test_back_alley_points_of_bids_of_tricks(first: int, bids: list[Bid], points: list[int]) -> None:
    for taken, expected in zip(range(5, -1, -1), points, strict=True):
        match = played_for(first, taken, [bids[0], 0, bids[1], 0], dealer=(first - 1) % 4)
        others = 5 - taken
        assert [match.game.scores[(first + seat) % 4] for seat in range(4)] == [expected, others, expected, others]


@pytest.mark.parametrize("first", range(4))
@pytest.mark.parametrize(("level", "stake"), [(1, 50), (2, 100), (3, 200), (4, 400)])
def test_back_alley_points_of_every_board_won_and_lost(level: int, stake: int, first: int) -> None:
    """Boards are bid up to the level, the last by seat `first`; the other side's last one is a level lower."""
    bids: list[Bid] = [*BOARDS[:level], *[0] * (4 - level)]
    for taken in range(6):
        match = played_for(first, taken, bids, dealer=(first - level) % 4)
        side = stake if taken == 5 else -stake
        others = 5 - taken if level == 1 else stake // 2 if taken == 0 else -stake // 2
        assert [match.game.scores[(first + seat) % 4] for seat in range(4)] == [side, others, side, others]


def test_back_alley_the_higher_board_of_a_side_counts_whoever_bid_it() -> None:
    cases: list[tuple[list[Bid], int]] = [([BOARD, 0, DOUBLE, 0], 100), ([BOARD, DOUBLE, TRIPLE, 0], 200)]
    for bids, stake in cases:
        for seat in range(4):
            taker = (seat + 2) % 4
            match = played_for(taker, 5, bids, dealer=(seat - 1) % 4)
            assert match.game.scores[seat] == match.game.scores[taker] == stake


def test_back_alley_option_points() -> None:
    options = {"points_per_trick": 7, "points_per_overtrick": 3}
    assert played_for(0, 5, [2, 0, 1, 0], 3, **options).game.scores == (27, 0, 27, 0)
    assert played_for(0, 2, [2, 0, 1, 0], 3, **options).game.scores == (-21, 9, -21, 9)
    assert played_for(0, 5, [BOARD, 0, 0, 0], 3, **options).game.scores == (70, 0, 70, 0)
    assert played_for(0, 4, [BOARD, 0, 0, 0], 3, **options).game.scores == (-70, 3, -70, 3)


def test_back_alley_partners_win_together_and_equal_sides_share_the_win() -> None:
    assert played_for(0, 5, [1, 0, 0, 0], 3).game.winners == (0, 2)
    assert played_for(1, 5, [1, 0, 0, 0], 0).game.winners == (1, 3)
    match = start(["2C KC", "2D 3C", "4S 4C", "AC 3S"], "9H", dealer=1)
    bid(match, 0, 0, 0, 0)
    play(match, "4S 3S KC 2D")
    play(match, "4C AC 2C 3C")
    assert (match.game.scores, match.game.winners) == ((1, 1, 1, 1), (0, 1, 2, 3))


def test_back_alley_hands_of_13_down_to_1_and_up_again() -> None:
    rules = Rules.preset("back_alley")
    assert list(rules.schedule) == [(cards, False) for cards in [*range(13, 0, -1), *range(2, 14)]]
    assert (rules.num_players, rules.sides, rules.num_actions) == (4, ((0, 2), (1, 3)), 54 + 14 + 4)


def test_back_alley_a_trump_lead_before_trump_is_broken_shows_a_hand_of_trumps() -> None:
    """Clubs are trump: without a board, the leader of a club shows that it holds nothing else."""
    shown = []
    for bid in (55, 54 + 2 + 1):
        deal = Deal([[0, 1], [13, 14], [15, 16], [17, 18]], turned_up=2, dealer=3)
        game = Game(Rules.preset("back_alley", schedule="2"), deals=[deal])
        for action in (bid, 54, 54, 54, 0):
            game.apply_action(action)
        shown.append(game.layout.decode(game.observe(1))["voids"][3])
    assert shown == [[1, 2, 3], []]

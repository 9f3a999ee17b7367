"""The referee of Back Alley: first against examples worked by hand, then the compiled engine against it."""

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from back_alley_referee import (
    BLOOPERS,
    BOARDS,
    SIDES,
    BackAlleyReferee,
    bid_strength,
    is_trump,
    may_be_led,
    may_follow,
    side_points,
)
from back_alley_tables import FOLLOWING, SIDE_POINTS
from judged import IDS, JudgedMatch, texts
from referee import Bid

from bluke_env import Deal, Rules

BOARD, DOUBLE, _, _ = BOARDS

# Hand, trump, whether trump may be led, the cards that may be led.
LEADING = [
    ("2S AH LB", "H", False, "2S"),
    ("2S AH LB", "H", True, "2S AH LB"),
    ("2H AH HB", "H", False, "2H AH HB"),
    ("LB HB", "H", False, "LB HB"),
    ("2S 3C 4H", "D", False, "2S 3C 4H"),
    ("2S 3C 4H", None, False, "2S 3C 4H"),
]

# The referee by hand.


@pytest.mark.parametrize(("hand", "lead", "trump", "bluke_lead", "expected"), FOLLOWING)
def test_referee_following(hand: str, lead: str, trump: str | None, bluke_lead: str, expected: str) -> None:
    assert may_follow(hand.split(), lead, trump, bluke_lead) == expected.split()


@pytest.mark.parametrize(("hand", "trump", "may_lead_trump", "expected"), LEADING)
def test_referee_leading(hand: str, trump: str | None, may_lead_trump: bool, expected: str) -> None:
    assert may_be_led(hand.split(), trump, may_lead_trump=may_lead_trump) == expected.split()


@pytest.mark.parametrize(("bids", "points"), SIDE_POINTS)
def test_referee_side_points(bids: list[Bid], points: list[int]) -> None:
    assert [side_points(bids, taken, 5) for taken in range(5, -1, -1)] == points
    assert [side_points(bids[::-1], taken, 5) for taken in range(5, -1, -1)] == points


def test_referee_bids_in_order_of_strength() -> None:
    bids: list[Bid] = [0, 1, 12, 13, *BOARDS]
    assert sorted(bids[::-1], key=bid_strength) == bids


def test_referee_plays_a_match_by_hand() -> None:
    referee = BackAlleyReferee([(2, False), (1, False)], first_dealer=3)
    referee.deal([["KS", "2H"], ["3S", "HB"], ["AS", "4H"], ["5S", "6D"]], "9H")
    assert (referee.trump, referee.leader, referee.legal()) == ("H", 0, [0, 1, 2, BOARD])
    referee.act(0)
    referee.act(1)
    assert (referee.leader, referee.legal()) == (1, [0, 1, 2, BOARD])
    referee.act(1)
    assert (referee.leader, referee.legal()) == (1, [0, 1, BOARD])
    referee.act(0)
    assert (referee.phase, referee.seat, referee.legal()) == ("play", 1, ["3S"])
    for card in ("3S", "AS", "5S", "KS"):
        referee.act(card)
    assert (referee.tricks, referee.seat, referee.trump_broken) == ([0, 0, 1, 0], 2, False)
    for card in ("4H", "6D", "2H", "HB"):
        referee.act(card)
    assert (referee.phase, referee.tricks, referee.points) == ("deal", [0, 1, 1, 0], [5, 5, 5, 5])
    referee.deal([["2C"], ["3C"], ["HB"], ["AD"]], "LB", "4C")
    assert (referee.dealer, referee.seat, referee.trump, referee.hands[2]) == (0, 1, None, ["4C"])
    for action in (BOARD, DOUBLE, 0, 0):
        referee.act(action)
    assert (referee.seat, referee.first_leader) == (2, 2)
    for card in ("4C", "AD", "2C", "3C"):
        referee.act(card)
    assert (referee.phase, referee.points) == ("over", [20, -10, 20, -10])
    assert (referee.scores, referee.winners) == ([25, -5, 25, -5], [0, 2])


@pytest.mark.parametrize(
    ("hands", "turned_up", "next_card"),
    [
        ("2C 3C 4C 5C", None, None),
        ("2C 3C 4C", "6C", None),
        ("2C 3C 4C 6C", "6C", None),
        ("2C 3C 4C HB", "LB", None),
        ("2C 3C 4C LB", "HB", "HB"),
        ("2C 3C 4C LB", "HB", "4C"),
        ("2C 3C 4C 5C", "LB", "6C"),
        ("2C 3C 4C HB", "6C", "7C"),
        ("2C 3C LB HB", "6C", "7C"),
    ],
)
def test_referee_refuses_a_bad_deal(hands: str, turned_up: str | None, next_card: str | None) -> None:
    with pytest.raises(ValueError, match=r"due|distinct|turned up|drawn|rest of the pack"):
        BackAlleyReferee([(1, False)], first_dealer=0).deal([[card] for card in hands.split()], turned_up, next_card)


# The engine against the referee, decision by decision.

SMALL_PACKS = [(suits, ranks) for suits in range(1, 5) for ranks in range(1, 14) if suits * ranks >= 4]

CASES = {
    *("board", "double board", "triple board", "quadruple board"),
    *("after the partner's board", "limited by the partner"),
    *("board won", "board lost", "quadruple board won", "quadruple board lost", "made", "missed", "all bid 0"),
    *("tie for the highest bid", "exchange", "nobody to exchange", "shared win", "13 cards", "one card"),
    *("trump may not be led", "only trumps", "only trumps at a later lead", "board leads trump"),
    *("partner's board leads trump", "broken trump led", "broken by a Blooper", "broken by another trump"),
    *("HB led", "LB led", "highest of several", "lowest of several", "free choice of several"),
    *("only a Blooper follows trump", "Blooper withheld"),
}


def random_rules(rng: random.Random) -> Rules:
    """Any pack, few hands of any size that leave a card to draw, and both ways of leading a Blooper."""
    suits, ranks = rng.choice(SMALL_PACKS) if rng.random() < 0.3 else (4, 13)
    largest = suits * ranks // 4
    sizes = [rng.randint(1, min(largest, 5)) for _ in range(rng.randint(1, 5))]
    if rng.random() < 0.1:
        sizes.append(largest)
    points = dict(zip(("points_per_trick", "points_per_overtrick"), rng.choice([(5, 1), (7, 3)]), strict=True))
    lead = rng.choice(["high_low", "high_low", "trump"])
    return Rules.preset("back_alley", schedule=sizes, num_suits=suits, num_ranks=ranks, bluke_lead=lead, **points)


def random_deals(rules: Rules, rng: random.Random) -> list[Deal]:
    """Deals that range from single suits to any shuffle, with a Blooper turned up in every fourth."""
    first_dealer = rng.randrange(4)
    deals = []
    for number, (size, _) in enumerate(rules.schedule):
        length, order = rng.choice([1, 3, 30]), rng.sample("CDHSB", 5)
        pack = sorted(texts(rules.cards), key=lambda card: order.index(card[1]) + length * rng.random())
        if rng.random() < 0.25:
            blooper = pack.index(rng.choice(BLOOPERS))
            pack[4 * size], pack[blooper] = pack[blooper], pack[4 * size]
        dealt, turned_up, rest = pack[: 4 * size], pack[4 * size], pack[4 * size + 1 :]
        exchange = turned_up in BLOOPERS and bool({*dealt} & {*BLOOPERS})
        hands = [[IDS[card] for card in dealt[seat::4]] for seat in range(4)]
        next_card = IDS[rng.choice(rest)] if exchange else None
        deals.append(Deal(hands, IDS[turned_up], (first_dealer + number) % 4, next_card))
    return deals


def choose_bid(style: str, legal: list[Any], rng: random.Random) -> Bid:
    if style == "board":
        return legal[-1]
    return 0 if style == "zero" else rng.choice(legal)


def choose_card(style: str, legal: list[Any], trump: str | None, rng: random.Random) -> str:
    preferred = [card for card in legal if is_trump(card, trump) == (style == "trumps")]
    return rng.choice(legal if style == "any" or not preferred else preferred)


def compare_match(rules: Rules, rng: random.Random, seen: Counter[str], *, given: bool) -> None:
    """Plays one match, every hand in some style of bidding and playing, and counts the cases it meets."""
    match = JudgedMatch(rules, seed=rng.randrange(2**63), deals=random_deals(rules, rng) if given else None)
    referee = match.referee
    assert isinstance(referee, BackAlleyReferee)
    while referee.phase != "over":
        match.deal()
        styles = rng.choice([["any"], ["zero"], ["board"], ["any", "zero", "board"]])
        while referee.phase == "bid":
            bid = choose_bid(rng.choice(styles), referee.legal(), rng)
            seen.update(bid_cases(referee, bid))
            match.act(bid)
        styles = rng.choice([["any"], ["trumps"], ["others"], ["any", "trumps", "others"]])
        while referee.phase == "play":
            card = choose_card(rng.choice(styles), referee.legal(), referee.trump, rng)
            seen.update(follow_cases(referee, card) if referee.trick else lead_cases(referee, card))
            match.act(card)
        seen.update(hand_cases(referee))
    assert match.game.legal_actions() == []


def bid_cases(referee: BackAlleyReferee, bid: Bid) -> Iterator[str]:
    if isinstance(bid, tuple):
        yield ("board", "double board", "triple board", "quadruple board")[bid[1] - 1]
    if isinstance(referee.partners_bid, tuple):
        yield "after the partner's board"
    elif referee.partners_bid:
        yield "limited by the partner"


def lead_cases(referee: BackAlleyReferee, card: str) -> Iterator[str]:
    if len(referee.legal()) < len(referee.hand):
        yield "trump may not be led"
    if card in BLOOPERS:
        yield f"{card} led"
    if not is_trump(card, referee.trump):
        return
    if referee.trump_broken:
        yield "broken trump led"
    elif isinstance(referee.own_bid, tuple):
        yield "board leads trump"
    elif isinstance(referee.partners_bid, tuple):
        yield "partner's board leads trump"
    else:
        yield "only trumps at a later lead" if referee.played else "only trumps"


def follow_cases(referee: BackAlleyReferee, card: str) -> Iterator[str]:
    lead = referee.trick[0][1]
    trumps = [held for held in referee.hand if is_trump(held, referee.trump)]
    if is_trump(lead, referee.trump):
        if lead in BLOOPERS and len(trumps) > 1:
            forced = "highest of several" if lead == "HB" else "lowest of several"
            yield forced if referee.bluke_lead == "high_low" else "free choice of several"
        if trumps and set(trumps) <= set(BLOOPERS):
            yield "only a Blooper follows trump"
    elif set(referee.hand) & set(BLOOPERS) and not set(referee.legal()) & set(BLOOPERS):
        yield "Blooper withheld"
    elif is_trump(card, referee.trump) and not referee.trump_broken:
        yield "broken by a Blooper" if card in BLOOPERS else "broken by another trump"


def hand_cases(referee: BackAlleyReferee) -> Iterator[str]:
    assert referee.points is not None
    yield "hands"
    if max(referee.points) > 0:
        yield "made"
    if min(referee.points) < 0:
        yield "missed"
    if not any(referee.bids):
        yield "all bid 0"
    strengths = [bid_strength(bid) for bid in referee.bids if bid is not None]
    if strengths.count(max(strengths)) > 1:
        yield "tie for the highest bid"
    if referee.turned_up in BLOOPERS:
        yield "nobody to exchange" if referee.exchanged is None else "exchange"
    if referee.winners == [0, 1, 2, 3]:
        yield "shared win"
    if referee.hand_size in (1, 13):
        yield "one card" if referee.hand_size == 1 else "13 cards"
    for side in SIDES:
        level = max(strengths[seat][0] for seat in side)
        outcome = "won" if referee.points[side[0]] > 0 else "lost"
        if level > 0:
            yield f"board {outcome}"
        if level == 4:
            yield f"quadruple board {outcome}"


def compare_matches(hands: int, seed: int) -> Counter[str]:
    """The standard match, then random ones until `hands` are played; every other one with given deals."""
    rng = random.Random(seed)
    seen: Counter[str] = Counter()
    compare_match(Rules.preset("back_alley"), rng, seen, given=False)
    while seen["hands"] < hands:
        for given in (False, True):
            compare_match(random_rules(rng), rng, seen, given=given)
    return seen


def test_engine_agrees_with_the_referee() -> None:
    seen = compare_matches(6_000, seed=1)
    assert not CASES - {case for case in seen if seen[case] >= 10}, seen


@pytest.mark.slow
def test_engine_agrees_with_the_referee_at_length() -> None:
    seen = compare_matches(50_000, seed=2)
    assert not CASES - {case for case in seen if seen[case] >= 100}, seen

"""The plain referee: first against the examples of the rules page, then the compiled engine against it."""

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from judged import IDS, SUIT_IDS, JudgedMatch
from referee import (
    PACK,
    Action,
    Referee,
    extended_schedule,
    hand_points,
    pack_of,
    playable,
    standard_schedule,
)
from referee import trick_winner as referee_winner
from tables import ALL_SEATS, FIRST_BID, deal_of, result_of, rules_for

from bluke_env import BatchGame, Game, Rules

# Trump, the cards in order of play, the one that wins.
TRICKS = [
    (None, "JC KD", "JC"),
    (None, "9C TC", "TC"),
    (None, "TC 9C", "TC"),
    (None, "2H AS AD AC", "2H"),
    (None, "AS LB", "LB"),
    (None, "LB HB", "HB"),
    (None, "HB LB AS", "HB"),
    (None, "LB AS KD", "LB"),
    ("H", "AS 2H", "2H"),
    ("H", "AS 2H 5H", "5H"),
    ("H", "AS 5H 2H", "5H"),
    ("H", "KH AS 2H AH", "AH"),
    ("H", "2H AS AD AC", "2H"),
    ("H", "2D KD AS TD", "KD"),
    ("H", "LB AH", "LB"),
    ("H", "AH LB", "LB"),
    ("H", "HB LB", "HB"),
    ("H", "LB HB", "HB"),
    ("H", "2S LB AH HB", "HB"),
    ("H", "LB AS AD AC", "LB"),
    ("H", "HB AS 2H 3C", "HB"),
]

# Hand, lead, trump, bluke_lead, the cards that may be played.
FOLLOWING = [
    ("2S AH", "KS", "H", "none", "2S"),
    ("2S AH LB HB", "KS", "H", "none", "2S LB HB"),
    ("2S 3S LB", "KS", None, "none", "2S 3S LB"),
    ("LB HB", "KS", "H", "none", "LB HB"),
    ("AH 3C 4D", "KS", "H", "none", "AH 3C 4D"),
    ("AH 3C LB", "KS", None, "none", "AH 3C LB"),
    ("2S 3H", "KH", "H", "none", "3H"),
    ("2S AH 3C", "LB", "H", "none", "2S AH 3C"),
    ("2S AH HB", "LB", "H", "none", "2S AH HB"),
    ("2S AH 3C", "LB", "H", "trump", "AH"),
    ("2S AH LB", "HB", "H", "trump", "AH LB"),
    ("2S 3C LB", "HB", "H", "trump", "2S 3C LB"),
    ("2S AH 3C", "LB", None, "trump", "2S AH 3C"),
    ("2S AH LB", "KS", "H", "trump", "2S LB"),
]


# The referee against the rules page.


@pytest.mark.parametrize(("trump", "cards", "winner"), TRICKS)
def test_referee_trick_winner(trump: str | None, cards: str, winner: str) -> None:
    trick = [(seat, card) for seat, card in enumerate(cards.split())]
    assert cards.split()[referee_winner(trick, trump)] == winner


@pytest.mark.parametrize(("hand", "lead", "trump", "bluke_lead", "expected"), FOLLOWING)
def test_referee_following(hand: str, lead: str, trump: str | None, bluke_lead: str, expected: str) -> None:
    assert playable(hand.split(), [(0, lead)], trump, bluke_lead) == expected.split()


def test_referee_leads_anything() -> None:
    assert playable(["2S", "AH", "LB"], [], "H", "trump") == ["2S", "AH", "LB"]


@pytest.mark.parametrize(
    ("bids", "tricks", "points"),
    [([2, 1, 1, 3], [2, 2, 1, 0], [20, 11, 10, -30]), ([4, 3, 2, 5], [5, 3, 0, 5], [41, 30, -20, 50])],
)
def test_referee_worked_hands(bids: list[int], tricks: list[int], points: list[int]) -> None:
    assert [hand_points(bid, taken) for bid, taken in zip(bids, tricks, strict=True)] == points


def test_referee_points_of_a_zero_bid_and_other_points() -> None:
    assert [hand_points(0, taken) for taken in range(4)] == [0, 1, 2, 3]
    assert [hand_points(2, taken, 7, 3) for taken in range(5)] == [-14, -14, 14, 17, 20]


def test_referee_schedules() -> None:
    hands = {seats: len(standard_schedule(seats)) for seats in ALL_SEATS}
    assert hands == {
        **{2: 25, 3: 25, 4: 25, 5: 19, 6: 15, 7: 13, 8: 11, 9: 9, 10: 9},
        **{11: 7, 12: 7, 13: 7, 14: 5, 15: 5},
    }
    assert standard_schedule(14) == [(3, False), (2, False), (1, False), (2, False), (3, False)]
    assert extended_schedule(2)[24:] == [(cards, cards == 26) for cards in range(13, 27)]
    assert extended_schedule(3)[24:] == [(cards, cards == 18) for cards in range(13, 19)]
    assert [extended_schedule(seats)[-1] for seats in (6, 8, 9)] == [(9, True), (6, True), (6, True)]


def test_referee_plays_a_match_by_hand() -> None:
    referee = Referee(3, [(2, False), (1, True)], first_dealer=2)
    referee.deal([["KS", "2D"], ["3S", "HB"], ["AS", "4H"]], "9H")
    assert (referee.trump, referee.leader, referee.legal()) == ("H", 0, [1, 2])
    for bid in (1, 1, 2):
        referee.act(bid)
    assert (referee.phase, referee.seat) == ("play", 0)
    referee.act("KS")
    referee.act("3S")
    assert referee.legal() == ["AS"]
    referee.act("AS")
    assert (referee.tricks, referee.leader) == ([0, 0, 1], 2)
    for card in ("4H", "2D", "HB"):
        referee.act(card)
    assert (referee.phase, referee.tricks, referee.points) == ("deal", [0, 1, 1], [-10, 10, -20])
    referee.deal([["2C"], ["3C"], ["AD"]], None)
    assert (referee.dealer, referee.seat, referee.trump) == (0, 1, None)
    for action in (1, 1, 1, "3C", "AD", "2C"):
        referee.act(action)
    assert (referee.phase, referee.scores, referee.winners) == ("over", [-20, 20, -30], [1])


def test_referee_shares_a_win() -> None:
    referee = Referee(2, [(1, False)] * 2, first_dealer=0)
    referee.deal([["AS"], ["KS"]], "2H")
    for action in (1, 1, "KS", "AS"):
        referee.act(action)
    referee.deal([["KS"], ["AS"]], "2H")
    for action in (1, 1, "KS", "AS"):
        referee.act(action)
    assert (referee.scores, referee.winners) == ([0, 0], [0, 1])


@pytest.mark.parametrize(
    ("hands", "turned_up"),
    [
        ([["AS"], ["KS"]], None),
        ([["AS"], ["KS"]], "AS"),
        ([["AS"], ["AS"]], "2H"),
        ([["AS"], ["1S"]], "2H"),
        ([["AS"], ["KS", "QS"]], "2H"),
        ([["AS"], ["KS"], ["QS"]], "2H"),
    ],
)
def test_referee_refuses_a_bad_deal(hands: list[list[str]], turned_up: str | None) -> None:
    with pytest.raises(ValueError, match=r"due|distinct|turned up"):
        Referee(2, [(1, False)], first_dealer=0).deal(hands, turned_up)


def test_referee_turns_no_card_up_at_no_trump_or_with_the_whole_pack() -> None:
    with pytest.raises(ValueError, match="not to be turned up"):
        Referee(2, [(1, True)], first_dealer=0).deal([["AS"], ["KS"]], "2H")
    referee = Referee(2, [(27, False)], first_dealer=0)
    referee.deal([PACK[:27], PACK[27:]], None)
    assert referee.trump is None


def test_referee_refuses_illegal_actions() -> None:
    referee = Referee(2, [(1, False)], first_dealer=0)
    referee.deal([["AS"], ["KS"]], "2H")
    for action in (0, 2, -1, "KS"):
        with pytest.raises(ValueError, match="may not choose"):
            referee.act(action)
    referee.act(1)
    referee.act(1)
    for action in (1, "AS", "2H"):
        with pytest.raises(ValueError, match="may not choose"):
            referee.act(action)


# The engine against the same tables.


def card_ids(cards: str) -> list[int]:
    return [IDS[card] for card in cards.split()]


def engine_trick_winners(trump: str | None, tricks: list[list[str]], leaders: list[int]) -> list[int]:
    """Who wins each trick in the engine, played as hands of one card; cards are in order of play."""
    seats = len(tricks[0])
    rules = rules_for(seats, [(1, trump is None)] * len(tricks))
    deals = []
    for trick, leader in zip(tricks, leaders, strict=True):
        hands = [[IDS[trick[(seat - leader) % seats]]] for seat in range(seats)]
        turned_up = next((IDS[card] for card in PACK if card not in trick and card[1] == trump), None)
        deals.append(deal_of(hands, turned_up, (leader - 1) % seats))
    game = Game(rules, deals=deals)
    winners = []
    for trick in tricks:
        for _ in trick:
            game.apply_action(FIRST_BID + 1)
        for card in trick:
            game.apply_action(IDS[card])
        winners.append(result_of(game).tricks.index(1))
    return winners


@pytest.mark.parametrize(("trump", "cards", "winner"), TRICKS)
def test_c14_engine_trick_winner(trump: str | None, cards: str, winner: str) -> None:
    trick = cards.split()
    for leader in range(len(trick)):
        expected = (leader + trick.index(winner)) % len(trick)
        assert engine_trick_winners(trump, [trick], [leader]) == [expected]


def compare_random_tricks(seats: int, trump: str | None, rng: random.Random, count: int) -> None:
    """Compares random tricks, as many as half of them with both Blukes where there is room."""
    first_leader = rng.randrange(seats)
    leaders = [(first_leader + hand) % seats for hand in range(count)]
    tricks, expected = [], []
    for leader in leaders:
        cards = rng.sample(PACK, seats)
        if rng.random() < 0.5:
            cards = list({card: None for card in [*PACK[-2:], *cards]})[:seats]
            rng.shuffle(cards)
        tricks.append(cards)
        expected.append(referee_winner([((leader + i) % seats, card) for i, card in enumerate(cards)], trump))
    assert engine_trick_winners(trump, tricks, leaders) == expected


@pytest.mark.parametrize("seats", ALL_SEATS)
def test_c14_random_tricks(seats: int) -> None:
    rng = random.Random(seats)
    for trump in ("C", "D", "H", "S", None):
        compare_random_tricks(seats, trump, rng, 60)


@pytest.mark.slow
@pytest.mark.parametrize("seats", ALL_SEATS)
def test_c14_a_million_random_tricks(seats: int) -> None:
    rng = random.Random(1000 + seats)
    for _ in range(120):
        for trump in ("C", "D", "H", "S", None):
            compare_random_tricks(seats, trump, rng, 120)


@pytest.mark.parametrize(("hand", "lead", "trump", "bluke_lead", "expected"), FOLLOWING)
def test_engine_following(hand: str, lead: str, trump: str | None, bluke_lead: str, expected: str) -> None:
    cards = card_ids(hand)
    spare = [card for card in range(52) if card not in cards and card != IDS[lead]]
    turned_up = next((card for card in spare if SUIT_IDS[trump] == card // 13), None)
    leaders_hand = [IDS[lead], *(card for card in spare if card != turned_up)][: len(cards)]
    rules = rules_for(2, [(len(cards), trump is None)], bluke_lead=bluke_lead)
    game = Game(rules, deals=[deal_of([cards, leaders_hand], turned_up, dealer=0)])
    for action in (FIRST_BID + 1, FIRST_BID + 1, IDS[lead]):
        game.apply_action(action)
    assert game.legal_actions() == sorted(card_ids(expected))


# The engine against the referee, decision by decision.


EXTENDED = {2: "13-1-25,26nt", 3: "13-1-17,18nt", 6: "8-1-8,9nt", 8: "6-1-6,6nt", 9: "5-1-5,6nt"}

CASES = ["bid 0", "made", "missed", "Bluke turned up", "scheduled no trump", "shared win"]
CASES += ["Bluke led", "Bluke led asks for trump"]


def choose(style: str, legal: list[Any], rng: random.Random) -> Action:
    """A legal action: any, always the first or the last, or one of the two."""
    if style == "any":
        return rng.choice(legal)
    if style == "extreme":
        return rng.choice((legal[0], legal[-1]))
    return legal[0] if style == "first" else legal[-1]


def compare_match(rules: Rules, seed: int, seen: Counter[str]) -> None:
    """Plays one match in the engine and the referee and compares them at every decision and hand's end."""
    rng = random.Random(seed)
    match = JudgedMatch(rules, seed=seed)
    referee = match.referee
    one_style = rng.random() < 0.6
    styles = ["any" if one_style else rng.choice(("any", "extreme", "first", "last")) for _ in referee.bids]
    while referee.phase != "over":
        match.deal()
        while referee.seat is not None:
            count_cases(referee, seen)
            match.act(choose(styles[referee.seat], referee.legal(), rng))
        count_hand(referee, seen)
    assert match.game.legal_actions() == []


def count_cases(referee: Referee, seen: Counter[str]) -> None:
    if referee.phase == "play" and referee.trick and referee.trick[0][1] in ("LB", "HB"):
        seen["Bluke led"] += 1
        if referee.seat is not None and len(referee.legal()) < len(referee.hands[referee.seat]):
            seen["Bluke led asks for trump"] += 1


def count_hand(referee: Referee, seen: Counter[str]) -> None:
    assert referee.points is not None
    seen["hands"] += 1
    seen["bid 0"] += 0 in referee.bids
    seen["made"] += max(referee.points) > 0
    seen["missed"] += min(referee.points) < 0
    seen["Bluke turned up"] += referee.turned_up in ("LB", "HB")
    seen["scheduled no trump"] += referee.turned_up is None
    seen["whole pack"] += referee.num_players * referee.hand_size == len(referee.pack)
    seen["shared win"] += referee.winners is not None and len(referee.winners) > 1


def schedules(seats: int, rng: random.Random, pack: int = len(PACK)) -> Iterator[Any]:
    """The largest hands, with and without a card to turn up, then short random matches for ever."""
    most = pack // seats
    yield [(most, False), (most, True), (min(most, (pack - 1) // seats) or most, False)]
    while True:
        yield [(rng.randint(1, min(4, most)), rng.random() < 0.25) for _ in range(rng.randint(1, 6))]


def long_schedules(seats: int) -> Iterator[Any]:
    """The standard match, and the extended one if there is one."""
    yield None
    if seats in EXTENDED:
        yield EXTENDED[seats]


def compare_matches(seats: int, hands: int, seed: int) -> Counter[str]:
    """Compares random matches; every combination of options gets its share of the `hands`."""
    options = list(itertools.product((1, 0), ("none", "trump"), ((10, 1), (7, 3))))
    rng = random.Random(seed)
    seen: Counter[str] = Counter()
    for number, (min_bid, bluke_lead, (per_trick, per_overtrick)) in enumerate(options, start=1):
        plan = itertools.chain(long_schedules(seats), schedules(seats, rng))
        while seen["hands"] * len(options) < hands * number:
            rules = rules_for(
                seats,
                next(plan),
                min_bid=min_bid,
                bluke_lead=bluke_lead,
                points_per_trick=per_trick,
                points_per_overtrick=per_overtrick,
            )
            compare_match(rules, rng.randrange(2**63), seen)
    return seen


@pytest.mark.parametrize("seats", ALL_SEATS)
def test_engine_agrees_with_the_referee(seats: int) -> None:
    """14 seat counts of 1,440 hands: more than 20,000 in all."""
    seen = compare_matches(seats, 1_440, seed=seats)
    assert seen["hands"] >= 1_440
    cases = CASES + ["whole pack"] * (len(PACK) % seats == 0)
    assert all(seen[case] for case in cases), seen


@pytest.mark.slow
@pytest.mark.parametrize("seats", ALL_SEATS)
def test_engine_agrees_with_the_referee_at_length(seats: int) -> None:
    assert compare_matches(seats, 20_000, seed=100 + seats)["hands"] >= 20_000


@pytest.mark.parametrize("seats", EXTENDED)
def test_extended_schedules_as_text(seats: int) -> None:
    by_name, by_text = (Rules(num_players=seats, schedule=text) for text in ("extended", EXTENDED[seats]))
    assert by_name.schedule == by_text.schedule == tuple(extended_schedule(seats))
    assert by_name.schedule_text == by_text.schedule_text == EXTENDED[seats]


# Small packs.


def compare_small_packs(suits: int, matches: int, seed: int) -> Counter[str]:
    """Compares matches with every pack of so many suits, for every number of players that it has cards for."""
    rng = random.Random(seed)
    seen: Counter[str] = Counter()
    for ranks in range(1, 14):
        cards = suits * ranks + 2
        for seats in range(2, min(15, cards) + 1):
            for schedule in itertools.islice(schedules(seats, rng, cards), matches):
                rules = rules_for(
                    seats,
                    schedule,
                    num_suits=suits,
                    num_ranks=ranks,
                    min_bid=rng.randint(0, 1),
                    bluke_lead=rng.choice(("none", "trump")),
                )
                compare_match(rules, rng.randrange(2**63), seen)
    return seen


@pytest.mark.parametrize("suits", range(1, 5))
def test_engine_agrees_with_the_referee_on_small_packs(suits: int) -> None:
    """Four numbers of suits of some 1,500 hands: more than 5,000 in all."""
    seen = compare_small_packs(suits, 4, seed=suits)
    assert seen["hands"] >= 1_250
    expected = [*CASES, "whole pack"]
    if suits == 1:
        expected.remove("Bluke led asks for trump")
    assert all(seen[case] for case in expected), seen


@pytest.mark.slow
@pytest.mark.parametrize("suits", range(1, 5))
def test_engine_agrees_with_the_referee_on_small_packs_at_length(suits: int) -> None:
    assert compare_small_packs(suits, 40, seed=100 + suits)["hands"] >= 20_000


@pytest.mark.parametrize("suits", range(1, 5))
def test_every_card_of_a_small_pack_is_as_likely_in_every_place(suits: int) -> None:
    """Some 40 times in each; six deviations would be needed to leave these bounds at the top, five at the bottom."""
    for ranks in range(1, 14):
        rules = rules_for(2, [1], num_suits=suits, num_ranks=ranks)
        pack = [IDS[card] for card in pack_of(suits, ranks)]
        assert (list(rules.cards), rules.num_cards) == (pack, suits * ranks + 2)
        places: list[Counter[Any]] = [Counter(), Counter(), Counter()]
        for seed in range(40 * len(pack)):
            game = Game(rules, seed=seed)
            for counts, card in zip(places, (*game.hands[0], *game.hands[1], game.turned_up), strict=True):
                counts[card] += 1
        for counts in places:
            assert sorted(counts) == pack
            assert all(8 < count < 80 for count in counts.values()), counts


# No state without a legal action.

VARIANTS = {
    "standard": Rules(),
    "extended, 2 players": Rules(num_players=2, schedule="extended"),
    "15 players": Rules(num_players=15, bluke_lead="trump"),
    "mini": Rules.preset("mini"),
    "micro": Rules.preset("micro"),
    "1 suit, 6 players": Rules(num_players=6, schedule="1,2", num_suits=1, min_bid=0),
    "Back Alley": Rules.preset("back_alley"),
    "Back Alley, any trump to a Blooper": Rules.preset("back_alley", bluke_lead="trump"),
    "Back Alley, 2 suits of 5": Rules.preset("back_alley", schedule="2,1", num_suits=2, num_ranks=5),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_million_random_decisions_all_find_a_legal_action(variant: str) -> None:
    """A batch refuses an illegal action, so that every step also shows that the drawn ones were legal."""
    batch = BatchGame(VARIANTS[variant], 1_000, seed=1)
    state, matches = np.array([1], np.uint64), 0
    for _ in range(1_000):
        assert (batch.seats >= 0).all()
        assert batch.masks.any(axis=1).all()
        batch.step(batch.random_actions(state))
        matches += batch.dones.sum()
    assert matches >= 1_000

"""What a search is for: the card that saves a bid, bids by the exact odds, and more points."""

from dataclasses import dataclass

import numpy as np
import pytest
from test_bots import play, turn_of
from worlds import World, agrees, candidates

from bluke_env import Agent, Deal, Game, Rules, Turn, bots
from bluke_env.actions import bid_action
from bluke_env.bots.pimc_kernels import WORLDS_PER_BID
from bluke_env.cards import LO_BLUKE, NUM_RANKS, card_text, parse_card, parse_cards
from bluke_env.rules import BOARD

SEARCHES = ("pimc:worlds=100", "pimc:worlds=100,endgame=3", "ismcts:sims=2000")

every_search = pytest.mark.parametrize("spec", SEARCHES)

# Positions in which one card saves the bid.


@dataclass(frozen=True)
class Position:
    """The hands as dealt, what was bid by seat, and the cards played before the seat to act must choose."""

    rules: Rules
    dealer: int
    turned_up: str
    hands: tuple[str, ...]
    bids: tuple[int, ...]
    played: str
    right: str

    def game(self) -> Game:
        hands = [parse_cards(hand) for hand in self.hands]
        game = Game(self.rules, 0, deals=[Deal(hands, parse_card(self.turned_up), self.dealer)])
        for place in range(1, len(hands) + 1):
            game.apply_action(bid_action(self.bids[(self.dealer + place) % len(hands)], self.rules.most_cards))
        for card in parse_cards(self.played):
            game.apply_action(card)
        return game


def diamonds_and_clubs(players: int, ranks: int, cards: int, bluke_lead: str = "none") -> Rules:
    return Rules(players, str(cards), num_suits=2, num_ranks=ranks, bluke_lead=bluke_lead)


BACK_ALLEY = Rules.preset("back_alley", num_suits=2, num_ranks=6, schedule="3")
POSITIONS = {
    "lose the trick with the card that would lose another": Position(
        diamonds_and_clubs(2, 4, 3), 1, "KC", ("QD KD LB", "AC JD HB"), (3, 2), "QD", "JD"
    ),
    "lead what may be lost": Position(
        diamonds_and_clubs(2, 4, 3), 1, "QD", ("QC AD HB", "JC KC LB"), (2, 2), "", "QC"
    ),
    "keep the Hi Bluke, which would take this trick": Position(
        diamonds_and_clubs(2, 5, 4), 0, "QC", ("LB KD TD AC", "KC JC JD HB"), (1, 2), "KC LB KD", "JD"
    ),
    "keep the trump for later": Position(
        diamonds_and_clubs(3, 5, 3), 0, "TC", ("QC QD HB", "LB JC AD", "KC KD JD"), (2, 1, 3), "LB KC", "QD"
    ),
    "cover the trump led and keep the Lo Bluke": Position(
        diamonds_and_clubs(3, 5, 3, "trump"), 1, "KC", ("JC TD LB", "QC JD AD", "TC KD HB"), (1, 3, 3), "TC", "JC"
    ),
    "take with the higher of two cards that only the card led parts": Position(
        diamonds_and_clubs(2, 5, 3), 0, "TC", ("TD QD HB", "JD KD QC"), (2, 1), "JD", "QD"
    ),
    "take the partner's trick, to lead the last diamond": Position(
        BACK_ALLEY, 0, "HB", ("KD JD 9C", "QD QC TC", "TD 9D AD", "JC KC AC"), (BOARD + 1, 3, 3, 0),
        "KD QD TD JC JD QC", "AD",
    ),
    "take with the Little Blooper, since the Big one asks for the highest trump": Position(
        BACK_ALLEY, 0, "9C", ("JD 9D TD", "KC QD KD", "JC LB HB", "AC QC TC"), (0, 2, 3, BOARD + 1),
        "AC JD KC", "LB",
    ),
}  # fmt: skip

every_position = pytest.mark.parametrize("position", [pytest.param(POSITIONS[name], id=name) for name in POSITIONS])


def can_make(game: Game, seat: int) -> bool:
    """Whether a seat that sees all cards makes its bid, whatever all others do."""
    if game.last_hand is not None:
        return game.last_hand.points[seat] > 0
    own = game.current_player == seat
    for action in game.legal_actions():
        after = game.clone()
        after.apply_action(action)
        if can_make(after, seat) == own:
            return own
    return not own


def share_made(game: Game, card: int, worlds: list[World]) -> float:
    """The share of some worlds in which the seat to act can still make its bid after a card."""
    seat, made = game.current_player, 0
    assert seat is not None
    for world in worlds:
        record = game._record.copy()
        record["hands"][0, : len(world)] = world
        there = Game.from_record(game.rules, record)
        there.apply_action(card)
        made += can_make(there, seat)
    return made / len(worlds)


@every_position
def test_the_positions_are_as_they_say(position: Position) -> None:
    """In every world that agrees with what is known the right card saves the bid, and no other does in nearly all."""
    game = position.game()
    worlds = [world for world in candidates(game, game.current_player) if agrees(game, world)]
    shares = {card_text(card): share_made(game, card, worlds) for card in game.legal_actions()}
    assert len(worlds) > 5
    assert shares.pop(position.right) == 1
    assert max(shares.values()) < 0.85


@every_search
@every_position
def test_the_only_card_that_saves_the_bid_is_played(spec: str, position: Position) -> None:
    turn, bot = turn_of(position.game()), bots.make(spec)
    for seed in range(20):
        bot.reset(1, seed)
        assert card_text(int(bot.act(turn)[0])) == position.right


def test_rule_does_not_find_most_of_them() -> None:
    """It takes more than the card that looks best."""
    rule = bots.make("rule")
    wrong = [p for p in POSITIONS.values() if card_text(int(rule.act(turn_of(p.game()))[0])) != p.right]
    assert len(wrong) > len(POSITIONS) / 2


# Two players with a card each: the best response can be counted.


def takes(own: int, other: int, trump: int | None, leads: bool) -> bool:
    """Whether a card takes the trick, by the rules."""
    first, second = (own, other) if leads else (other, own)
    if max(first, second) >= LO_BLUKE or first // NUM_RANKS == second // NUM_RANKS:
        lead_holds = first > second
    else:
        lead_holds = second // NUM_RANKS != trump
    return lead_holds == leads


def one_card_bids(rules: Rules, turned_up: int | None) -> tuple[Turn, np.ndarray]:
    """All decisions of a hand, and the points that a bid of 1 makes more than 0, over all cards of the other player."""
    trump = None if turned_up is None or turned_up >= LO_BLUKE else turned_up // NUM_RANKS
    pack = set(rules.cards) - {turned_up}
    games, gains = [], []
    for own in sorted(pack):
        others = pack - {own}
        for leads in (True, False):
            taken = sum(takes(own, other, trump, leads) for other in others) / len(others)
            gains.append((2 * taken - 1) * rules.points_per_trick - taken * rules.points_per_overtrick)
            game = Game(rules, 0, deals=[Deal(((own,), (min(others),)), turned_up, dealer=int(leads))])
            if not leads:
                game.apply_action(bid_action(0))
            games.append(game)
    return turn_of(*games), np.array(gains)


def is_certain(rules: Rules, gains: np.ndarray, worlds: int) -> np.ndarray:
    """Whether so many worlds show if bidding 1 pays: it does by more than five standard errors, or does not."""
    return abs(gains) > 5 * (rules.points_per_trick - rules.points_per_overtrick / 2) / np.sqrt(worlds)


def rows_of(turn: Turn, rows: np.ndarray) -> Turn:
    return Turn(turn.rules, turn.views[rows], turn.seats[rows], turn.games[rows])


every_bidder = pytest.mark.parametrize(
    ("spec", "worlds_of_a_bid"), [("rule:worlds={}", 1), ("pimc:worlds={}", WORLDS_PER_BID), ("ismcts:sims={}", 1)]
)


@every_bidder
@pytest.mark.parametrize("turned_up", ["7H", "2C", "AS", "LB", None])
@pytest.mark.parametrize("overtrick", [1, 6])
def test_one_card_bids_are_the_best_response(
    spec: str, worlds_of_a_bid: int, turned_up: str | None, overtrick: int
) -> None:
    rules = Rules(2, "1nt" if turned_up is None else "1", min_bid=0, points_per_overtrick=overtrick)
    turn, gains = one_card_bids(rules, None if turned_up is None else parse_card(turned_up))
    certain = is_certain(rules, gains, worlds=4000)
    assert certain.mean() > 0.8
    actions = bots.make(spec.format(4000 // worlds_of_a_bid)).act(rows_of(turn, certain))
    assert (actions == bid_action(0) + (gains[certain] > 0)).all()


@every_bidder
def test_many_worlds_tell_bids_apart_that_are_worth_nearly_the_same(spec: str, worlds_of_a_bid: int) -> None:
    rules = Rules(2, "1", min_bid=0)
    turn, gains = one_card_bids(rules, parse_card("7H"))
    close = ~is_certain(rules, gains, worlds=4000) & is_certain(rules, gains, worlds=400_000)
    assert {True, False} == set(gains[close] > 0)
    actions = bots.make(spec.format(400_000 // worlds_of_a_bid)).act(rows_of(turn, close))
    assert (actions == bid_action(0) + (gains[close] > 0)).all()


# Strength.


def gains_of(player: str, opponent: str, rules: Rules, deals: int) -> np.ndarray:
    """Points of one player among opponents less those of an opponent in its seat, mean of all seats, by deal."""
    one, other, seats = bots.make(player), bots.make(opponent), range(rules.num_players)
    base = play(rules, [other] * len(seats), deals, seed=1)[0]
    gains = np.zeros(deals)
    for own in seats:
        table: list[Agent] = [one if seat == own else other for seat in seats]
        gains += play(rules, table, deals, seed=1)[0][:, own] - base[:, own]
    return gains / len(seats)


@pytest.mark.parametrize(
    ("player", "opponent", "rules", "deals", "least"),
    [
        ("rule", "random", Rules(schedule="13"), 40, 60),
        ("pimc:worlds=100", "rule", Rules(schedule="13"), 120, 0.5),
        ("pimc:worlds=20,endgame=3", "rule", Rules(schedule="13"), 120, 0.2),
        pytest.param("pimc:worlds=30", "rule", Rules(schedule="13"), 1500, 2.5, marks=pytest.mark.slow),
        pytest.param("pimc:worlds=100", "rule", Rules(schedule="13"), 1000, 2.5, marks=pytest.mark.slow),
        pytest.param("ismcts:sims=300", "rule", Rules(schedule="13"), 800, 0.3, marks=pytest.mark.slow),
        pytest.param("pimc:worlds=30", "rule", Rules(2, "13"), 3000, 0.5, marks=pytest.mark.slow),
        pytest.param(
            "pimc:worlds=30", "rule", Rules.preset("back_alley", schedule="13"), 1000, 0.3, marks=pytest.mark.slow
        ),
    ],
)
def test_search_pays(player: str, opponent: str, rules: Rules, deals: int, least: float) -> None:
    """The 95 % interval of its gain lies above `least` points a hand."""
    gains = gains_of(player, opponent, rules, deals)
    half_width = 1.96 * gains.std(ddof=1) / np.sqrt(deals)
    assert gains.mean() - half_width > least

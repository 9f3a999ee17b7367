"""The bots that search: budgets, threads, edges, what they must find, and that search pays."""

import copy
import pickle

import numpy as np
import pytest
from test_bots import decisions, hand_of, play, turn_of, until_seat_0
from variants import every_variant

from bluke_env import Deal, Game, Rules, bots
from bluke_env.actions import bid_action
from bluke_env.bots.search import SearchBot
from bluke_env.cards import LO_BLUKE, NUM_CARDS, NUM_RANKS, parse_card

SEARCHES = ("pimc:worlds=20", "pimc:worlds=10,endgame=3", "ismcts:sims=40")

every_search = pytest.mark.parametrize("spec", SEARCHES)


def search_bot(spec: str) -> SearchBot:
    bot = bots.make(spec)
    assert isinstance(bot, SearchBot)
    return bot


# Budgets and threads.


@every_search
@every_variant
def test_threads_share_the_rows_and_change_nothing(spec: str, rules: Rules) -> None:
    one, several = search_bot(spec), search_bot(spec)
    for number, turn in enumerate(decisions(rules, num_games=7)):
        several.num_threads = 2 + number % 2
        assert (one.act(turn) == several.act(turn)).all()


@pytest.mark.parametrize("spec", ["pimc:worlds=40", "pimc:worlds=40,endgame=2", "ismcts:sims=100"])
@pytest.mark.parametrize("rules", [Rules(schedule="5"), Rules.preset("back_alley", schedule="4")])
def test_a_search_in_slices_is_the_same_search(spec: str, rules: Rules) -> None:
    """A limit in milliseconds that is never reached: the budget is spent slice by slice."""
    whole, sliced = bots.make(spec), bots.make(f"{spec},milliseconds=1000000")
    for turn in decisions(rules, num_games=5):
        assert (whole.act(turn) == sliced.act(turn)).all()


@pytest.mark.parametrize("spec", ["pimc:worlds=1000000,milliseconds=1", "ismcts:sims=1000000,milliseconds=1"])
def test_a_limit_in_milliseconds_ends_the_search(spec: str) -> None:
    """Without it, this budget would take minutes for every decision."""
    bot = bots.make(spec)
    for turn in decisions(Rules(schedule="6"), num_games=2):
        legal = turn.masks[np.arange(len(turn.views)), bot.act(turn)]
        assert legal.all()


@pytest.mark.parametrize("spec", ["pimc:worlds=0", "ismcts:sims=0"])
def test_without_a_budget_the_cards_are_those_of_rule(spec: str) -> None:
    bot, rule = bots.make(spec), bots.make("rule")
    for turn in decisions(Rules(schedule="7"), num_games=10)[4:]:
        assert (bot.act(turn) == rule.act(turn)).all()


@pytest.mark.parametrize(
    "spec", ["pimc:worlds=0", "pimc:worlds=1", "pimc:worlds=1,endgame=4", "ismcts:sims=0", "ismcts:sims=1"]
)
@every_variant
def test_the_smallest_budgets_give_legal_actions(spec: str, rules: Rules) -> None:
    bot = bots.make(spec)
    for turn in decisions(rules, num_games=3):
        assert turn.masks[np.arange(len(turn.views)), bot.act(turn)].all()


@every_search
def test_one_bot_at_tables_of_all_kinds_is_as_good_as_new(spec: str) -> None:
    """Nothing of one game is left in the next, whatever its rules."""
    used = bots.make(spec)
    for rules in (
        Rules(3, "4"),
        Rules(5, "3"),
        Rules.preset("back_alley", schedule="3"),
        Rules.preset("mini"),
        Rules(3, "4"),
    ):
        fresh = bots.make(spec)
        for turn in decisions(rules, num_games=3):
            assert (used.act(turn) == fresh.act(turn)).all()


@every_search
def test_copies_play_alike(spec: str) -> None:
    bot = bots.make(spec)
    bot.reset(1, 77)
    turn = decisions(Rules(schedule="8"), num_games=4)[7]
    actions = bot.act(turn)
    for twin in (copy.deepcopy(bot), pickle.loads(pickle.dumps(bot))):
        assert (twin.act(turn) == actions).all()


# What a search must find.


@pytest.mark.parametrize("spec", ["pimc:worlds=500", "ismcts:sims=4000"])
@pytest.mark.parametrize("leads", [True, False])
def test_one_card_bids_are_the_exact_best_response(spec: str, leads: bool) -> None:
    """Two players with a card each: every card that the other may hold is counted."""
    turned_up = parse_card("7H")
    trump = turned_up // NUM_RANKS
    bot, checked = bots.make(spec), 0

    def lead_holds(lead: int, reply: int) -> bool:
        if max(lead, reply) >= LO_BLUKE or lead // NUM_RANKS == reply // NUM_RANKS:
            return lead > reply
        return reply // NUM_RANKS != trump

    for card in set(range(NUM_CARDS)) - {turned_up}:
        others = set(range(NUM_CARDS)) - {turned_up, card}
        taken = sum(lead_holds(card, other) if leads else not lead_holds(other, card) for other in others) / len(others)
        if abs(taken - 10 / 19) > 0.04:  # nearer, a sample may miss it
            deal = Deal(((card,), (min(others),)), turned_up, dealer=1 if leads else 0)
            game = until_seat_0(Game(Rules(num_players=2, schedule=[1], min_bid=0), deals=[deal]))
            assert bot.act(turn_of(game)) == bid_action(int(taken > 10 / 19)), card
            checked += 1
    assert checked > 35


@every_search
@pytest.mark.parametrize("dealer", range(4))
@pytest.mark.parametrize(("cards", "bid"), [("HB", 1), ("AC KC QC LB HB", 5)])
def test_sure_tricks_are_bid_and_taken(spec: str, dealer: int, cards: str, bid: int) -> None:
    """Clubs are trump. Never 0 with a certain trick, and no trick lost that is needed."""
    bot = bots.make(spec)
    game = until_seat_0(hand_of(cards, 4, dealer, "2C", min_bid=0))
    assert bot.act(turn_of(game)) == bid_action(bid)
    while not game.is_terminal:
        game.apply_action(int(bot.act(turn_of(game))[0]))
    assert game.last_hand is not None
    assert game.last_hand.tricks[0] == bid


# Strength.


def gains(player: str, opponent: str, rules: Rules, deals: int, seed: int) -> np.ndarray:
    """Points of one player among three opponents less those of an opponent in its seat, mean of all seats, by deal."""
    one, other, seats = bots.make(player), bots.make(opponent), range(rules.num_players)
    base = play(rules, [other] * len(seats), deals, seed)[0]
    tables = [[one if seat == own else other for seat in seats] for own in seats]
    return np.mean(
        [play(rules, table, deals, seed)[0][:, own] - base[:, own] for own, table in enumerate(tables)], axis=0
    )


@pytest.mark.parametrize("spec", ["pimc:worlds=100", "pimc:worlds=30,endgame=3", "ismcts:sims=1000"])
def test_search_beats_random_by_far(spec: str) -> None:
    values = gains(spec, "random", Rules(schedule="5"), 60, seed=3)
    assert values.mean() - 2 * values.std(ddof=1) / np.sqrt(len(values)) > 20


@pytest.mark.slow
def test_pimc_beats_rule_in_large_hands() -> None:
    values = gains("pimc:worlds=30", "rule", Rules(schedule="13"), 1000, seed=5)
    assert values.mean() - 2 * values.std(ddof=1) / np.sqrt(len(values)) > 0.5

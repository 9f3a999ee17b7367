"""What a search may depend on: what its seat knows, its seed and its budget, and nothing else."""

import random
from functools import cache

import numpy as np
import pytest
from test_bots import decisions
from test_hidden import redrawn
from variants import VARIANTS

from bluke_env import BatchGame, Rules, Turn, bots
from bluke_env.bots.ismcts_kernels import NODE, SEARCH
from bluke_env.bots.pimc_kernels import SUMS
from bluke_env.bots.search import SearchBot
from bluke_env.engine.batch import views_all
from bluke_env.engine.state import BID, GAME, NONE, PLAY
from bluke_env.rules import BOARD

SEARCHES = ("pimc:worlds=6", "pimc:worlds=4,endgame=3", "ismcts:sims=20")
EVERY_BOT = ("random", "rule:worlds=3", *SEARCHES)

every_bot = pytest.mark.parametrize("spec", EVERY_BOT)
every_search = pytest.mark.parametrize("spec", SEARCHES)

TABLES = {
    "2": Rules(2, "13,27"),
    "4": Rules(4, "13,3"),
    "6": Rules(6, "8,9nt,3"),
    "4 with passes, trump for a Bluke": Rules(4, "13,6nt,2", min_bid=0, bluke_lead="trump"),
    "15": Rules(15, "3,1", min_bid=0),
    **{name: VARIANTS[name] for name in ("back_alley", "any_trump", "mini", "pack_of_17", "one_suit_of_15")},
}

every_table = pytest.mark.parametrize("rules", [pytest.param(TABLES[name], id=name) for name in TABLES])


@cache
def states(rules: Rules, of_a_phase: int = 150) -> np.ndarray:
    """Games of random play at random points, as many while bidding as while playing, with all that is hidden."""
    batch, stream = BatchGame(rules, 60, seed=8), np.array([8], np.uint64)
    records = []
    for _ in range(100):
        records.append(batch.records.copy())
        batch.step(batch.random_actions(stream))
    found, rng = np.concatenate(records), np.random.default_rng(8)
    phases = [rng.choice(np.flatnonzero(found["phase"] == phase), of_a_phase, replace=False) for phase in (BID, PLAY)]
    return found[np.concatenate(phases)]


def seen_in(rules: Rules, records: np.ndarray) -> Turn:
    """The decisions due in some games."""
    views = np.zeros(len(records), GAME)
    views_all(records, np.arange(len(records)), views)
    return Turn(rules, views, records["seat"].copy(), np.arange(len(records)))


def one_by_one(turn: Turn) -> list[Turn]:
    parts = [slice(row, row + 1) for row in range(len(turn.views))]
    return [Turn(turn.rules, turn.views[part], turn.seats[part], turn.games[part]) for part in parts]


# Hidden cards.


@every_bot
@every_table
def test_hidden_cards_change_no_action(spec: str, rules: Rules) -> None:
    """Not even where they are left in the views."""
    records, rng, bot = states(rules), random.Random(9), bots.make(spec)
    turn = seen_in(rules, records)
    actions = bot.act(turn)
    for _ in range(2):
        others = np.concatenate([redrawn(rules, row[None], int(row["seat"]), rng) for row in records])
        assert (others != records).all()
        assert (bot.act(seen_in(rules, others)) == actions).all()
        assert (bot.act(Turn(rules, others, turn.seats, turn.games)) == actions).all()


def found_by(bot: SearchBot) -> list[bytes]:
    """All that the search for its last decision has found: the points of every card, or the tree."""
    return [part.tobytes() for part in bot._scratch[0] if part.dtype in (SUMS, SEARCH, NODE)]


@every_search
@every_table
def test_hidden_cards_change_nothing_that_is_found(spec: str, rules: Rules) -> None:
    records, rng = states(rules), random.Random(10)
    others = np.concatenate([redrawn(rules, row[None], int(row["seat"]), rng) for row in records])
    one, other = bots.make(spec), bots.make(spec)
    assert isinstance(one, SearchBot)
    assert isinstance(other, SearchBot)
    seen = one_by_one(seen_in(rules, records))
    left_in = one_by_one(Turn(rules, others, others["seat"], np.arange(len(others))))
    for turn, with_others in zip(seen, left_in, strict=True):
        assert one.act(turn) == other.act(with_others)
        assert found_by(one) == found_by(other) != []


# Everything else that must not matter.


@every_search
@every_table
def test_the_batch_the_order_the_game_and_the_past_change_nothing(spec: str, rules: Rules) -> None:
    turn, bot, other = seen_in(rules, states(rules)), bots.make(spec), bots.make(spec)
    actions = bot.act(turn)
    order = np.random.default_rng(11).permutation(len(actions))
    mixed = Turn(rules, turn.views[order], turn.seats[order], turn.games[order] * 7 + 3)
    other.reset(5, 0)
    assert (other.act(mixed) == actions[order]).all()
    for row, part in reversed(list(enumerate(one_by_one(turn)))):
        assert other.act(part) == actions[row]
    assert (bot.act(turn) == actions).all()


@pytest.mark.parametrize("budget", [0, 1, 16, 40])
@pytest.mark.parametrize("spec", ["pimc:worlds={}", "pimc:worlds={},endgame=2", "ismcts:sims={}"])
@pytest.mark.parametrize("rules", [TABLES["4 with passes, trump for a Bluke"], TABLES["back_alley"], TABLES["mini"]])
def test_a_limit_that_is_not_reached_changes_nothing(rules: Rules, spec: str, budget: int) -> None:
    """The budget is spent in slices, of which the last is smaller, or the only one, or none is needed."""
    whole = bots.make(spec.format(budget))
    sliced = bots.make(f"{whole.name},milliseconds=1000000")
    turn = seen_in(rules, states(rules))
    assert (whole.act(turn) == sliced.act(turn)).all()


@every_search
def test_playing_on_after_a_reset_is_playing_anew(spec: str) -> None:
    """Two matches of self-play; what a bot is shown stays as it was."""
    rules, bot = Rules(3, "5,2", min_bid=0), bots.make(spec)
    logs = []
    for _ in range(2):
        batch, log = BatchGame(rules, 6, seed=12, autoreset=False), []
        bot.reset(6, 13)
        while not batch.is_over.all():
            before = batch.records.copy()
            turn = Turn(rules, batch.views(), batch.seats.copy(), np.arange(6))
            views = turn.views.copy()
            log.append(bot.act(turn))
            assert (turn.views == views).all()
            assert (batch.records == before).all()
            batch.step(log[-1])
        logs.append(log)
    assert np.array_equal(*logs)
    bot.reset(6, 14)
    first = BatchGame(rules, 300, seed=12)
    turn = Turn(rules, first.views(), first.seats.copy(), np.arange(300))
    actions = bot.act(turn)
    bot.reset(6, 15)
    assert (bot.act(turn) != actions).any()


# Edges.

CORNERS = (
    Rules(2, "27,1", min_bid=0),
    Rules(6, "9,1nt"),
    Rules(15, "3,1"),
    Rules.preset("back_alley", schedule="13,2,1"),
    VARIANTS["alley_of_14"],
)


@pytest.mark.parametrize(
    "spec",
    [
        *EVERY_BOT,
        "pimc:worlds=0",
        "pimc:worlds=1,endgame=4",
        "pimc:worlds=1000000,endgame=2,milliseconds=1",
        "ismcts:sims=0",
        "ismcts:sims=1",
    ],
)
def test_actions_are_legal_in_every_corner(spec: str) -> None:
    """The corners are all there: one card, one choice, last to bid, whole packs, boards bid, Bloopers given back."""
    bot, corners = bots.make(spec), set()
    for rules in CORNERS:
        for turn in decisions(rules, num_games=1 if "milliseconds" in spec else 4):
            views = turn.views
            assert turn.masks[np.arange(len(views)), bot.act(turn)].all()
            bidding = views["phase"] == BID
            facts = {
                "one card": views["hand_size"] == 1,
                "one choice": ~bidding & (turn.masks.sum(1) == 1),
                "last to bid": bidding & (views["seat"] == views["dealer"]),
                "whole pack": rules.num_players * views["hand_size"] == rules.num_cards,
                "boards": (views["bids"] > BOARD).sum(1) > 1,
                "a Blooper given back": views["exchanged"] != NONE,
            }
            corners |= {name for name, here in facts.items() if here.any()}
    assert corners == facts.keys()

"""What a seat may not know does not show, and the rotation of the table does not either."""

import random
from dataclasses import replace

import numpy as np
import pytest
from observed import random_deals, some_tables

from bluke_env import BatchGame, Deal, Game, Rules, Turn
from bluke_env.cards import cards_of, mask_of
from bluke_env.engine.state import NONE

BLUKES = {52, 53}

# Ego-centric: the rotation of the table does not show.


def rotated(deal: Deal, turns: int) -> Deal:
    seats = len(deal.hands)
    hands = [deal.hands[(seat - turns) % seats] for seat in range(seats)]
    return replace(deal, hands=hands, dealer=((deal.dealer or 0) + turns) % seats)


@some_tables
def test_a_rotated_table_looks_the_same(rules: Rules) -> None:
    seats, rng = rules.num_players, random.Random(5)
    for turns in {1, seats // 2, seats - 1}:
        deals = random_deals(rules, rng)
        game = Game(rules, deals=deals)
        turned = Game(rules, deals=[rotated(deal, turns) for deal in deals])
        while True:
            seat = rng.randrange(seats)
            other = (seat + turns) % seats
            for order in ("fixed", "canonical"):
                assert (game.observe(seat, order) == turned.observe(other, order)).all()
                assert (game.state(seat, order) == turned.state(other, order)).all()
                assert (game.action_mask(suit_order=order) == turned.action_mask(suit_order=order)).all()
            if game.is_terminal:
                break
            assert turned.current_player == ((game.current_player or 0) + turns) % seats
            action = rng.choice(game.legal_actions())
            game.apply_action(action)
            turned.apply_action(action)
        assert list(turned.scores) == [game.scores[(seat - turns) % seats] for seat in range(seats)]


# Nothing hidden shows.


def redrawn(rules: Rules, record: np.ndarray, seat: int, rng: random.Random) -> np.ndarray:
    """A copy of a record with all that a seat cannot know drawn anew: hands, the rest of the pack, later deals.

    In Back Alley no Blooper is in play where one is turned up, and what another seat took for it is not known.
    """
    record = record.copy()
    game, turned_up = record[0], int(record["turned_up"][0])
    hands, played = game["hands"], game["played"]
    known = {turned_up, *cards_of(hands[seat] | np.bitwise_or.reduce(played))}
    if rules.teams and turned_up in BLUKES:
        known |= BLUKES
    hidden = [card for card in rules.cards if card not in known]
    rng.shuffle(hidden)
    for other in range(rules.num_players):
        if other != seat:
            count = len(cards_of(hands[other]))
            hands[other] = mask_of(hidden[:count])
            del hidden[:count]
    for last, held in (("", hands | played), ("last_", game["last_dealt"])):
        drew = int(game[f"{last}exchanged"])
        if drew not in (NONE, seat):
            game[f"{last}drawn"] = rng.choice(cards_of(held[drew]))
    game["key"] = rng.getrandbits(64)
    return record


@some_tables
def test_hidden_cards_do_not_show(rules: Rules) -> None:
    rng, seats = random.Random(6), rules.num_players
    batch = BatchGame(rules, 3, seed=6, autoreset=False)
    stream = np.array([6], np.uint64)
    states_differ = 0
    while not batch.is_over.all():
        for index in range(batch.num_games):
            seat = rng.choice((max(int(batch.seats[index]), 0), rng.randrange(seats)))
            game = batch.game(index)
            for _ in range(2):
                other = Game.from_record(rules, redrawn(rules, batch.records[index : index + 1], seat, rng))
                for order in ("fixed", "canonical"):
                    assert other.observe(seat, order).tobytes() == game.observe(seat, order).tobytes()
                    assert other.action_mask(seat, order).tobytes() == game.action_mask(seat, order).tobytes()
                states_differ += other.state(seat).tobytes() != game.state(seat).tobytes()
        batch.step(batch.random_actions(stream))
    assert states_differ > (50 if rules.num_cards == 54 else 5)


@pytest.mark.parametrize("canonical", [False, True])
@some_tables
def test_views_hide_all_that_is_hidden_and_show_the_rest(rules: Rules, canonical: bool) -> None:
    """Observations and masks come out the same from the views, in which there is nothing to be peeked at."""
    batch = BatchGame(rules, 5, seed=7, suit_order="canonical" if canonical else "fixed")
    stream, games = np.array([7], np.uint64), np.arange(5)
    for _ in range(300):
        views, records = batch.views(), batch.records
        assert (views["key"] == 0).all()
        own = games, batch.seats
        assert (views["hands"][own] == records["hands"][own]).all()
        views["hands"][own] = 0
        assert (views["hands"] == 0).all()
        for last in ("", "last_"):
            own_draw = np.where(records[f"{last}exchanged"] == batch.seats, records[f"{last}drawn"], NONE)
            assert (views[f"{last}drawn"] == own_draw).all()
        shown = [name for name in records.dtype.names or () if name not in ("key", "hands", "drawn", "last_drawn")]
        assert all((views[name] == records[name]).all() for name in shown)
        turn = Turn(rules, batch.views(), batch.seats, games)
        encoded = turn.encode(batch.layout, canonical)
        assert (encoded.observations == batch.observations).all()
        assert (encoded.masks == batch.masks).all()
        actions = batch.random_actions(stream)
        real = turn.real_actions(actions, encoded)
        assert (batch.relabel_actions(real, games) == actions).all()
        batch.step(actions)

"""Every form of the game: copies, histories, seeds, refusals, and actions in wider layouts."""

import copy
import pickle
import random
from typing import Any

import numpy as np
import pytest
from aec_play import decisions
from hypothesis import given
from hypothesis import strategies as st
from observed import positions, random_deals
from tables import FIRST_BID, play_hand, result_of
from variants import EVERYTHING, VARIANTS, every_variant

from bluke_env import BatchGame, Game, IllegalAction, ObservationLayout, Rules, Turn, bluke_v0
from bluke_env.actions import BOARD, action_text, bid_action, bid_text

both_orders = pytest.mark.parametrize("order", ["fixed", "canonical"])


# Copies.


@pytest.mark.parametrize("given_deals", [False, True])
@every_variant
def test_copies_play_on_alike_from_any_point(rules: Rules, given_deals: bool) -> None:
    rng = random.Random(1)
    game = Game(rules, 3, deals=random_deals(rules, rng) if given_deals else None)
    while not game.is_terminal:
        copies = [
            game.clone(),
            copy.deepcopy(game),
            pickle.loads(pickle.dumps(game)),
            Game.from_bytes(game.to_bytes()),
        ]
        action = rng.choice(game.legal_actions())
        game.apply_action(action)
        for other in copies:
            assert other != game
            other.apply_action(action)
            assert other == game
            assert (other.rules, other.seed, other.history) == (rules, game.seed, game.history)
            assert other.to_bytes() == game.to_bytes()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@every_variant
def test_copies_of_environments_play_on_alike(rules: Rules, copied: Any) -> None:
    env = bluke_v0.env(rules, reward="margin", suit_order="canonical")
    others: list[Any] = []
    rng = random.Random(2)
    for _, observation, action in decisions(env, seed=2):
        for other in others:
            assert (other.last()[0]["observation"] == observation["observation"]).all()
            assert (other.last()[0]["action_mask"] == observation["action_mask"]).all()
        if rng.random() < 0.1:
            others.append(copied(env))
        for other in others:
            other.step(action)
    assert others
    assert all((other.game, other.rewards) == (env.game, env.rewards) for other in others)


def test_bytes_of_a_game_are_checked() -> None:
    game = Game(VARIANTS["back_alley"], 1)
    play_hand(game, random.Random(1))
    data = game.to_bytes()
    for place in range(len(data)):
        damaged = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        with pytest.raises(ValueError, match=r"^(these are not the bytes of a game|the bytes of the game are damaged)"):
            Game.from_bytes(damaged)
    for wrong in (data[:-1], data + b"\0", b"", None, data.decode("latin-1")):
        with pytest.raises(ValueError, match="the bytes of"):
            Game.from_bytes(wrong)  # type: ignore[arg-type]


# What was played.


@every_variant
def test_the_history_holds_every_hand(rules: Rules) -> None:
    game, rng = Game(rules, 5), random.Random(5)
    results: list[Any] = []
    assert game.history == ()
    while not game.is_terminal:
        before = (game.hand_number, game.hand_size, game.dealer, game.trump, game.turned_up, game.hands, game.exchanged)
        while None in game.bids:
            game.apply_action(rng.choice(game.legal_actions()))
        bids, leader = game.bids, game.current_player
        play_hand(game, rng)
        result = result_of(game)
        results.append(result)
        assert before == (
            result.number, result.size, result.dealer, result.trump, result.turned_up, result.hands, result.exchanged
        )  # fmt: skip
        assert (result.bids, result.leader) == (bids, leader)
        assert (result.drawn is None) == (result.exchanged is None)
        assert result.exchanged is None or result.drawn in result.hands[result.exchanged]
        assert sorted(result.order) == sorted(card for hand in result.hands for card in hand)
        assert game.history == tuple(results)
    assert game.scores == tuple(np.sum([result.points for result in results], axis=0).tolist())


def test_exchanges_happen_in_the_matches_tried_here() -> None:
    histories = [played_out(VARIANTS["alley_of_14"], seed).history for seed in range(5)]
    assert sum(result.exchanged is not None for history in histories for result in history) > 3


def played_out(rules: Rules, seed: int) -> Game:
    game, rng = Game(rules, seed), random.Random(seed)
    while not game.is_terminal:
        play_hand(game, rng)
    return game


@every_variant
def test_a_game_taken_from_a_batch_knows_only_what_follows(rules: Rules) -> None:
    batch, stream = BatchGame(rules, 1, seed=5, autoreset=False), np.array([1], np.uint64)
    assert batch.game(0).history == ()
    while batch.records["hand_number"][0] == 0:
        batch.step(batch.random_actions(stream))
    game = batch.game(0)
    assert result_of(game).number == 0
    for _ in range(min(2, rules.num_hands)):
        with pytest.raises(ValueError, match=r"^the first 1 hands of this game are not known, since it was taken from"):
            _ = game.history
        play_hand(game, random.Random(1))


# Seeds.


numbers = st.integers(0, 2**64 - 1)


@given(numbers, numbers, st.sampled_from(sorted(VARIANTS)))
def test_the_seed_of_a_game_deals_it_again(seed: int, number: int, variant: str) -> None:
    rules = VARIANTS[variant]
    game = Game(rules, seed, number=number)
    assert 0 <= game.seed < 2**64
    assert Game(rules, game.seed) == game
    assert Game(rules, seed).seed == seed


@every_variant
def test_the_seed_stays_what_it_is(rules: Rules) -> None:
    """Also in the copies that a batch hands out, and with given deals."""
    game = Game(rules, 2**64 - 1, number=5)
    seed, dealt = game.seed, Game(rules, 7, deals=random_deals(rules, random.Random(1)))
    for played in (game, dealt):
        while not played.is_terminal:
            play_hand(played, random.Random(1))
    assert (game.seed, dealt.seed) == (seed, 7)
    assert BatchGame(rules, 3, 9).game(2).seed == Game(rules, 9, number=2).seed
    assert played_out(rules, 3).history == played_out(rules, Game(rules, 3).seed).history


# Illegal actions.


@both_orders
@every_variant
def test_every_illegal_action_is_refused_everywhere_and_changes_nothing(rules: Rules, order: str) -> None:
    env, batch = bluke_v0.env(rules, suit_order=order), BatchGame(rules, 1, seed=4, suit_order=order, autoreset=False)
    rng, tried = random.Random(4), 0
    for _, observation, action in decisions(env, seed=4):
        if rng.random() < 0.3:
            tried += 1
            before = env.game.to_bytes(), batch.records.tobytes(), batch.observations.tobytes()
            legal = np.flatnonzero(observation["action_mask"]).tolist()
            for illegal in {*range(-1, rules.num_actions + 5)}.difference(legal):
                with pytest.raises(IllegalAction, match=f"action {illegal} is illegal"):
                    env.step(illegal)
                with pytest.raises(IllegalAction, match=f"action {illegal} of game 0 is illegal"):
                    batch.step(np.array([illegal]))
            assert (env.game.to_bytes(), batch.records.tobytes(), batch.observations.tobytes()) == before
        batch.step(np.array([action]))
    assert tried > 0
    assert batch.game(0) == env.game


def test_refusals_name_the_boards() -> None:
    rules = Rules.preset("back_alley", schedule="2")
    game, env, batch = Game(rules, 1), bluke_v0.env(rules), BatchGame(rules, 1, 1)
    env.reset(seed=1)
    seat = game.current_player
    legal = "54 (bid 0), 55 (bid 1), 56 (bid 2), 57 (bid board)"
    sentences = {
        f"action 58 (bid double board) is illegal: in hand 0 seat {seat} is to bid and its legal actions are {legal}":
            lambda: game.apply_action(58),
        f"action 58 is illegal: in hand 0 the legal actions of player_{seat} are {legal}": lambda: env.step(58),
        f"action 58 of game 0 is illegal: seat {seat}'s legal actions are {legal}": lambda: batch.step(np.array([58])),
    }  # fmt: skip
    for sentence, act in sentences.items():
        with pytest.raises(IllegalAction) as refused:
            act()
        assert str(refused.value) == sentence


# Bids and their texts.


@pytest.mark.parametrize("most", [1, 3, 13, 27])
def test_action_ids_and_texts_of_bids(most: int) -> None:
    boards = ["board", "double board", "triple board", "quadruple board"]
    assert [bid_text(bid) for bid in range(BOARD + 5)] == [*map(str, range(28)), *boards]
    assert [bid_action(bid, most) for bid in range(most + 1)] == [*range(FIRST_BID, FIRST_BID + most + 1)]
    for level, text in enumerate(boards, 1):
        action = bid_action(BOARD + level, most)
        assert action == FIRST_BID + most + level
        assert action_text(action, most) == f"bid {text}"
    assert action_text(FIRST_BID + most, most) == f"bid {most}"
    assert [action_text(card) for card in (0, 51, 52, 53)] == ["2C", "AS", "LB", "HB"]


@both_orders
@every_variant
def test_actions_chosen_in_a_wider_layout_are_those_of_the_rules(rules: Rules, order: str) -> None:
    """Turns and batches agree, and so does a batch in the layout of the rules, which shows the same facts."""
    plain, wide = (BatchGame(rules, 6, 5, layout=layout, suit_order=order) for layout in (None, EVERYTHING))
    stream, games, boards = np.array([5], np.uint64), np.arange(6), 0
    for _ in range(150):
        turn = Turn(rules, plain.views(), plain.seats, games)
        encoded = turn.encode(EVERYTHING, order == "canonical")
        assert (encoded.observations == wide.observations).all()
        assert (encoded.masks == wide.masks).all()
        assert (wide.masks[:, FIRST_BID + rules.most_cards + 1 : FIRST_BID + 28] == 0).all()
        facts, more = (batch.layout.decode(batch.observations[0]) for batch in (plain, wide))
        for name, fact in facts.items():
            by_seat = isinstance(fact, list) and len(fact) == rules.num_players and len(more[name]) == 15
            assert (more[name][: rules.num_players] if by_seat else more[name]) == fact
        labels = wide.random_actions(stream)
        real = turn.real_actions(labels, encoded)
        assert (wide.relabel_actions(real, games) == labels).all()
        boards += (real > FIRST_BID + rules.most_cards).sum()
        wide.step(labels)
        plain.step(plain.relabel_actions(real, games))
        assert wide.records.tobytes() == plain.records.tobytes()
    assert (boards > 0) == rules.teams


@both_orders
def test_what_is_no_action_is_no_real_action_either(order: str) -> None:
    batch, stream = BatchGame(VARIANTS["back_alley"], 2, 1), np.array([1], np.uint64)
    for _ in range(6):  # to the first cards
        turn = Turn(batch.rules, batch.views(), batch.seats, np.arange(2))
        encoded = turn.encode(batch.layout, order == "canonical")
        for wrong in ([-1, 54], [54, 72], [2**40, 3]):
            with pytest.raises(ValueError, match=r"^actions are \[.*\], but action ids run from 0 to 71$"):
                turn.real_actions(np.array(wrong), encoded)
        for wrong in ([54], [[54, 54]], [54.0, 54.0], [True, False], 54, None):
            with pytest.raises(ValueError, match=r"^actions have dtype .*, but they must be integers of shape \(2,\)$"):
                turn.real_actions(np.array(wrong), encoded)
        batch.step(batch.random_actions(stream))


@both_orders
@every_variant
def test_copies_of_batches_play_on_alike(rules: Rules, order: str) -> None:
    batch, stream = BatchGame(rules, 4, 5, suit_order=order, num_threads=2), np.array([5], np.uint64)
    for _ in range(7):
        batch.step(batch.random_actions(stream))
    others = [copy.deepcopy(batch), pickle.loads(pickle.dumps(batch))]
    for _ in range(30):
        actions = batch.random_actions(stream)
        for each in (batch, *others):
            each.step(actions)
        for other in others:
            for name in ("records", "observations", "masks", "seats", "rewards", "dones", "game_numbers"):
                assert getattr(other, name).tobytes() == getattr(batch, name).tobytes()


@pytest.mark.parametrize("cards", [1, 4, 13])
def test_single_hands_of_back_alley_have_the_actions_of_the_match(cards: int) -> None:
    match = Rules.preset("back_alley")
    single = match.hands_of(cards)
    assert single.num_actions == match.num_actions == 72
    batch = BatchGame.hands_of(match, cards, 4, seed=1)
    assert batch.layout == ObservationLayout.of(match)
    for index in range(4):
        game = Game(single, 1, number=index)
        assert batch.game(index) == game
        assert np.flatnonzero(batch.masks[index]).tolist() == [*range(54, 55 + cards), 68]
        seen = game.layout.decode(game.observe(batch.seats[index]))
        assert batch.layout.decode(batch.observations[index]) == seen


@every_variant
def test_positions_of_one_seed_are_all_different(rules: Rules) -> None:
    """Equality sees bids and cards, not only scores."""
    game = Game(rules, 8)
    seen = {table.game.to_bytes() for table in positions(game, random.Random(8))}
    assert len(seen) == 1 + sum(rules.num_players * (hand.cards + 1) for hand in rules.schedule)

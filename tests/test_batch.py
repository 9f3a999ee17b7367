"""`BatchGame` against `Game`, decision by decision, and everything that may be put into it wrongly."""

import random
from typing import Any

import numpy as np
import pytest
from tables import ALL_SEATS, FIRST_BID, rules_for
from variants import with_variants

from bluke_env import BatchGame, Game, IllegalAction, ObservationLayout, Phase, Rules
from bluke_env.batch import derive_seed
from bluke_env.engine import batch as kernels

ARRAYS = ("observations", "masks", "seats", "rewards", "dones", "final_scores")


def short_rules(seats: int) -> Rules:
    most = min(4, 54 // seats)
    return rules_for(seats, [most, 1, (2, True)], min_bid=seats % 2, bluke_lead=("none", "trump")[seats // 2 % 2])


def contents(batch: BatchGame) -> list[bytes]:
    """Every byte of the games and of the arrays handed out."""
    arrays = [batch.records, batch.game_numbers, *(getattr(batch, name) for name in ARRAYS)]
    return [array.tobytes() for array in arrays]


def stream(seed: int = 1) -> np.ndarray:
    return np.array([seed], np.uint64)


def played(batch: BatchGame, steps: int, seed: int = 1) -> BatchGame:
    """The batch after some random steps."""
    state = stream(seed)
    for _ in range(steps):
        batch.step(batch.random_actions(state))
    return batch


def match_length(rules: Rules) -> int:
    """Decisions in a match; every match of the same rules has as many."""
    return sum(rules.num_players * (hand.cards + 1) for hand in rules.schedule)


# The same games as `Game` plays.


def assert_shows(batch: BatchGame, games: list[Game], order: str) -> None:
    """Every row of the batch is what the seat to act sees."""
    states = batch.states()
    for index, game in enumerate(games):
        assert batch.game(index) == game
        seat = game.current_player
        if seat is None:
            assert batch.seats[index] == -1
            assert not any(rows[index].any() for rows in (batch.observations, batch.masks, states))
            continue
        assert batch.seats[index] == seat
        assert (batch.observations[index] == game.observe(seat, order)).all()
        assert (batch.masks[index] == game.action_mask(suit_order=order)).all()
        assert (states[index] == game.state(seat, order)).all()


def real_action(batch: BatchGame, index: int, game: Game, action: int) -> int:
    """The action of the real card that the seat to act sees under this label."""
    legal = np.array(game.legal_actions())
    labels = batch.relabel_actions(legal, np.full(len(legal), index))
    assert sorted(labels.tolist()) == np.flatnonzero(batch.masks[index]).tolist()
    return int(legal[labels == action][0])


@pytest.mark.parametrize("order", ["fixed", "canonical"])
@pytest.mark.parametrize("rules", [*(short_rules(seats) for seats in ALL_SEATS), *with_variants()])
def test_plays_what_game_plays(rules: Rules, order: str) -> None:
    """Through two matches of every slot and into a third."""
    n, seats = 3, rules.num_players
    batch = BatchGame(rules, n, seed=5, suit_order=order)
    games = [Game(rules, 5, number=number) for number in range(n)]
    numbers = list(range(n))
    state = stream(seats)
    for _ in range(2 * match_length(rules) + 3):
        assert batch.game_numbers.tolist() == numbers
        assert not batch.is_over.any()
        assert_shows(batch, games, order)
        actions = batch.random_actions(state)
        real = [real_action(batch, index, game, int(actions[index])) for index, game in enumerate(games)]
        batch.step(actions)
        for index, game in enumerate(games):
            hands = game.hand_number
            game.apply_action(real[index])
            ended = game.last_hand if game.hand_number > hands else None
            assert batch.rewards[index].tolist() == (list(ended.points) if ended else [0] * seats)
            assert batch.dones[index] == game.is_terminal
            if game.is_terminal:
                assert batch.final_scores[index].tolist() == list(game.scores)
                numbers[index] += n
                games[index] = Game(rules, 5, number=numbers[index])
    assert min(numbers) >= 2 * n


@pytest.mark.parametrize("order", ["fixed", "canonical"])
def test_without_autoreset_finished_matches_stay(order: str) -> None:
    rules = short_rules(4)
    batch = BatchGame(rules, 3, seed=5, autoreset=False, suit_order=order)
    games = [Game(rules, 5, number=number) for number in range(3)]
    state = stream()
    while not batch.is_over.any():
        actions = batch.random_actions(state)
        for index, game in enumerate(games):
            game.apply_action(real_action(batch, index, game, int(actions[index])))
        batch.step(actions)
        assert_shows(batch, games, order)
    assert batch.dones.all()
    assert batch.final_scores.tolist() == [list(game.scores) for game in games]
    assert (batch.random_actions(state) == 0).all()
    before = batch.records.tobytes()
    for ignored in (0, FIRST_BID, -1, 1000):
        batch.step(np.full(3, ignored))
        assert not batch.dones.any()
        assert not batch.rewards.any()
        assert batch.is_over.all()
        assert batch.records.tobytes() == before
        assert_shows(batch, games, order)
    assert batch.game_numbers.tolist() == [0, 1, 2]


def test_c12_the_last_position_of_a_match_can_still_be_seen() -> None:
    """A match ends for no other reason than that it is over, and the game that ended shows its last observation."""
    rules = short_rules(3)
    batch = played(BatchGame(rules, 2, seed=3, autoreset=False), match_length(rules))
    for index in range(2):
        game = batch.game(index)
        assert batch.dones[index]
        assert game.phase is Phase.OVER
        seen = game.layout.decode(game.observe(1))
        assert (seen["phase"], seen["hands_left"], seen["to_act"]) == ("over", 0, None)
        assert seen["scores"] == [batch.final_scores[index, seat] for seat in (1, 2, 0)]


@pytest.mark.parametrize("cards", [1, 5, 8])
@pytest.mark.parametrize(
    "rules", [*(Rules(num_players=seats, min_bid=0) for seats in (2, 4, 6)), Rules.preset("back_alley")]
)
def test_hands_of_one_size_stay_in_lockstep(rules: Rules, cards: int) -> None:
    seats = rules.num_players
    batch = BatchGame.hands_of(rules, cards, 5, seed=2)
    assert batch.layout == ObservationLayout.of(rules)
    assert batch.rules == rules.hands_of(cards)
    for index in range(5):
        assert batch.game(index) == Game(rules.hands_of(cards), 2, number=index)
    state, rows = stream(), np.arange(5)
    for hand in range(2):
        decisions = np.zeros((5, seats), int)
        for step in range(seats * (cards + 1)):
            assert (batch.records["phase"] == (Phase.BID if step < seats else Phase.PLAY)).all()
            decisions[rows, batch.seats] += 1
            batch.step(batch.random_actions(state))
            assert batch.dones.all() == batch.dones.any() == (step == seats * (cards + 1) - 1)
        assert (decisions == cards + 1).all()
        assert (batch.final_scores == batch.rewards).all()
        assert batch.game_numbers.tolist() == (5 * (hand + 1) + rows).tolist()


def test_hands_of_a_size_that_does_not_fit_are_refused() -> None:
    rules = Rules(num_players=5)
    for cards in (0, 11, 5.0, "5", True):
        with pytest.raises(ValueError, match="the number of cards of a hand is"):
            BatchGame.hands_of(rules, cards, 2, seed=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the observation layout has most_cards=3, but the rules need 4"):
        BatchGame.hands_of(rules_for(4, [3]), 4, 2, seed=1)


@pytest.mark.parametrize("threads", [2, 3, 7])
@pytest.mark.parametrize("order", ["fixed", "canonical"])
def test_threads_change_nothing(threads: int, order: str) -> None:
    rules = short_rules(4)
    one = BatchGame(rules, 5, seed=8, suit_order=order)
    several = BatchGame(rules, 5, seed=8, suit_order=order, num_threads=threads)
    state = stream()
    for _ in range(match_length(rules) + 5):
        assert contents(several) == contents(one)
        actions = one.random_actions(state)
        one.step(actions)
        several.step(actions)


# Starting anew.


def test_numbers_choose_the_games() -> None:
    rules, numbers = short_rules(3), [7, 3, 2**64 - 1]
    batch = BatchGame(rules, 3, seed=4, numbers=np.array(numbers, np.uint64))
    assert batch.game_numbers.tolist() == numbers
    for index, number in enumerate(numbers):
        assert batch.game(index) == Game(rules, 4, number=number)
    played(batch, match_length(rules))
    assert batch.game_numbers.tolist() == [10, 6, 2]
    batch.reset(4, numbers=np.array([1, 1, 0]))
    assert batch.game(0) == batch.game(1) == Game(rules, 4, number=1)


def test_reset_is_a_fresh_start() -> None:
    rules = short_rules(4)
    batch = played(BatchGame(rules, 3, seed=4), match_length(rules))
    assert batch.dones.all()
    batch.reset(9)
    assert contents(batch) == contents(BatchGame(rules, 3, seed=9))


def test_without_a_seed_no_two_batches_are_alike() -> None:
    rules = short_rules(4)
    first, second = BatchGame(rules, 3), BatchGame(rules, 3)
    assert first.records.tobytes() != second.records.tobytes()
    before = first.records.tobytes()
    first.reset()
    assert first.records.tobytes() != before


@pytest.mark.parametrize(
    "numbers",
    [[0, 1], [0, 1, 2, 3], [[0, 1, 2]], 5, [0.0, 1.0, 2.0], [0, -1, 2], [True, True, True], ["a", "b", "c"], []],
)
def test_wrong_numbers_are_refused(numbers: Any) -> None:
    batch = played(BatchGame(short_rules(4), 3, seed=1), 3)
    before = contents(batch)
    with pytest.raises(
        ValueError, match=r"^numbers has dtype .* and shape .*, but it must hold 3 non-negative integers"
    ):
        batch.reset(1, numbers=np.array(numbers))
    assert contents(batch) == before


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, 1.0, "1", True, [1]])
def test_wrong_seeds_are_refused(seed: Any) -> None:
    batch = played(BatchGame(short_rules(4), 3, seed=1), 3)
    before = contents(batch)
    with pytest.raises(ValueError, match=r"^seed is .*, but it must be a whole number from 0 to 2\*\*64 - 1, or None$"):
        batch.reset(seed)
    assert contents(batch) == before


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"rules": None}, "rules is None, but it must be a Rules object"),
        ({"rules": {"num_players": 4}}, "rules is {'num_players': 4}, but it must be a Rules object"),
        *(
            ({name: count}, f"{name} is {count!r}, but it must be a whole number from 1 to")
            for name in ("num_games", "num_threads")
            for count in (0, -1, "4", 4.0, None, True)
        ),
        ({"suit_order": "trump"}, "suit_order is 'trump', but it must be one of fixed, canonical"),
        ({"suit_order": None}, "suit_order is None, but it must be one of fixed, canonical"),
        ({"layout": (4, 13)}, "layout is (4, 13), but it must be an ObservationLayout"),
        ({"seed": -5}, "seed is -5, but it must be a whole number"),
    ],
)
def test_wrong_arguments_get_one_sentence(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as refused:
        BatchGame(**{"rules": Rules(), "num_games": 2, "seed": 1, **wrong})
    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)


# Wrong actions change nothing.

NO_ACTIONS: list[Any] = [
    np.full(4, 55.0),
    np.full(4, 55, np.float32),
    np.full(4, True),
    np.full(4, 55 + 0j),
    np.full(4, "55"),
    np.full(4, 55, object),
    np.full(4, None),
    np.full(3, 55),
    np.full(5, 55),
    np.full((4, 1), 55),
    np.full((1, 4), 55),
    np.array(55),
    np.zeros(0, np.int64),
    [55, 55, 55],
    [55, 55, 55, 55.0],
    55,
    None,
    "5555",
    {},
]


@pytest.mark.parametrize("actions", NO_ACTIONS, ids=[f"{index}" for index in range(len(NO_ACTIONS))])
def test_what_is_no_row_of_integers_is_refused(actions: Any) -> None:
    batch = BatchGame(short_rules(4), 4, seed=1)
    before = contents(batch)
    with pytest.raises(ValueError, match=r"^actions have dtype .* but they must be integers of shape \(4,\)$"):
        batch.step(actions)
    assert contents(batch) == before


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("order", ["fixed", "canonical"])
@pytest.mark.parametrize("steps", [0, 5, 9, 20])
def test_c15_every_illegal_action_is_refused_and_changes_nothing(steps: int, order: str, threads: int) -> None:
    batch = played(BatchGame(short_rules(4), 4, seed=1, suit_order=order, num_threads=threads), steps)
    legal = batch.random_actions(stream(3))
    before, extremes = contents(batch), [-(2**63), -55, -54, -1, 2**31, 2**32 + 55, 2**63 - 1]
    for index in range(4):
        seat = int(batch.seats[index])
        named = ", ".join(rf"{action} \(\w+( \d+)?\)" for action in np.flatnonzero(batch.masks[index]))
        labels = " in its own suit labels" if order == "canonical" else ""
        for action in [*extremes, *np.flatnonzero(batch.masks[index] == 0), batch.layout.num_actions]:
            actions = legal.copy()
            actions[index] = action
            sentence = f"^action {action} of game {index} is illegal: seat {seat}'s legal actions{labels} are {named}$"
            with pytest.raises(IllegalAction, match=sentence):
                batch.step(actions)
            assert contents(batch) == before
    for action in (2**63, 2**63 + 55, 2**64 - 1):
        actions = legal.astype(np.uint64)
        actions[1] = action
        with pytest.raises(IllegalAction, match=f"action {action} of game 1 is illegal"):
            batch.step(actions)
        assert contents(batch) == before
    batch.step(legal)
    assert contents(batch) != before


def test_a_refused_step_leaves_no_trace_in_the_rest_of_the_match() -> None:
    rules = short_rules(3)
    batch, twin = BatchGame(rules, 4, seed=1), BatchGame(rules, 4, seed=1)
    state = stream()
    for _ in range(match_length(rules) + 5):
        actions = batch.random_actions(state)
        wrong = actions.copy()
        wrong[-1] = np.flatnonzero(batch.masks[-1] == 0)[0]
        with pytest.raises(IllegalAction, match="of game 3 is illegal"):
            batch.step(wrong)
        batch.step(actions)
        twin.step(actions)
        assert contents(batch) == contents(twin)


def test_any_kind_of_integers_runs_the_code_that_is_compiled() -> None:
    rules = short_rules(4)
    batch, twin = played(BatchGame(rules, 4, seed=1), 5), played(BatchGame(rules, 4, seed=1), 5)
    compiled = len(kernels.step_all.signatures), len(kernels.first_illegal.signatures)
    read_only = np.zeros(4, np.int64)
    read_only.flags.writeable = False
    forms: list[Any] = [np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32, np.uint64, ">i4"]
    state = stream()
    for form in [*forms, "strided", "list", "read-only"]:
        actions = batch.random_actions(state)
        twin.step(actions)
        if form == "strided":
            given: Any = np.repeat(actions, 2)[::2]
        elif form == "list":
            given = actions.tolist()
        elif form == "read-only":
            given = actions.copy()
            given.flags.writeable = False
        else:
            given = actions.astype(form)
        batch.step(given)
        assert contents(batch) == contents(twin)
    assert (len(kernels.step_all.signatures), len(kernels.first_illegal.signatures)) == compiled


# What is handed out is not the game.


@pytest.mark.parametrize("order", ["fixed", "canonical"])
def test_c04_writing_into_the_arrays_changes_no_game(order: str) -> None:
    rules = short_rules(4)
    batch = BatchGame(rules, 4, seed=1, suit_order=order)
    twin = BatchGame(rules, 4, seed=1, suit_order=order)
    state, rng = stream(), random.Random(1)
    for _ in range(match_length(rules) + 5):
        actions = twin.random_actions(state)
        illegal = actions.copy()
        illegal[2] = np.flatnonzero(twin.masks[2] == 0)[0]
        for name in ARRAYS:
            getattr(batch, name)[:] = rng.randrange(2)
        batch.views().fill(0)
        batch.game_numbers.fill(9)
        batch.states().fill(1)
        with pytest.raises(IllegalAction, match="of game 2 is illegal"):
            batch.step(illegal)
        batch.step(actions)
        twin.step(actions)
        batch.final_scores[~batch.dones] = twin.final_scores[~twin.dones]
        assert contents(batch) == contents(twin)


def test_records_have_no_bytes_between_fields() -> None:
    """NumPy leaves such bytes out of copies, and games are compared byte by byte."""
    dtype = BatchGame(short_rules(4), 1, seed=1).records.dtype
    assert sum(dtype[name].itemsize for name in dtype.names or ()) == dtype.itemsize


def test_games_handed_out_are_copies_and_records_read_only() -> None:
    batch = BatchGame(short_rules(4), 4, seed=1)
    before = contents(batch)
    game = batch.game(2)
    game.apply_action(game.legal_actions()[0])
    with pytest.raises(ValueError, match="read-only"):
        batch.records["seat"][0] = 3
    assert contents(batch) == before


def test_what_was_kept_as_a_copy_stays() -> None:
    batch = BatchGame(short_rules(4), 4, seed=1)
    kept = batch.observations.copy(), batch.masks.copy()
    first = [rows.tobytes() for rows in kept]
    arrays = [getattr(batch, name) for name in ARRAYS]
    played(batch, 10)
    assert [rows.tobytes() for rows in kept] == first
    assert all(getattr(batch, name) is array for name, array in zip(ARRAYS, arrays, strict=True))


# The other borders.


def test_places_in_the_batch_are_checked() -> None:
    batch = BatchGame(short_rules(4), 4, seed=1)
    assert batch.views(np.array([3, 0])).tobytes() == batch.views()[[3, 0]].tobytes()
    assert len(batch.views(np.zeros(0, np.int64))) == 0
    actions = np.full(1, FIRST_BID + 1)
    for indices in ([4], [-1], [10**9], [1.0], [True], [[1]], 1, None):
        if indices is not None:
            with pytest.raises(ValueError, match=r"^indices are .*, but they must be a row of integers from 0 to 3$"):
                batch.views(np.array(indices))
        with pytest.raises(ValueError, match=r"^indices are .*, but they must be a row of integers from 0 to 3$"):
            batch.relabel_actions(actions, np.array(indices))
    for wrong in (np.zeros(2, np.int64), np.zeros(1), np.zeros((1, 1), np.int64)):
        with pytest.raises(ValueError, match=r"^actions have dtype .* integers of shape \(1,\)$"):
            batch.relabel_actions(wrong, np.array([1]))
    for index in (-1, 4, 1.0, "1", True):
        with pytest.raises(ValueError, match=rf"^the game's index is {index!r}, but .* from 0 to 3$"):
            batch.game(index)  # type: ignore[arg-type]


def test_arrays_to_write_into_are_checked() -> None:
    batch = BatchGame(short_rules(4), 4, seed=1)
    out = np.empty((4, batch.layout.state_size), np.int8)
    assert batch.states(out) is out
    assert (out == batch.states()).all()
    read_only = out.copy()
    read_only.flags.writeable = False
    for wrong in (
        out[:3],
        out[:, 1:],
        out.astype(np.int16),
        out.ravel(),
        np.asfortranarray(out),
        read_only,
        out.tolist(),
    ):
        with pytest.raises(ValueError, match=r"^out must be a writable contiguous int8 array of shape \(4, \d+\)$"):
            batch.states(wrong)  # type: ignore[arg-type]
    for state in (np.array([1]), np.zeros(0, np.uint64), np.zeros(2, np.uint64), [1], 1, np.array([1.0])):
        with pytest.raises(ValueError, match=r"^the random state must be a writable contiguous uint64 array"):
            batch.random_actions(state)  # type: ignore[arg-type]


def test_random_actions_are_uniform_over_the_legal_ones() -> None:
    batch = played(BatchGame(rules_for(4, [6]), 2, seed=1), 4)
    counts = np.zeros(batch.layout.num_actions, int)
    state, draws = stream(), 6000
    for _ in range(draws):
        actions = batch.random_actions(state)
        counts[actions[0]] += 1
    legal = np.flatnonzero(batch.masks[0])
    assert np.flatnonzero(counts).tolist() == legal.tolist()
    expected = draws / len(legal)
    assert ((counts[legal] - expected) ** 2 / expected).sum() < 30


def test_derived_seeds() -> None:
    parts = [(), (0,), (0, 0), (1,), (0, 1), (1, 0), (2**64 - 1,), (1, 2, 3)]
    seeds = [derive_seed(*part) for part in parts]
    assert len(set(seeds)) == len(parts)
    assert all(type(seed) is int and 0 <= seed < 2**64 for seed in seeds)
    assert derive_seed(*np.array([1, 2, 3])) == seeds[-1]
    assert derive_seed(True) == derive_seed(1)
    assert len({derive_seed(5, number) for number in range(2000)}) == 2000
    for part in (-1, 2**64, 1.5, "1", None):
        with pytest.raises(ValueError, match=f"^a part of a seed is {part!r}, but it must be a whole number"):
            derive_seed(0, part)  # type: ignore[arg-type]

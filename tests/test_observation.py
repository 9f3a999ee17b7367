"""Observations: every entry against plain Python, and what a seat may not see."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from observed import Table, every_table, positions, some_tables
from tables import ALL_SEATS, FIRST_BID, deal_of, rules_for, start
from variants import EVERYTHING, VARIANTS, every_variant

from bluke_env import BatchGame, Game, ObservationLayout, Rules, Turn
from bluke_env.cards import parse_cards
from bluke_env.engine.batch import encode_views
from bluke_env.engine.encode import observe, observe_mask, observe_state
from bluke_env.rules import MAX_POINTS
from bluke_env.schedule import MAX_HANDS

EDGES = [(2, [1, 1]), (2, [27, 1]), (4, [13, 1]), (15, [3, 1])]


def check_decoded(layout: ObservationLayout, vector: np.ndarray, scale: np.ndarray, expected: dict[str, Any]) -> None:
    assert (vector.dtype, vector.shape) == (np.int8, scale.shape)
    assert layout.decode(vector) == expected
    scaled = vector * scale
    assert scaled.dtype == np.float32
    assert np.abs(scaled).max() <= 1
    assert layout.decode(scaled) == expected


# The vectors say what is so.


@every_table
def test_observations_decode_to_the_facts(rules: Rules) -> None:
    game, rng = Game(rules, seed=1), random.Random(1)
    for table in positions(game, rng):
        seats = [game.current_player or 0, rng.randrange(rules.num_players)]
        for seat in seats[: rng.randint(1, 2)]:
            check_decoded(game.layout, game.observe(seat), game.layout.scale, table.facts(seat, game.layout))


@every_table
def test_states_decode_to_the_facts_and_all_hands(rules: Rules) -> None:
    game, rng = Game(rules, seed=2), random.Random(2)
    for table in positions(game, rng):
        if rng.random() < 0.2:
            seat = rng.randrange(rules.num_players)
            expected = table.all_facts(seat, game.layout)
            check_decoded(game.layout, game.state(seat), game.layout.state_scale, expected)
            assert (game.state() == game.state(game.current_player or 0)).all()


@every_table
def test_masks_are_the_legal_actions_of_the_seat_to_act(rules: Rules) -> None:
    game, rng = Game(rules, seed=3), random.Random(3)
    for _ in positions(game, rng):
        for seat in {game.current_player or 0, rng.randrange(rules.num_players)}:
            mask = game.action_mask(seat)
            assert (mask.dtype, mask.shape) == (np.int8, (rules.num_actions,))
            assert np.flatnonzero(mask).tolist() == (game.legal_actions() if seat == game.current_player else [])
            assert set(mask.tolist()) <= {0, 1}


@pytest.mark.parametrize("more", [(0, 0, 1), (1, 0, 1), (0, 3, 2), (13, 20, 5), None])
@some_tables
def test_wider_layouts_hold_the_same_facts(rules: Rules, more: tuple[int, int, int] | None) -> None:
    own = ObservationLayout.of(rules)
    layout = EVERYTHING if more is None else widened(own, *more)
    batch, table, rng = BatchGame(rules, 1, seed=4, layout=layout), Table(Game(rules, seed=4)), random.Random(4)
    while not table.game.is_terminal:
        if rng.random() < 0.3:
            seat = int(batch.seats[0])
            check_decoded(layout, batch.observations[0], layout.scale, table.facts(seat, layout))
            check_decoded(layout, batch.states()[0], layout.state_scale, table.all_facts(seat, layout))
        assert batch.masks.shape == (1, layout.num_actions)
        legal = table.game.legal_actions()
        labels = [label_in(layout, rules, action) for action in legal]
        assert np.flatnonzero(batch.masks[0]).tolist() == labels
        assert batch.relabel_actions(np.array(legal), np.zeros(len(legal), int)).tolist() == labels
        place = rng.randrange(len(legal))
        table.act(legal[place])
        batch.step(np.array(labels[place : place + 1]))
        assert batch.game(0) == table.game or table.game.is_terminal


def widened(own: ObservationLayout, seats: int, cards: int, units: int) -> ObservationLayout:
    return replace(
        own,
        num_players=min(15, own.num_players + seats),
        most_cards=min(27, own.most_cards + cards),
        score_unit=own.score_unit * units,
    )


def label_in(layout: ObservationLayout, rules: Rules, action: int) -> int:
    """The action in a layout with room for more tricks: boards come after them."""
    return action + layout.most_cards - rules.most_cards if action > FIRST_BID + rules.most_cards else action


@pytest.mark.parametrize("rules", [*VARIANTS.values(), *(rules_for(*table) for table in EDGES)])
def test_the_kernels_write_every_entry_and_none_beside(rules: Rules) -> None:
    """They store whole words, more than an entry, so what lies beside the vectors is in danger."""
    seats, rng = rules.num_players, random.Random(1)
    own = ObservationLayout.of(rules)
    for layout in (own, widened(own, 2, 1, 1), EVERYTHING):
        game = Game(rules, seed=seats)
        for _ in positions(game, rng):
            seat, record = rng.randrange(seats), game._record
            for kernel, size in (
                (observe, layout.size),
                (observe_state, layout.state_size),
                (observe_mask, layout.num_actions),
            ):
                written = []
                for untouched in (77, -77):
                    out = np.full(size + 128, untouched, np.int8)
                    kernel(rules.record(), record, 0, seat, False, layout.record, out[64 : 64 + size])
                    assert (out[:64] == untouched).all()
                    assert (out[64 + size :] == untouched).all()
                    written.append(out[64 : 64 + size])
                assert (written[0] == written[1]).all()


@pytest.mark.parametrize("canonical", [False, True])
@every_variant
def test_the_rows_of_a_turn_are_written_in_their_places_alone(rules: Rules, canonical: bool) -> None:
    batch, stream = BatchGame(rules, 5, seed=3), np.array([3], np.uint64)
    for layout in (batch.layout, EVERYTHING):
        sizes, alone = (
            (layout.size, layout.num_actions),
            [np.empty(n, np.int8) for n in (layout.size, layout.num_actions)],
        )
        for _ in range(20):
            views = batch.views()
            rows = [np.full(5 * size + 128, 77, np.int8) for size in sizes]
            encode_views(
                rules.record(), views, canonical, layout.record, *(row[64:-64] for row in rows), np.empty(5, np.int16)
            )
            for index, seat in enumerate(batch.seats):
                for kernel, out, row in zip((observe, observe_mask), alone, rows, strict=True):
                    kernel(rules.record(), views, index, seat, canonical, layout.record, out)
                    assert (row[64 + len(out) * index :][: len(out)] == out).all()
            assert all((row[:64] == 77).all() and (row[-64:] == 77).all() for row in rows)
            batch.step(batch.random_actions(stream))


def test_a_trick_worked_out_by_hand() -> None:
    game = start(["KS 2H AD", "AS 3H LB", "4S 9H JC"], "QH")
    for action in (FIRST_BID + 1, FIRST_BID + 2, FIRST_BID + 3, *parse_cards("KS LB")):
        game.apply_action(action)
    seen = game.layout.decode(game.observe(2))
    assert seen == {
        "phase": "play",
        "played": [[], list(parse_cards("KS")), list(parse_cards("LB"))],
        "voids": [[], [], []],
        "hand": list(parse_cards("JC 9H 4S")),
        "table": list(parse_cards("KS LB")),
        "top_cards": [],
        "winning_cards": [],
        "trump": 2,
        "turned_up": parse_cards("QH")[0],
        "bids": [3, 1, 2],
        "needed": [3, 1, 2],
        "tricks": [0, 0, 0],
        "hand_size": 3,
        "dealer": 0,
        "leader": 1,
        "to_act": 0,
        "winning_seat": 2,
        "scores": [0, 0, 0],
        "hands_left": 1,
    }
    game.apply_action(*parse_cards("4S"))
    seen = game.layout.decode(game.observe(1))
    assert (seen["tricks"], seen["needed"], seen["leader"], seen["table"]) == ([1, 0, 0], [1, 3, 1], 0, [])
    game.apply_action(*parse_cards("3H"))
    game.apply_action(*parse_cards("9H"))
    seen = game.layout.decode(game.observe(0))
    assert (seen["winning_cards"], seen["winning_seat"]) == ([], 2)


# Scores and counts at their limits.


SCORED = [
    Rules(),
    rules_for(15, [1]),
    Rules(points_per_trick=165),
    rules_for(2, [1, 1]),
    Rules.preset("back_alley"),
    Rules.preset("micro"),
]


@pytest.mark.parametrize("rules", SCORED)
def test_every_score_survives_exactly(rules: Rules) -> None:
    layout, seats = ObservationLayout.of(rules), rules.num_players
    scores = np.arange(-rules.most_points, rules.most_points + 1)
    rows = np.resize(scores, (-(-len(scores) // seats), seats))
    record = BatchGame(rules, 1, seed=1).records.copy()
    for row in rows:
        record["scores"][0, :seats] = row
        vector = Game.from_record(rules, record).observe(0)
        coarse, fine = (vector[layout.slice(name)].astype(int) for name in ("scores", "scores_fine"))
        assert (coarse * layout.score_unit + fine == row).all()
        assert max(abs(coarse).max(), abs(fine).max()) <= 127


def test_the_most_points_of_all_are_reached_and_shown() -> None:
    rules = rules_for(2, [1] * 30, points_per_trick=1000)
    hands = [parse_cards("AS"), parse_cards("2S")]
    game = Game(rules, deals=[deal_of(hands, parse_cards("3S")[0], dealer=hand % 2) for hand in range(30)])
    while not game.is_terminal:
        game.apply_action(game.legal_actions()[0])
    assert game.scores == (MAX_POINTS, -MAX_POINTS)
    for vector in (game.observe(0), game.observe(0) * game.layout.scale):
        assert np.abs(vector).max() <= 127
        assert game.layout.decode(vector)["scores"] == [MAX_POINTS, -MAX_POINTS]


def test_the_longest_match_counts_its_hands() -> None:
    game = Game(rules_for(2, [1] * MAX_HANDS), seed=1)
    assert game.layout.decode(game.observe(0))["hands_left"] == MAX_HANDS
    assert (game.observe(0) * game.layout.scale).max() == 1


# Layouts.


@pytest.mark.parametrize("seats", ALL_SEATS)
def test_slices_are_disjoint_and_cover_the_vector(seats: int) -> None:
    layout = Game(Rules(num_players=seats), seed=1).layout
    place = 0
    for name, part in layout.state_slices.items():
        assert (part.name, part.start, part.stop) == (name, place, place + int(np.prod(part.shape)))
        assert layout.slice(name) == slice(part.start, part.stop)
        assert 1 <= part.divisor <= 127
        place = part.stop
        if name in layout.slices:
            assert layout.slices[name] == part
            assert layout.size >= part.stop
    assert place == layout.state_size
    assert list(layout.state_slices) == [*layout.slices, "other_hands"]
    cards = layout.most_cards
    assert layout.size == 239 + 67 * seats + cards + 2 * seats * cards  # as docs/observation.md says
    assert layout.num_actions == FIRST_BID + cards + 1
    assert (layout.scale.shape, layout.state_scale.shape) == ((layout.size,), (layout.state_size,))
    assert (layout.state_scale[: layout.size] == layout.scale).all()
    assert not layout.scale.flags.writeable


def test_tables_name_every_slice_and_its_place() -> None:
    layout = ObservationLayout.of(Rules())
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in layout.table().splitlines()[2:]]
    assert [(row[0].strip("`"), int(row[1]), int(row[2])) for row in rows] == [
        (part.name, part.start, part.stop) for part in layout.state_slices.values()
    ]
    assert all(row[5] == part.meaning for row, part in zip(rows, layout.state_slices.values(), strict=True))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"num_players": 1}, "the layout's num_players is 1, but it must be a whole number from 2 to 15"),
        ({"num_players": 4.0}, "the layout's num_players is 4.0, but"),
        ({"most_cards": 0}, "the layout's most_cards is 0, but it must be a whole number from 1 to 27"),
        ({"score_unit": 0}, "the layout's score_unit is 0, but it must be a whole number from 1 to 237"),
        ({"score_unit": 238}, "the layout's score_unit is 238, but"),
        ({"num_suits": 0}, "the layout's num_suits is 0, but it must be a whole number from 1 to 4"),
        ({"num_suits": 5}, "the layout's num_suits is 5, but"),
        ({"num_ranks": 0}, "the layout's num_ranks is 0, but it must be a whole number from 1 to 13"),
        ({"num_ranks": 13.0}, "the layout's num_ranks is 13.0, but"),
    ],
)
def test_impossible_layouts_are_refused(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}"):
        replace(ObservationLayout(4, 13, 2), **wrong)


@pytest.mark.parametrize("name", ["num_players", "most_cards", "score_unit", "num_suits", "num_ranks"])
def test_layouts_too_narrow_for_the_rules_are_refused(name: str) -> None:
    own, batch = ObservationLayout.of(Rules()), BatchGame(Rules(), 2, seed=1)
    narrow = replace(own, **{name: getattr(own, name) - 1})
    for use in (lambda: BatchGame(Rules(), 2, seed=1, layout=narrow), lambda: turn_of(batch).encode(narrow, False)):
        with pytest.raises(ValueError, match=rf"^the observation layout has {name}=\d+, but the rules need \d+$"):
            use()


def turn_of(batch: BatchGame) -> Turn:
    return Turn(batch.rules, batch.views(), batch.seats, np.arange(batch.num_games))


def test_layouts_without_teams_are_refused_for_teams() -> None:
    batch = BatchGame(Rules.preset("back_alley"), 2, seed=1)
    narrow = replace(batch.layout, teams=False)
    for use in (lambda: BatchGame(batch.rules, 2, seed=1, layout=narrow), lambda: turn_of(batch).encode(narrow, False)):
        with pytest.raises(ValueError, match=r"^the observation layout has teams=False, but the rules need True$"):
            use()


def test_vectors_of_another_size_are_refused() -> None:
    layout = ObservationLayout.of(Rules())
    for vector in (np.zeros(layout.size - 1), np.zeros((1, layout.size)), np.zeros(0), [1, 2, 3]):
        with pytest.raises(ValueError, match=rf"the vector has shape .* observations have \({layout.size},\)"):
            layout.decode(vector)  # type: ignore[arg-type]


def test_wrong_seats_and_suit_orders_are_refused() -> None:
    game = Game(seed=1)
    calls: list[Any] = [game.observe, game.state, game.action_mask]
    for call in calls:
        for seat in (-1, 4, 1.0, "0", True):
            with pytest.raises(ValueError, match=rf"^seat is {seat!r}, but it must be a whole number from 0 to 3"):
                call(seat)
        with pytest.raises(ValueError, match="suit_order is 'trump', but it must be one of fixed, canonical"):
            call(0, "trump")

"""Who meets whom at the tables of a tournament."""

from collections import Counter
from itertools import combinations

import pytest

from bluke_env.evaluation.lineups import Table, distinct_rotations, mixed_tables, pair_tables


def seats_taken(tables: list[Table]) -> Counter[str]:
    return Counter(name for table in tables for name in table)


def meetings(tables: list[Table], players: str) -> list[int]:
    met = Counter(frozenset(pair) for table in tables for pair in combinations(table, 2))
    return [met[frozenset(pair)] for pair in combinations(players, 2)]


@pytest.mark.parametrize(
    ("table", "count"),
    [("aaaa", 1), ("abab", 2), ("aabb", 4), ("abbb", 4), ("abcabc", 3), ("abcd", 4), ("aba", 3), ("ab", 2), ("aa", 1)],
)
def test_rotations_that_seat_the_players_differently(table: str, count: int) -> None:
    rotations = distinct_rotations(tuple(table))
    assert rotations == list(range(count))
    seatings = [tuple(table[(unit - rotation) % len(table)] for unit in range(len(table))) for rotation in rotations]
    everything = {tuple(table[shift:] + table[:shift]) for shift in range(len(table))}
    assert len(seatings) == len(set(seatings))
    assert set(seatings) == everything


def test_every_player_meets_every_other_alone_and_itself() -> None:
    assert pair_tables(["b", "a", "c"], 3) == [
        ("a", "a", "a"),
        ("a", "b", "b"),
        ("a", "c", "c"),
        ("b", "b", "b"),
        ("b", "a", "a"),
        ("b", "c", "c"),
        ("c", "c", "c"),
        ("c", "a", "a"),
        ("c", "b", "b"),
    ]
    assert pair_tables(["a", "b"], 2) == [("a", "a"), ("a", "b"), ("b", "b"), ("b", "a")]
    assert pair_tables(["alone"], 4) == [("alone",) * 4]


@pytest.mark.parametrize(
    ("players", "units", "count"),
    [
        ("ab", 4, 6),
        ("abc", 4, 11),
        ("abc", 7, 5),
        ("abcd", 4, 10),
        ("abcde", 4, 13),
        ("abcdefgh", 4, 14),
        ("abcdefghij", 4, 45),
        ("abcdefg", 3, 14),
        ("abcdef", 2, 40),
        ("abcdefghijklmno", 4, 60),
    ],
)
def test_all_play_and_meet_about_equally_often(players: str, units: int, count: int) -> None:
    for seed in range(5):
        tables = mixed_tables(list(players), units, count, seed)
        assert len(tables) == count
        assert all(len(table) == units for table in tables)
        for table in tables:
            taken = [Counter(table)[name] for name in players]
            assert max(taken) - min(taken) <= 1, "as many different players as there can be"
        seats = [seats_taken(tables)[name] for name in players]
        assert max(seats) - min(seats) <= 1
        met = meetings(tables, players)
        assert max(met) - min(met) <= 3


def test_the_seed_draws_the_tables_and_the_order_of_the_players_does_not() -> None:
    one = mixed_tables(["ann", "bob", "cyd", "dee", "eve"], 4, 12, seed=1)
    assert one == mixed_tables(["eve", "cyd", "ann", "dee", "bob"], 4, 12, seed=1)
    assert one != mixed_tables(["ann", "bob", "cyd", "dee", "eve"], 4, 12, seed=2)
    assert one[:7] == mixed_tables(["ann", "bob", "cyd", "dee", "eve"], 4, 7, seed=1)
    assert set(pair_tables(["x", "y", "z"], 4)) == set(pair_tables(["z", "x", "y"], 4))


def test_neighbours_change() -> None:
    """The order at the table is drawn: three ways to go round a table of four are all seen."""
    rounds = {frozenset((table[0], table[2])) for table in mixed_tables(list("abcd"), 4, 40, seed=0)}
    assert len(rounds) == 6


@pytest.mark.parametrize(
    ("players", "units", "count", "seed", "sentence"),
    [
        ([], 4, 3, 0, "players are none, but they must be one or more different names"),
        (["a", "b", "a"], 4, 3, 0, "players are a, b, a, but"),
        (["a", "b"], 1, 3, 0, "units is 1, but it must be a whole number from 2 to 15"),
        (["a", "b"], 4, 0, 0, "count is 0, but"),
        (["a", "b"], 4, 3, -1, "seed is -1, but"),
    ],
)
def test_bad_arguments_are_refused_in_a_sentence(
    players: list[str], units: int, count: int, seed: int, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        mixed_tables(players, units, count, seed)


def test_pairs_are_checked_too() -> None:
    with pytest.raises(ValueError, match="players are a, a, but"):
        pair_tables(["a", "a"], 4)

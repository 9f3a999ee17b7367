"""Who meets whom at which table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from bluke_env.errors import checked_integer, checked_seed

Table = tuple[str, ...]
"""Who plays at a table: the name of a player for every unit, which is a seat or, of teams, a side."""


def distinct_rotations(table: Table) -> list[int]:
    """Returns the rotations of a table that seat the players differently: 0 up to its period.

    A table of one player has 1, (a, b, a, b) has 2 and one of different players as many as it has units.
    """
    units = len(table)
    period = next(shift for shift in range(1, units + 1) if table[shift:] + table[:shift] == table)
    return list(range(period))


def pair_tables(players: Sequence[str], units: int) -> list[Table]:
    """Returns every player alone in all units, and every one among copies of every other.

    Args:
        players: Different names; their order does not matter.
        units: Of a table, at least 2.

    Returns:
        For every i in alphabetical order (i, i, ..., i), the baseline, then (i, j, ..., j) for every other j. With 2
        units (i, j) and (j, i) are rotations of one another and both are given.

    Raises:
        ValueError: There is no player, a name is given twice, or there are fewer than 2 units.
    """
    names = _checked(players, units)
    return [
        (one, *[other] * (units - 1)) for one in names for other in sorted(names, key=lambda name: (name != one, name))
    ]


def mixed_tables(players: Sequence[str], units: int, count: int, seed: int) -> list[Table]:
    """Returns tables of as many different players as possible, drawn so that all play and meet about equally often.

    No two players differ by more than one in how many units they take over all tables. Among the tables that keep to
    this, players who have met each other least are put together; ties and the order at the table are drawn. With
    fewer players than units everyone takes units / players of them, rounded down or up.

    Args:
        players: Different names; their order does not matter.
        units: Of a table, at least 2.
        count: Of tables.
        seed: Of the draws.

    Raises:
        ValueError: There is no player, a name is given twice, there are fewer than 2 units, or `count` or `seed` is
            invalid.
    """
    names = _checked(players, units)
    count = checked_integer("count", count, 1, 1 << 20)
    generator = np.random.default_rng(checked_seed(seed))
    seated, met = np.zeros(len(names), np.int64), np.zeros((len(names), len(names)), np.int64)
    tables = []
    for _ in range(count):
        table = list(range(len(names))) * (units // len(names))
        extra: list[int] = []
        for _ in range(units % len(names)):
            draw = generator.permutation(len(names))
            key = np.lexsort((draw, met[:, extra].sum(axis=1), seated))
            extra.append(next(index for index in key.tolist() if index not in extra))
        table += extra
        for one, other in combinations(table, 2):
            met[one, other] += 1
            met[other, one] += 1
        for player, times in Counter(table).items():
            seated[player] += times
        tables.append(tuple(names[index] for index in generator.permutation(table)))
    return tables


def _checked(players: Sequence[str], units: int) -> list[str]:
    """Returns the names in alphabetical order."""
    checked_integer("units", units, 2, 15)
    if not players or len(set(players)) != len(players):
        raise ValueError(f"players are {', '.join(players) or 'none'}, but they must be one or more different names")
    return sorted(players)

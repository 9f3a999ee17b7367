"""Tables taken apart into comparisons of two players, the raw material of ratings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True)
class TableResult:
    """What was played at one table.

    Attributes:
        players: Names by unit, a seat or, of teams, a side.
        points: Integers [deals, rotations, units], of hands or of matches. In rotation r player p is unit
            (p + r) % units.
        clusters: Integers [deals]. Results that share the cards, whether at this table or at another, have the same
            number.

    Raises:
        ValueError: The arrays have other shapes or dtypes, or are empty.
    """

    players: tuple[str, ...]
    points: np.ndarray
    clusters: np.ndarray

    def __post_init__(self) -> None:
        table, units = ", ".join(self.players), len(self.players)
        for name, array, axes in (("points", self.points, 3), ("clusters", self.clusters, 1)):
            if array.ndim != axes or array.dtype.kind not in "iu" or not array.size:
                raise ValueError(
                    f"{name} of table {table} have shape {array.shape} and dtype {array.dtype}, but they must be "
                    f"integers with {axes} axes, none of them empty"
                )
        deals, rotations, columns = self.points.shape
        if columns != units or rotations > units or len(self.clusters) != deals:
            raise ValueError(
                f"points of table {table} have shape {self.points.shape} and clusters {self.clusters.shape}, but "
                f"{units} players make points (deals, at most {units} rotations, {units}) and clusters (deals,)"
            )


class Rows(NamedTuple):
    """All comparisons of two players within a cluster, summed up, each array [rows], in the order of cluster and pair.

    The first and second player are given by index, the first being smaller. `weight` is that of the comparisons, `wins`
    that of those in which the first made more points, `margin` the weighted sum of how many more.
    """

    cluster: np.ndarray
    first: np.ndarray
    second: np.ndarray
    weight: np.ndarray
    wins: np.ndarray
    margin: np.ndarray

    def of(self, members: np.ndarray) -> Rows:
        """Returns the rows of some players, who met nobody else, and numbers players and clusters anew."""
        rows = Rows(*(column[np.isin(self.first, members)] for column in self))
        cluster = np.unique(rows.cluster, return_inverse=True)[1]
        first, second = np.searchsorted(members, (rows.first, rows.second))
        return rows._replace(cluster=cluster, first=first, second=second)


def compare_pairs(results: Sequence[TableResult], names: list[str]) -> Rows:
    """Compares all pairs of different players at every table, each pair weighing 2 / units.

    Args:
        results: In any order: what is summed up are integers below 2**53, so it changes no bit.
        names: All players; a player's index is that of its name.
    """
    count, number = len(names), {name: index for index, name in enumerate(names)}
    common = math.lcm(*(len(result.players) for result in results))
    clusters, pairs, sums = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty((0, 3), np.int64)]
    for result in results:
        points, places = _by_player(result), [number[name] for name in result.players]
        for one, other in combinations(sorted(range(len(places)), key=places.__getitem__), 2):
            if places[one] == places[other]:
                continue
            margin = points[:, :, one] - points[:, :, other]
            weight = np.full(len(margin), 2 * margin.shape[1])
            columns = np.stack((weight, (1 + np.sign(margin)).sum(axis=1), 2 * margin.sum(axis=1)), axis=1)
            sums.append(common // len(places) * columns)
            clusters.append(result.clusters.astype(np.int64))
            pairs.append(np.full(len(margin), places[one] * count + places[other]))
    cluster = np.unique(np.concatenate(clusters), return_inverse=True)[1]
    keys, row = np.unique(cluster * count**2 + np.concatenate(pairs), return_inverse=True)
    totals = (np.bincount(row, column, len(keys)) / common for column in np.concatenate(sums).T)
    pair = keys % count**2
    return Rows(keys // count**2, pair // count, pair % count, *totals)


def _by_player(result: TableResult) -> np.ndarray:
    """Returns the points by player instead of unit, int64 [deals, rotations, players]."""
    rotations, units = np.arange(result.points.shape[1]), np.arange(len(result.players))
    return np.take_along_axis(result.points.astype(np.int64), (rotations[:, None] + units)[None] % len(units), axis=2)

"""Ratings of players by one fit over all results, with intervals by deal.

Every two players at a table are compared: who made more points, and by how many. From all comparisons at once, in
whatever order they came, two ratings are estimated:

- Bradley and Terry (1952): the odds that i makes more points than j at the same table are exp(r_i - r_j), ties counting
  as half; on Elo's scale, where 400 points are odds of 10 to 1;
- least squares: i makes r_i - r_j points more than j at the same table.

A ranking of n units decides n(n - 1) / 2 pairs but is made of n - 1 free comparisons, so each pair counts 2 / n. The
weights shape the estimates alone: intervals come from how much the deals disagree (the sandwich of Liang and Zeger,
1986, with deals as clusters), so rotations of a deal, or pairs of a table, never pass for independent evidence.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bluke_env.evaluation.pairs import Rows, TableResult, compare_pairs
from bluke_env.evaluation.statistics import student_95

ELO = 400 / math.log(10)
"""Elo points of one unit of log odds."""

FEW_DEALS = 30
"""With fewer clusters the sandwich is too narrow (Cameron and Miller, A Practitioner's Guide to Cluster-Robust
Inference, 2015, section VI)."""


class Rating(NamedTuple):
    """How good a player is.

    Attributes:
        name: The player.
        rating: On Elo's scale; the mean of the players of its group is 0, or the anchor is.
        low: Lower end of the 95 % interval of `rating`.
        high: Upper end.
        points: Points more than the mean of the players of its group, or than the anchor, at the same table.
        points_half_width: Half the 95 % interval of `points`.
        tables: How often it sat at a table with another player; every rotation of a deal counts.
        group: 0 for the largest group of players that are connected by tables, of equals the one with the first name
            in the alphabet. Ratings of players in different groups cannot be compared; a player alone in its group has
            rating 0 and says nothing.
    """

    name: str
    rating: float
    low: float
    high: float
    points: float
    points_half_width: float
    tables: int
    group: int


def fit_ratings(results: Sequence[TableResult], anchor: str | None = None) -> list[Rating]:
    """Rates all players by one fit.

    The order of the results and of the deals within them changes no bit, since all sums are of integers or in the order
    of the cluster numbers. Two cases have no answer of their own:

    - A player that lost to nobody it met, or a set of players that lost to nobody outside of it, would have an infinite
      rating. Each pair of players that such a border parts gets one deal more, tied. Where there is no such border
      nothing is added.
    - Such players, and all with fewer than `FEW_DEALS` deals, can show a sandwich that is too narrow, even empty. Their
      variance is then at least what the model expects if all comparisons of two players within a deal end alike.

    Args:
        results: Tables in any order, also several of the same players. A player that meets itself is ignored there.
        anchor: The player whose ratings are 0; by default the mean of each group is.

    Returns:
        All players by group, the best first.

    Raises:
        ValueError: There is no result, or the anchor is not among the players.
        ModuleNotFoundError: choix is not installed.
    """
    if not results:
        raise ValueError("there are no results to rate: give at least one table")
    names = sorted({name for result in results for name in result.players})
    if anchor is not None and anchor not in names:
        raise ValueError(f"the anchor is {anchor!r}, but the players are {', '.join(names)}")
    rows = compare_pairs(results, names)
    tables = Counter[str]()
    for result in results:
        if len(set(result.players)) > 1:
            tables.update(dict.fromkeys(result.players, result.points[:, :, 0].size))
    ratings = []
    for number, members in enumerate(_groups(rows, len(names))):
        here = [names[member] for member in members]
        fit = _fit_group(rows.of(members), len(here), here.index(anchor) if anchor in here else None)
        for name, rating, half_width, points, points_half_width in zip(here, *fit, strict=True):
            low, high = rating - half_width, rating + half_width
            ratings.append(Rating(name, rating, low, high, points, points_half_width, tables[name], number))
    return sorted(ratings, key=lambda rating: (rating.group, -rating.rating, rating.name))


def _groups(rows: Rows, count: int) -> list[np.ndarray]:
    """Returns the players by connected group, indices [members] in ascending order, the largest group first."""
    met = np.zeros((count, count), bool)
    met[rows.first, rows.second] = met[rows.second, rows.first] = True
    groups = {tuple(np.flatnonzero(row).tolist()) for row in _reachable(met)}
    return [np.array(group) for group in sorted(groups, key=lambda group: (-len(group), group))]


def _reachable(edges: np.ndarray) -> np.ndarray:
    """Returns whether a path, perhaps of no steps, leads from one to another, bool [n, n]."""
    paths = edges | np.eye(len(edges), dtype=bool)
    for _ in range(len(edges).bit_length()):
        paths = paths @ paths
    return paths


def _fit_group(rows: Rows, count: int, anchor: int | None) -> list[list[float]]:
    """Returns rating, half-width, points and half-width of the players of one connected group, four lists [count]."""
    played = np.zeros((rows.cluster.max(initial=-1) + 1, count), bool)
    played[rows.cluster, rows.first] = played[rows.cluster, rows.second] = True
    deals = played.sum(axis=0)
    won = _square(rows, rows.wins, count) + _square(rows, rows.weight - rows.wins, count).T
    paths = _reachable(won > 0)
    mutual = paths & paths.T
    weak = (deals < FEW_DEALS) | ~_in_core(mutual)
    if anchor is None:
        contrast = np.eye(count) - 1 / count
    else:
        contrast = np.eye(count) - np.eye(count)[anchor]
        deals = np.minimum(deals, deals[anchor])
    student = np.array([student_95(freedom) for freedom in np.maximum(deals - 1, 2).tolist()])
    columns = []
    for scale, (estimate, covariance) in (
        (ELO, _bradley_terry(rows, won, mutual, weak)),
        (1.0, _least_squares(rows, weak)),
    ):
        variance = np.diag(contrast @ covariance @ contrast.T)
        columns.append((scale * (contrast @ estimate)).tolist())
        columns.append((scale * student * np.sqrt(np.maximum(variance, 0))).tolist())
    return columns


def _in_core(mutual: np.ndarray) -> np.ndarray:
    """Returns who belongs to the largest set of players with finite differences, bool [n]; nobody if there are two."""
    sizes = mutual.sum(axis=1)
    return (sizes == sizes.max()) & (np.count_nonzero(sizes == sizes.max()) == sizes.max())


def _bradley_terry(rows: Rows, won: np.ndarray, mutual: np.ndarray, weak: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns log odds [n] and their covariance [n, n].

    Args:
        rows: The comparisons.
        won: float64 [n, n], the weight of comparisons that i won against j.
        mutual: bool [n, n], whether the difference of i and j is finite.
        weak: See `_covariance`.
    """
    try:
        import choix
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"ratings need {error.name}: pip install 'bluke-env[evaluate]'", name=error.name
        ) from error

    count = len(won)
    met = _square(rows, np.ones(len(rows.first)), count)
    weight = won + won.T
    deal = np.divide(weight, met + met.T, out=np.zeros_like(weight), where=weight > 0)
    won = won + np.where(mutual, 0, deal / 2)
    odds = choix.ilsr_pairwise_dense(won, max_iter=100_000, tol=1e-10) if count > 1 else np.zeros(count)
    chance = 1 / (1 + np.exp(odds[rows.second] - odds[rows.first]))
    spread = 1 / (2 * np.cosh((odds[:, None] - odds) / 2)) ** 2  # p (1 - p), exact where p is almost 1
    covariance = _covariance(
        rows,
        bread=_laplacian((won + won.T) * spread),
        residuals=rows.wins - rows.weight * chance,
        expected=rows.weight**2 * spread[rows.first, rows.second],
        weak=weak,
    )
    return odds, covariance


def _least_squares(rows: Rows, weak: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns points [n] and their covariance [n, n]."""
    weight, margin = (_square(rows, values, len(weak)) for values in (rows.weight, rows.margin))
    bread = _laplacian(weight + weight.T)
    points = np.linalg.solve(_grounded(bread), (margin - margin.T).sum(axis=1))
    mean_square = (rows.margin**2 / rows.weight).sum() / max(rows.weight.sum(), 1)
    covariance = _covariance(
        rows,
        bread=bread,
        residuals=rows.margin - rows.weight * (points[rows.first] - points[rows.second]),
        expected=rows.weight**2 * mean_square,
        weak=weak,
    )
    return points, covariance


def _covariance(
    rows: Rows, *, bread: np.ndarray, residuals: np.ndarray, expected: np.ndarray, weak: np.ndarray
) -> np.ndarray:
    """Returns the covariance of estimates [n, n]: the sandwich by cluster, and for the weak at least the model's.

    Args:
        rows: The comparisons.
        bread: float64 [n, n], the information in the weighted comparisons.
        residuals: float64 [rows], how much more than expected the first players won, weighted.
        expected: float64 [rows], the variances that the model expects of the residuals.
        weak: bool [n], whose variance must not be less than the model's.
    """
    count, clusters = len(bread), rows.cluster.max(initial=0) + 1
    scores = np.zeros((clusters, count))
    np.add.at(scores, (rows.cluster, rows.first), residuals)
    np.subtract.at(scores, (rows.cluster, rows.second), residuals)
    meat = np.einsum("ci,cj->ij", scores, scores) * clusters / max(clusters - 1, 1)  # no BLAS: alike on any threads
    inverse = np.linalg.inv(_grounded(bread))
    sandwich = inverse @ meat @ inverse
    expected_meat = _square(rows, expected, count)
    model = inverse @ _laplacian(expected_meat + expected_meat.T) @ inverse
    missing = np.maximum(np.diag(model) - np.diag(sandwich), 0)
    return sandwich + np.diag(np.where(weak, missing, 0))


def _square(rows: Rows, values: np.ndarray, count: int) -> np.ndarray:
    """Returns the sums of values [rows] by pair, float64 [count, count], at [first, second]."""
    sums = np.zeros((count, count))
    np.add.at(sums, (rows.first, rows.second), values)
    return sums


def _laplacian(weights: np.ndarray) -> np.ndarray:
    """Returns the matrix of the quadratic form that sums weights[i, j] (x_i - x_j)**2 over pairs."""
    return np.diag(weights.sum(axis=1)) - weights


def _grounded(laplacian: np.ndarray) -> np.ndarray:
    """Makes a Laplacian invertible by fixing the mean, which no comparison tells, at 0."""
    count = len(laplacian)
    return laplacian + max(np.trace(laplacian), 1.0) / count**2

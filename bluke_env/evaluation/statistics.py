"""Means with honest intervals: the deal is the unit, however many seats and rotations it was played in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

MIN_DEALS = 3
"""Fewer deals give no usable interval."""

_NORMAL_95 = 1.959963984540054
"""The 97.5 % point of the normal distribution."""


@dataclass(frozen=True)
class Estimate:
    """A mean and how well it is known.

    Attributes:
        mean: The mean.
        standard_error: Of the mean.
        degrees_of_freedom: Of the standard error.
    """

    mean: float
    standard_error: float
    degrees_of_freedom: float

    @property
    def half_width(self) -> float:
        """Half the 95 % interval, by Student's t."""
        return student_95(self.degrees_of_freedom) * self.standard_error

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval."""
        return self.mean - self.half_width, self.mean + self.half_width

    @property
    def share_interval(self) -> tuple[float, float]:
        """The 95 % interval of a share, from 0 to 1 at most.

        Of a share that was 0 or 1 in all deals the spread says nothing; there it is that of Wilson, "Probable
        inference, the law of succession, and statistical inference", 1927, with the deals as trials.
        """
        if self.mean not in (0, 1):
            low, high = self.interval
            return max(low, 0.0), min(high, 1.0)
        trials = self.degrees_of_freedom + 1
        reach = _NORMAL_95**2 / (trials + _NORMAL_95**2)
        return (0.0, reach) if self.mean == 0 else (1 - reach, 1.0)

    def __str__(self) -> str:
        return f"{self.mean:+.2f} ± {self.half_width:.2f}"

    @classmethod
    def by_deal(cls, values: np.ndarray) -> Estimate:
        """Estimates the mean of values that were already averaged within each deal, [deals].

        This is the clustered standard error for equally large clusters.

        Raises:
            ValueError: There are fewer than `MIN_DEALS` deals.
        """
        if len(values) < MIN_DEALS:
            raise ValueError(f"an interval needs at least {MIN_DEALS} deals, but there are {len(values)}")
        return cls(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values)), len(values) - 1)

    @classmethod
    def weighted(cls, estimates: Sequence[Estimate], weights: Sequence[float]) -> Estimate:
        """Averages estimates from independent strata; degrees of freedom by Welch and Satterthwaite."""
        total = sum(weights)
        mean = sum(weight * estimate.mean for weight, estimate in zip(weights, estimates, strict=True)) / total
        parts = [
            (weight / total * estimate.standard_error) ** 2 for weight, estimate in zip(weights, estimates, strict=True)
        ]
        variance = sum(parts)
        if variance == 0:
            return cls(mean, 0.0, min(estimate.degrees_of_freedom for estimate in estimates))
        spread = sum(part**2 / estimate.degrees_of_freedom for part, estimate in zip(parts, estimates, strict=True))
        return cls(mean, math.sqrt(variance), variance**2 / spread)


def student_95(degrees_of_freedom: float) -> float:
    """Returns the 97.5 % point of Student's t, within 1 % from 2 degrees of freedom on, 0.2 % from 3.

    Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5.
    """
    z, v = _NORMAL_95, degrees_of_freedom
    return (
        z
        + (z**3 + z) / (4 * v)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * v**4)
    )


def variance_reduction(values: np.ndarray, baseline: np.ndarray | None = None) -> float | None:
    """Returns how many times more hands independent deals would need for an equally long interval.

    The rival is as many hands, each of a deal of its own: with a baseline, as many of them of the player and as many of
    the baseline as duplicate deals took. Its variance is known from the same values, by how much hands in the same seat
    differ from deal to deal.

    Args:
        values: [deals, rotations], a statistic of the player in each rotation. Integers are summed exactly.
        baseline: [deals, rotations], what is subtracted from it; one hand of a deal gave all its rotations.

    Returns:
        The variance of the mean with independent deals over that with duplicate deals, above 1 where duplicate deals
        are worth it; None where duplicate deals leave no variance at all.

    Raises:
        ValueError: The arrays have other shapes, or there are fewer than `MIN_DEALS` deals.
    """
    if values.ndim != 2 or len(values) < MIN_DEALS or (baseline is not None and baseline.shape != values.shape):
        shapes = f"{values.shape}" if baseline is None else f"{values.shape} and {baseline.shape}"
        raise ValueError(
            f"values have shape {shapes}, but they must be (deals, rotations) with at least {MIN_DEALS} deals"
        )
    independent, duplicate = variances(values, baseline)
    return independent / duplicate if duplicate else None


def variances(values: np.ndarray, baseline: np.ndarray | None = None) -> tuple[float, float]:
    """Returns the variances of a deal's sum over its rotations, with independent and with duplicate deals."""
    independent = float(values.var(axis=0, ddof=1).sum())  # of the sum over rotations, each of another deal
    differences = values if baseline is None else values - baseline
    if baseline is not None:
        independent += float(baseline.sum(axis=1).var(ddof=1))
    return independent, float(differences.sum(axis=1).var(ddof=1))

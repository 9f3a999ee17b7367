"""Equilibria of small games by counterfactual regret minimisation, as a reference for what can be reached.

CFR+ (Tammelin, "Solving large imperfect information games using CFR+", 2014): the seats take turns, regrets never fall
below zero, and iteration t counts t times in the average, whose exploitability goes to zero. It does so where one seat
wins what the other loses, so both play for the margin, own points minus the opponent's.
"""

from __future__ import annotations

import numpy as np

from bluke_env.errors import checked_integer
from bluke_env.evaluation.small_game import SmallGame
from bluke_env.evaluation.tabular import TabularPolicy
from bluke_env.evaluation.tree_kernels import match_regrets, normalise, plan_of, sequence_values, take_regrets

MOST_ITERATIONS = 10_000_000


class CfrPlus:
    """A solver that can go on from where it is.

    Args:
        game: What is solved.

    Attributes:
        game: As above.
        iterations: How many were done.
    """

    def __init__(self, game: SmallGame) -> None:
        self.game = game
        self.iterations = 0
        size = len(game.actions)
        self._regrets, self._sums = np.zeros(size), np.zeros(size)
        self._strategy = TabularPolicy.uniform(game).probabilities
        self._plan, self._values = np.empty(size), np.empty(size)
        plan_of(game.states, self._strategy, self._plan)

    def run(self, iterations: int) -> None:
        """Does more iterations, 1 or more; the result depends on nothing but their total."""
        game = self.game
        for _ in range(checked_integer("iterations", iterations, 1, MOST_ITERATIONS)):
            self.iterations += 1
            weight = float(self.iterations)
            for seat in range(2):
                sequence_values(game.leaves, game.points, self._plan, seat, 1, self._values)
                take_regrets(game.states, seat, self._values, self._strategy, self._regrets)
                match_regrets(game.states, seat, self._regrets, self._strategy, self._plan, weight, self._sums)

    def average(self) -> TabularPolicy:
        """Returns the average policy so far, each seat's decisions weighted by how likely it comes to them."""
        probabilities = np.empty(len(self._sums))
        normalise(self.game.states, self._sums, probabilities)
        return TabularPolicy(self.game, probabilities)


def solve(game: SmallGame, iterations: int) -> TabularPolicy:
    """Returns the average policy of so many iterations of CFR+."""
    solver = CfrPlus(game)
    solver.run(iterations)
    return solver.average()

"""Policies of small games for OpenSpiel's algorithms, for example its exploitability."""

from __future__ import annotations

import numpy as np

from bluke_env.adapters.openspiel import MISSING, BlukeGame, BlukeState, hand_text
from bluke_env.evaluation.tabular import TabularPolicy

try:
    from open_spiel.python.policy import Policy
except ImportError as error:
    raise ImportError(MISSING) from error


class SpielPolicy(Policy):
    """A policy of a small game for OpenSpiel's algorithms.

    Args:
        game: `load` of the policy's rules.
        policy: What it plays.
    """

    def __init__(self, game: BlukeGame, policy: TabularPolicy) -> None:
        super().__init__(game, list(range(2)))
        small = policy.game
        views = small.views(np.arange(len(small.states)))
        self._table = {}
        for view, state in zip(np.split(views, len(views)), small.states, strict=True):
            sequences = slice(state["first"], state["first"] + state["num_actions"])
            key = f"seat {state['seat']}: {hand_text(view, 2, state['seat'])}"
            actions, probabilities = small.actions[sequences].tolist(), policy.probabilities[sequences].tolist()
            self._table[key] = dict(zip(actions, probabilities, strict=True))

    def action_probabilities(self, state: BlukeState, player_id: int | None = None) -> dict[int, float]:
        """Returns the probability of each legal action; in the last trick there is only one."""
        player = state.current_player() if player_id is None else player_id
        actions = state.legal_actions(player)
        return self._table[state.information_state_string(player)] if len(actions) > 1 else {actions[0]: 1.0}

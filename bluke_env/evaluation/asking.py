"""Asking a player for its actions, and what is said of a player that fails."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bluke_env.actions import action_text
from bluke_env.agent import Agent, Turn


class AgentError(RuntimeError):
    """A player failed at the table. The sentence names the player, the deal and the seat."""


class RowFailure(Exception):
    """An agent failed in one row of a turn.

    Attributes:
        row: Which.
        reason: What happened, to follow the agent's name in a sentence.
    """

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(row, reason)
        self.row, self.reason = row, reason


def ask(name: str, agent: Agent, turn: Turn, masks: np.ndarray, where: Callable[[int], str]) -> np.ndarray:
    """Asks an agent for its actions and checks them.

    Args:
        name: Of the player.
        agent: Who is asked.
        turn: The decisions that are due, n of them. The agent may spoil it.
        masks: int8 [n, actions], 1 where legal.
        where: Says for a row which seat of which deal it is.

    Returns:
        One legal action id per row, an integer array [n].

    Raises:
        AgentError: The agent raised an exception, or its answer was not one legal action for each row.
    """
    due = len(masks)
    try:
        actions = np.asarray(agent.act(turn))
    except RowFailure as failure:
        raise AgentError(f"{name} {failure.reason} {where(failure.row)}") from failure.__cause__
    except (Exception, SystemExit) as error:
        raise AgentError(f"{name} raised {error!r} when asked for {due} actions, first {where(0)}") from error
    if actions.shape != (due,) or actions.dtype.kind not in "iu":
        raise AgentError(
            f"{name} answered with dtype {actions.dtype} and shape {actions.shape} when asked for {due} actions, first "
            f"{where(0)}, but it must answer with integers of shape ({due},)"
        )
    known = (actions >= 0) & (actions < masks.shape[1])
    legal = known & (masks[np.arange(due), np.where(known, actions, 0)] == 1)
    if not legal.all():
        row = int(np.argmin(legal))
        choices = np.flatnonzero(masks[row]).tolist()
        most_cards = turn.rules.most_cards
        raise AgentError(
            f"{name} chose {actions[row]} {where(row)}, but its legal actions are "
            + ", ".join(f"{action} ({action_text(action, most_cards)})" for action in choices)
        )
    return actions

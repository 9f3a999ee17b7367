"""Duplicate play: the same deals, played once for every seating of the players."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bluke_env.actions import action_text
from bluke_env.agent import Agent, Turn
from bluke_env.batch import BatchGame
from bluke_env.errors import checked_integer, checked_seed
from bluke_env.evaluation.seeds import deal_seed, player_seed
from bluke_env.rules import Rules
from bluke_env.schedule import ScheduledHand

CHUNK_ROWS = 8192
"""Games played at the same time, a few kilobytes each."""

Seating = Sequence[Agent]
"""Who sits in each seat; the same object may take several."""


class AgentError(RuntimeError):
    """A player failed at the table. The sentence names the player, the deal and the seat."""


@dataclass(frozen=True)
class DuplicateResult:
    """How the hands ended.

    Attributes:
        points: int32 [deals, seatings, seats].
        bids: int8 [deals, seatings, seats].
        tricks: int8 [deals, seatings, seats].
    """

    points: np.ndarray
    bids: np.ndarray
    tricks: np.ndarray


def rotations(agents: Seating) -> list[Seating]:
    """Returns all rotations of the players through the seats: in rotation r the first of them sits in seat r."""
    return [[agents[seat - rotation] for seat in range(len(agents))] for rotation in range(len(agents))]


def play_duplicate(
    rules: Rules,
    hand: ScheduledHand,
    seatings: Sequence[Seating],
    deals: int,
    seed: int,
    *,
    chunk_rows: int = CHUNK_ROWS,
) -> DuplicateResult:
    """Plays single hands of one kind, each deal in every seating.

    A deal depends on the seed, the kind of hand and its number alone. Deal d in seating s is game
    d * len(seatings) + s for the players, so players who draw lots by game play alike in batches of any size.

    Args:
        rules: The rules of the table.
        hand: How many cards are dealt, and whether at no trump.
        seatings: Ways to seat the players.
        deals: Deals 0 .. deals - 1 are played.
        seed: Of the deals and of the players' lots.
        chunk_rows: About how many games are played at a time; it bounds the memory and changes no result.

    Raises:
        ValueError: An argument is invalid, or a player plays with another number of players.
        AgentError: A player raised an exception, or its answer was not one legal action for each row.
    """
    deals = checked_integer("deals", deals, 1, 1 << 31)
    seed = checked_seed(seed)
    for seating in seatings:
        _check_seating(rules, seating)
    players = list({id(agent): agent for seating in seatings for agent in seating}.values())
    for index, player in enumerate(players):
        try:
            player.reset(deals * len(seatings), player_seed(seed, hand, index))
        except Exception as error:
            raise AgentError(f"{player.name} raised {error!r} when reset for hands of {hand.cards} cards") from error
    table = _Table(rules.hands_of(hand.cards, hand.no_trump), seatings, players, deal_seed(seed, hand))
    step = max(1, chunk_rows // len(seatings))
    chunks = [table.play(np.arange(first, min(first + step, deals), dtype=np.int64)) for first in range(0, deals, step)]
    return DuplicateResult(*(np.concatenate(parts) for parts in zip(*chunks, strict=True)))


def _check_seating(rules: Rules, seating: Seating) -> None:
    if len(seating) != rules.num_players:
        raise ValueError(f"{len(seating)} players were given for a table of {rules.num_players}")
    for agent in seating:
        own_rules = getattr(agent, "rules", None)
        if own_rules is not None and own_rules.num_players != rules.num_players:
            raise ValueError(
                f"{agent.name} plays at tables of {own_rules.num_players} players, "
                f"but this table has {rules.num_players}"
            )
        if own_rules is not None and own_rules.teams != rules.teams:
            games = {True: "Back Alley", False: "Bluke"}
            raise ValueError(f"{agent.name} plays {games[own_rules.teams]}, but this table plays {games[rules.teams]}")
        for name in ("most_cards", "num_suits", "num_ranks"):
            if own_rules is not None and getattr(rules, name) > getattr(own_rules, name):
                raise ValueError(
                    f"{agent.name} plays with {name} up to {getattr(own_rules, name)}, but this table has "
                    f"{getattr(rules, name)}"
                )


class _Table:
    """Plays deals of one kind of hand in all seatings."""

    def __init__(self, rules: Rules, seatings: Sequence[Seating], players: list[Agent], seed: int) -> None:
        self._rules, self._seatings, self._players, self._seed = rules, seatings, players, seed
        index = {id(player): number for number, player in enumerate(players)}
        self._player_at = np.array([[index[id(agent)] for agent in seating] for seating in seatings])

    def play(self, deals: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns points, bids and tricks [deals, seatings, seats] of the deals of these numbers."""
        count = len(self._seatings)
        games = (deals[:, None] * count + np.arange(count)).ravel()
        batch = BatchGame(self._rules, len(games), self._seed, numbers=np.repeat(deals, count), autoreset=False)
        actions = np.zeros(len(games), np.int64)
        while not batch.is_over.all():
            to_act = self._player_at[games % count, batch.seats]
            for index, player in enumerate(self._players):
                rows = np.flatnonzero(to_act == index)
                if len(rows):
                    actions[rows] = self._decide(player, batch, rows, games[rows])
            batch.step(actions)
        ended = batch.views()
        shape = (len(deals), count, -1)
        points, bids, tricks = (
            ended[name][:, : self._rules.num_players].reshape(shape)
            for name in ("last_points", "last_bids", "last_tricks")
        )
        return points, bids, tricks

    def _decide(self, player: Agent, batch: BatchGame, rows: np.ndarray, games: np.ndarray) -> np.ndarray:
        """Asks a player for its actions in some rows of the batch and checks them."""
        seats = batch.seats[rows]
        turn = Turn(self._rules, batch.views(rows), seats.copy(), games.copy())
        try:
            actions = np.asarray(player.act(turn))
        except Exception as error:
            where = self._where(games[0], seats[0])
            raise AgentError(
                f"{player.name} raised {error!r} when asked for {len(rows)} actions, first {where}"
            ) from error
        if actions.shape != (len(rows),) or actions.dtype.kind not in "iu":
            raise AgentError(
                f"{player.name} answered with dtype {actions.dtype} and shape {actions.shape} when asked for "
                f"{len(rows)} actions, first {self._where(games[0], seats[0])}, but it must answer with integers "
                f"of shape ({len(rows)},)"
            )
        masks = batch.masks[rows]
        known = (actions >= 0) & (actions < masks.shape[1])
        legal = known & (masks[np.arange(len(rows)), np.where(known, actions, 0)] == 1)
        if not legal.all():
            row = int(np.argmin(legal))
            choices = np.flatnonzero(masks[row]).tolist()
            raise AgentError(
                f"{player.name} chose {actions[row]} {self._where(games[row], seats[row])}, but its legal actions are "
                + ", ".join(f"{action} ({action_text(action, self._rules.most_cards)})" for action in choices)
            )
        return actions

    def _where(self, game: int, seat: int) -> str:
        deal, seating = divmod(int(game), len(self._seatings))
        names = ", ".join(agent.name for agent in self._seatings[seating])
        return f"in seat {seat} of deal {deal} (hands of {self._rules.schedule[0].cards} cards, seated {names})"

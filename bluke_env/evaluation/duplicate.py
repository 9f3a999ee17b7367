"""Duplicate play: the same deals, played once for every seating of the players."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from bluke_env.agent import Agent, Turn
from bluke_env.batch import BatchGame
from bluke_env.errors import checked_integer, checked_seed
from bluke_env.evaluation.asking import AgentError, ask
from bluke_env.evaluation.lineups import Table, distinct_rotations
from bluke_env.evaluation.seeds import deal_seed, player_seed
from bluke_env.rules import Rules
from bluke_env.schedule import ScheduledHand

GAMES_AT_ONCE = 8192
"""Games played at the same time, a few kilobytes each."""


@dataclass(frozen=True)
class DuplicateResult:
    """How hands of one kind ended.

    Attributes:
        points: int32 [deals, seatings, seats].
        bids: int8 [deals, seatings, seats]; in Back Alley a bid above `BOARD` is a board.
        tricks: int8 [deals, seatings, seats].
        dealers: int8 [deals], the dealer's seat.
        trumps: int8 [deals], the trump suit; -1 at no trump.
    """

    points: np.ndarray
    bids: np.ndarray
    tricks: np.ndarray
    dealers: np.ndarray
    trumps: np.ndarray

    @classmethod
    def joined(cls, parts: Sequence[DuplicateResult]) -> DuplicateResult:
        """Returns the results of successive ranges of deals as one."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


def rotations(rules: Rules, table: Table) -> list[Table]:
    """Returns the seatings of a table: the players moved on by 0, 1, 2, ... seats (of teams, sides), each way once.

    Args:
        rules: Of the table.
        table: Who plays.

    Returns:
        The name of the player in each seat, for every seating: in seating r the player at place p of the table sits in
        seat p + r, or takes that side.

    Raises:
        ValueError: The table has another number of places.
    """
    places = len(rules.sides)
    if len(table) != places:
        kind = "sides" if rules.teams else "players"
        raise ValueError(f"the table {', '.join(table)} has {len(table)} places, but the game is for {places} {kind}")
    side_of = {seat: place for place, side in enumerate(rules.sides) for seat in side}
    return [
        tuple(table[(side_of[seat] - rotation) % places] for seat in range(rules.num_players))
        for rotation in distinct_rotations(table)
    ]


def play_duplicate(
    rules: Rules,
    hand: ScheduledHand,
    seatings: Sequence[Sequence[str]],
    agents: Mapping[str, Agent],
    deals: int | range,
    seed: int,
    *,
    games_at_once: int = GAMES_AT_ONCE,
) -> DuplicateResult:
    """Plays single hands of one kind, each deal in every seating.

    A deal depends on the seed, the kind of hand and its number alone; what a player draws lots from on the seed, the
    kind of hand, its name and the game, which is number d * max(len(seatings), sides) + s for deal d in seating s.

    Args:
        rules: The rules of the table.
        hand: How many cards are dealt, and whether at no trump.
        seatings: Ways to seat the players: a name for each seat.
        agents: Who bears each name.
        deals: How many deals are played, or the range of their numbers.
        seed: Of the deals and of the players' lots.
        games_at_once: It bounds the memory and changes no result.

    Raises:
        ValueError: An argument is invalid, or a player plays other games.
        AgentError: A player raised an exception, or its answer was not one legal action for each row.
    """
    single = rules.hands_of(hand.cards, hand.no_trump)
    return _play(single, hand, seatings, agents, deals, seed, games_at_once)[0]


def play_matches(
    rules: Rules,
    seatings: Sequence[Sequence[str]],
    agents: Mapping[str, Agent],
    matches: int | range,
    seed: int,
    *,
    games_at_once: int = GAMES_AT_ONCE,
) -> tuple[DuplicateResult, ...]:
    """Plays whole matches, each in every seating: the hands of a match are dealt alike in all of them.

    Args:
        rules: The rules of the match.
        seatings: See `play_duplicate`, as all that follow.
        agents: As above.
        matches: How many are played, or the range of their numbers.
        seed: As above.
        games_at_once: As above.

    Returns:
        The result of every hand of the schedule, the matches in place of the deals.

    Raises:
        ValueError: As above.
        AgentError: As above.
    """
    return _play(rules, None, seatings, agents, matches, seed, games_at_once)


def _play(
    rules: Rules,
    hand: ScheduledHand | None,
    seatings: Sequence[Sequence[str]],
    agents: Mapping[str, Agent],
    deals: int | range,
    seed: int,
    games_at_once: int,
) -> tuple[DuplicateResult, ...]:
    numbers = range(checked_integer("deals", deals, 1, 1 << 31)) if not isinstance(deals, range) else deals
    if not numbers or numbers.start < 0 or numbers.step < 1:
        raise ValueError(f"deals is {deals}, but it must be their number or an ascending range of numbers from 0 on")
    if not seatings:
        raise ValueError("seatings is empty, but deals are played in at least one")
    seed = checked_seed(seed)
    names = list(dict.fromkeys(name for seating in seatings for name in seating))
    for seating in seatings:
        if len(seating) != rules.num_players:
            raise ValueError(f"{len(seating)} players were given for a table of {rules.num_players}")
    for name in names:
        check_fits(rules, name, agents[name])
    stride = max(len(seatings), len(rules.sides))
    for name in names:
        try:
            agents[name].reset(numbers.stop * stride, player_seed(seed, hand, name))
        except Exception as error:
            kind = "matches" if hand is None else f"hands of {hand.cards} cards"
            raise AgentError(f"{name} raised {error!r} when reset for {kind}") from error
    run = _Run(rules, hand, seatings, names, agents, stride, deal_seed(seed, hand))
    pairs = np.repeat(np.array(numbers, np.int64), len(seatings)), np.tile(np.arange(len(seatings)), len(numbers))
    step = checked_integer("games_at_once", games_at_once, 1, 1 << 31)
    parts = [run.play(*(part[first : first + step] for part in pairs)) for first in range(0, len(pairs[0]), step)]
    shape = len(numbers), len(seatings), rules.num_players
    return tuple(_result([part[number] for part in parts], shape) for number in range(len(rules.schedule)))


def check_fits(rules: Rules, name: str, agent: Agent) -> None:
    """Checks that an agent that was made for certain rules can play by others.

    Raises:
        ValueError: It cannot.
    """
    made_for = _made_for(agent)
    if not made_for:
        return
    if rules.num_players not in made_for:
        seats = " or ".join(map(str, made_for))
        raise ValueError(f"{name} plays at tables of {seats} players, but this table has {rules.num_players}")
    own = made_for[rules.num_players]
    if own.teams != rules.teams:
        games = {True: "Back Alley", False: "Bluke"}
        raise ValueError(f"{name} plays {games[own.teams]}, but this table plays {games[rules.teams]}")
    for limit in ("most_cards", "num_suits", "num_ranks"):
        if getattr(rules, limit) > getattr(own, limit):
            raise ValueError(
                f"{name} plays with {limit} up to {getattr(own, limit)}, but this table has {getattr(rules, limit)}"
            )


def foreign_notes(rules: Rules, agents: Mapping[str, Agent]) -> tuple[str, ...]:
    """Returns a sentence for each agent that can play by these rules but was made for others; see `foreign_rules`."""
    return tuple(note for name, agent in agents.items() if (note := foreign_rules(rules, name, agent)))


def foreign_rules(rules: Rules, name: str, agent: Agent) -> str | None:
    """Returns a sentence about what an agent that can play by these rules was made for instead, None if for them.

    The schedule does not count: single hands are the same in all of them.
    """
    own = _made_for(agent).get(rules.num_players, rules)
    changed = [field for field in rules.unlike(own) if field != "schedule"]
    if not changed:
        return None
    made, here = (", ".join(f"{field} {getattr(table, field)}" for field in changed) for table in (own, rules))
    return f"{name} was made for {made}, but here it plays with {here}"


def _made_for(agent: Agent) -> dict[int, Rules]:
    """Returns the rules that an agent was made for by number of players; none where it plays by any.

    Its attribute `tables` tells them, one for each number of players, or for a single one `rules`.
    """
    tables: Sequence[Rules | None] = getattr(agent, "tables", None) or [getattr(agent, "rules", None)]
    return {table.num_players: table for table in tables if table is not None}


class _Run:
    """Plays numbered deals in seatings, a few games at a time."""

    def __init__(
        self,
        rules: Rules,
        hand: ScheduledHand | None,
        seatings: Sequence[Sequence[str]],
        names: list[str],
        agents: Mapping[str, Agent],
        stride: int,
        seed: int,
    ) -> None:
        self._rules, self._hand, self._seatings, self._stride, self._seed = rules, hand, seatings, stride, seed
        self._names, self._agents = names, agents
        # The last column is for games that are over, whose seat to act is -1.
        self._player_at = np.array([[*(names.index(name) for name in seating), -1] for seating in seatings])

    def play(self, deals: np.ndarray, seatings: np.ndarray) -> list[np.ndarray]:
        """Plays the given deals in the given seatings, both int64 [games].

        Returns:
            For every hand of the schedule the records of the games when it had ended, `GAME` [games].
        """
        batch = BatchGame(self._rules, len(deals), self._seed, numbers=deals, autoreset=False)
        games = deals * self._stride + seatings
        ended: list[np.ndarray] = []
        actions = np.zeros(len(deals), np.int64)
        while len(ended) < len(self._rules.schedule):
            to_act = self._player_at[seatings, batch.seats]
            for index, name in enumerate(self._names):
                rows = np.flatnonzero(to_act == index)
                if len(rows):
                    actions[rows] = self._ask(name, batch, rows, games[rows])
            batch.step(actions)
            # All games are in lockstep: hands of one kind take equally many decisions, whatever is decided.
            if batch.records["last_number"][0] == len(ended):
                ended.append(batch.records.copy())
        return ended

    def _ask(self, name: str, batch: BatchGame, rows: np.ndarray, games: np.ndarray) -> np.ndarray:
        seats = batch.seats[rows]
        turn = Turn(self._rules, batch.views(rows), seats.copy(), games.copy())
        numbers = batch.records["hand_number"][rows]
        return ask(
            name,
            self._agents[name],
            turn,
            batch.masks[rows],
            lambda row: self._where(int(games[row]), int(seats[row]), int(numbers[row])),
        )

    def _where(self, game: int, seat: int, number: int) -> str:
        deal, seating = divmod(game, self._stride)
        where = f"match {deal}, hand {number}" if self._hand is None else f"deal {deal}"
        cards = self._rules.schedule[number].cards
        return f"in seat {seat} of {where} (hands of {cards} cards, seated {', '.join(self._seatings[seating])})"


def _result(ended: Sequence[np.ndarray], shape: tuple[int, int, int]) -> DuplicateResult:
    """Reads the result of one hand off the records of all games, shape being deals, seatings and seats."""
    records: Any = np.concatenate(ended)
    points, bids, tricks = (
        records[f"last_{name}"][:, : shape[2]].reshape(shape) for name in ("points", "bids", "tricks")
    )
    dealers, trumps = (records[f"last_{name}"].reshape(shape[:2])[:, 0].copy() for name in ("dealer", "trump"))
    return DuplicateResult(points, bids, tricks, dealers, trumps)

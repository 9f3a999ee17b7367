"""What a player loses in bidding and in play, against an oracle that sees all hands.

A deal is played once by the player, and once for each of its legal bids b by the oracle, who makes that bid in its
seat; the opponents are the same in all of these, with the same lots. S(b) are the oracle's points with the bid b:

- lost in play: S(own bid) less the player's points;
- lost in bidding: the best S(b) less S(own bid).

Their sum is what the player's points fall short of the best S(b). Both are regrets against hindsight: no player that
sees its own hand alone can bring them to zero, so what tells players apart is the difference of their losses.

The oracle plays each legal card out in the true world, all seats by the cards of the `rule` bot, and takes the one with
the most points for its own seat, the rule bot's card where none makes more. It does not ask what the opponents will
really do, nor does it search, so its points are a lower bound of perfect play, and a deal in which the player does
better has a negative loss in play. A loss in bidding is never negative.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bluke_env.actions import bid_action
from bluke_env.agent import Agent, Turn
from bluke_env.batch import BatchGame
from bluke_env.errors import checked_integer
from bluke_env.evaluation.duplicate import GAMES_AT_ONCE, play_duplicate
from bluke_env.evaluation.measure import named
from bluke_env.evaluation.oracle_kernels import oracle_cards
from bluke_env.evaluation.seeds import deal_seed
from bluke_env.evaluation.statistics import Estimate
from bluke_env.game import Phase
from bluke_env.rules import Rules
from bluke_env.schedule import ScheduledHand


class OracleLosses(NamedTuple):
    """Points lost in bidding and in play, by deal and averaged over the seats: both float64 [deals]."""

    bidding: np.ndarray
    play: np.ndarray


class _Oracle:
    """An agent that makes a given bid and plays its cards seeing all hands, at the table of `play_duplicate`.

    Args:
        rules: Of single hands of one kind.
        deals: The numbers of the deals.
        seed: Of the deals.

    Attributes:
        bid: What it bids.
    """

    name = "oracle"

    def __init__(self, rules: Rules, deals: range, seed: int) -> None:
        numbers = np.array(deals, np.int64)
        self._first = deals.start
        self._dealt = BatchGame(rules, len(deals), seed, numbers=numbers, autoreset=False).records["hands"].copy()
        self.bid = rules.min_bid

    def reset(self, num_games: int, seed: int) -> None:
        """Does nothing: it draws no lots."""

    def act(self, turn: Turn) -> np.ndarray:
        """Returns one legal action id per row, int64 [n]; the rows have made equally many decisions."""
        if turn.views["phase"][0] == Phase.BID:
            return np.full(len(turn.views), bid_action(self.bid, turn.rules.most_cards))
        worlds, cards = turn.views.copy(), np.empty(len(turn.views), np.int64)
        worlds["hands"] = self._dealt[turn.games // turn.rules.num_players - self._first] & ~worlds["played"]
        oracle_cards(turn.rules.record(), worlds, np.zeros_like(worlds[:1]), cards)
        return cards


def oracle_losses(
    player: Agent,
    opponents: Agent,
    rules: Rules,
    hand: ScheduledHand,
    deals: int | range,
    seed: int,
    *,
    games_at_once: int = GAMES_AT_ONCE,
) -> OracleLosses:
    """Measures what a player that takes every seat in turn loses in bidding and in play on single hands of one kind.

    Args:
        player: Who is measured.
        opponents: Sit in all other seats; it may be the same object.
        rules: The rules of the table.
        hand: How many cards are dealt, and whether at no trump.
        deals: How many deals are played, or the range of their numbers.
        seed: Of the deals and of the players' lots.
        games_at_once: See `play_duplicate`.

    Raises:
        ValueError: An argument is invalid, the rules are those of teams, or a player plays other games.
        AgentError: A player failed at the table.
    """
    if rules.teams:
        raise ValueError("losses against an oracle are measured for single seats, but these rules are for teams")
    numbers = deals if isinstance(deals, range) else range(checked_integer("deals", deals, 1, 1 << 31))
    oracle = _Oracle(rules.hands_of(hand.cards, hand.no_trump), numbers, deal_seed(seed, hand))
    agents = named([opponents, player, oracle])  # opponents first: they draw the same lots whoever is measured
    player_name, opponents_name, oracle_name = (
        next(name for name, agent in agents.items() if agent is given) for given in (player, opponents, oracle)
    )
    places = range(rules.num_players)

    def played_by(name: str) -> tuple[np.ndarray, np.ndarray]:
        """Returns points and bids of the seat measured, both int64 [deals, seats]."""
        seatings = [[name if seat == own else opponents_name for seat in places] for own in places]
        result = play_duplicate(rules, hand, seatings, agents, numbers, seed, games_at_once=games_at_once)
        return result.points[:, places, places].astype(np.int64), result.bids[:, places, places].astype(np.int64)

    def replayed(bid: int) -> np.ndarray:
        oracle.bid = bid
        return played_by(oracle_name)[0]

    points, bids = played_by(player_name)
    by_bid = np.stack([replayed(bid) for bid in range(rules.min_bid, hand.cards + 1)])  # [bids, deals, seats]
    kept = np.take_along_axis(by_bid, bids[None] - rules.min_bid, axis=0)[0]
    return OracleLosses((by_bid.max(axis=0) - kept).mean(axis=1), (kept - points).mean(axis=1))


def losses_facts(losses: Mapping[ScheduledHand, OracleLosses], times: Mapping[ScheduledHand, int]) -> dict[str, Any]:
    """Returns losses as plain facts, fit for JSON, with 95 % intervals by deal.

    Args:
        losses: By kind of hand, of equally many deals each.
        times: How often each kind of hand occurs in the schedule.

    Returns:
        `deals` of each kind of hand; `bidding` and `play` for a hand of the schedule, the mean over the kinds of hand
        weighted with `times`; and both for each kind in `by_cards`.

    Raises:
        ValueError: There are too few deals for an interval.
    """
    parts = {hand: [Estimate.by_deal(values) for values in lost] for hand, lost in losses.items()}
    weights = [times[hand] for hand in parts]
    average = [Estimate.weighted(estimates, weights) for estimates in zip(*parts.values(), strict=True)]
    return {
        **_facts(average),
        "deals": len(next(iter(losses.values())).play),
        "by_cards": [
            {"cards": hand.cards, "no_trump": hand.no_trump, **_facts(estimates)} for hand, estimates in parts.items()
        ],
    }


def _facts(estimates: list[Estimate]) -> dict[str, dict[str, float]]:
    return {
        name: {"mean": estimate.mean, "half_width": estimate.half_width}
        for name, estimate in zip(OracleLosses._fields, estimates, strict=True)
    }

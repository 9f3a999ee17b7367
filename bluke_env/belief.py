"""What a seat may believe of the cards it cannot see; docs/belief.md says what the rules prove."""

from __future__ import annotations

from functools import cached_property
from math import comb, factorial, prod
from typing import Any

import numpy as np

from bluke_env.cards import NUM_CARDS, cards_of, mask_of
from bluke_env.engine.belief import BELIEF, TABLE_SIZE, prepare_one, sample_worlds
from bluke_env.engine.marginals import write_marginals
from bluke_env.engine.state import GAME, NONE
from bluke_env.errors import checked_index, checked_integer, checked_seed
from bluke_env.rules import Rules, checked_rules


class Belief:
    """The worlds that agree with all that one seat knows, each of them equally likely.

    A world says which cards every other seat holds. It agrees with what the seat knows if the rules allowed every card
    that was played.

    Args:
        rules: What is played.
        view: An array of one `GAME` record, such as `turn.views[:1]`. Of the hands only that of `seat` is looked at.
        seat: Whose belief; by default the seat to act.

    Attributes:
        rules: What is played.
        seat: Whose belief.

    Raises:
        ValueError: An argument is invalid, or no world agrees with the view.
    """

    def __init__(self, rules: Rules, view: np.ndarray, seat: int | None = None) -> None:
        self.rules = checked_rules(rules)
        if not isinstance(view, np.ndarray) or view.dtype != GAME or view.shape != (1,):
            raise ValueError("view must be an array of one GAME record, such as turn.views[:1]")
        if seat is None and view["seat"][0] == NONE:
            raise ValueError("nobody is to act, since the match of the view is over: say whose belief is asked for")
        seat = int(view["seat"][0]) if seat is None else seat
        self.seat = checked_index("seat", seat, rules.num_players)
        _check_cards(rules, view, self.seat)
        self._own = int(view["hands"][0, self.seat])
        self._belief, self._table = np.zeros(1, BELIEF), np.empty(TABLE_SIZE)
        if not prepare_one(rules.record(), view.copy(), self.seat, self._belief, self._table) > 0:
            raise ValueError(f"no deal agrees with what seat {self.seat} sees in the view, so no play leads there")

    @classmethod
    def of(cls, game: Any, seat: int) -> Belief:
        """Returns the belief of any seat of a `Game`.

        Raises:
            ValueError: It is none, or has no such seat.
        """
        if not hasattr(game, "_record"):
            raise ValueError(f"game is {game!r}, but it must be a Game")
        return cls(game.rules, game._record, seat)

    def sample(self, num_worlds: int, seed: int | None = None) -> np.ndarray:
        """Draws worlds, uniformly and independently of each other.

        Args:
            num_worlds: How many.
            seed: What they are drawn by; None draws a fresh seed. More worlds of a seed begin with the same ones.

        Returns:
            int64 [num_worlds, seats]: masks of the cards held.
        """
        worlds = np.empty((checked_integer("num_worlds", num_worlds, 0, 1 << 31), self.rules.num_players), np.int64)
        scratch = np.zeros(1, GAME)
        scratch["hands"][0, self.seat] = self._own
        sample_worlds(self._belief, self._table, scratch, np.uint64(checked_seed(seed)), worlds)
        return worlds

    @cached_property
    def num_worlds(self) -> int:
        """How many worlds there are, exactly."""
        belief = self._belief[0]
        last, boundary = int(belief["last"]), int(belief["boundary"])
        needs = tuple(belief["needs"][: last + 2].tolist())
        cards = belief["may"][: belief["num_cards"]].tolist()
        ways = _assigned({needs[:last]: 1}, cards[:boundary])
        firsts = int(belief["masks"][last]).bit_count()
        for lacking in ways:
            left = firsts - sum(needs[:last]) + sum(lacking)
            ways[lacking] *= comb(left, needs[last])
        ways = _assigned(ways, cards[boundary:])
        stock = needs[-1] - sum(belief["held"][belief["group"] == last + 1].tolist())
        orders = prod(map(factorial, needs)) // prod(map(factorial, [*belief["held"].tolist(), stock]))
        return ways.get((0,) * last, 0) * orders

    def marginals(self) -> np.ndarray:
        """Returns where each card is with which probability, computed exactly.

        Returns:
            float64 [seats + 1, 54]: the hands, and in the last row the stock. The column of a card is all zero where it
            is neither in a hand nor hidden in the stock: played, turned up, or a Blooper in a hand of Back Alley at no
            trump.
        """
        marginals = np.empty((self.rules.num_players + 1, NUM_CARDS))
        chosen, forward = np.empty(TABLE_SIZE), np.empty((2, TABLE_SIZE))
        write_marginals(self._belief, self._table, chosen, forward, self._own, marginals)
        return marginals


def _assigned(ways: dict[tuple[int, ...], int], cards: list[int]) -> dict[tuple[int, ...], int]:
    """Counts the ways to give some cards to groups that lack so many, each to one of a set of them or to nobody."""
    for may in cards:
        after = dict(ways)
        for lacking, count in ways.items():
            for group in cards_of(may):
                if lacking[group] > 0:
                    less = (*lacking[:group], lacking[group] - 1, *lacking[group + 1 :])
                    after[less] = after.get(less, 0) + count
        ways = after
    return ways


def _check_cards(rules: Rules, view: np.ndarray, seat: int) -> None:
    """Makes sure that a record's cards can be those of a hand under way, as far as `seat` sees them.

    Raises:
        ValueError: They cannot; the sentence says why.
    """
    game, seats = view[0], rules.num_players
    own, played, size = int(game["hands"][seat]), game["played"].tolist(), int(game["hand_size"])
    counts = [mask.bit_count() for mask in played]
    if any(counts[seats:]):
        raise ValueError(f"the view's game has more seats than the rules, which have {seats}")
    if (own | sum(played)) & ~mask_of(rules.cards):
        raise ValueError("the view holds cards that are not in the pack of the rules")
    once = (own | sum(played)).bit_count() == own.bit_count() + sum(counts)
    in_order = sorted(game["order"][: game["num_played"]].tolist()) == list(cards_of(sum(played)))
    if not once or not in_order or max(counts) > size:
        raise ValueError("the played cards of the view contradict its hands")
    if own.bit_count() != size - counts[seat]:
        raise ValueError(
            f"seat {seat} holds {size - counts[seat]} cards, but the view shows {own.bit_count()} of them: views hold "
            "the hand of the seat to act only"
        )

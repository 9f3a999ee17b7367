"""Which worlds agree with what a seat knows, found out the slow way, from the rules alone.

A world gives every seat the cards that it holds; it agrees if every card played was legal for its holder at that time.
"""

import math
import random
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from bluke_env import Deal, Game, Phase, Rules
from bluke_env.actions import bid_action
from bluke_env.belief import Belief
from bluke_env.cards import BLUKES, HI_BLUKE, LO_BLUKE, NUM_RANKS, cards_of, mask_of
from bluke_env.rules import BOARD

World = tuple[int, ...]  # Masks of the cards held, by seat.

SMALL = {
    "3 seats": Rules(num_players=3, num_suits=3, num_ranks=3, schedule="3"),
    "4 seats, trump for a Bluke": Rules(num_players=4, num_suits=4, num_ranks=3, schedule="3", bluke_lead="trump"),
    "4 seats at no trump": Rules(num_players=4, num_suits=3, num_ranks=4, schedule="3nt", bluke_lead="trump"),
    "5 seats": Rules(num_players=5, num_suits=3, num_ranks=5, schedule="3"),
    "2 seats": Rules(num_players=2, num_suits=4, num_ranks=3, schedule="5"),
    "Back Alley": Rules.preset("back_alley", num_suits=3, num_ranks=4, schedule="3"),
    "Back Alley, 2 suits": Rules.preset("back_alley", num_suits=2, num_ranks=8, schedule="4"),
    "Back Alley, any trump": Rules.preset("back_alley", num_suits=2, num_ranks=7, schedule="3", bluke_lead="trump"),
}


def held_by(game: Game) -> World:
    return tuple(map(mask_of, game.hands))


def played_by(game: Game) -> list[int]:
    return game._record["played"][0, : game.num_players].tolist()


def order_of(game: Game) -> list[int]:
    return game._record["order"][0, : game._record["num_played"][0]].tolist()


def hidden_from(game: Game, seat: int) -> int:
    """The mask of the cards that may be in another hand."""
    hidden = mask_of(game.rules.cards) & ~held_by(game)[seat] & ~sum(played_by(game))
    if game.turned_up is not None:
        hidden &= ~(1 << game.turned_up)
        if game.rules.teams and game.turned_up >= LO_BLUKE:
            hidden &= ~BLUKES
    return hidden


def held_counts(game: Game, seat: int) -> list[int]:
    """How many cards every seat must be dealt, none for the one whose hand is known."""
    return [0 if other == seat else len(hand) for other, hand in enumerate(game.hands)]


def num_candidates(game: Game, seat: int) -> int:
    """How many worlds there are that only give every seat its number of cards."""
    left, count = hidden_from(game, seat).bit_count(), 1
    for held in held_counts(game, seat):
        count *= math.comb(left, held)
        left -= held
    return count


def candidates(game: Game, seat: int) -> Iterator[World]:
    """Those worlds."""
    own = held_by(game)[seat]
    held = held_counts(game, seat)

    def deal(other: int, hidden: int) -> Iterator[World]:
        if other == game.num_players:
            yield ()
            return
        for cards in combinations(cards_of(hidden), held[other]):
            for rest in deal(other + 1, hidden & ~mask_of(cards)):
                yield (own if other == seat else mask_of(cards), *rest)

    return deal(0, hidden_from(game, seat))


def agrees(game: Game, world: World) -> bool:
    """Deals the hands that the world began with and plays the hand again in the engine. The match is of one hand."""
    hands = [mask | played for mask, played in zip(world, played_by(game), strict=True)]
    next_card = None
    if game.exchanged is not None and game.turned_up is not None:  # Any of its cards may be the one it was given.
        next_card = cards_of(hands[game.exchanged])[0]
        hands[game.exchanged] ^= 1 << next_card | 1 << (LO_BLUKE + HI_BLUKE - game.turned_up)
    deal = Deal([cards_of(hand) for hand in hands], game.turned_up, game.dealer, next_card)
    again = Game(game.rules, 0, deals=[deal])
    for place in range(1, game.num_players + 1):
        bid = game.bids[(game.dealer + place) % game.num_players]
        if bid is not None:
            again.apply_action(bid_action(bid, game.rules.most_cards))
    for card in order_of(game):
        if card not in again.legal_actions():
            return False
        again.apply_action(card)
    return True


def agreeing(game: Game, worlds: np.ndarray) -> np.ndarray:
    """Which of many worlds (int64 masks [n, seats]) agree, bool [n]: the rules of play once more, for whole columns."""
    rules, trump = game.rules, game.trump
    played = played_by(game)
    hands = worlds | np.array(played)
    suits = [mask_of(range(NUM_RANKS * suit, NUM_RANKS * (suit + 1))) for suit in range(4)]
    trumps = 0 if trump is None else suits[trump] | (BLUKES if rules.teams else 0)
    lawful = np.ones(len(worlds), bool)
    broken, asked, lead = False, 0, 0
    for place, card in enumerate(order_of(game)):
        seat = next(seat for seat in range(rules.num_players) if played[seat] >> card & 1)
        hand, is_trump = hands[:, seat], bool(trumps >> card & 1)
        if place % rules.num_players == 0:
            lead = card
            asked = suits[card // NUM_RANKS] if card < LO_BLUKE else 0 if rules.bluke_lead == "none" else trumps
            asked = trumps if is_trump else asked
            side = (seat, (seat + 2) % 4) if rules.teams else ()
            if rules.teams and is_trump and not broken and not any(game.bids[one] > BOARD for one in side):
                lawful &= hand & ~trumps == 0
        elif rules.teams or card < LO_BLUKE:
            following = hand & asked
            if not asked >> card & 1:
                lawful &= following == 0
                broken = broken or is_trump
            elif rules.bluke_lead == "high_low" and lead == HI_BLUKE:
                lawful &= following >> (card + 1) == 0
            elif rules.bluke_lead == "high_low" and lead == LO_BLUKE:
                lawful &= following & ((1 << card) - 1) == 0
        hands[:, seat] &= ~(1 << card)
    return lawful


def games_of(rules: Rules, seed: int) -> Iterator[Game]:
    """A match played at random, before every decision and at its end. Every other match is bid with boards, if any."""
    rng, game = random.Random(seed), Game(rules, seed)
    yield game
    while not game.is_terminal:
        actions = game.legal_actions()
        game.apply_action(actions[-1] if rules.teams and seed % 4 == 1 and rng.random() < 0.3 else rng.choice(actions))
        yield game


def name_of(rules: Any) -> str | None:
    if not isinstance(rules, Rules):
        return None
    return f"{'back alley' if rules.teams else rules.num_players} {rules.schedule_text} {rules.bluke_lead}"


def num_limits(belief: Belief) -> int:
    """How many different sets of cards the other seats are known to be limited to."""
    record = belief._belief[0]
    return int(record["last"]) + bool(record["needs"][record["last"]])


def small_positions(rules: Rules, most: int, count: int) -> list[tuple[Game, int]]:
    """Positions in play with few worlds, among them as many as there can be in which seats have shown something."""
    positions = []
    for seed in range(30):
        for game in games_of(rules, seed):
            seat = random.Random(seed).randrange(rules.num_players)
            if game.phase is Phase.PLAY and 10 <= num_candidates(game, seat) <= most:
                positions.append((game.clone(), seat))
    positions.sort(key=lambda position: -num_limits(Belief.of(*position)))
    return positions[:count]


def assert_uniform(counts: Counter[Any], outcomes: Sequence[Hashable]) -> None:
    """The chi-square statistic is neither too large nor too small, by the cube root that makes it normal."""
    assert counts.keys() <= set(outcomes)
    freedom, total = len(outcomes) - 1, counts.total()
    expected = total / len(outcomes)
    statistic = sum((counts[outcome] - expected) ** 2 for outcome in outcomes) / expected
    spread = 2 / (9 * freedom)
    assert abs((statistic / freedom) ** (1 / 3) - (1 - spread)) < 4.5 * math.sqrt(spread)

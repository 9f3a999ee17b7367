"""The relabelling of suits: `suit_order="canonical"` in observations, states, masks and actions."""

import itertools
import math
import random
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from observed import Table, every_table, positions, random_deals, some_tables, suit
from tables import FIRST_BID, rules_for
from variants import with_variants

from bluke_env import BatchGame, Deal, Game, ObservationLayout, Rules

CARD_SLICES = ("played", "hand", "table", "top_cards", "winning_cards", "other_hands")


def suit_keys(dealt: Iterable[int], trump: int | None) -> list[Any]:
    """What the suits are ordered by: trump first, then by the cards dealt, how many and which."""
    ranks = [sorted((card % 13 for card in dealt if suit(card) == number), reverse=True) for number in range(4)]
    return [(number == trump, len(ranks[number]), ranks[number]) for number in range(4)]


def places(dealt: Iterable[int], trump: int | None) -> list[int]:
    """By suit, the place it moves to; equal suits stay in their order."""
    keys = suit_keys(dealt, trump)
    order = sorted(range(4), key=lambda number: keys[number], reverse=True)
    return [order.index(number) for number in range(4)]


def relabelled(layout: ObservationLayout, vector: np.ndarray, moves: Sequence[int]) -> np.ndarray:
    """The observation or state with every suit moved to its place."""
    out = vector.copy()
    for name, part in layout.state_slices.items():
        if part.stop <= len(vector):
            block = out[part.start : part.stop].reshape(part.shape)
            if name in CARD_SLICES:
                block[..., :-2] = moved_cards(block[..., :-2], moves[: layout.num_suits])
            elif name in ("voids", "trump"):
                block[..., moves[: layout.num_suits]] = block.copy()
    return out


def moved_cards(cards: np.ndarray, moves: Sequence[int]) -> np.ndarray:
    """All suits, lowest ranks first, each moved to its place."""
    suits = cards.reshape(*cards.shape[:-1], len(moves), -1)
    moved = np.empty_like(suits)
    moved[..., moves, :] = suits
    return moved.reshape(cards.shape)


@every_table
def test_canonical_vectors_are_the_fixed_ones_relabelled_by_the_cards_dealt(rules: Rules) -> None:
    """The order depends on what was dealt alone, so it stays the same for the hand."""
    game, rng = Game(rules, seed=8), random.Random(8)
    layout = game.layout
    for table in positions(game, rng):
        seat = rng.randrange(rules.num_players)
        moves = places(table.dealt[seat], game.trump)
        assert (game.observe(seat, "canonical") == relabelled(layout, game.observe(seat), moves)).all()
        assert (game.state(seat, "canonical") == relabelled(layout, game.state(seat), moves)).all()
        seat = game.current_player or 0
        mask, canonical = game.action_mask(), game.action_mask(suit_order="canonical")
        mask[:52] = moved_cards(mask[:52], places(table.dealt[seat], game.trump))  # In every pack 13 to a suit.
        assert (canonical == mask).all()


def relabelled_card(card: int, suits: Sequence[int]) -> int:
    return card if card >= 52 else 13 * suits[card // 13] + card % 13


def relabelled_deal(deal: Deal, suits: Sequence[int]) -> Deal:
    hands = [[relabelled_card(card, suits) for card in hand] for hand in deal.hands]
    others = [None if card is None else relabelled_card(card, suits) for card in (deal.turned_up, deal.next_card)]
    return Deal(hands, others[0], deal.dealer, others[1])


def swaps_of_equal_suits(dealt: Iterable[int], trump: int | None, num_suits: int) -> list[list[int]]:
    """All moves of canonical places among those whose suits nothing tells apart; only to stay where there are none."""
    keys = sorted(suit_keys(dealt, trump), reverse=True)
    return [
        list(moves)
        for moves in itertools.permutations(range(num_suits))
        if all(keys[place] == keys[moved] for place, moved in enumerate(moves))
    ]


@pytest.mark.parametrize(
    "rules",
    [
        *(rules_for(seats, [53 // seats, 3, (6, True)]) for seats in (2, 4, 5)),
        *with_variants(lambda rules: rules.num_suits > 1),
    ],
)
def test_the_names_of_the_suits_do_not_show_in_canonical_vectors(rules: Rules) -> None:
    rng, suits_of_pack = random.Random(4), range(rules.num_suits)
    deals = random_deals(rules, rng)
    table = Table(Game(rules, deals=deals))
    game, layout = table.game, table.game.layout
    others = {
        suits: Game(rules, deals=[relabelled_deal(deal, suits) for deal in deals])
        for suits in itertools.permutations(suits_of_pack)
    }
    untied = 0
    while not game.is_terminal:
        seat = rng.randrange(rules.num_players)
        swaps = swaps_of_equal_suits(table.dealt[seat], game.trump, rules.num_suits)
        untied += len(swaps) == 1
        alike = {relabelled(layout, game.state(seat, "canonical"), moves).tobytes() for moves in swaps}
        assert len(others) == math.factorial(rules.num_suits)
        for other in others.values():
            state = other.state(seat, "canonical")
            assert state.tobytes() in alike
            assert (other.observe(seat, "canonical") == state[: layout.size]).all()
        if game.current_player == seat and len(swaps) == 1:
            masks = {other.action_mask(suit_order="canonical").tobytes() for other in others.values()}
            assert len(masks) == 1
        action = rng.choice(game.legal_actions())
        table.act(action)
        for suits, other in others.items():
            other.apply_action(relabelled_card(action, suits) if action < FIRST_BID else action)
    assert untied > 20


@some_tables
def test_canonical_actions_play_the_same_real_cards(rules: Rules) -> None:
    """Two batches of the same games, one in each suit order, stay the same through the mapping."""
    games = 8
    fixed = BatchGame(rules, games, seed=9)
    canonical = BatchGame(rules, games, seed=9, suit_order="canonical")
    dealt: dict[int, tuple[Any, Any]] = {}
    stream = np.array([9], np.uint64)
    for _ in range(200):
        assert canonical.records.tobytes() == fixed.records.tobytes()
        labels = canonical.random_actions(stream)
        actions = labels.copy()
        for index in range(games):
            game, seat = fixed.game(index), int(fixed.seats[index])
            hand = (int(fixed.game_numbers[index]), game.hand_number)
            if dealt.get(index, ((), ()))[0] != hand:
                dealt[index] = hand, game.hands
            moves = places(dealt[index][1][seat], game.trump)
            if labels[index] < FIRST_BID:
                actions[index] = relabelled_card(int(labels[index]), [moves.index(place) for place in range(4)])
            observation = relabelled(fixed.layout, fixed.observations[index], moves)
            assert (canonical.observations[index] == observation).all()
        assert (canonical.relabel_actions(actions, np.arange(games)) == labels).all()
        fixed.step(actions)
        canonical.step(labels)
        assert (canonical.rewards == fixed.rewards).all()

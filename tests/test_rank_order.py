"""Ranks counted among the cards still in play: `agents.rank_order` against a plain account of a game."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_runs import trainer

import agents
from agents.card_features import CARD_FEATURES, card_features
from agents.network import layout_for
from agents.rank_order import RankOrder
from agents.rollout import Rollout
from bluke_env import BatchGame, ObservationLayout, Rules, bots
from bluke_env.cards import NUM_CARDS, NUM_RANKS, NUM_SUITS

TABLES = {
    "four": Rules(),
    "two": Rules(num_players=2),
    "seven": Rules(num_players=7),
    "back alley": Rules.preset("back_alley"),
    "a small pack": Rules(num_players=3, num_suits=3, num_ranks=5, schedule=[4]),
    "no trump": Rules(schedule=[(6, True)]),
}
GAMES = 12


def gone(batch: BatchGame, row: int) -> set[int]:
    """The cards that neither lie on the table nor can be held by anyone, from the record of the game."""
    record = batch.records[row]
    order = record["order"][: record["num_played"]].tolist()
    cards = set(order[: len(order) - int(record["in_trick"])])
    turned_up = int(record["turned_up"])
    return cards | ({turned_up} if record["trump"] >= 0 else set())


def expected_labels(batch: BatchGame, row: int, layout: ObservationLayout) -> dict[int, int]:
    """What every real card is called, by a sort."""
    ids, out = layout.card_ids.tolist(), gone(batch, row)
    seen_as = {card: int(label) for card, label in zip(ids, seen_labels(batch, row, ids), strict=True)}
    labels = {card: seen_as[card] for card in ids if card >= NUM_SUITS * NUM_RANKS}
    for suit in range(layout.num_suits):
        cards = [card for card in ids if card // NUM_RANKS == suit]
        for card, place in zip(sorted(cards, key=lambda card: (card not in out, card)), cards, strict=True):
            labels[card] = seen_as[place]
    return labels


def seen_labels(batch: BatchGame, row: int, cards: list[int]) -> np.ndarray:
    """What cards are called in the suit order of the batch."""
    order = int(batch.suit_orders[row])
    places = [order >> (2 * suit) & 3 for suit in range(NUM_SUITS)] + [NUM_SUITS]
    return np.array([NUM_RANKS * places[card // NUM_RANKS] + card % NUM_RANKS for card in cards])


def relabelled(batch: BatchGame, order: str = "in_play") -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """What is seen before and after, and the labels."""
    facts = batch.rules, batch.views(), batch.suit_orders, np.arange(batch.num_games)
    before = [batch.observations.copy(), batch.states().copy(), batch.masks.copy(), card_features(*facts)]
    observations, states, masks, features = after = [array.copy() for array in before]
    labels = RankOrder(batch.layout, order).relabel(*facts, (observations, states, masks, features))
    again = batch.rules, batch.records, *facts[2:]  # training has the games themselves
    unseen = np.zeros((batch.num_games, 0), np.int8)
    copies = before[0].copy(), unseen, before[2].copy(), unseen
    assert (RankOrder(batch.layout, order).relabel(*again, copies) == labels).all()
    return before, after, labels


def random_step(batch: BatchGame, rng: np.random.Generator) -> None:
    batch.step((rng.random(batch.masks.shape) * batch.masks).argmax(1))


@pytest.mark.parametrize("name", TABLES)
def test_cards_in_play_move_up_and_everything_moves_with_them(name: str) -> None:
    rules = TABLES[name]
    wide = layout_for((rules, Rules(num_players=6))) if name == "two" else None
    batch = BatchGame(rules, GAMES, 5, autoreset=False, suit_order="canonical", layout=wide)
    layout, rng, moved = batch.layout, np.random.default_rng(1), 0
    ids, sets = layout.card_ids, ("hand", "table", "top_cards", "winning_cards")
    for _ in range(150):
        if batch.is_over[0]:
            break
        before, after, labels = relabelled(batch)
        for row in range(GAMES):
            wanted = expected_labels(batch, row, layout)
            cards = seen_labels(batch, row, list(wanted))
            assert labels[row, cards].tolist() == list(wanted.values())
        moved += int((labels[:, :NUM_CARDS] != np.arange(NUM_CARDS)).sum())
        assert (labels[:, NUM_CARDS:] == np.arange(NUM_CARDS, layout.num_actions)).all()
        rest = [np.ones(array.shape[1], bool) for array in before]
        for seen, was, kept in zip(after[:2], before[:2], rest[:2], strict=True):
            parts = [layout.slice(each) for each in (*sets, "played")]
            parts += [layout.state_slices["other_hands"]] if seen.shape[1] == layout.state_size else []
            for part in parts:
                place = slice(part.start, part.stop)
                old, new = (array[:, place].reshape(GAMES, -1, layout.num_cards) for array in (was, seen))
                for row in range(GAMES):
                    by_label = np.zeros((old.shape[1], NUM_CARDS), np.int8)
                    by_label[:, labels[row, ids]] = old[row]
                    assert (new[row] == by_label[:, ids]).all()
                kept[place] = False
            assert (seen[:, kept] == was[:, kept]).all()
        count = 1 + len(CARD_FEATURES)
        for row in range(GAMES):
            old = np.concatenate([before[2][row, :NUM_CARDS], before[3][row]]).reshape(count, NUM_CARDS)
            new = np.concatenate([after[2][row, :NUM_CARDS], after[3][row]]).reshape(count, NUM_CARDS)
            assert (new[:, labels[row, :NUM_CARDS]] == old).all()
        assert (after[2][:, NUM_CARDS:] == before[2][:, NUM_CARDS:]).all()
        random_step(batch, rng)
    assert moved > 100


def test_the_fixed_order_moves_nothing() -> None:
    batch, rng = BatchGame(Rules(), GAMES, 5, suit_order="canonical"), np.random.default_rng(1)
    for _ in range(60):
        before, after, labels = relabelled(batch, "fixed")
        assert (labels == np.arange(batch.layout.num_actions)).all()
        assert all((old == new).all() for old, new in zip(before, after, strict=True))
        random_step(batch, rng)


def test_another_order_is_refused() -> None:
    with pytest.raises(ValueError, match="rank_order is 'sorted', but it must be one of in_play, fixed"):
        RankOrder(ObservationLayout.of(Rules()), "sorted")


@pytest.mark.parametrize("changes", [{}, {"critic_sizes": (8,)}, {"bids": "policy", "critic": "points", "kl": 0.1}])
def test_training_sees_what_the_agent_sees(changes: dict[str, Any], tmp_path: Path) -> None:
    """The actions of training, under its labels, are as likely as its network finds them there."""
    with trainer(tmp_path, guide=0.5, **changes) as made, torch.inference_mode():
        learner = made.learner
        rollout = Rollout(made.config, 0, 5, learner.network, bots.make("random"))
        (parts,), _ = rollout.play(0, 0, "float32", None)
        network, checked, guided = learner.network, 0, 0.0
        for part in parts:
            assert (part.masks.gather(1, part.actions[:, None]) == 1).all()
            if part.is_bid[0] and network.heads.bids == "tricks":
                continue
            found = network.action_log_probs(network.features(part.observations), part.cards, part.masks)
            own = part.log_probs if part.log_probs.shape[1] == 1 else part.log_probs.gather(1, part.actions[:, None])
            chosen = found.gather(1, part.actions[:, None])
            assert (chosen - own).abs().max() < 1e-4
            outside = part.masks[:, : part.guides.shape[1]] == 0
            assert not part.guides[outside].any()
            guided += float(part.guides.abs().sum())
            checked += len(part)
    assert checked > 40
    assert guided > 0


def test_a_checkpoint_from_before_sees_the_ranks_as_they_are(tmp_path: Path) -> None:
    with trainer(tmp_path, rank_order="fixed") as made:
        made.save()
        data = agents.checkpoint.read(made.path)
        del data["config"]["rank_order"]
        agents.checkpoint.save(made.path, data)
        assert agents.load(made.path).rank_order == "fixed"
        assert agents.checkpoint.read(made.path)["config"]["rank_order"] == "fixed"

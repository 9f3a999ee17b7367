"""What cards make in the hands as they are, against the rule bot at a table, and what it does to learning."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_runs import run, trainer

from agents.hindsight import card_values
from bluke_env import BatchGame, Rules, Turn, bots
from bluke_env.cards import NUM_CARDS

TABLES = {
    "four": Rules(num_players=4),
    "three": Rules(num_players=3),
    "back alley": Rules.preset("back_alley"),
}


def rule_actions(batch: BatchGame) -> np.ndarray:
    rule, games = bots.make("rule"), np.arange(batch.num_games)
    rule.reset(len(games), 0)
    return batch.relabel_actions(rule.act(Turn(batch.rules, batch.views(), batch.seats, games)), games)


def finished(batch: BatchGame, row: int, card: int) -> int:
    """The points of the seat to act in a game if it plays a card and rule bots play on."""
    batch, seat, actions = copy.deepcopy(batch), batch.seats[row], rule_actions(batch)
    actions[row] = card
    batch.step(actions)
    while not batch.is_over[0]:
        batch.step(rule_actions(batch))
    return int(batch.records["last_points"][row, seat])


@pytest.mark.parametrize("name", TABLES)
def test_values_are_what_the_rule_bot_makes_at_a_table(name: str) -> None:
    batch = BatchGame.hands_of(TABLES[name], 6, 12, 3, autoreset=False, suit_order="canonical")
    rng, rows, compared = np.random.default_rng(1), np.arange(0, 12, 2), 0
    while not batch.is_over[0]:
        if not batch.masks[0, NUM_CARDS:].any():
            before = batch.records.copy()
            values = card_values(batch, rows, batch.masks, NUM_CARDS)
            assert (batch.records == before).all()
            for row, found in zip(rows.tolist(), values, strict=True):
                cards = np.flatnonzero(batch.masks[row])
                points = [finished(batch, row, card) for card in cards.tolist()]
                np.testing.assert_allclose(found[cards], np.array(points) - np.mean(points), atol=1e-4)
                assert not np.delete(found, cards).any()
                compared += len(set(points)) > 1
        batch.step((rng.random(batch.masks.shape) * batch.masks).argmax(1))
    assert compared > 3


@pytest.mark.parametrize("changes", [{}, {"bids": "policy", "critic": "points"}, {"kl": 0.1}, {"num_players": (2, 4)}])
def test_a_guided_run_is_finite_and_says_what_it_followed(changes: dict, tmp_path: Path) -> None:
    with trainer(tmp_path, guide=1.0, final_guide=0.0, **changes) as made:
        rows = run(made, 3)
    assert [row["guide"] for row in rows] == [1.0, 0.5, 0.0]
    assert all(np.isfinite(list(row.values())).all() for row in rows)
    assert rows[0]["guide_loss"] != 0
    assert rows[2]["guide_loss"] == 0


def test_following_the_guide_makes_the_policy_choose_what_is_better_in_hindsight(tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "sizes_per_iteration": 6,
        "hands_per_size": 128,
        "iterations": 12,
        "learning_rate": 5e-3,
    }
    settings |= {"hidden_sizes": (64,), "minibatch_size": 512}
    with trainer(tmp_path, guide=1.0, final_guide=1.0, entropy=0.0, final_entropy=0.0, **settings) as made:
        rows = run(made, 12)
    losses = [row["guide_loss"] for row in rows]
    assert np.mean(losses[-3:]) < np.mean(losses[:3]) - 0.003


def test_with_the_guide_alone_what_came_of_the_cards_changes_no_policy(tmp_path: Path) -> None:
    found = []
    for reward in (1.0, 100.0):
        with trainer(tmp_path / str(reward), guide=1.0, final_guide=1.0, critic_weight=0.0, max_grad_norm=1e9) as made:
            played = made.learner._played

            def rewarded(shard: int, scale: float = reward, played: object = played) -> object:
                decisions, statistics = played(shard)  # type: ignore[operator]
                decisions.advantages = decisions.advantages * scale
                return decisions, statistics

            made.learner._played = rewarded  # type: ignore[method-assign]
            run(made, 1)
            found.append(made.learner.weights.vector.detach().clone())
    assert torch.equal(*found)

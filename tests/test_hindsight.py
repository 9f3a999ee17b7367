"""What cards make in the hands as they are, against the rule bot at a table, and what it does to learning."""

import copy
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_runs import run, trainer

from agents.advantages import standardise
from agents.decisions import Decisions
from agents.hindsight import Styles, bid_hindsight, hindsight
from agents.playouts import PACKED, RULE
from agents.rollout import Rollout
from bluke_env import BatchGame, Rules, Turn, bots
from bluke_env.cards import NUM_CARDS

TABLES = {
    "four": Rules(num_players=4),
    "three": Rules(num_players=3),
    "back alley": Rules.preset("back_alley"),
}


def rule_styles(num_games: int) -> Styles:
    """All play on as rule bots."""
    return Styles(np.full((num_games, 4), RULE), np.zeros((1, *PACKED), np.float32))


def rule_actions(batch: BatchGame) -> np.ndarray:
    rule, games = bots.make("rule"), np.arange(batch.num_games)
    rule.reset(len(games), 0)
    return batch.relabel_actions(rule.act(Turn(batch.rules, batch.views(), batch.seats, games)), games)


def finished(batch: BatchGame, row: int, card: int) -> np.ndarray:
    """The points of all seats of a game if the seat to act plays a card and rule bots play on."""
    batch, actions = copy.deepcopy(batch), rule_actions(batch)
    actions[row] = card
    batch.step(actions)
    return points_in_the_end(batch, row)


def points_in_the_end(batch: BatchGame, row: int) -> np.ndarray:
    """The points of all seats of a game if rule bots play the batch out."""
    while not batch.is_over[0]:
        batch.step(rule_actions(batch))
    return batch.records["last_points"][row, : batch.rules.num_players].astype(int)


@pytest.mark.parametrize("name", TABLES)
def test_values_are_what_the_rule_bot_makes_at_a_table(name: str) -> None:
    batch = BatchGame.hands_of(TABLES[name], 6, 12, 3, autoreset=False, suit_order="canonical")
    rng, rows, compared = np.random.default_rng(1), np.arange(0, 12, 2), 0
    while not batch.is_over[0]:
        if not batch.masks[0, NUM_CARDS:].any():
            before = batch.records.copy()
            legal = batch.masks[rows, :NUM_CARDS] != 0
            weights = torch.from_numpy(np.where(legal, rng.random(legal.shape), -np.inf)).float()
            policy, drawn = weights.log_softmax(1), weights.argmax(1)
            found = hindsight(batch, rows, batch.masks, policy, drawn, rule_styles(12))
            assert (batch.records == before).all()
            for index, row in enumerate(rows.tolist()):
                own, probs = batch.seats[row], policy[index].exp().numpy()
                points = {card: finished(batch, row, card) for card in np.flatnonzero(legal[index]).tolist()}
                mean = sum(probs[card] * made for card, made in points.items())
                np.testing.assert_allclose(found.expected[index], mean, atol=1e-3)
                np.testing.assert_allclose(found.luck[index], points[int(drawn[index])] - mean, atol=1e-3)
                even = np.mean([made[own] for made in points.values()])
                for card, made in points.items():
                    np.testing.assert_allclose(found.guides[index, card], made[own] - even, atol=1e-3)
                assert not found.guides[index, ~legal[index]].any()
                compared += len({tuple(made) for made in points.values()}) > 1
        batch.step((rng.random(batch.masks.shape) * batch.masks).argmax(1))
    assert compared > 3


def bid_again(start: BatchGame, bids: list[np.ndarray], row: int, place: int, bid: int) -> np.ndarray:
    """The points of all seats of a game if the seat at a place bids otherwise and rule bots play the cards."""
    batch = copy.deepcopy(start)
    for step, made in enumerate(bids):
        wanted, legal = made.copy(), np.flatnonzero(batch.masks[row])
        wanted[row] = bid if step == place else made[row]
        if wanted[row] not in legal:
            boards = wanted[row] > NUM_CARDS + batch.rules.most_cards
            wanted[row] = legal[-1] if boards else legal[legal <= NUM_CARDS + batch.rules.most_cards][-1]
        batch.step(wanted)
    return points_in_the_end(batch, row)


@pytest.mark.parametrize("name", TABLES)
def test_bids_are_tried_with_the_bids_that_others_made(name: str) -> None:
    start = BatchGame.hands_of(TABLES[name], 5, 12, 4, autoreset=False, suit_order="canonical")
    batch, rng, rows = copy.deepcopy(start), np.random.default_rng(2), np.arange(1, 12, 3)
    seats, masks, bids, compared = [], [], [], 0
    while batch.masks[0, NUM_CARDS:].any():
        seats.append(batch.seats.copy())
        masks.append(batch.masks.copy())
        bids.append((rng.random(batch.masks.shape) * batch.masks).argmax(1))
        batch.step(bids[-1])
    before = batch.records.copy()
    for place in range(len(bids)):
        own_seats = seats[place][rows].astype(np.int64)
        found = bid_hindsight(batch, rows, own_seats, masks[place][rows], rule_styles(12)).guides
        assert (batch.records == before).all()
        for index, row in enumerate(rows.tolist()):
            own, legal = seats[place][row], np.flatnonzero(masks[place][row]).tolist()
            points = {bid: bid_again(start, bids, row, place, bid)[own] for bid in legal}
            for bid, made in points.items():
                np.testing.assert_allclose(found[index, bid], made - np.mean(list(points.values())), atol=1e-3)
            assert not np.delete(found[index].numpy(), legal).any()
            compared += len(set(points.values())) > 1
    assert compared > 8


def test_what_the_hands_and_later_cards_explain_is_taken_out_of_advantages() -> None:
    generator, n = torch.Generator().manual_seed(1), 4000
    controls, own = torch.randn(n, 2, generator=generator), torch.randn(n, generator=generator)
    parts = []
    for rows in (slice(0, 1000), slice(1000, n)):
        part = Decisions(*[torch.zeros(0)] * len(fields(Decisions)))
        part.actions, part.is_bid = torch.zeros(n)[rows], torch.zeros(n, dtype=torch.bool)[rows]
        part.controls, part.guides = controls[rows], own[rows, None].clone()
        part.advantages = 3 + (own + controls @ torch.tensor([5.0, -2.0]))[rows]
        parts.append(part)
    standardise(parts, 0.25, bids_learn=False)
    left = torch.cat([part.advantages for part in parts])
    assert abs(float(left.mean())) < 1e-5
    assert float(left.std()) == pytest.approx(0.75)
    torch.testing.assert_close(left, 0.75 * (own - own.mean()) / own.std(), rtol=0, atol=0.15)
    guides = torch.cat([part.guides for part in parts])[:, 0]
    torch.testing.assert_close(guides, 0.25 * own / own.std(), rtol=0, atol=0.05)


def test_advantages_of_a_run_are_less_noisy_for_it(tmp_path: Path) -> None:
    """Most in hands of few cards, which hindsight knows nearly all about."""
    settings = {"sizes_per_iteration": 1, "hands_per_size": 1024, "num_players": 4, "shards": 1}
    with trainer(tmp_path, guide=0.5, final_guide=0.5, **settings) as made:
        rollout = Rollout(made.config, 0, 4, made.learner.network, bots.make("rule"))
        (parts,), _ = rollout.play(0, 0, "float32", None)
        learning = [part for part in parts if not part.is_bid[0]]
        before = float(torch.cat([part.advantages for part in learning]).std())
        controls = torch.cat([part.controls for part in learning]).double()
        values = torch.cat([part.advantages for part in learning]).double()
        left = values - controls @ torch.linalg.lstsq(controls, values[:, None]).solution[:, 0]
    assert float(left.std()) < 0.8 * before


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

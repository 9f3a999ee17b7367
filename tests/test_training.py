"""Training: what is learned from, settings at the edge, and that it works."""

import dataclasses
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from referee import hand_points
from tiny_runs import TINY, Learned, run, same, trainer, weights_of

import agents.learner
import agents.rollout
import agents.update
import bluke_env.evaluation.duplicate
from agents import checkpoint
from agents.config import TrainConfig
from agents.decisions import Decisions
from agents.equivalents import Equivalents
from agents.network import Network
from agents.rank_order import RankOrder
from bluke_env import BatchGame, Turn, bots
from bluke_env.bots.random import RandomBot
from bluke_env.cards import NUM_CARDS
from train import Trainer

# What is learned from.


@pytest.fixture
def learned(monkeypatch: pytest.MonkeyPatch) -> Learned:
    return Learned(monkeypatch)


class Table(BatchGame):
    """A batch that keeps everything that happens in it."""

    made: "list[Table]"

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.deals: list[np.ndarray] = []
        self.steps: list[tuple[np.ndarray, ...]] = []
        super().__init__(*arguments, **options)
        Table.made.append(self)

    def reset(self, *arguments: Any, **options: Any) -> None:
        super().reset(*arguments, **options)
        records = self.records
        self.deals.append(np.column_stack([records["hands"], records["turned_up"], records["dealer"]]))
        self.steps.clear()

    def step(self, actions: np.ndarray) -> None:
        choices = Equivalents(self.layout).without(self.observations, self.masks)
        observations, features = self.observations.copy(), np.zeros((self.num_games, 0), np.int8)
        facts = self.rules, self.records, self.suit_orders, np.arange(self.num_games)
        labels = RankOrder(self.layout, "in_play").relabel(*facts, (observations, features, choices, features))
        seen = labels[np.arange(self.num_games), actions]
        self.steps.append((self.seats.copy(), observations, choices, seen))
        super().step(actions)


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> list[Table]:
    """The batches in which training plays."""
    Table.made = []
    monkeypatch.setattr(agents.rollout, "BatchGame", Table)
    return Table.made


@pytest.fixture
def bot_seats(monkeypatch: pytest.MonkeyPatch) -> set[tuple[int, int]]:
    """The games and seats in which random bots have sat and decided."""
    taken: set[tuple[int, int]] = set()

    class Seated(RandomBot):
        def act(self, turn: Turn) -> np.ndarray:
            taken.update(zip(turn.games.tolist(), turn.seats.tolist(), strict=True))
            return super().act(turn)

    monkeypatch.setitem(bots.BOTS, "random", Seated)
    return taken


Key = tuple[bytes, bytes, int]


def own_decisions(table: Table, bot_seats: set[tuple[int, int]]) -> dict[tuple[int, int], list[Key]]:
    """By game and network's seat, the decisions in which there was a choice, in order."""
    decisions: dict[tuple[int, int], list[Key]] = defaultdict(list)
    for seats, observations, masks, actions in table.steps:
        for game, seat in enumerate(seats.tolist()):
            if masks[game].sum() > 1 and (game, seat) not in bot_seats:
                decisions[game, seat].append((observations[game].tobytes(), masks[game].tobytes(), int(actions[game])))
    return decisions


def keys_of(decisions: Decisions) -> list[Key]:
    columns = decisions.observations.numpy(), decisions.masks.numpy(), decisions.actions.tolist()
    return [(seen.tobytes(), mask.tobytes(), action) for seen, mask, action in zip(*columns, strict=True)]


def value_of(made: Trainer, key: Key, bid: int) -> float:
    """The points that the network expects of a seat while it plays."""
    seen = torch.from_numpy(np.frombuffer(key[0], np.int8).copy())[None]
    with torch.inference_mode():
        network = made.learner.network
        probs = network.trick_log_probs(network.features(seen), seen)[0].exp().tolist()
    return math.fsum(prob * hand_points(bid, tricks) for tricks, prob in enumerate(probs))


@pytest.mark.parametrize("gae_lambda", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("bot_share", [0.0, 1.0])
def test_it_learns_from_each_seats_own_choices_with_generalised_advantages(
    gae_lambda: float,
    bot_share: float,
    tmp_path: Path,
    learned: Learned,
    tables: list[Table],
    bot_seats: set[tuple[int, int]],
) -> None:
    changes = {"sizes_per_iteration": 1, "hands_per_size": 6, "gae_lambda": gae_lambda, "bot_share": bot_share}
    with trainer(tmp_path, seed=3, num_players=5, bot="random", shards=1, **changes) as made:
        made.iterate()
        expected, tricks = {}, {}
        for place, keys in own_decisions(tables[0], bot_seats).items():
            bid, taken = (int(tables[0].records[name][place]) for name in ("last_bids", "last_tricks"))
            plays = [key for key in keys if key[2] < NUM_CARDS]
            values = [*(value_of(made, key, bid) for key in plays), hand_points(bid, taken)]
            advantage = 0.0
            for index in reversed(range(len(plays))):
                advantage = values[index + 1] - values[index] + gae_lambda * advantage
                expected[plays[index]] = advantage
            tricks.update(dict.fromkeys(keys, taken))
    decisions = learned.decisions
    keys = keys_of(decisions)
    assert bool(bot_seats) == (bot_share > 0)
    assert sorted(keys) == sorted(tricks)
    assert decisions.tricks.tolist() == [tricks[key] for key in keys]
    assert decisions.is_bid.tolist() == [key[2] >= NUM_CARDS for key in keys]
    mean, deviation = np.mean(list(expected.values())), np.std(list(expected.values()), ddof=1)
    for key, advantage in zip(keys, decisions.advantages.tolist(), strict=True):
        wanted = (expected[key] - mean) / deviation if key in expected else 0.0
        assert advantage == pytest.approx(wanted, abs=1e-3)


def test_a_forced_move_is_nobodys_decision(tmp_path: Path, learned: Learned, tables: list[Table]) -> None:
    """Nor is the last card of a hand, the only bid, or a card where all do the same."""
    with trainer(tmp_path, bot_share=0.0, sizes_per_iteration=12, shards=1) as made:
        statistics, _ = made.iterate()
    counts = learned.decisions.masks.sum(1)
    assert counts.min() == 2
    choices = sum(int((masks.sum(1) > 1).sum()) for table in tables for _, _, masks, _ in table.steps)
    assert len(counts) == choices
    assert statistics["decisions"] == sum(8 * 4 * (size + 1) for size in range(2, 14))


def test_bots_sit_in_all_seats_alike(
    tmp_path: Path, learned: Learned, tables: list[Table], bot_seats: set[tuple[int, int]]
) -> None:
    """At the share of tables asked for, from one bot to all seats but one, wherever the dealer sits."""
    hands = 4000
    settings = {"bot": "random", "bot_share": 0.4, "sizes_per_iteration": 1, "hands_per_size": hands, "shards": 1}
    with trainer(tmp_path, **settings) as made:
        made.iterate()
    by_game = defaultdict(list)
    for game, seat in bot_seats:
        by_game[game].append(seat)
    assert abs(len(by_game) - 0.4 * hands) < 4.5 * math.sqrt(hands * 0.4 * 0.6)
    dealers = tables[0].deals[-1][:, -1]
    assert_even([len(seats) for seats in by_game.values()], range(1, 4))
    assert_even([seat for seats in by_game.values() if len(seats) == 1 for seat in seats], range(4))
    alone = {game: next(iter({0, 1, 2, 3} - set(seats))) for game, seats in by_game.items() if len(seats) == 3}
    assert_even(list(alone.values()), range(4))
    assert_even([(seat - int(dealers[game])) % 4 for game, seat in alone.items()], range(4))


def assert_even(values: list[int], choices: range) -> None:
    """Checks that each of the choices is about as frequent as the others, none missing and none else there."""
    assert set(values) == set(choices)
    share = 1 / len(choices)
    for choice in choices:
        assert abs(values.count(choice) - share * len(values)) < 4.5 * math.sqrt(len(values) * share * (1 - share))


def test_bids_are_drawn_by_what_they_are_worth_and_the_temperature(tmp_path: Path, learned: Learned) -> None:
    with trainer(tmp_path, temperature=20.0, sizes_per_iteration=1, hands_per_size=1000, bot_share=0.0) as made:
        made.iterate()
    decisions = learned.decisions
    rows = decisions.is_bid
    seen, legal = decisions.observations[rows], decisions.masks[rows, NUM_CARDS:] != 0
    with torch.inference_mode():
        network = made.learner.network
        points = network.bid_values(network.features(seen), seen)
    log_probs = torch.log_softmax((points / 20.0).masked_fill(~legal, -torch.inf), 1)
    chosen = log_probs.gather(1, decisions.actions[rows, None] - NUM_CARDS)[:, 0]
    torch.testing.assert_close(decisions.log_probs[rows, 0], chosen, rtol=0, atol=1e-4)
    assert_drawn(chosen, log_probs)


def assert_drawn(chosen: torch.Tensor, log_probs: torch.Tensor) -> None:
    """Checks that the log-probabilities [n] of what was chosen are what they are on average, for [n, k]."""
    finite = log_probs.masked_fill(log_probs == -torch.inf, 0.0)
    mean = (log_probs.exp() * finite).sum(1)
    variance = (log_probs.exp() * finite.square()).sum(1) - mean.square()
    assert variance.mean() > 0.01
    assert (chosen - mean).sum().abs() < 4.5 * variance.sum().sqrt()


def test_cards_are_drawn_with_the_networks_probabilities(tmp_path: Path, learned: Learned) -> None:
    with trainer(tmp_path, sizes_per_iteration=2, hands_per_size=200) as made:
        with torch.no_grad():
            made.learner.network.actions.weight *= 300
        made.iterate()
    decisions = learned.decisions
    rows = ~decisions.is_bid
    with torch.inference_mode():
        features = made.learner.network.features(decisions.observations[rows])
        log_probs = made.learner.network.action_log_probs(features, decisions.cards[rows], decisions.masks[rows])
    chosen = log_probs.gather(1, decisions.actions[rows, None])[:, 0]
    torch.testing.assert_close(decisions.log_probs[rows, 0], chosen, rtol=0, atol=1e-4)
    assert_drawn(chosen, log_probs)


def test_the_first_step_of_an_iteration_finds_every_probability_as_it_was(tmp_path: Path) -> None:
    with trainer(tmp_path, minibatch_size=1 << 20) as made:
        for row in run(made, 3):
            assert row["kl"] == pytest.approx(0, abs=1e-6)
            assert row["clipped"] == 0


def test_no_deal_comes_twice_nor_in_an_evaluation(
    tmp_path: Path, learned: Learned, tables: list[Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = {"hands_per_size": 16, "sizes_per_iteration": 11, "bot": "random"}
    dealt: list[bytes] = []
    for seed in (0, 1):
        with trainer(tmp_path / str(seed), seed=seed, **changes) as made:
            for _ in range(4):
                made.iterate()
    for table in long(tables):
        assert len(table.deals) > 2
        dealt += [deal.tobytes() for deals in table.deals[1:] for deal in deals]  # one was dealt as it was made
    assert len(dealt) > 1000
    assert len(set(dealt)) == len(dealt)
    monkeypatch.setattr(bluke_env.evaluation.duplicate, "BatchGame", Table)
    tables.clear()
    with trainer(tmp_path / "0") as made:
        made.judge(8)
    evaluated = {deal.tobytes() for table in long(tables) for deal in table.deals[0]}
    assert len(evaluated) == 8 * 9
    assert not evaluated & set(dealt)


def long(tables: list[Table]) -> list[Table]:
    """Those with hands of five cards and more, whose deals do not come twice by chance."""
    return [table for table in tables if table.rules.schedule[0].cards >= 5]


# Settings at the edge.

EDGES: dict[str, dict[str, Any]] = {
    "one hand": {"hands_per_size": 1, "sizes_per_iteration": 1, "shards": 1},
    "one row in a step": {"minibatch_size": 1, "hands_per_size": 2, "sizes_per_iteration": 1},
    "two players": {"num_players": 2},
    "fifteen players": {"num_players": 15},
    "bots at all tables": {"bot_share": 1.0, "num_players": 3},
    "bots at none": {"bot_share": 0.0},
    "several passes": {"epochs": 3, "clip": 0.0},
    "one iteration": {"iterations": 1},
    "no bonus": {"entropy": 0.0, "final_entropy": 0.0, "critic_weight": 0.0},
    "bids of nothing": {"min_bid": 0, "sizes_per_iteration": 13, "bluke_lead": "trump"},
    "low precision": {"precision": "bfloat16"},
}


@pytest.mark.parametrize("case", EDGES)
def test_settings_at_the_edge_give_finite_numbers(case: str, tmp_path: Path) -> None:
    with trainer(tmp_path, seed=5, **EDGES[case]) as made:
        before = weights_of(made.learner.network)
        rows = run(made, made.config.iterations)
        assert not same(before, weights_of(made.learner.network))
        assert all(torch.isfinite(weights).all() for weights in weights_of(made.learner.network))
    assert all(math.isfinite(value) for row in rows for value in row.values())


def test_hands_of_one_card_leave_nothing_but_bids_to_learn_from(tmp_path: Path) -> None:
    with trainer(tmp_path, num_players=15, min_bid=0, sizes_per_iteration=1, iterations=12, hands_per_size=2) as made:
        sizes: list[float] = []
        for row in run(made, 12):
            sizes.append(row["decisions"] - sum(sizes))
            assert all(math.isfinite(value) for value in row.values())
        assert 2 * 15 * 2 in sizes


def step_sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collects of how many rows a gradient is made at a time."""
    sizes: list[int] = []
    losses = agents.update.losses

    def counted(network: Network, decisions: Decisions, rows: torch.Tensor, *others: Any) -> Any:
        sizes.append(len(rows))
        return losses(network, decisions, rows, *others)

    monkeypatch.setattr(agents.update, "losses", counted)
    return sizes


def test_a_last_step_of_one_row_gives_finite_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    update, kept = agents.learner.update, Learned(monkeypatch)
    with trainer(tmp_path, shards=1, minibatch_size=50) as made:
        made.iterate()
        first = [getattr(kept.decisions, field.name)[:129] for field in dataclasses.fields(Decisions)]
        network, weights, optimizer, _, *others = kept.calls[0]
        sizes = step_sizes(monkeypatch)
        losses = update(network, weights, optimizer, [Decisions(*first)], *others)
    assert sizes == [64, 64, 1]
    assert all(math.isfinite(value) for value in losses.values())
    assert all(torch.isfinite(weights).all() for weights in weights_of(network))


@pytest.mark.parametrize("minibatch_size", [1, 100, 1 << 20])
def test_every_row_is_learned_from_once_an_epoch_and_no_step_is_made_without_any(
    minibatch_size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = step_sizes(monkeypatch)
    with trainer(tmp_path, shards=1, epochs=2, minibatch_size=minibatch_size, sizes_per_iteration=4) as made:
        steps: list[float] = []
        made.learner.optimizer.register_step_pre_hook(
            lambda *_: steps.append(float(made.learner.weights.gradient.abs().max()))
        )
        row, _ = made.iterate()
    assert sum(sizes) == 2 * round(row["learned_per_second"] * row["seconds"])
    assert len(steps) == len(sizes)
    assert min(steps) > 0


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_extreme_logits_give_finite_numbers(precision: str, tmp_path: Path) -> None:
    with trainer(tmp_path, precision=precision, hands_per_size=64) as made:
        with torch.no_grad():
            made.learner.network.actions.weight *= 1e6
            made.learner.network.bid_base.weight *= 1e3
        row, _ = made.iterate()
        assert row["entropy"] >= 0
        assert all(math.isfinite(value) for value in row.values())
        assert all(torch.isfinite(weights).all() for weights in weights_of(made.learner.network))


# Learning.


def test_learning_again_and_again_from_the_same_decisions_improves_every_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    update, kept = agents.learner.update, Learned(monkeypatch)
    with trainer(tmp_path, hands_per_size=64, minibatch_size=512, entropy=0.0, clip=10.0) as made:
        made.iterate()
        losses = [update(*kept.calls[0]) for _ in range(20)]
    for name in ("bid_loss", "critic_loss", "policy_loss"):
        assert losses[-1][name] < losses[0][name] - 0.02, name
    assert losses[0]["policy_loss"] == pytest.approx(0, abs=0.01)


def test_the_evaluation_is_against_bots_and_checkpoints(tmp_path: Path) -> None:
    with trainer(tmp_path / "first") as made:
        made.save()
        path = str(made.path)
    with trainer(tmp_path / "second", evaluate_against=(path, "rule"), seed=5, initial=path) as made:
        evaluation = made.judge(4)
    assert evaluation is not None
    same_network, rule = evaluation.comparisons
    assert evaluation.plan.seed == 5
    assert [same_network.opponent, rule.opponent] == [path, "rule (version 1)"]
    assert same_network.average["over_same_seat"].interval == (0, 0)
    tables = {"run_dir": str(tmp_path / "third"), "num_players": 3}
    with pytest.raises(
        ValueError, match=r"^evaluate_against has a player for other tables: .*first.*this table has 3$"
    ):
        Trainer(TrainConfig(**(TINY | tables | {"evaluate_against": (path,)})))
    assert not (tmp_path / "third").exists()
    with trainer(tmp_path / "third", evaluate_against=()) as made:
        assert made.judge(4) is None


@pytest.mark.slow
def test_a_minute_of_training_makes_a_better_player(tmp_path: Path) -> None:
    settings = {"iterations": 30, "sizes_per_iteration": 4, "hands_per_size": 512, "hidden_sizes": (128, 128)}
    with trainer(tmp_path, minibatch_size=2048, evaluate_against=("random", "rule"), **settings) as made:
        before = made.judge(300)
        run(made, 30)
        after = made.judge(300)
    for early, late in zip(before.comparisons, after.comparisons, strict=True):
        one, other = (comparison.average["over_same_seat"] for comparison in (early, late))
        assert other.mean - other.half_width > one.mean + one.half_width, late.opponent
    assert after.comparisons[0].average["over_same_seat"].mean > 40


# The settings.


def test_every_setting_survives_the_checkpoint(tmp_path: Path) -> None:
    config = TrainConfig(**(TINY | {"run_dir": str(tmp_path), "bluke_lead": "trump", "min_bid": 0, "seed": 2**63 - 1}))
    made = Trainer(config)
    made.save()
    made.close()
    assert TrainConfig.from_dict(checkpoint.read(made.path)["config"]) == config


NUMBERS = [field.name for field in dataclasses.fields(TrainConfig) if field.type in ("int", "float")]


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_out_of_range_is_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} is -1, but it must be "):
        TrainConfig.from_dict({name: -1})

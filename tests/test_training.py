"""Training: what is learned from, that it is reproducible and resumable, and that it works."""

import csv
import dataclasses
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from referee import hand_points
from tiny_runs import TINY, trainer

import agents.rollout
import bluke_env.evaluation.duplicate
import train
from agents import checkpoint
from agents.config import TrainConfig
from agents.rollout import Decisions
from bluke_env import BatchGame, Turn, bots
from bluke_env.bots.random import RandomBot
from bluke_env.cards import NUM_CARDS
from train import Trainer, judge

TIMES = {"seconds", "decisions_per_second", "learned_per_second", "rollout_share"}
"""Columns of the log that depend on the machine."""


def rows_of(folder: Path) -> list[dict[str, str]]:
    """The log of a run without what depends on the machine."""
    with (folder / "log.csv").open(newline="") as file:
        return [{name: text for name, text in row.items() if name not in TIMES} for row in csv.DictReader(file)]


def run(made: Trainer, iterations: int) -> list[dict[str, float]]:
    """Goes on as train.py does, up to a number of iterations in all."""
    rows = []
    while made.progress.iteration < iterations:
        rows.append(made.iterate())
        made.log.write(rows[-1])
    made.save()
    return rows


def weights_of(made: Trainer) -> list[torch.Tensor]:
    return [weights.detach().clone() for weights in made.network.state_dict().values()]


def same(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


# What is learned from.


class Update:
    """Stands in for the learning step: keeps what it was given, which nothing then changes."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __call__(self, *arguments: Any) -> dict[str, float]:
        self.calls.append(arguments)
        return {}

    @property
    def decisions(self) -> Decisions:
        """All decisions of the last iteration."""
        return next(argument for argument in self.calls[-1] if isinstance(argument, Decisions))


@pytest.fixture
def learned(monkeypatch: pytest.MonkeyPatch) -> Update:
    update = Update()
    monkeypatch.setattr(train, "update", update)
    return update


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
        self.steps.append((self.seats.copy(), self.observations.copy(), self.masks.copy(), np.array(actions)))
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
        probs = made.network.trick_logits(made.network.features(seen), seen)[0].exp().tolist()
    return math.fsum(prob * hand_points(bid, tricks) for tricks, prob in enumerate(probs))


@pytest.mark.parametrize("gae_lambda", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("bot_share", [0.0, 1.0])
def test_it_learns_from_each_seats_own_choices_with_generalised_advantages(
    gae_lambda: float,
    bot_share: float,
    tmp_path: Path,
    learned: Update,
    tables: list[Table],
    bot_seats: set[tuple[int, int]],
) -> None:
    changes = {"sizes_per_iteration": 1, "hands_per_size": 6, "gae_lambda": gae_lambda, "bot_share": bot_share}
    with trainer(tmp_path, seed=3, num_players=5, bot="random", **changes) as made:
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


def test_a_forced_move_is_nobodys_decision(tmp_path: Path, learned: Update, tables: list[Table]) -> None:
    """Nor is the last card of a hand, or the only bid."""
    with trainer(tmp_path, bot_share=0.0, sizes_per_iteration=12) as made:
        statistics = made.iterate()
    counts = learned.decisions.masks.sum(1)
    assert counts.min() == 2
    choices = sum(int((masks.sum(1) > 1).sum()) for table in tables for _, _, masks, _ in table.steps)
    assert len(counts) == choices
    assert statistics["decisions"] == sum(8 * 4 * (size + 1) for size in range(2, 14))


def test_bots_sit_in_all_seats_alike(
    tmp_path: Path, learned: Update, tables: list[Table], bot_seats: set[tuple[int, int]]
) -> None:
    """At the share of tables asked for, from one bot to all seats but one, wherever the dealer sits."""
    hands = 4000
    with trainer(tmp_path, bot="random", bot_share=0.4, sizes_per_iteration=1, hands_per_size=hands) as made:
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


def test_bids_are_drawn_by_what_they_are_worth_and_the_temperature(tmp_path: Path, learned: Update) -> None:
    with trainer(tmp_path, temperature=20.0, sizes_per_iteration=1, hands_per_size=1000, bot_share=0.0) as made:
        made.iterate()
    decisions = learned.decisions
    rows = decisions.is_bid
    seen, legal = decisions.observations[rows], decisions.masks[rows, NUM_CARDS:] != 0
    with torch.inference_mode():
        points = made.network.bid_values(made.network.bid_trick_logits(made.network.features(seen), seen))
    log_probs = torch.log_softmax((points / 20.0).masked_fill(~legal, -torch.inf), 1)
    chosen = log_probs.gather(1, decisions.actions[rows, None] - NUM_CARDS)[:, 0]
    torch.testing.assert_close(decisions.log_probs[rows], chosen, rtol=0, atol=1e-4)
    assert_drawn(chosen, log_probs)


def assert_drawn(chosen: torch.Tensor, log_probs: torch.Tensor) -> None:
    """Checks that the log-probabilities [n] of what was chosen are what they are on average, for [n, k]."""
    finite = log_probs.masked_fill(log_probs == -torch.inf, 0.0)
    mean = (log_probs.exp() * finite).sum(1)
    variance = (log_probs.exp() * finite.square()).sum(1) - mean.square()
    assert variance.mean() > 0.01
    assert (chosen - mean).sum().abs() < 4.5 * variance.sum().sqrt()


def test_cards_are_drawn_with_the_networks_probabilities(tmp_path: Path, learned: Update) -> None:
    with trainer(tmp_path, sizes_per_iteration=2, hands_per_size=200) as made:
        with torch.no_grad():
            made.network.cards.weight *= 300
        made.iterate()
    decisions = learned.decisions
    rows = ~decisions.is_bid
    with torch.inference_mode():
        features = made.network.features(decisions.observations[rows])
        log_probs = made.network.card_logits(features, decisions.masks[rows])
    chosen = log_probs.gather(1, decisions.actions[rows, None])[:, 0]
    torch.testing.assert_close(decisions.log_probs[rows], chosen, rtol=0, atol=1e-4)
    assert_drawn(chosen, log_probs)


def test_the_first_step_of_an_iteration_finds_every_probability_as_it_was(tmp_path: Path) -> None:
    with trainer(tmp_path, minibatch_size=1 << 20) as made:
        for row in run(made, 3):
            assert row["kl"] == pytest.approx(0, abs=1e-6)
            assert row["clipped"] == 0


def test_no_deal_comes_twice_nor_in_an_evaluation(
    tmp_path: Path, learned: Update, tables: list[Table], monkeypatch: pytest.MonkeyPatch
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
        judge(made, 8)
    evaluated = {deal.tobytes() for table in long(tables) for deal in table.deals[0]}
    assert len(evaluated) == 8 * 9
    assert not evaluated & set(dealt)


def long(tables: list[Table]) -> list[Table]:
    """Those with hands of five cards and more, whose deals do not come twice by chance."""
    return [table for table in tables if table.rules.schedule[0].cards >= 5]


# Settings at the edge.

EDGES: dict[str, dict[str, Any]] = {
    "one hand": {"hands_per_size": 1, "sizes_per_iteration": 1},
    "one row in a step": {"minibatch_size": 1, "hands_per_size": 2, "sizes_per_iteration": 1},
    "two players": {"num_players": 2},
    "fifteen players": {"num_players": 15},
    "bots at all tables": {"bot_share": 1.0, "num_players": 3},
    "bots at none": {"bot_share": 0.0},
    "several passes": {"epochs": 3, "clip": 0.0},
    "one iteration": {"iterations": 1},
    "no bonus": {"entropy": 0.0, "final_entropy": 0.0, "tricks_weight": 0.0},
    "bids of nothing": {"min_bid": 0, "sizes_per_iteration": 13, "bluke_lead": "trump"},
    "low precision": {"precision": "bfloat16"},
}


@pytest.mark.parametrize("case", EDGES)
def test_settings_at_the_edge_give_finite_numbers(case: str, tmp_path: Path) -> None:
    with trainer(tmp_path, seed=5, **EDGES[case]) as made:
        before = weights_of(made)
        rows = run(made, made.config.iterations)
        assert not same(before, weights_of(made))
        assert all(torch.isfinite(weights).all() for weights in weights_of(made))
    assert all(math.isfinite(value) for row in rows for value in row.values())


def test_hands_of_one_card_leave_nothing_but_bids_to_learn_from(tmp_path: Path) -> None:
    with trainer(tmp_path, num_players=15, min_bid=0, sizes_per_iteration=1, iterations=12, hands_per_size=2) as made:
        sizes: list[float] = []
        for row in run(made, 12):
            sizes.append(row["decisions"] - sum(sizes))
            assert all(math.isfinite(value) for value in row.values())
        assert 2 * 15 * 2 in sizes


def test_a_last_step_of_one_row_gives_finite_numbers(tmp_path: Path) -> None:
    with trainer(tmp_path / "all") as made:
        learned = made.iterate()
        rows = round(learned["learned_per_second"] * learned["seconds"])
    with trainer(tmp_path / "rest", minibatch_size=rows - 1) as made:
        row = made.iterate()
        assert round(row["learned_per_second"] * row["seconds"]) == rows
        assert all(torch.isfinite(weights).all() for weights in weights_of(made))
    assert all(math.isfinite(value) for value in row.values())


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_extreme_logits_give_finite_numbers(precision: str, tmp_path: Path) -> None:
    with trainer(tmp_path, precision=precision, hands_per_size=64) as made:
        with torch.no_grad():
            made.network.cards.weight *= 1e6
            made.network.bid_base.weight *= 1e3
        row = made.iterate()
        assert row["entropy"] >= 0
        assert all(math.isfinite(value) for value in row.values())
        assert all(torch.isfinite(weights).all() for weights in weights_of(made))


# Learning.


def test_learning_again_and_again_from_the_same_decisions_improves_every_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    update, kept = train.update, Update()
    with trainer(tmp_path, hands_per_size=64, minibatch_size=256, entropy=0.0, clip=10.0) as made:
        monkeypatch.setattr(train, "update", kept)
        made.iterate()
        losses = [update(*kept.calls[0]) for _ in range(20)]
    for name in ("bid_loss", "critic_loss", "policy_loss"):
        assert losses[-1][name] < losses[0][name] - 0.02, name
    assert losses[0]["policy_loss"] == pytest.approx(0, abs=0.01)


@pytest.mark.slow
def test_a_minute_of_training_makes_a_better_player(tmp_path: Path) -> None:
    settings = {"iterations": 30, "sizes_per_iteration": 4, "hands_per_size": 512, "hidden_sizes": (128, 128)}
    with trainer(tmp_path, minibatch_size=2048, evaluate_against=("random", "rule"), **settings) as made:
        before = judge(made, 60)
        run(made, 30)
        after = judge(made, 60)
    for early, late in zip(before.comparisons, after.comparisons, strict=True):
        one, other = (comparison.average["over_same_seat"] for comparison in (early, late))
        assert other.mean - other.half_width > one.mean + one.half_width, late.opponent
    assert after.comparisons[0].average["over_same_seat"].mean > 40


# The same run again.


def test_threads_change_nothing(tmp_path: Path) -> None:
    results = []
    for threads in (1, 3):
        folder = tmp_path / str(threads)
        with trainer(folder, threads=threads, sizes_per_iteration=5, hands_per_size=32) as made:
            run(made, 3)
            results.append((weights_of(made), rows_of(folder)))
    assert same(results[0][0], results[1][0])
    assert results[0][1] == results[1][1]


def test_the_seed_decides_and_the_global_generators_are_left_alone(tmp_path: Path) -> None:
    results = []
    for number, seed in enumerate((0, 0, 1)):
        torch.rand(number)
        before = torch.get_rng_state(), str(np.random.get_state())  # noqa: NPY002  # the global one is meant
        with trainer(tmp_path / str(number), seed=seed) as made:
            run(made, 2)
            results.append(weights_of(made))
        assert torch.equal(before[0], torch.get_rng_state())
        assert before[1] == str(np.random.get_state())  # noqa: NPY002
    assert same(results[0], results[1])
    assert not same(results[0], results[2])


def test_resuming_equals_never_having_stopped(tmp_path: Path) -> None:
    settings = {"iterations": 6, "epochs": 2}
    with trainer(tmp_path / "whole", **settings) as made:
        run(made, 6)
        whole = weights_of(made), made.optimizer.state_dict()
    with trainer(tmp_path / "parts", **settings) as made:
        run(made, 3)
    resumed = checkpoint.read(tmp_path / "parts" / "checkpoint.pt")
    with trainer(tmp_path / "parts", resumed, **settings) as made:
        assert made.progress.iteration == 3
        run(made, 6)
        assert same(whole[0], weights_of(made))
        torch.testing.assert_close(made.optimizer.state_dict(), whole[1], rtol=0, atol=0)
    rows = rows_of(tmp_path / "parts")
    assert rows == rows_of(tmp_path / "whole")
    assert [row["iteration"] for row in rows] == ["1", "2", "3", "4", "5", "6"]
    rates = [float(row["learning_rate"]) for row in rows]
    assert rates == pytest.approx(np.linspace(rates[0], made.config.final_learning_rate, 6), rel=1e-4)


def test_a_run_that_was_cut_off_after_its_last_checkpoint_logs_every_iteration_once(tmp_path: Path) -> None:
    with trainer(tmp_path / "whole", iterations=5) as made:
        run(made, 5)
    with trainer(tmp_path / "cut", iterations=5) as made:
        run(made, 2)
        for _ in range(2):
            made.log.write(made.iterate())
    resumed = checkpoint.read(tmp_path / "cut" / "checkpoint.pt")
    with trainer(tmp_path / "cut", resumed, iterations=5) as made:
        run(made, 5)
    assert rows_of(tmp_path / "cut") == rows_of(tmp_path / "whole")


def test_a_resumed_run_in_a_new_folder_logs_its_own_iterations(tmp_path: Path) -> None:
    with trainer(tmp_path / "old") as made:
        run(made, 2)
    resumed = checkpoint.read(tmp_path / "old" / "checkpoint.pt")
    with trainer(tmp_path / "new", resumed) as made:
        run(made, 3)
    assert [row["iteration"] for row in rows_of(tmp_path / "new")] == ["3"]


def test_after_a_break_rates_are_those_of_the_present(tmp_path: Path) -> None:
    with trainer(tmp_path, iterations=2) as made:
        run(made, 1)
        made.progress.seconds = 1e6
        made.save()
    resumed = checkpoint.read(tmp_path / "checkpoint.pt")
    with trainer(tmp_path, resumed, iterations=2) as made:
        row = made.iterate()
    assert row["seconds"] > 1e6
    played = row["decisions"] - resumed["progress"]["decisions"]
    assert row["decisions_per_second"] == pytest.approx(played / (row["seconds"] - 1e6), rel=1e-3)


def test_memory_does_not_grow(tmp_path: Path) -> None:
    status = Path("/proc/self/statm")
    if not status.exists():
        pytest.skip("only Linux says how much memory a process has")

    def pages() -> int:
        return int(status.read_text().split()[1])

    with trainer(tmp_path, iterations=70, num_players=15, bot="random") as made:
        run(made, 20)
        before = pages()
        for iterations in range(30, 71, 10):
            run(made, iterations)
        assert pages() < 1.03 * before


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

"""Every variant of the learner: that it runs, and that it is what it says."""

import copy
import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_runs import TINY, Learned, learner, perturb, run, same, trainer, weights_of

import agents.learner
import agents.precision
from agents import checkpoint
from agents.config import TrainConfig
from agents.learner import Learner
from agents.network import Network
from agents.ranks import Ranks
from agents.rollout import BOT, NETWORK, PAST, Rollout, _seating
from agents.schedules import Schedules
from train import Trainer

POLICY = {"bids": "policy", "critic": "points"}
VARIANTS: dict[str, dict[str, Any]] = {
    "margins": {"reward": "margin", "critic": "points"},
    "bids of the policy": POLICY,
    "a critic of points": {"critic": "points"},
    "a critic that sees all hands": {"critic_sizes": (8, 4)},
    "all of these": {**POLICY, "reward": "margin", "critic_sizes": (8, 8)},
    "near the policy that played": {"kl": 0.1},
    "near it with its bids": {**POLICY, "kl": 0.1},
    "an average": {"average": 0.9},
    "earlier networks": {"past_share": 0.7, "past_every": 1, "past_kept": 1},
    "cards tried in hindsight": {"guide": 1.0, "final_guide": 1.0},
    "imitation": {"imitation_iterations": 1},
    "imitation of bids": {**POLICY, "imitation_iterations": 1, "imitate": "random"},
    "sizes alike": {"size_weights": "uniform"},
    "suits as they are": {"suit_order": "fixed"},
    "ranks as they are": {"rank_order": "fixed", "critic_sizes": (8,)},
    "one scale for a batch": {"advantages": "batch"},
    "one seat": {"learner_seats": "one"},
    "one shard": {"shards": 1},
    "many shards": {"shards": 8},
    "several tables": {"num_players": (3, 2)},
    "Back Alley": {**POLICY, "preset": "back_alley"},
    "a small pack": {"preset": "mini", "sizes_per_iteration": 1, "hands_per_size": 64, "guide": 1.0},
    "a schedule of its own": {"schedule": "3-1-3,3nt", "hands_per_size": 64, "guide": 1.0},
    "hands of the whole pack": {"schedule": "18nt,2", "num_players": 3},
    "Back Alley by margins": {**POLICY, "preset": "back_alley", "reward": "margin", "critic_sizes": (8,), "kl": 0.1},
}


@pytest.mark.parametrize("case", VARIANTS)
def test_every_variant_trains_with_finite_numbers(case: str, tmp_path: Path) -> None:
    with trainer(tmp_path, iterations=2, **VARIANTS[case]) as made:
        before, names = weights_of(made.learner.network), made.learner.network.state_dict()
        rows = run(made, 2)
        after = weights_of(made.learner.network)
        loaded = agents.load(made.path)
        assert same(weights_of(loaded.network), weights_of(made.learner.agent.network))
    assert loaded.tables == made.config.tables
    changed = [name for name, *both in zip(names, before, after, strict=True) if not torch.equal(*both)]
    assert changed == [name for name in names if "guide" in VARIANTS[case] or not name.startswith("playouts.")]
    assert all(torch.isfinite(weights).all() for weights in after)
    assert all(math.isfinite(value) for row in rows for value in row.values())


@pytest.fixture
def learned(monkeypatch: pytest.MonkeyPatch) -> Learned:
    return Learned(monkeypatch)


# Averaged weights.


def test_the_average_is_that_of_the_weights_after_every_step() -> None:
    made = learner(average=0.8, iterations=3)
    expected, steps = made.weights.vector.detach().double(), 0

    def after_step(*_: Any) -> None:
        nonlocal expected, steps
        expected, steps = 0.8 * expected + 0.2 * made.weights.vector.detach().double(), steps + 1

    made.optimizer.register_step_post_hook(after_step)
    for _ in range(3):
        made.iterate()
    assert steps > 3
    assert made.average is not None
    torch.testing.assert_close(made.average.double(), expected, rtol=0, atol=1e-6)
    shown = torch.nn.utils.parameters_to_vector(made.agent.network.parameters())
    assert torch.equal(shown, made.average)
    assert not torch.equal(shown, made.weights.vector)


@pytest.mark.parametrize("average", [0.0, 0.9])
def test_an_agent_stays_what_it_was(average: float) -> None:
    made = learner(average=average)
    agent = made.agent
    before = weights_of(agent.network)
    made.iterate()
    assert same(before, weights_of(agent.network))
    assert not same(before, weights_of(made.agent.network))


# Earlier networks as opponents.


def test_others_take_seats_at_the_asked_share_of_tables_and_all_seats_alike() -> None:
    hands, seats = 20_000, 5
    config = TrainConfig(num_players=seats, bot_share=0.2, past_share=0.5)
    players = _seating(np.random.default_rng(1), hands, seats, config)
    for player, share in ((BOT, 0.2), (PAST, 0.5)):
        own = players[(players == player).any(1)] == player
        assert abs(len(own) - share * hands) < 4.5 * math.sqrt(hands * share * (1 - share))
        for number in range(1, seats):
            assert abs((own.sum(1) == number).sum() - len(own) / 4) < 4.5 * math.sqrt(len(own) * 3 / 16)
        assert (np.abs(own.sum(0) - own.sum() / seats) < 4.5 * math.sqrt(own.sum() / seats)).all()
    assert not ((players == BOT).any(1) & (players == PAST).any(1)).any()
    assert (players == NETWORK).any(1).all()


def test_past_networks_are_the_latest_that_were_kept() -> None:
    made = learner(past_share=0.5, past_every=2, past_kept=2, iterations=8)
    seen = {}
    for iteration in range(8):
        seen[iteration] = made.weights.vector.detach().clone()
        made.iterate()
    assert sorted(made.past) == [4, 6]
    for iteration, weights in made.past.items():
        assert torch.equal(weights, seen[iteration])


class Choices:
    """Who decided in training: by game and seat, each network that did, and how often."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.by_seat: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
        self.temperatures: dict[int, set[float]] = defaultdict(set)
        choose = Rollout._choose

        def recorded(
            rollout: Rollout, network: Network, rows: np.ndarray, masks: Any, schedules: Schedules, rng: Any
        ) -> Any:
            self.temperatures[id(network)].add(schedules.temperature)
            for row, seat in zip(rows.tolist(), rollout._batch.seats[rows].tolist(), strict=True):
                self.by_seat[row, seat][id(network)] += 1
            return choose(rollout, network, rows, masks, schedules, rng)

        monkeypatch.setattr(Rollout, "_choose", recorded)


def test_a_seat_is_an_earlier_networks_for_a_whole_hand_and_nothing_is_learned_from_it(
    learned: Learned, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"past_share": 1.0, "past_every": 2, "bot_share": 0.0, "sizes_per_iteration": 1}
    made = learner(**settings, shards=1, hands_per_size=200)
    for _ in range(3):
        made.iterate()
    perturb(made, 0.1)
    choices = Choices(monkeypatch)
    decisions = learned.played(made)
    assert all(len(networks) == 1 for networks in choices.by_seat.values())
    owners = {place: next(iter(networks)) for place, networks in choices.by_seat.items()}
    assert set(owners.values()) == {id(made.network), id(made._past_network)}
    own = sum(networks[id(made.network)] for networks in choices.by_seat.values())
    assert len(decisions) == own < sum(networks.total() for networks in choices.by_seat.values())
    by_game: dict[int, set[int]] = defaultdict(set)
    for (game, _), owner in owners.items():
        by_game[game].add(owner)
    assert all(len(both) == 2 for both in by_game.values())  # a past network at every table, never alone
    # Both draw their bids at the same temperature.
    assert choices.temperatures[id(made.network)] == choices.temperatures[id(made._past_network)]
    assert torch.equal(torch.nn.utils.parameters_to_vector(made._past_network.parameters()), made.past[2])
    assert not torch.equal(made.past[2], made.weights.vector)


def test_which_earlier_network_plays_changes() -> None:
    made = learner(past_share=0.5)
    made.past = {iteration: made.weights.vector.data + iteration for iteration in (1, 2, 3)}
    firsts = Counter()
    for iteration in range(300):
        network = made._past(iteration, 0, 5)
        assert network is not None
        offset = torch.nn.utils.parameters_to_vector(network.parameters()) - made.weights.vector.data
        firsts[round(float(offset.mean()))] += 1
    assert set(firsts) == {1, 2, 3}
    assert max(firsts.values()) - 100 < 4.5 * math.sqrt(300 * 2 / 9)


# Imitation, and beginning from a checkpoint.


def test_a_bot_is_imitated_better_and_better_and_then_no_longer(tmp_path: Path) -> None:
    settings = {"iterations": 9, "imitation_iterations": 8, "hands_per_size": 64, "hidden_sizes": (32,)}
    with trainer(tmp_path, **POLICY, **settings, learning_rate=0.01, minibatch_size=128, sizes_per_iteration=4) as made:
        rows = run(made, 9)
    surprise = [row["policy_loss"] for row in rows[:8]]
    assert surprise[-1] < surprise[0] - 0.15
    assert all(row["kl"] == row["clipped"] == 0 for row in rows[:8])
    assert abs(rows[8]["policy_loss"]) < 0.1 < surprise[-1]


def test_what_is_imitated_is_what_the_bot_does(learned: Learned, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the network's own seats, whatever the network would have done; of equivalent cards the lowest."""
    fewer = {"shards": 1, "sizes_per_iteration": 1, "rank_order": "fixed"}
    made = learner(imitation_iterations=1, imitate="random", **fewer)
    asked: list[int] = []
    by_bots: list[np.ndarray] = []
    taught, acted = Rollout._taught, Rollout._actions

    def recorded(rollout: Rollout, rows: np.ndarray, masks: np.ndarray) -> np.ndarray:
        actions = taught(rollout, rows, masks)
        for action, by_bot, choices in zip(actions.tolist(), by_bots[-1].tolist(), masks[rows], strict=True):
            assert choices[action]
            assert action == by_bot or not choices[by_bot]
        asked.extend(actions.tolist())
        return actions

    def done(rollout: Rollout, bot: Any, rows: np.ndarray) -> np.ndarray:
        by_bots.append(acted(rollout, bot, rows))
        return by_bots[-1].copy()

    monkeypatch.setattr(Rollout, "_taught", recorded)
    monkeypatch.setattr(Rollout, "_actions", done)
    decisions = learned.played(made)
    assert sorted(decisions.actions.tolist()) == sorted(asked)
    assert (decisions.masks.gather(1, decisions.actions[:, None]) == 1).all()
    del asked[:]
    learned.played(made)
    assert not asked


def test_a_run_begins_from_a_checkpoint_and_goes_on_from_its_own(tmp_path: Path) -> None:
    with trainer(tmp_path / "first", iterations=1) as made:
        run(made, 1)
        path, first = made.path, weights_of(made.learner.network)
    with trainer(tmp_path / "second", initial=str(path), seed=5) as made:
        assert same(first, weights_of(made.learner.network))
        assert torch.equal(
            torch.nn.utils.parameters_to_vector(made.learner.network.parameters()), made.learner.weights.vector
        )
        run(made, 1)
        second = weights_of(made.learner.network)
        assert not same(first, second)
    with trainer(tmp_path / "second", checkpoint.read(made.path), initial=str(path), seed=5) as made:
        assert same(second, weights_of(made.learner.network))


def test_a_checkpoint_of_another_shape_is_no_beginning(tmp_path: Path) -> None:
    with trainer(tmp_path / "first") as made:
        made.save()
    with trainer(tmp_path / "others", num_players=(3, 4)) as others:  # of the same shape
        others.save()
    changes: list[tuple[Path, dict[str, Any], str]] = [
        (made.path, {"hidden_sizes": (9,)}, "hidden_sizes [8, 8]"),
        (made.path, {"critic": "points"}, "critic 'tricks'"),
        (made.path, {"critic_sizes": (8,)}, "critic_sizes []"),
        (made.path, {"suit_order": "fixed"}, "suit_order 'canonical'"),
        (made.path, {"rank_order": "fixed"}, "rank_order 'in_play'"),
        (made.path, {"num_players": 5}, "num_players 4"),
        (made.path, {"schedule": "5"}, "schedule None"),
        (made.path, {**POLICY, "preset": "back_alley"}, "preset 'bluke', bids 'tricks', critic 'tricks'"),
        (
            others.path,
            {"num_players": 5, "hidden_sizes": (9,)},
            "num_players [3, 4], hidden_sizes [8, 8]",
        ),
        (others.path, {"hidden_sizes": (9,)}, "hidden_sizes [8, 8]"),
    ]
    for path, change, learned in changes:
        with pytest.raises(ValueError, match=r" cannot be the initial network: ") as refused:
            Trainer(TrainConfig(**(TINY | {"run_dir": str(tmp_path / "next"), "initial": str(path)} | change)))
        assert str(refused.value).endswith(f": it learned with {learned}, so ask for the same")
        assert not (tmp_path / "next").exists()


# Hand sizes, suits and tables.


def test_hand_sizes_are_drawn_alike_or_large_ones_more_often() -> None:
    iterations = 600
    for weights, wanted in (("uniform", [1] * 12), ("large", [1] * 6 + [2] * 3 + [3] * 3)):
        made = learner(size_weights=weights, sizes_per_iteration=1)
        drawn = Counter(size for iteration in range(iterations) for _, size in made._sizes(iteration))
        for size, weight in zip(range(2, 14), wanted, strict=True):
            share = weight / sum(wanted)
            assert abs(drawn[size] - share * iterations) < 4.5 * math.sqrt(iterations * share * (1 - share)), size


def test_suits_are_those_of_the_cards_or_relabelled(learned: Learned) -> None:
    trumps = {}
    for order in ("fixed", "canonical"):
        made = learner(suit_order=order, hands_per_size=64)
        decisions = learned.played(made)
        with_trump = decisions.observations[:, made.network.layout.slice("trump")]
        trumps[order] = set(with_trump[with_trump.any(1)].argmax(1).tolist())
    assert trumps == {"fixed": {0, 1, 2, 3}, "canonical": {0}}


# Settings that contradict each other.

CONTRADICTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "margins of tricks": ({"reward": "margin"}, "critic is 'tricks', but it must be \"points\""),
    "bids without their value": ({"bids": "policy"}, "critic is 'tricks', but it must be \"points\""),
    "tricks of sides": ({"preset": "back_alley", "bids": "policy"}, "critic is 'tricks', but it must be \"points\""),
    "bids of sides": ({"preset": "back_alley", "critic": "points"}, "bids is 'tricks', but it must be \"policy\""),
    "more others than tables": ({"bot_share": 0.6, "past_share": 0.5}, "past_share is 0.5, but it must be at most 1"),
    "hands that cannot be shared": ({"hands_per_size": 9}, "hands_per_size is 9, but it must be a multiple of the 2"),
    "a table twice": ({"num_players": (3, 3)}, r"num_players is \(3, 3\), but"),
    "no table": ({"num_players": ()}, r"num_players is \(\), but"),
    "a table too large": ({"num_players": (3, 16)}, "num_players is 16, but"),
    "three in Back Alley": ({**POLICY, "preset": "back_alley", "num_players": 3}, "num_players must be 4, but it is 3"),
    "no teacher": ({"imitate": "nobody"}, "there is no bot 'nobody'"),
    "a critic without width": ({"critic_sizes": (0,)}, r"critic_sizes is \(0,\), but it must be positive widths"),
    "no layers": ({"hidden_sizes": ()}, r"hidden_sizes is \(\), but it must be one or more widths"),
    "a word for another": ({"plays_on": "lerned"}, "plays_on is 'lerned', but it must be one of learned, rule"),
    "another game": ({"preset": "hearts"}, "preset is 'hearts', but it must be one of"),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_settings_that_contradict_each_other_are_refused_in_a_sentence(case: str) -> None:
    changes, sentence = CONTRADICTIONS[case]
    with pytest.raises(ValueError, match=sentence) as refused:
        TrainConfig(**(TINY | changes))
    assert "\n" not in str(refused.value)


def test_shards_that_processes_cannot_share_are_refused_in_a_sentence() -> None:
    ranks = copy.copy(Ranks())
    ranks.count = 3
    with pytest.raises(ValueError, match=r"^shards is 4, but 3 processes must share them: choose a multiple$"):
        Learner(TrainConfig(**(TINY | {"shards": 4})), ranks=ranks)

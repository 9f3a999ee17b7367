"""One network for tables of several sizes, and for the partnerships of Back Alley."""

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_runs import TINY, Learned, learner, run, trainer

import agents.learner
import train
from agents import checkpoint
from agents.card_features import WIDTH
from agents.config import TrainConfig
from agents.player import NetworkAgent
from agents.rollout import Rollout
from bluke_env import BatchGame, ObservationLayout, Rules, Turn, bots
from bluke_env.evaluation import measure
from bluke_env.evaluation.exploitability import exploitability_facts
from bluke_env.evaluation.small_game import SmallGame
from bluke_env.evaluation.tabular import TabularPolicy
from train import Trainer

SEATS = (2, 3, 4)
BACK_ALLEY: dict[str, Any] = {"preset": "back_alley", "bids": "policy", "critic": "points"}


def random_turn(rules: Rules, num_games: int = 64, steps: int = 11) -> Turn:
    """The decisions due after some random moves."""
    batch, stream = BatchGame(rules, num_games, 3), np.array([3], np.uint64)
    for _ in range(steps):
        batch.step(batch.random_actions(stream))
    return Turn(rules, batch.views(), batch.seats.copy(), np.arange(num_games))


def play(agent: NetworkAgent, rules: Rules) -> int:
    """Plays hands with the agent in all seats, which refuses what is illegal; returns the number of decisions."""
    batch, decisions = BatchGame.hands_of(rules, 5, 20, 1, autoreset=False), 0
    while not batch.is_over.all():
        batch.step(agent.act(Turn(rules, batch.views(), batch.seats.copy(), np.arange(20))))
        decisions += 20
    return decisions


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint of a run at tables of two, three and four; to be left as it is."""
    with trainer(tmp_path_factory.mktemp("mixed") / "run", num_players=(4, 2, 3), sizes_per_iteration=6) as made:
        rows = run(made, 2)
    assert all(math.isfinite(value) for row in rows for value in row.values())
    return made.path


def test_a_network_plays_at_all_its_tables_and_at_no_other(mixed: Path) -> None:
    agent = agents.load(mixed)
    assert [rules.num_players for rules in agent.tables] == list(SEATS)
    assert agent.rules == Rules(num_players=4)
    for seats in SEATS:
        assert play(agent, Rules(num_players=seats)) == 20 * seats * 6
    sentence = "was trained for 2 or 3 or 4 players, but the table has 5: choose a table or a checkpoint that fits$"
    with pytest.raises(ValueError, match=sentence):
        agent.act(random_turn(Rules(num_players=5)))


def test_every_table_is_measured_by_the_evaluation(mixed: Path) -> None:
    agent = agents.load(mixed)
    for seats in SEATS:
        comparison = measure(agent, bots.make("random"), Rules(num_players=seats), 3, 0, sizes=(2,))
        assert math.isfinite(comparison.average["over_same_seat"].mean)
    with pytest.raises(ValueError, match="this table has 5"):
        measure(agent, bots.make("random"), Rules(num_players=5), 3, 0, sizes=(2,))


def test_the_checkpoint_keeps_all_tables(mixed: Path) -> None:
    config = TrainConfig.from_dict(checkpoint.read(mixed)["config"])
    assert config.seats == SEATS
    assert config.rules == Rules(num_players=4)
    with trainer(mixed.parent, checkpoint.read(mixed), num_players=(4, 2, 3), sizes_per_iteration=6) as made:
        for seats in SEATS:
            turn = random_turn(Rules(num_players=seats))
            np.testing.assert_array_equal(made.learner.agent.act(turn), agents.load(mixed).act(turn))


def test_what_a_wide_layout_shows_of_a_small_table_is_what_its_own_shows(mixed: Path) -> None:
    """The seats that are not there stay zero, and nothing else is different."""
    wide = agents.load(mixed).network.layout
    assert (wide.num_players, wide.most_cards) == (4, 13)
    for seats in (2, 3):
        rules = Rules(num_players=seats)
        turn, own = random_turn(rules), ObservationLayout.of(rules)
        in_wide, in_own = (turn.encode(layout, canonical=True).observations for layout in (wide, own))
        rest = in_wide.copy()
        for name, part in own.slices.items():
            there = rest[:, wide.slice(name)].reshape(len(rest), *wide.slices[name].shape)
            shared = (slice(None), *(slice(0, length) for length in part.shape))
            if not name.startswith("scores"):  # whose unit is another
                np.testing.assert_array_equal(there[shared].reshape(len(rest), -1), in_own[:, own.slice(name)])
            there[shared] = 0
        assert not rest.any()
        assert in_wide.any()


def test_in_training_the_seats_that_are_not_there_are_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    made = learner(num_players=SEATS, sizes_per_iteration=36, critic_sizes=(8,), bot_share=0.0)
    decisions, layout = Learned(monkeypatch).played(made), made.network.layout
    seen, states = decisions.observations.numpy(), decisions.states.numpy()
    held = states[:, layout.slice("other_hands")].reshape(len(states), 3, -1).sum(2)
    bids = decisions.is_bid.numpy()
    sizes = seen[:, layout.slice("hand_size")].argmax(1) + 1
    tables = Counter((held[bids] > 0).sum(1) + 1)
    assert tables == {seats: 12 * 8 * seats for seats in SEATS}
    for row in np.flatnonzero(bids):
        others = int((held[row] > 0).sum())
        assert held[row].tolist() == [sizes[row]] * others + [0] * (3 - others)
        assert not seen[row, layout.slice("bids")].reshape(4, -1)[others + 1 :].any()
        assert not seen[row, layout.slice("tricks")][others + 1 :].any()


def test_every_table_is_drawn_alike() -> None:
    made = learner(num_players=(3, 2, 15), sizes_per_iteration=1)
    assert [rules.num_players for rules in made.config.tables] == [2, 3, 15]
    iterations = 300
    drawn = Counter(made._sizes(iteration)[0] for iteration in range(iterations))
    by_table = Counter(place for place, size in drawn.elements())
    for place in range(3):
        assert abs(by_table[place] - iterations / 3) < 4.5 * math.sqrt(iterations * 2 / 9)
    assert {size for place, size in drawn if place == 2} == {2, 3}


def test_the_order_in_which_tables_are_named_does_not_matter() -> None:
    one, other = (learner(num_players=seats, sizes_per_iteration=4) for seats in ((2, 4), (4, 2)))
    one.iterate()
    other.iterate()
    assert torch.equal(one.weights.vector, other.weights.vector)


# Back Alley.


def test_back_alley_trains_and_its_network_is_measured(tmp_path: Path) -> None:
    with trainer(tmp_path, **BACK_ALLEY, iterations=2, sizes_per_iteration=4) as made:
        rows = run(made, 2)
        assert all(math.isfinite(value) for row in rows for value in row.values())
    agent = agents.load(made.path)
    rules = Rules.preset("back_alley")
    assert agent.rules == rules
    assert play(agent, rules) >= 20 * 4 * 6
    comparison = measure(agent, bots.make("rule"), rules, 3, 0, sizes=(3, 9))
    assert math.isfinite(comparison.average["over_same_seat"].mean)
    with pytest.raises(ValueError, match=r"was trained for Back Alley, but the table plays Bluke$"):
        agent.act(random_turn(Rules(num_players=4)))


def test_every_bid_of_back_alley_can_be_made() -> None:
    """Boards too: at first all legal bids are about as probable."""
    made = learner(**BACK_ALLEY)
    rules, network = made.config.rules, made.network
    turn = random_turn(rules, steps=0)
    encoded = turn.encode(network.layout, canonical=True)
    assert encoded.masks.shape[1] == network.actions.out_features == rules.num_actions
    no_cards = torch.zeros((len(encoded.masks), WIDTH), dtype=torch.int8)
    with torch.inference_mode():
        features = network.features(torch.from_numpy(encoded.observations))
        probs = network.action_log_probs(features, no_cards, torch.from_numpy(encoded.masks)).exp().numpy()
    legal = encoded.masks != 0
    assert legal[:, -rules.num_actions + 54 :].any()
    even = np.broadcast_to(1 / legal.sum(1, keepdims=True), probs.shape)
    np.testing.assert_allclose(probs[legal], even[legal], rtol=0.2)
    assert (probs[~legal] == 0).all()


# Schedules and packs.


def test_a_run_learns_the_hands_of_its_schedule_and_its_network_plays_no_larger_ones(tmp_path: Path) -> None:
    with trainer(tmp_path / "run", schedule="5-3", num_players=(2, 3), sizes_per_iteration=6) as made:
        run(made, 1)
        hands = {(rollout._batch.rules.num_players, rollout._batch.rules.most_cards) for rollout in rollouts(made)}
        sizes = [(made.config.tables[place].num_players, size) for place, size in made.learner._sizes(0)]
    assert hands == {(2, 5), (3, 5)}
    assert sizes == [(seats, size) for seats in (2, 3) for size in (3, 4, 5)]
    agent = agents.load(made.path)
    assert agent.rules == Rules(num_players=3, schedule="5-3")
    with pytest.raises(ValueError, match=r"was trained for hands of up to 5 cards, but the table plays 13$"):
        agent.act(random_turn(Rules(num_players=3)))
    with pytest.raises(ValueError, match=r"^schedule is None, but the checkpoint to resume has '5-3': leave it so$"):
        train._check_kept(TrainConfig(**(TINY | {"num_players": (2, 3)})).to_dict(), checkpoint.read(made.path))


def rollouts(made: Trainer) -> list[Rollout]:
    return list(made.learner._rollouts.values())


@pytest.mark.parametrize(
    ("preset", "seats", "rules"),
    [
        ("bluke", None, Rules()),
        ("mini", None, Rules.preset("mini")),
        ("micro", 3, Rules.preset("micro", num_players=3)),
    ],
)
def test_a_preset_brings_its_pack_and_its_number_of_seats(preset: Any, seats: int | None, rules: Rules) -> None:
    config = TrainConfig(preset=preset, num_players=seats, sizes_per_iteration=1)
    assert config.tables == (rules,)


def test_a_network_of_a_small_pack_can_be_measured_exactly(tmp_path: Path) -> None:
    small: dict[str, Any] = {"preset": "micro", "sizes_per_iteration": 1, "hands_per_size": 512, "hidden_sizes": (32,)}
    with trainer(tmp_path, **small, iterations=20, learning_rate=1e-2, guide=1.0) as made:
        before = exploitability_of(made)
        run(made, 20)
        assert exploitability_of(made) < before - 0.5


def exploitability_of(made: Trainer) -> float:
    game = SmallGame(made.config.rules)
    facts = exploitability_facts({"network": TabularPolicy.of_agent(game, made.learner.agent)})
    return facts[0]["exploitability"]

"""CFR+ against exploitability and a hand that can be solved on paper, and its table as a file."""

from pathlib import Path

import numpy as np
import pytest

from bluke_env import Rules
from bluke_env.evaluation.cfr import CfrPlus, solve
from bluke_env.evaluation.exploitability import exploitability
from bluke_env.evaluation.small_game import SmallGame
from bluke_env.evaluation.tabular import TabularPolicy

ONE_CARD = Rules.preset("micro", schedule="1", min_bid=0)


@pytest.fixture(scope="module")
def micro() -> SmallGame:
    return SmallGame(Rules.preset("micro"))


def test_micro_is_solved_to_a_thousandth_of_a_point(micro: SmallGame) -> None:
    result = exploitability(solve(micro, 200))
    assert 0 <= result.exploitability < 0.001
    assert result.values == pytest.approx((0, 0), abs=0.001)  # the seats are alike


def test_more_iterations_are_closer(micro: SmallGame) -> None:
    solver, reached = CfrPlus(micro), []
    for _ in range(3):
        solver.run(8 * max(1, solver.iterations))
        reached.append(exploitability(solver.average()).exploitability)
    assert reached == sorted(reached, reverse=True)
    assert reached[-1] < reached[0] / 50


def test_iterations_may_be_done_in_parts(micro: SmallGame) -> None:
    solver = CfrPlus(micro)
    solver.run(3)
    solver.run(4)
    assert solver.iterations == 7
    assert np.array_equal(solver.average().probabilities, solve(micro, 7).probabilities)


def test_the_solution_of_one_card_bids_what_is_sure() -> None:
    """The Hi Bluke always takes the trick, and a dealer who hears of it never does."""
    game = SmallGame(ONE_CARD)
    policy = solve(game, 500)
    for state, view in enumerate(game.views(np.arange(len(game.states)))):
        first = game.states["first"][state]
        if view["hands"][view["seat"]] == 1 << 53:
            assert policy.probabilities[first + 1] > 0.999
    assert exploitability(policy).exploitability < 1e-3


def test_no_iterations_are_refused(micro: SmallGame) -> None:
    with pytest.raises(ValueError, match="iterations is 0"):
        solve(micro, 0)


def test_a_saved_table_is_read_back(tmp_path: Path) -> None:
    policy = solve(SmallGame(ONE_CARD), 20)
    path = tmp_path / "solution.npz"
    policy.save(path)
    loaded = TabularPolicy.load(path)
    assert loaded.game.rules == ONE_CARD
    assert np.array_equal(loaded.probabilities, policy.probabilities)
    assert list(tmp_path.iterdir()) == [path]


def test_a_damaged_or_foreign_file_is_refused_in_one_sentence(tmp_path: Path) -> None:
    policy = TabularPolicy.uniform(SmallGame(ONE_CARD))
    path = tmp_path / "solution.npz"
    policy.save(path)
    whole = path.read_bytes()
    for bad in (b"", b"nothing", whole[: len(whole) // 2], whole[:200] + bytes(50) + whole[250:]):
        path.write_bytes(bad)
        with pytest.raises(ValueError, match=r"solution\.npz is no table of a policy"):
            TabularPolicy.load(path)
    np.savez(path, other=np.zeros(3))
    with pytest.raises(ValueError, match=r"solution\.npz is no table of a policy"):
        TabularPolicy.load(path)
    np.savez(path, header=np.array({"a": 1}, dtype=object), probabilities=np.zeros(3))
    with pytest.raises(ValueError, match=r"solution\.npz is no table of a policy"):
        TabularPolicy.load(path)


def test_a_table_of_other_states_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = TabularPolicy.uniform(SmallGame(ONE_CARD))
    monkeypatch.setattr(SmallGame, "digest", lambda game: "another")
    policy.save(tmp_path / "solution.npz")
    monkeypatch.undo()
    with pytest.raises(ValueError, match="a table of other states than this version's game has"):
        TabularPolicy.load(tmp_path / "solution.npz")

"""The examples, run as a user runs them."""

import re
import sys
from pathlib import Path

from aec_play import ROOT, run


def test_example_runs() -> None:
    output = run([sys.executable, "examples/aec_loop.py"])
    scores = [int(score) for score in re.findall(r"^player_\d: (-?\d+) points$", output, re.MULTILINE)]
    winners = [f"player_{seat}" for seat, score in enumerate(scores) if score == max(scores)]
    assert len(scores) == 4
    assert output.endswith(f"winners: {', '.join(winners)}\n")
    assert output == run([sys.executable, "examples/aec_loop.py"])


def test_example_of_a_learner_learns_saves_and_is_measured(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "examples" / "own_learner.py")]
    untrained, lines = (run([*command, iterations, "3"], tmp_path).splitlines() for iterations in ("0", "20"))
    assert [line.split(":")[0] for line in lines] == ["against random", "against rule"]
    before, after = ([float(line.split()[2]) for line in each] for each in (untrained, lines))
    assert after[0] > before[0] + 10
    assert after[1] > before[1] + 10
    assert (tmp_path / "runs" / "own_learner.pt").exists()


def test_example_with_players_of_the_project_runs() -> None:
    output = run([sys.executable, "examples/network_in_aec_loop.py"])
    assert re.fullmatch(r"(\S+: -?\d+ points\n){4}", output)

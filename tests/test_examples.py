"""The examples, run as a user runs them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from aec_play import ROOT, run
from tiny_runs import without_notice

from bluke_env.cards import NUM_CARDS, card_text


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


def test_a_match_can_be_played_by_hand() -> None:
    command = [sys.executable, "examples/play.py", "random", "rule", "--schedule", "2,1", "--seed", "3"]
    typed = "nonsense\n" + "1\n{}\n" * 3
    cards = "\n".join(map(card_text, range(NUM_CARDS)))  # whatever is not legal is asked for again
    done = subprocess.run(command, cwd=ROOT, input=typed.format(*[cards] * 3), capture_output=True, text=True)
    assert (done.returncode, without_notice(done.stderr)) == (0, "")
    assert "NONSENSE is not among them" in done.stdout
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("hand ")] == ["hand 1 of 2, 2 cards", "hand 2 of 2, 1 card"]
    scores = [int(points) for points in re.findall(r"took \d: [+-]\d+, (-?\d+) points", done.stdout)[-3:]]
    names = ["you", "random in seat 1", "rule in seat 2"]
    best = ", ".join(name for name, score in zip(names, scores, strict=True) if score == max(scores))
    assert lines[-1] == f"the match is over, the most points: {best}"


@pytest.mark.parametrize(
    ("players", "sentence"),
    [(["nobody"], "play.py: there is no bot 'nobody'"), (["random"], "left"), (["random"] * 15, "num_players is 16")],
)
def test_who_leaves_or_cannot_be_seated_is_told_so(players: list[str], sentence: str) -> None:
    command = [sys.executable, "examples/play.py", *players]
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 1
    assert sentence in without_notice(done.stderr)
    assert "Traceback" not in done.stderr


def test_example_with_players_of_the_project_runs() -> None:
    output = run([sys.executable, "examples/network_in_aec_loop.py"])
    assert re.fullmatch(r"(\S+: -?\d+ points\n){4}", output)

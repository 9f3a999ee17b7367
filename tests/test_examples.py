"""The examples, run as a user runs them."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from aec_play import ROOT, run
from tiny_runs import without_notice

from bluke_env import Game, Rules, bots
from bluke_env.actions import action_text
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
    lines = [re.sub(r"^.*: you: ", "you: ", line).strip() for line in done.stdout.splitlines()]
    told = [line for line in lines if line and not re.match("your hand|.*not among them", line)]
    yours = [line.removeprefix("you: ") for line in told if line.startswith("you: ")]
    assert told == list(narration(Game(Rules(num_players=3, schedule="2,1"), 3), iter(yours)))


def narration(game: Game, yours: Iterator[str]) -> Iterator[str]:
    """What is to be told of a match, given the texts of what you do in it."""
    names = ["you", "random in seat 1", "rule in seat 2"]
    players = [bots.make("random"), bots.make("rule")]
    for seat, player in enumerate(players, 1):
        player.reset(1, seat)
    while (seat := game.current_player) is not None:
        if game.bids == (None, None, None):
            yield f"hand {len(game.history) + 1} of 2, {'2 cards' if game.hand_size == 2 else '1 card'}"
        texts = {action: action_text(action) for action in game.legal_actions()}
        done = next(yours) if seat == 0 else texts[int(players[seat - 1].act(game.turn())[0])]
        yield f"{names[seat]}: {done}"
        hands = len(game.history)
        game.apply_action(next(action for action, text in texts.items() if text == done))
        if len(game.history) > hands:
            hand = game.history[-1]
            for seat, name in enumerate(names):
                won = f"bid {hand.bids[seat]}, took {hand.tricks[seat]}: {hand.points[seat]:+}"
                yield f"{name} {won}, {game.scores[seat]} points"
        elif game.order and len(game.order) % 3 == 0:
            yield f"the trick goes to {names[game.current_player]}"
    yield f"the match is over, the most points: {', '.join(names[seat] for seat in game.winners)}"


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

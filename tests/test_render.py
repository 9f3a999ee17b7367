"""Rendering: readable, complete, headless, and silent unless it is asked to print."""

import itertools
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from variants import with_variants

from bluke_env import Deal, Game, Rules, bluke_v0
from bluke_env.actions import bid_text
from bluke_env.cards import card_text, parse_card, parse_cards
from bluke_env.render import ansi

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # PettingZoo's tests import one of its old environments
    from pettingzoo.test.render_test import render_test

ROOT = Path(__file__).parent.parent

BIDDING = """\
Hand 1 of 2: 2 cards each, dealer player_2, hearts are trump (7♥ turned up)

            score  bid  tricks  last hand  ♣  ♦  ♥    ♠    Blukes
  player_0      0    2       0          -  -  -  -    A K  -
> player_1      0    -       0          -  -  -  A 2  -    -
  player_2      0    -       0          -  T  -  -    -    HB

player_1 is to bid."""

FIRST_TRICK = """\
Hand 1 of 2: 2 cards each, dealer player_2, hearts are trump (7♥ turned up)

            score  bid  tricks  last hand  ♣  ♦  ♥  ♠  Blukes
  player_0      0    2       0          -  -  -  -  K  -
  player_1      0    1       0          -  -  -  A  -  -
> player_2      0    1       0          -  T  -  -  -  HB

This trick: player_0 A♠, player_1 2♥, player_1 is winning
player_2 is to play."""

SECOND_TRICK = """\
Hand 1 of 2: 2 cards each, dealer player_2, hearts are trump (7♥ turned up)

            score  bid  tricks  last hand  ♣  ♦  ♥  ♠  Blukes
> player_0      0    2       0          -  -  -  -  K  -
  player_1      0    1       0          -  -  -  A  -  -
  player_2      0    1       1          -  -  -  -  -  -

Last trick: player_0 A♠, player_1 2♥, player_2 HB -> player_2
This trick: player_2 T♣, player_2 is winning
player_0 is to play."""

SCORED = """\
Hand 1 of 2 is scored: dealer player_2, hearts are trump (7♥ turned up)
  trick  1: player_0 A♠, player_1 2♥, player_2 HB -> player_2
  trick  2: player_2 T♣, player_0 K♠, player_1 A♥ -> player_1

Hand 2 of 2: 1 card each, dealer player_0, no trump (no card turned up)

            score  bid  tricks          last hand  ♣  ♦  ♥  ♠  Blukes
  player_0    -20    -       0  bid 2 took 0: -20  -  -  2  -  -
> player_1     10    -       0  bid 1 took 1: +10  2  -  -  -  -
  player_2     10    -       0  bid 1 took 1: +10  -  2  -  -  -

player_1 is to bid."""

OVER = """\
Hand 2 of 2 is scored: dealer player_0, no trump (no card turned up)
  trick  1: player_1 2♣, player_2 2♦, player_0 2♥ -> player_1

The match is over: player_1 wins with 20 points

            score  bid  tricks          last hand  ♣  ♦  ♥  ♠  Blukes
  player_0    -30    1       0  bid 1 took 0: -10  -  -  -  -  -
  player_1     20    1       1  bid 1 took 1: +10  -  -  -  -  -
  player_2      0    1       0  bid 1 took 0: -10  -  -  -  -  -"""


BACK_ALLEY_TRICK = """\
Hand 1 of 1: 2 cards each, dealer player_3, hearts are trump (7♥ turned up)

            score           bid  tricks  last hand  ♣  ♦  ♥  ♠  Blukes
  player_0      0             0       0          -  -  -  3  -  -
> player_1      0         board       0          -  A  -  6  -  -
  player_2      0  double board       0          -  4  -  -  -  -
  player_3      0             0       0          -  -  -  -  -  LB

This trick: player_2 3♣, player_3 5♣, player_0 2♥, player_0 is winning
player_1 is to play."""

BACK_ALLEY_OVER = """\
Hand 1 of 1 is scored: dealer player_3, hearts are trump (7♥ turned up)
  trick  1: player_2 3♣, player_3 5♣, player_0 2♥, player_1 A♣ -> player_0
  trick  2: player_0 3♥, player_1 6♥, player_2 4♣, player_3 LB -> player_3

The match is over: player_1 and player_3 share the win with -20 points

            score           bid  tricks                     last hand  ♣  ♦  ♥  ♠  Blukes
  player_0    -40             0       1             bid 0 took 1: -40  -  -  -  -  -
  player_1    -20         board       0         bid board took 0: -20  -  -  -  -  -
  player_2    -40  double board       0  bid double board took 0: -40  -  -  -  -  -
  player_3    -20             0       1             bid 0 took 1: -20  -  -  -  -  -"""


def game_of_two_hands() -> Game:
    first = Deal(tuple(map(parse_cards, ("AS KS", "2H AH", "HB TC"))), parse_card("7H"), dealer=2)
    second = Deal(tuple(map(parse_cards, ("2H", "2C", "2D"))))
    return Game(Rules(num_players=3, schedule=(2, (1, True))), deals=[first, second])


def bid(game: Game, *bids: int) -> None:
    for tricks in bids:
        game.apply_action(54 + tricks)


def play(game: Game, cards: str) -> None:
    for card in parse_cards(cards):
        game.apply_action(card)


def test_frames_of_a_match() -> None:
    game = game_of_two_hands()
    bid(game, 2)
    assert ansi.frame(game) == BIDDING
    bid(game, 1, 1)
    play(game, "AS 2H")
    assert ansi.frame(game) == FIRST_TRICK
    play(game, "HB TC")
    assert ansi.frame(game) == SECOND_TRICK
    play(game, "KS AH")
    assert ansi.frame(game) == SCORED
    bid(game, 1)
    assert "is scored" not in ansi.frame(game)
    bid(game, 1, 1)
    play(game, "2C 2D 2H")
    assert ansi.frame(game) == OVER


def test_frames_of_back_alley() -> None:
    """The highest bidder, player_2, leads."""
    hands = tuple(map(parse_cards, ("2H 3H", "AC 6H", "3C 4C", "5C LB")))
    game = Game(Rules.preset("back_alley", schedule="2"), deals=[Deal(hands, parse_card("7H"), dealer=3)])
    for action in (54, 57, 58, 54):
        game.apply_action(action)
    play(game, "3C 5C 2H")
    assert ansi.frame(game) == BACK_ALLEY_TRICK
    play(game, "AC 3H 6H 4C LB")
    assert ansi.frame(game) == BACK_ALLEY_OVER


def test_rendering_leaves_the_game_as_it_is() -> None:
    game = game_of_two_hands()
    before = game.to_bytes()
    ansi.frame(game)
    assert game.to_bytes() == before


def test_a_shared_win() -> None:
    rules = Rules(num_players=2, schedule=(1,), min_bid=0, points_per_overtrick=0)
    game = Game(rules, seed=1)
    bid(game, 0, 0)
    while not game.is_terminal:
        game.apply_action(game.legal_actions()[0])
    assert "player_0 and player_1 share the win with 0 points" in ansi.frame(game)


def shown(card: int) -> str:
    """A card with the symbol of its suit."""
    return card_text(card) if card >= 52 else card_text(card)[0] + "♣♦♥♠"[card // 13]


def cards_shown(header: str, row: str) -> tuple[int, ...]:
    """The cards that a row of the table shows under the suits of its header."""
    starts = [header.index(title) for title in ("♣", "♦", "♥", "♠", "Blukes")] + [None]
    texts = [row[start:stop].split() for start, stop in itertools.pairwise(starts)]
    cards = [rank + suit for suit, ranks in zip("CDHS", texts, strict=False) for rank in ranks] + texts[4]
    return tuple(sorted(parse_card(card) for card in cards if "-" not in card))


@pytest.mark.parametrize(
    "rules", [*(Rules(num_players=seats) for seats in (2, 4, 15)), Rules.preset("back_alley"), *with_variants()]
)
def test_every_frame_of_a_random_match_tells_the_state(rules: Rules) -> None:
    env, seats = bluke_v0.env(rules, render_mode="ansi"), rules.num_players
    env.reset(seed=seats)
    for agent in env.agent_iter():
        game, text = env.game, env.render()
        assert isinstance(text, str)
        if game.is_terminal:
            break
        assert f"Hand {game.hand_number + 1} of {game.rules.num_hands}: {game.hand_size} card" in text
        assert f"> {agent} " in text
        assert re.findall(r"dealer (player_\d+)", text)[-1] == f"player_{game.dealer}"
        header = next(line for line in text.splitlines() if "♣" in line and "Blukes" in line)
        for seat in range(seats):
            row = next(line for line in text.splitlines() if line[2:].startswith(f"player_{seat} "))
            told = game.bids[seat]
            facts = [str(game.scores[seat]), *("-" if told is None else bid_text(told)).split(), str(game.tricks[seat])]
            assert row[2:].split()[1 : 1 + len(facts)] == facts
            assert cards_shown(header, row) == game.hands[seat]
        table = re.findall(r"^This trick: (.*), player_\d+ is winning$", text, re.MULTILINE)
        assert table == ([", ".join(f"player_{seat} {shown(card)}" for seat, card in game.trick)] if game.trick else [])
        last_trick = re.findall(r"^Last trick: .* -> player_(\d+)$", text, re.MULTILINE)
        assert last_trick == ([str(game.leader)] if sum(game.tricks) else [])
        env.step(int(np.flatnonzero(env.last()[0]["action_mask"])[-1]))
    assert env.game.is_terminal
    assert text.count("trick ") == rules.schedule[-1].cards
    for seat, score in enumerate(env.game.scores):
        assert re.search(rf"^  player_{seat} +{score} ", text, re.MULTILINE)


def test_pettingzoo_render_test(capsys: pytest.CaptureFixture) -> None:
    render_test(bluke_v0.env)
    assert "player_0" in capsys.readouterr().out


def test_ansi_prints_nothing(capsys: pytest.CaptureFixture) -> None:
    env = bluke_v0.env(hand_size=2, render_mode="ansi")
    env.reset(seed=1)
    env.render()
    env.step(55)
    assert capsys.readouterr().out == ""


def test_human_prints_every_state_once(capsys: pytest.CaptureFixture) -> None:
    env = bluke_v0.env(hand_size=2, render_mode="human")
    env.reset(seed=1)
    expected = [ansi.frame(env.game)]
    for agent in env.agent_iter():
        observation, _, termination, _, _ = env.last()
        if termination:
            env.step(None)
        else:
            env.step(env.action_space(agent).sample(observation["action_mask"]))
            expected.append(ansi.frame(env.game))
    assert capsys.readouterr().out == "".join(frame + "\n\n" for frame in expected)
    assert env.render() is None
    assert capsys.readouterr().out == expected[-1] + "\n\n"


def test_without_a_mode_it_warns_once() -> None:
    env = bluke_v0.env()
    env.reset(seed=1)
    with pytest.warns(UserWarning, match='render_mode="ansi" or render_mode="human"') as caught:
        results = [env.render() for _ in range(3)]
    assert results == [None, None, None]
    assert len(caught) == 1


def test_close_twice() -> None:
    for mode in (None, *bluke_v0.raw_env.metadata["render_modes"]):
        env = bluke_v0.env(render_mode=mode)
        env.close()
        env.reset(seed=1)
        env.close()
        env.close()


def test_suit_letters_where_symbols_cannot_be_printed() -> None:
    text = "A♠ T♣ 2♥ 3♦"
    assert ansi.printable(text, "utf-8") == text
    for encoding in ("ascii", "latin-1", None):
        assert ansi.printable(text, encoding) == "AS TC 2H 3D"


def test_headless_and_without_unicode() -> None:
    program = (
        "import sys\n"
        "from bluke_env import bluke_v0\n"
        "env = bluke_v0.env(hand_size=1, render_mode='human')\n"
        "env.reset(seed=1)\n"
        "assert 'pygame' not in sys.modules\n"
    )
    environment = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "SDL_VIDEODRIVER")}
    environment |= {"PYTHONIOENCODING": "ascii"}
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert b"Hand 1 of 1: 1 card each, dealer player_" in result.stdout


def test_frames_of_different_hands_differ() -> None:
    env = bluke_v0.env(schedule=(2, 2), render_mode="ansi")
    env.reset(seed=1)
    frames = []
    while not any(env.terminations.values()):
        frames.append(env.render())
        env.step(int(np.flatnonzero(env.last()[0]["action_mask"])[0]))
    assert all(one != other for one, other in itertools.pairwise(frames))

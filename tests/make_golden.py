"""Writes the golden games: records of matches of every variant, played by random legal actions.

python tests/make_golden.py            writes them into tests/golden
python tests/make_golden.py --check    names the files that would change, and fails if there are any

A golden game changes only when the rules, the deals of a seed or the notation do: read what changed before committing.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

from bluke_env import Deal, Game, Rules
from bluke_env.cards import parse_card, parse_cards
from bluke_env.records import write_record

FOLDER = Path(__file__).parent / "golden"


def given(hands: str, turned_up: str | None, dealer: int | None = None, next_card: str | None = None) -> Deal:
    """Returns a deal from card texts, with slashes between the hands."""
    up, drawn = (None if text is None else parse_card(text) for text in (turned_up, next_card))
    return Deal([parse_cards(hand) for hand in hands.split("/")], up, dealer, drawn)


DEALS = [
    given("2C AS KS / 3H 4H HB / QD TC 9C", "7H", dealer=1),
    given("2C AS / 3H LB / QD TC", "HB"),
    given("2C AS KS / 3H 4H HB / QD TC LB", None),
    given("5D 6D / 7D 8D / 9D TD", "JD"),
]
BACK_ALLEY_DEALS = [
    given("2C AS / 3H LB / QD TC / 4S 5S", "HB", dealer=3, next_card="7C"),
    given("2C AS HB / 3H LB 3C / QD TC 9D / 4S 5S 6S", "2S"),
    given("2C AS / 3H 4H / QD HB / 4S 5S", "LB", next_card="8C"),
]

STOPS = {"stopped_in_the_bidding": 62, "stopped_in_a_trick": 86, "given_deals": 17, "given_deals_back_alley": 14}
"""Matches that stop after so many actions; the others are played to the end."""


def new_games() -> dict[str, Game]:
    """Returns the golden games by name, before their first action."""
    back_alley = Rules.preset("back_alley", schedule="2-3-2")
    return {
        "standard_2": Game(Rules(num_players=2, schedule="13,3-1-2"), seed=2),
        "standard_3": Game(Rules(num_players=3, schedule="13,3-1-2"), seed=3),
        "standard_4": Game(Rules(num_players=4), seed=4),
        "standard_5": Game(Rules(num_players=5, schedule="10,3-1-2"), seed=5),
        "standard_8": Game(Rules(num_players=8, schedule="6,3-1-2"), seed=8),
        "standard_15": Game(Rules(num_players=15), seed=15),
        "extended_2": Game(Rules(num_players=2, schedule="14,25,26nt"), seed=20),
        "extended_3": Game(Rules(num_players=3, schedule="14,17,18nt"), seed=30),
        "pass_and_trump_lead": Game(Rules(schedule="8-6,2-1-3", min_bid=0, bluke_lead="trump"), seed=40),
        "other_points": Game(Rules(schedule="5-4", points_per_trick=7, points_per_overtrick=0, most_cards=9), seed=41),
        "back_alley": Game(Rules.preset("back_alley"), seed=69),
        "back_alley_trump_lead": Game(Rules.preset("back_alley", bluke_lead="trump", schedule="12-11,3-1-3"), seed=83),
        "mini": Game(Rules.preset("mini"), seed=1),
        "micro": Game(Rules.preset("micro"), seed=1),
        "stopped_in_the_bidding": Game(Rules(schedule="5-1-5"), seed=50),
        "stopped_in_a_trick": Game(Rules(schedule="5-1-5"), seed=51),
        "given_deals": Game(Rules(num_players=3, schedule="3-2,3nt,2", min_bid=0), seed=60, deals=DEALS),
        "given_deals_back_alley": Game(back_alley, seed=61, deals=BACK_ALLEY_DEALS),
    }


def golden_games() -> dict[str, Game]:
    """Returns the golden games by name, played as far as they go."""
    games = new_games()
    for name, game in games.items():
        rng, steps = random.Random(game.seed), STOPS.get(name, -1)
        while not game.is_terminal and steps != 0:
            game.apply_action(rng.choice(game.legal_actions()))
            steps -= 1
    return games


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Writes the golden games.")
    parser.add_argument("--check", action="store_true", help="name the files that would change, and write nothing")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where they lie (default: %(default)s)")
    args = parser.parse_args(arguments)
    due = {f"{name}.txt": write_record(game).encode() for name, game in golden_games().items()}
    there = {path.name: path.read_bytes() for path in args.folder.glob("*.txt")}
    changed = sorted(name for name in {*due, *there} if due.get(name) != there.get(name))
    if args.check and changed:
        sys.exit(f"{', '.join(changed)} would change: run `python tests/make_golden.py` and read the difference")
    args.folder.mkdir(exist_ok=True)
    for name in changed:
        if name in due:
            (args.folder / name).write_bytes(due[name])
        else:
            (args.folder / name).unlink()  # of a game that is no longer one of them
        print(f"changed {name}")


if __name__ == "__main__":
    main()

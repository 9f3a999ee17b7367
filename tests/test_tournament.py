"""Tournaments: the matrix is what each pair would be measured as, and the order of names changes nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from evaluation_runs import python

from agents import tournament
from bluke_env import Rules
from bluke_env.evaluation import Plan, load_player, measure
from bluke_env.evaluation.evaluate import played
from bluke_env.evaluation.measure import Participant
from bluke_env.evaluation.plan import scheduled_times
from bluke_env.evaluation.tournament import tournament_facts, tournament_tables

PLAYERS = ["rule", "policies:moody", "random"]
THREE = Rules(num_players=3, schedule=[4, 2, 2])
ALLEY = Rules.preset("back_alley", schedule="4,2")


def facts_of(
    rules: Rules,
    players: list[str],
    *,
    deals: int = 15,
    mixed: int = 4,
    matches: bool = False,
    anchor: str | None = None,
) -> dict[str, Any]:
    hands = None if matches else tuple(scheduled_times(rules))
    plan = Plan(rules, tournament_tables(players, rules, mixed, 1), hands, deals, 1)
    seated = {name: load_player(name) for name in players}
    who = {name: Participant.of(name, player) for name, player in seated.items()}
    return tournament_facts(plan, played(plan, seated.__getitem__), players, who, anchor)


@pytest.mark.parametrize("rules", [THREE, ALLEY, Rules(num_players=2, schedule=[3])], ids=["three", "sides", "two"])
def test_the_matrix_says_what_measuring_the_pairs_says(rules: Rules) -> None:
    matrix = facts_of(rules, PLAYERS)["matrix"]
    for row, one in enumerate(PLAYERS):
        for column, other in enumerate(PLAYERS):
            if one == other:
                assert matrix[row][column] is None
                continue
            players = load_player(one), load_player(other)
            estimate = measure(*players, rules, deals=15, seed=1).average["over_same_seat"]
            assert matrix[row][column] == {"mean": estimate.mean, "half_width": estimate.half_width}


def by_name(facts: dict[str, Any]) -> dict[str, Any]:
    cells = {
        (one, other): facts["matrix"][row][column]
        for row, one in enumerate(facts["players"])
        for column, other in enumerate(facts["players"])
    }
    return {"cells": cells, "ratings": {rating["name"]: rating for rating in facts["ratings"]}}


@pytest.mark.parametrize("rules", [THREE, ALLEY], ids=["three", "sides"])
def test_the_order_of_names_changes_no_number(rules: Rules) -> None:
    orders = [PLAYERS, PLAYERS[::-1], PLAYERS[1:] + PLAYERS[:1]]
    one, *others = [by_name(facts_of(rules, players)) for players in orders]
    assert set(one["ratings"]) == set(PLAYERS)
    assert all(other == one for other in others)


def test_ratings_have_all_their_facts() -> None:
    ratings = facts_of(THREE, PLAYERS)["ratings"]
    assert len(ratings) == 3
    for rating in ratings:
        names = {"name", "rating", "low", "high", "points", "points_half_width", "tables", "group"}
        assert set(rating) == names
        assert rating["low"] < rating["rating"] < rating["high"]
        assert (rating["group"], rating["points_half_width"] > 0) == (0, True)
    assert sum(rating["rating"] for rating in ratings) == pytest.approx(0, abs=1e-6)
    assert json.loads(json.dumps(ratings)) == ratings


def test_tables_at_which_a_player_sits() -> None:
    """Of three players, two kinds of hands and no mixed tables, each plays four tables of three seatings."""
    ratings = facts_of(THREE, PLAYERS, deals=5, mixed=0)["ratings"]
    assert [rating["tables"] for rating in ratings] == [4 * 3 * 2 * 5] * 3


def test_the_anchor_has_rating_0() -> None:
    free, anchored = (facts_of(THREE, PLAYERS, anchor=anchor)["ratings"] for anchor in (None, "random"))
    values = [{rating["name"]: rating["rating"] for rating in ratings} for ratings in (free, anchored)]
    assert values[1]["random"] == 0
    assert values[1]["rule"] == pytest.approx(values[0]["rule"] - values[0]["random"], abs=1e-6)


def test_matches_are_rated_by_their_scores() -> None:
    facts = facts_of(THREE, PLAYERS, matches=True, deals=10, mixed=0)
    assert [rating["tables"] for rating in facts["ratings"]] == [4 * 3 * 10] * 3
    assert all(cell is not None for row, cells in enumerate(facts["matrix"]) for cell in cells[:row])


def test_who_takes_part_is_checked() -> None:
    with pytest.raises(ValueError, match=r"^1 player was given, but a tournament needs at least two$"):
        tournament_tables(["rule"], THREE, 0, 0)
    with pytest.raises(ValueError, match="rule, rule"):
        tournament_tables(["rule", "rule"], THREE, 0, 0)
    with pytest.raises(ValueError, match=r"^count is -1"):
        tournament_tables(["rule", "random"], THREE, -1, 0)


# The command line.


def test_a_tournament_as_a_user_runs_it(tmp_path: Path) -> None:
    """Against the same one with another order of the names and other batches, in this process."""
    game = ("--num-players", "3", "--sizes", "3", "1", "--deals", "20", "--mixed", "3", "--seed", "2")
    run = python("-m", "agents.tournament", *PLAYERS, *game, "--json", "a.json", "--html", "a.html", cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    lines = run.stdout.splitlines()
    assert lines[0].startswith(
        "3 contestants at 12 tables: 3 players, 20 deals of each hand size × 3 rotations, seed 2, "
    )
    assert all(any(line.startswith(f"{number} {name}") for line in lines) for number, name in enumerate(PLAYERS, 1))
    facts = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert facts["tournament"]["players"] == PLAYERS
    assert facts["comparisons"] == []
    assert [player["name"] for player in facts["players"]] == sorted(PLAYERS)
    assert "policies:moody" in (tmp_path / "a.html").read_text(encoding="utf-8")
    options = ("--games-at-once", "7", "--anchor", "rule", "--results", str(tmp_path / "kept"))
    tournament.main([*PLAYERS[::-1], *game, *options, "--json", str(tmp_path / "b.json")])
    other = json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))
    assert by_name(other["tournament"])["cells"] == by_name(facts["tournament"])["cells"]
    assert by_name(other["tournament"])["ratings"]["rule"]["rating"] == 0
    assert len(list((tmp_path / "kept").glob("*.npz"))) == 12 * 2


BAD_INPUTS = {
    "one player": (["rule"], "1 player was given, but a tournament needs at least two"),
    "a player twice": (["rule", "rule"], "rule, rule"),
    "an unknown player": (["rule", "nobody"], "there is no bot 'nobody'"),
    "an unknown anchor": (
        ["rule", "random", "--anchor", "pimc"],
        "--anchor is pimc, but it must be one of the players",
    ),
    "fewer than no tables": (["rule", "random", "--mixed", "-1"], "is -1, but it must be a whole number"),
    "too few deals": (["rule", "random", "--deals", "2"], "--deals is 2, but an interval needs at least 3"),
    "a negative seed": (["rule", "random", "--seed", "-1"], "seed is -1, but"),
    "no players": ([], "the following arguments are required: PLAYER"),
}


@pytest.mark.parametrize("case", BAD_INPUTS)
def test_bad_input_is_refused_before_anything_is_played(
    case: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Plan, "play", None)
    arguments, sentence = BAD_INPUTS[case]
    with pytest.raises(SystemExit) as ended:
        tournament.main(arguments)
    printed = capsys.readouterr()
    assert (ended.value.code, printed.out) == (2, "")
    assert printed.err.startswith("python -m agents.tournament: error: ")
    assert sentence in printed.err
    assert printed.err.count("\n") == 1

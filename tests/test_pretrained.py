"""The networks that come with the project."""

import numpy as np
import pytest

import agents
import agents.evaluate
from agents import checkpoint
from agents.config import TrainConfig
from agents.export import command_of
from agents.options import load_player
from bluke_env import BatchGame, Turn, bots
from bluke_env.evaluation import measure

NAMES = agents.pretrained()

RENAMED_SINCE: dict[str, dict] = {
    "bluke-4p": {"initial": "bluke-4p-113m", "live_against": ["rule", "bluke-4p-113m"]},
    "bluke-4p-wins": {"initial": "bluke-4p"},
}
"""Settings with names of networks that have others now."""


def test_there_are_some_for_four_players_one_for_two_to_six_and_one_for_back_alley() -> None:
    tables = {name: [rules.num_players for rules in agents.load(name).tables] for name in NAMES}
    assert tables == {
        "bluke-4p": [4],
        "bluke-4p-wins": [4],
        "bluke-2to6p": [2, 3, 4, 5, 6],
        "back-alley": [4],
    }
    assert [name for name in NAMES if agents.load(name).rules.teams] == ["back-alley"]


def test_together_they_are_small() -> None:
    sizes = [(agents.PRETRAINED / f"{name}.pt").stat().st_size for name in NAMES]
    assert sum(sizes) < 5_000_000


@pytest.mark.parametrize("name", NAMES)
def test_each_has_a_card(name: str) -> None:
    card = (agents.PRETRAINED / f"{name}.md").read_text("utf-8")
    assert card.startswith(f"# {name}\n")
    made, processes = checkpoint.read(agents.PRETRAINED / f"{name}.pt")["config"], 2 if "torchrun" in card else 1
    made |= RENAMED_SINCE.get(name, {})
    assert command_of(TrainConfig.from_dict(made), processes) in card
    assert card.count("python -m agents.evaluate") == card.count("(final)"), "every result has its command"
    assert "(final)" in card, "results are on deals that nothing was chosen by"


@pytest.mark.parametrize("name", NAMES)
def test_each_plays_whole_matches_at_its_tables(name: str) -> None:
    for rules in agents.load(name).tables:
        batch, player, games = BatchGame(rules, 3, 7, autoreset=False), agents.load(name), np.arange(3)
        while not batch.is_over.all():
            batch.step(player.act(Turn(rules, batch.views(), batch.seats.copy(), games)))
        assert batch.is_over.all()


@pytest.mark.parametrize("name", NAMES)
def test_each_beats_the_rule_bot_in_large_hands(name: str) -> None:
    """On deals of its own tables, among opponents of one kind."""
    player = agents.load(name)
    for rules in player.tables:
        size = max(hand.cards for hand in rules.schedule)
        made = measure(player, bots.make("rule"), rules, 150, 11, sizes=[size]).average
        if player.network.heads.aim == "wins":  # a hand alone is a match to it
            assert made["most_points"].mean > 1.2 / rules.num_players
        else:
            assert made["over_same_seat"].mean > 0, rules.num_players


def test_the_one_that_plays_for_matches_wins_more_of_them_than_the_one_that_plays_for_points() -> None:
    players = [agents.load(name) for name in ("bluke-4p-wins", "bluke-4p")]
    wins, points = (
        agents.evaluate.compare(player, [bots.make("rule")], player.rules, 300, 5, matches=True).comparisons[0].average
        for player in players
    )
    assert wins["match_wins"].mean > points["match_wins"].mean + 0.01
    assert wins["points"].mean < points["points"].mean


def test_a_name_that_is_nearly_right_gets_the_right_ones() -> None:
    with pytest.raises(ValueError, match=r"^there is no bot 'bluke-4p-win': the bots are .*, the networks .*bluke-4p,"):
        load_player("bluke-4p-win")


def test_a_name_that_is_none_of_theirs_is_answered_with_theirs() -> None:
    with pytest.raises(ValueError, match=f"no checkpoint at bluke4p, .* {', '.join(NAMES)}$"):
        agents.load("bluke4p")

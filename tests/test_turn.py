"""What bots and networks are handed: from a single game, and what no turn can be made of."""

from typing import Any

import numpy as np
import pytest
from variants import VARIANTS

from bluke_env import BatchGame, Game, Rules, Turn, bots

variants = pytest.mark.parametrize("rules", [pytest.param(VARIANTS[name], id=name) for name in ("back_alley", "mini")])


@variants
def test_the_turn_of_a_game_is_that_of_the_same_game_in_a_batch(rules: Rules) -> None:
    game, batch, bot = Game(rules, 5), BatchGame(rules, 1, 5, autoreset=False), bots.make("rule")
    while not game.is_terminal:
        one, many = game.turn(), Turn(rules, batch.views(), batch.seats.copy(), np.arange(1))
        assert one.views.tobytes() == many.views.tobytes()
        assert one.seats == game.current_player
        assert (one.masks[0] == game.action_mask()).all()
        actions = bot.act(one)
        game.apply_action(int(actions[0]))
        batch.step(actions)
    with pytest.raises(ValueError, match="the match is over: there is no decision left to make"):
        game.turn()


def test_the_turn_of_a_game_has_no_hidden_cards() -> None:
    game = Game(Rules(num_players=4), 3)
    views = game.turn().views
    assert views["hands"][0, game.current_player] != 0
    assert np.count_nonzero(views["hands"]) == 1


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"views": np.zeros((1, 624), np.int8)}, "views must be an array of GAME records"),
        ({"views": None}, "views must be an array of GAME records"),
        ({"seats": np.zeros(2, np.int8)}, "seats must be those to act in the views"),
        ({"seats": np.array([3], np.int8)}, "seats must be those to act in the views"),
        ({"seats": np.array(["a"])}, "seats must be those to act in the views"),
        ({"games": np.zeros((1, 1), np.int64)}, r"games has shape \(1, 1\), but it must be that of the views"),
    ],
)
def test_what_is_no_turn_is_refused_in_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    turn = Game(Rules(num_players=4), 1).turn()
    facts = {"rules": turn.rules, "views": turn.views, "seats": turn.seats, "games": turn.games}
    with pytest.raises(ValueError, match=sentence):
        Turn(**(facts | changes))


def test_a_match_that_is_over_gives_no_turn() -> None:
    batch = BatchGame(VARIANTS["mini"], 1, 0, autoreset=False)
    while not batch.is_over[0]:
        batch.step(batch.masks.argmax(1))
    with pytest.raises(ValueError, match="row 0 of the turn has no seat to act: its match is over, so leave it out"):
        Turn(batch.rules, batch.views(), batch.seats.copy(), np.arange(1))

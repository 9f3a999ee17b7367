"""The OpenSpiel game by OpenSpiel's own tests, by the rules, and its exploitability against ours."""

import random
import subprocess
import sys
from collections import Counter
from math import comb
from typing import Any

import numpy as np
import pytest

pyspiel = pytest.importorskip("pyspiel")

from open_spiel.python.algorithms import exploitability as spiel_exploitability  # noqa: E402

from bluke_env import Deal, Game, Rules, bots  # noqa: E402
from bluke_env.adapters import openspiel  # noqa: E402
from bluke_env.adapters.openspiel_policy import SpielPolicy  # noqa: E402
from bluke_env.evaluation.cfr import solve  # noqa: E402
from bluke_env.evaluation.exploitability import exploitability  # noqa: E402
from bluke_env.evaluation.small_game import SmallGame  # noqa: E402
from bluke_env.evaluation.tabular import TabularPolicy  # noqa: E402

RULES = {
    "micro": Rules.preset("micro"),
    "match of two": Rules.preset("mini", schedule="2-1", min_bid=0),
    "three": Rules(num_players=3, schedule="3-2", bluke_lead="trump"),
    "back alley": Rules.preset("back_alley", num_suits=1, num_ranks=10, schedule="2-1-2"),
    "no trump": Rules(num_players=2, num_suits=2, num_ranks=3, schedule=[(4, True)]),
}
FIVE_CARDS = Rules(num_players=2, num_suits=1, num_ranks=3, schedule="2")


def played_out(game: Any, rng: random.Random) -> Any:
    state = game.new_initial_state()
    while not state.is_terminal():
        state.apply_action(rng.choice(state.legal_actions()))
    return state


@pytest.mark.parametrize("name", RULES)
def test_openspiel_finds_no_fault(name: str) -> None:
    for reward in openspiel.REWARDS:
        pyspiel.random_sim_test(openspiel.load(RULES[name], reward), num_sims=2, serialize=True, verbose=False)


@pytest.mark.parametrize("name", RULES)
def test_a_match_goes_as_the_same_deals_do_in_our_game(name: str) -> None:
    rules, rng = RULES[name], random.Random(name)
    game = openspiel.load(rules, "points")
    for _ in range(20):
        state, deals, drawn = game.new_initial_state(), [], []
        actions: list[tuple[int, int, list[int]]] = []
        while not state.is_terminal():
            legal = state.legal_actions()
            action = rng.choice(legal)
            if state.is_chance_node():
                drawn.append(action)
            else:
                if drawn:
                    deals.append(drawn)
                    drawn = []
                actions.append((state.current_player(), action, legal))
            state.apply_action(action)
        ours = Game(rules, deals=[deal_of(rules, number, deal) for number, deal in enumerate(deals)])
        for seat, action, legal in actions:
            assert (ours.current_player, ours.legal_actions()) == (seat, legal)
            ours.apply_action(action)
        assert ours.is_terminal
        assert state.returns() == list(ours.scores)


def deal_of(rules: Rules, number: int, drawn: list[int]) -> Deal:
    size, seats = rules.schedule[number].cards, rules.num_players
    dealer = drawn.pop(0) if number == 0 else None
    hands = [drawn[seat * size : (seat + 1) * size] for seat in range(seats)]
    turned_up, next_card = (*drawn[seats * size :], None, None)[:2]
    return Deal(hands, turned_up, dealer, next_card)


def test_every_deal_comes_about_once_and_equally_often() -> None:
    found: Counter = Counter()

    def deal(state: Any, chance: float) -> None:
        if not state.is_chance_node():
            found[str(state)] += chance
            return
        for outcome, probability in state.chance_outcomes():
            deal(state.child(outcome), chance * probability)

    deal(openspiel.load(FIVE_CARDS).new_initial_state(), 1.0)
    assert len(found) == 2 * comb(5, 2) * comb(3, 2)
    assert np.allclose(list(found.values()), 1 / len(found), atol=1e-12)


def test_what_a_seat_knows_says_nothing_of_other_hands() -> None:
    """All deals that differ in the hidden hand alone give the seat the same text, and no other deal does."""
    game = openspiel.load(FIVE_CARDS)
    texts: dict[str, set] = {}
    for dealer in range(2):
        for hands in ((0, 1), (0, 2), (1, 2), (0, 3), (1, 4)):
            own = [sorted(FIVE_CARDS.cards)[place] for place in hands]
            left = [card for card in FIVE_CARDS.cards if card not in own]
            for turned_up in left:
                state = game.new_initial_state()
                for outcome in (dealer, *own, *(card for card in left if card != turned_up), turned_up):
                    state.apply_action(outcome)
                texts.setdefault(state.information_state_string(0), set()).add((dealer, tuple(own), turned_up))
    assert all(len(deals) == 1 for deals in texts.values())
    state = played_out(game, random.Random(1))
    assert state.information_state_string(0) != state.information_state_string(1)


@pytest.mark.parametrize("name", RULES)
def test_margins_sum_to_zero_and_are_own_points_less_the_others_mean(name: str) -> None:
    games = openspiel.load(RULES[name]), openspiel.load(RULES[name], "points")
    margin, points = (played_out(game, random.Random(3)).returns() for game in games)
    assert sum(margin) == pytest.approx(0, abs=1e-9)
    others = [(sum(points) - own) / (len(points) - 1) for own in points]
    assert margin == pytest.approx([own - mean for own, mean in zip(points, others, strict=True)], abs=1e-9)


def test_observations_are_those_of_the_package() -> None:
    game = openspiel.load(RULES["match of two"])
    state = game.new_initial_state()
    assert not any(state.observation_tensor(0))
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    drawn = [action for action in state.history()]
    ours = Game(RULES["match of two"], deals=[deal_of(game.rules, 0, drawn), Deal([[9], [10]], 11)])
    for seat in range(2):
        expected = ours.observe(seat) * ours.layout.scale
        assert np.allclose(state.observation_tensor(seat), expected, atol=1e-7)


def test_parameters_name_presets_and_sizes() -> None:
    game = pyspiel.load_game("python_bluke(preset=mini,cards=2,reward=points)")
    assert game.rules == Rules.preset("mini").hands_of(2)
    assert game.get_type().utility == pyspiel.GameType.Utility.GENERAL_SUM
    assert pyspiel.load_game("python_bluke").rules == Rules()
    with pytest.raises(ValueError, match="reward is 'win'"):
        openspiel.load(Rules(), "win")


@pytest.mark.parametrize("module", ["openspiel", "openspiel_policy"])
def test_without_openspiel_it_says_what_to_install(module: str) -> None:
    code = f"import sys; sys.modules['pyspiel'] = None; import bluke_env.adapters.{module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: the OpenSpiel game needs OpenSpiel: pip install 'bluke-env[bench]'"
    )


def test_an_illegal_action_changes_nothing() -> None:
    state = openspiel.load(RULES["micro"]).new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    before = str(state)
    with pytest.raises(ValueError, match="action 3 is illegal: the legal ones are"):
        state.apply_action(3)
    assert str(state) == before


def check_same_exploitability(rules: Rules, name: str) -> None:
    """The policy is a bot's, or that of CFR+ stopped long before it is done."""
    small, game = SmallGame(rules), openspiel.load(rules)
    policy = solve(small, 3) if name == "cfr" else TabularPolicy.of_agent(small, bots.make(name))
    theirs = spiel_exploitability.exploitability(game, SpielPolicy(game, policy))
    assert exploitability(policy).exploitability == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("name", ["random", "rule", "cfr"])
def test_exploitability_of_one_card_is_openspiels(name: str) -> None:
    check_same_exploitability(Rules(num_players=2, num_suits=2, num_ranks=1, schedule="1", min_bid=0), name)


def test_nash_conv_is_openspiels_for_either_utility() -> None:
    policy = solve(SmallGame(FIVE_CARDS), 2)
    ours = exploitability(policy)
    for reward, expected in (("margin", ours.nash_conv), ("points", sum(ours.points_gains))):
        game = openspiel.load(FIVE_CARDS, reward)
        theirs = spiel_exploitability.nash_conv(game, SpielPolicy(game, policy))
        assert expected == pytest.approx(theirs, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["random", "rule", "cfr"])
def test_exploitability_of_micro_is_openspiels(name: str) -> None:
    check_same_exploitability(Rules.preset("micro"), name)

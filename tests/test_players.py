"""Players that Python functions make: what they see, what is made for whom, and what is said of those that fail."""

import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import policies
import pytest
from test_plan import assert_equal
from variants import VARIANTS

from bluke_env import Rules, Turn, bluke_v0, bots
from bluke_env.evaluation import AgentError, FactoryAgent, load_player, play_duplicate, play_matches, rotations
from bluke_env.evaluation.seeds import deal_seed
from bluke_env.schedule import ScheduledHand

# What a policy sees.

SEEN = {
    **{name: VARIANTS[name] for name in ("back_alley", "mini", "extended_3", "pack_of_3", "one_suit_of_15")},
    "from large to small": Rules(num_players=5, schedule="10-8,1"),
}


class Watching:
    """Takes a legal action that depends on all that it sees, and writes down what that was."""

    def __init__(self, suit_order: str, seen: list[tuple[np.ndarray, np.ndarray, int]]) -> None:
        self.suit_order, self.seen = suit_order, seen

    def __call__(self, observation: np.ndarray, mask: np.ndarray) -> np.integer:
        legal = np.flatnonzero(mask)
        action = legal[int(np.abs(observation).sum() * 1000) % len(legal)]
        self.seen.append((observation.copy(), mask.copy(), int(action)))
        observation[:], mask[:] = 7, 1  # whatever it does with them is its own affair
        return action


def watched(rules: Rules, hand: ScheduledHand | None, suit_order: str) -> list[list[list[Any]]]:
    """Plays two matches, or two hands, and returns by game and instance what was seen; instances as they come."""
    seen: list[list[Any]] = []

    def make(_: Rules, seed: int) -> Watching:
        seen.append([])
        return Watching(suit_order, seen[-1])

    agents = {"watching": FactoryAgent("watching", make)}
    seatings = [("watching",) * rules.num_players]
    games = []
    for number in range(2):
        seen.clear()
        if hand is None:
            play_matches(rules, seatings, agents, range(number, number + 1), 5)
        else:
            play_duplicate(rules, hand, seatings, agents, range(number, number + 1), 5)
        games.append([instance for instance in seen if instance])
    return games


@pytest.mark.parametrize("suit_order", ["fixed", "canonical"])
@pytest.mark.parametrize("variant", SEEN)
def test_a_policy_sees_what_the_environment_gives(variant: str, suit_order: str) -> None:
    """To the bit, and its actions mean there what they mean here."""
    rules = SEEN[variant]
    largest = max(hand.cards for hand in rules.schedule)
    for hand in (None, *rules.hands_of(largest).schedule):
        env = bluke_v0.env(rules, hand_size=None if hand is None else hand.cards, suit_order=suit_order)
        for number, instances in enumerate(watched(rules, hand, suit_order)):
            env.reset(seed=deal_seed(5, hand) if number == 0 else None)
            waiting = iter(instances)
            at_seat: dict[str, Any] = {}
            for name in env.agent_iter():
                view, _, terminated, _, _ = env.last()
                if terminated:
                    env.step(None)
                    continue
                if name not in at_seat:  # instances are made in the order in which seats come to act
                    at_seat[name] = iter(next(waiting))
                observation, mask, action = next(at_seat[name])
                assert (observation.dtype, mask.dtype) == (np.float32, np.int8)
                assert np.array_equal(observation, view["observation"])
                assert np.array_equal(mask, view["action_mask"])
                env.step(action)
            assert next(waiting, None) is None
            assert all(next(decisions, None) is None for decisions in at_seat.values())


# What is made for whom.


@pytest.mark.parametrize("games_at_once", [1, 5, 1000])
def test_every_seat_of_every_game_has_a_policy_of_its_own(games_at_once: int) -> None:
    rules, hand, deals = Rules(num_players=3), ScheduledHand(4), 6
    calls: dict[int, int] = defaultdict(int)

    def make(given: Rules, seed: int) -> Any:
        assert (given.num_players, given.schedule) == (3, (hand,))

        def policy(observation: np.ndarray, mask: np.ndarray) -> int:
            calls[seed] += 1
            return int(mask.argmax())

        return policy

    agents = {"own": FactoryAgent("own", make), "rule": bots.make("rule")}
    play_duplicate(rules, hand, rotations(rules, ("own", "rule", "own")), agents, deals, 0, games_at_once=games_at_once)
    assert len(calls) == deals * 3 * 2  # no two seeds are equal
    assert set(calls.values()) == {hand.cards + 1}


def test_what_a_policy_draws_depends_on_its_seed_alone() -> None:
    rules, hand = Rules(num_players=3), ScheduledHand(4)
    table = ("policies:drawing", "random", "rule")
    results = []
    for games_at_once in (1, 7, 64, 8192):
        agents = {name: load_player(name) for name in table}
        results.append(play_duplicate(rules, hand, rotations(rules, table), agents, 10, 3, games_at_once=games_at_once))
    for result in results[1:]:
        assert_equal(results[0], result)
    agents = {name: load_player(name) for name in table}
    late = play_duplicate(rules, hand, rotations(rules, table), agents, range(6, 10), 3)
    assert np.array_equal(late.points, results[0].points[6:])
    other = play_duplicate(rules, hand, rotations(rules, table), agents, 10, 4)
    assert not np.array_equal(other.points, results[0].points)


def test_policies_of_other_tables_or_games_draw_other_lots() -> None:
    """In all seats of one table there are different streams."""
    table = ("policies:drawing",) * 4
    agents = {table[0]: load_player(table[0])}
    bids = play_duplicate(Rules(), ScheduledHand(13), [table], agents, 20, 0).bids[:, 0]
    assert len(np.unique(bids, axis=0)) == 20
    assert all((bids[:, seat] != bids[:, 0]).any() for seat in range(1, 4))


def test_an_agent_for_many_games_plays_as_it_would_alone() -> None:
    rules, table = Rules(num_players=3), ("rule", "random", "random")
    made: list[int] = []

    def make(given: Rules, seed: int) -> Any:
        made.append(seed)
        return bots.make("rule")

    random, agent = bots.make("random"), FactoryAgent("rule", make)
    for players in (3, 2):  # what was made for one table does not sit at the other
        rules = Rules(num_players=players)
        seatings = rotations(rules, table[:players])
        result = play_duplicate(rules, ScheduledHand(5), seatings, {"rule": agent, "random": random}, 8, 1)
        alone = play_duplicate(rules, ScheduledHand(5), seatings, {"rule": bots.make("rule"), "random": random}, 8, 1)
        assert_equal(result, alone)
    assert len(made) == 2


def test_a_player_has_the_hash_of_its_source() -> None:
    one, other = load_player("policies:first"), load_player("policies:last")
    assert one.sha256 == other.sha256  # type: ignore[attr-defined]
    assert re.fullmatch("[0-9a-f]{64}", one.sha256)  # type: ignore[attr-defined]
    assert (one.name, load_player("rule").name) == ("policies:first", "rule")
    assert FactoryAgent("built in", dict).sha256 is None


# Whoever fails.

FAILING = {
    "raising": r"raised KeyError\('lost'\) PLACE$",
    "stalling": "did not answer within 0.2 s PLACE$",
    "stalling_agent": r"did not answer within [\d.]+ s PLACE$",
    "exiting": r"raised SystemExit\(3\) PLACE$",
    "illegal": r"chose 0 PLACE, but its legal actions are 54 \(bid 0\), 55 ",
    "out_of_range": "raised ValueError.*action ids run from 0 to .* PLACE$",
    "negative": "raised ValueError.*action ids run from 0 to .* PLACE$",
    "many": r"answered with dtype int8 and shape \(\d+,\), but it must answer with one action id, PLACE$",
    "scores": r"answered with dtype float64 and shape \(\), but it must answer with one action id, PLACE$",
    "silent": r"answered with dtype object and shape \(\), but it must answer with one action id, PLACE$",
    "of_other_suits": "raised ValueError.*suit_order of the policy is 'red first', but it must be one of .* PLACE$",
    "never_made": r"raised RuntimeError\('no licence'\) PLACE$",
    "nothing": "raised TypeError.*'NoneType' object is not callable.* PLACE$",
    "no_factory": "raised TypeError.* PLACE$",
}


@pytest.mark.parametrize("name", FAILING)
def test_whoever_fails_is_named_with_deal_and_seat(name: str) -> None:
    """With two players the dealer's neighbour bids first; seat and deal of its first decision are known."""
    rules, hand = Rules(num_players=2, min_bid=0), ScheduledHand(2)
    culprit = load_player(f"policies:{name}")
    assert isinstance(culprit, FactoryAgent)
    culprit.time_limit = 0.2
    table = (culprit.name, "rule")
    agents = {culprit.name: culprit, "rule": bots.make("rule")}
    place = rf"in seat [01] of deal 4 \(hands of 2 cards, seated ({culprit.name}, rule|rule, {culprit.name})\)"
    with pytest.raises(AgentError, match=f"^{culprit.name} " + FAILING[name].replace("PLACE", place)) as failure:
        play_duplicate(rules, hand, rotations(rules, table), agents, range(4, 6), 0)
    assert "\n" not in str(failure.value)


def test_a_player_that_would_end_the_program_is_named() -> None:
    class Exiting(policies.Moody):
        def act(self, turn: Turn) -> np.ndarray:
            sys.exit(4)

    with pytest.raises(AgentError, match=r"^exiting raised SystemExit\(4\) when asked for 3 actions, first in seat "):
        play_matches(Rules(), [("exiting",) * 4], {"exiting": Exiting()}, 3, 0)


def test_the_traceback_of_a_failing_policy_is_kept() -> None:
    agents = {"policies:raising": load_player("policies:raising")}
    with pytest.raises(AgentError) as failure:
        play_duplicate(Rules(), ScheduledHand(1), [("policies:raising",) * 4], agents, 3, 0)
    cause = failure.value.__cause__
    assert isinstance(cause, KeyError)
    places = []
    trace = cause.__traceback__
    while trace is not None:
        places.append(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    assert str(policies.source()) in places


def test_a_policy_is_named_with_its_match_and_hand() -> None:
    rules = Rules(num_players=2, schedule="1-3-1")

    def make(given: Rules, seed: int) -> Any:
        decisions = iter(range(2 + 3 + 1))
        return lambda observation, mask: int(mask.argmax()) if next(decisions) < 5 else None

    with pytest.raises(
        AgentError, match=r"^odd answered .* in seat [01] of match 0, hand 2 \(hands of 3 cards, seated odd, odd\)$"
    ):
        play_matches(rules, [("odd", "odd")], {"odd": FactoryAgent("odd", make)}, 3, 0)


def test_one_illegal_answer_among_many_is_pinned_down() -> None:
    """Of a policy that answers well in all other games."""
    rules, hand = Rules(num_players=3), ScheduledHand(3)
    made = []

    def make(given: Rules, seed: int) -> Any:
        made.append(seed)
        number = len(made)
        return lambda observation, mask: 0 if number == 1 + 3 * 3 + 2 and mask[0] == 0 else int(mask.argmax())

    agents = {"odd": FactoryAgent("odd", make), "rule": bots.make("rule")}
    with pytest.raises(
        AgentError, match=r"^odd chose 0 in seat \d of deal 3 \(hands of 3 cards, seated rule, odd, rule"
    ):
        play_duplicate(rules, hand, rotations(rules, ("odd", "rule", "rule")), agents, 5, 0, games_at_once=1)


# Who is not there.


def test_players_that_are_not_there_are_refused_in_a_sentence() -> None:
    refused = {
        "nowhere:make": "^there is no bot 'nowhere' and no module of that name: the bots are random, rule, ",
        "policies.nowhere:make": "^there is no bot 'policies.nowhere' and no module of that name",
        "policies:nobody": "^the module policies has no function nobody$",
        "policies:not_callable": "^the module policies has no function not_callable$",
        "nobody": "nobody",
        "rule:speed=3": "'speed=3' is no option of the bot 'rule'",
        "pimc:make": "'make' is no option of the bot 'pimc'",
        "": "^there is no bot ''",
        ":make": "^there is no bot ''",
        "policies:": "^there is no bot 'policies'",
    }
    for spec, sentence in refused.items():
        with pytest.raises(ValueError, match=sentence) as error:
            load_player(spec)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("missing", ["import nowhere_to_be_found", "from policies import nobody_here"])
def test_an_import_that_fails_within_a_module_is_its_own_error(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says what is missing and where, rather than that there is no such player."""
    monkeypatch.syspath_prepend(tmp_path)
    name = f"broken_{missing.split()[1]}"
    (tmp_path / f"{name}.py").write_text(f"{missing}\n\ndef make(rules, seed):\n    return None\n", encoding="utf-8")
    with pytest.raises(ImportError, match=r"nowhere_to_be_found|nobody_here") as error:
        load_player(f"{name}:make")
    assert any(Path(entry.path).name == f"{name}.py" for entry in error.traceback)


def test_a_class_within_a_package_may_make_players(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "house").mkdir()
    (tmp_path / "house" / "__init__.py").write_text("", encoding="utf-8")
    text = "class Low:\n    def __init__(self, rules, seed):\n        pass\n"
    text += "    def __call__(self, observation, mask):\n        return mask.argmax()\n"
    (tmp_path / "house" / "room.py").write_text(text, encoding="utf-8")
    low = load_player("house.room:Low")
    seatings = rotations(Rules(), (low.name, "rule", "rule", "rule"))
    agents = {low.name: low, "rule": bots.make("rule")}
    result = play_duplicate(Rules(), ScheduledHand(5), seatings, agents, 3, 0)
    first = {low.name: FactoryAgent(low.name, policies.first), "rule": bots.make("rule")}
    assert_equal(result, play_duplicate(Rules(), ScheduledHand(5), seatings, first, 3, 0))

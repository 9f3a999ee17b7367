"""The game as an OpenSpiel Python game, for any rules.

```python
import pyspiel
from bluke_env import Rules
from bluke_env.adapters import openspiel

game = pyspiel.load_game("python_bluke(preset=micro,cards=1)")     # a preset, perhaps as a single hand of so many cards
game = openspiel.load(Rules(num_players=3, schedule="5-1"))        # any rules at all
```

Importing this module registers `python_bluke`. Its parameters are `preset`; `cards`, for a single hand of so many cards
(0: the preset's schedule); `reward`: "margin", own points minus the mean of the others', in which all seats sum to
zero, or "points"; and `rules`, which `load` fills with `Rules.to_dict` as JSON in hexadecimal digits after an `x` and
which goes before `preset` and `cards`.

All that is dealt is chance nodes: the first dealer, each equally likely; the cards of every hand in ascending order, so
that every hand comes about in one way only; the card turned up; and in Back Alley the card for a Blooper. Chance
outcomes are seats and card ids, actions are those of `bluke_env.actions`. A match of several hands gives rewards after
each of them.
"""

from __future__ import annotations

import json
from math import comb
from typing import Any

import numpy as np

from bluke_env.actions import action_text, bid_action
from bluke_env.cards import HI_BLUKE, LO_BLUKE, NUM_CARDS, card_text, cards_of, mask_of
from bluke_env.engine.deal import set_deal, start_games
from bluke_env.engine.encode import observe
from bluke_env.engine.state import BID, GAME, NONE, OVER
from bluke_env.engine.step import apply_action, legal_mask
from bluke_env.errors import IllegalAction, checked_choice
from bluke_env.observation import ObservationLayout
from bluke_env.rules import MAX_PLAYERS, MIN_PLAYERS, Rules, checked_rules

MISSING = "the OpenSpiel game needs OpenSpiel: pip install 'bluke-env[bench]'"

try:
    import pyspiel
except ImportError as error:
    raise ImportError(MISSING) from error

NAME = "python_bluke"
REWARDS = ("margin", "points")
_DEFAULTS: dict[str, Any] = {"preset": "bluke", "cards": 0, "reward": "margin", "rules": ""}


def load(rules: Rules, reward: str = "margin") -> pyspiel.Game:
    """Returns the OpenSpiel game of any rules.

    Args:
        rules: What is played.
        reward: "margin" or "points".

    Raises:
        ValueError: An argument is invalid.
    """
    text = "x" + json.dumps(checked_rules(rules).to_dict()).encode().hex()
    return pyspiel.load_game(NAME, {"rules": text, "reward": checked_choice("reward", reward, REWARDS)})


def _rules(parameters: dict[str, Any]) -> Rules:
    if parameters["rules"]:
        return Rules.from_dict(json.loads(bytes.fromhex(parameters["rules"][1:])))
    rules = Rules.preset(parameters["preset"])
    return rules.hands_of(parameters["cards"]) if parameters["cards"] else rules


def _game_type(rules: Rules | None = None, reward: str = "margin") -> pyspiel.GameType:
    """Returns the facts about the game; without rules those that are registered, which hold for all."""
    kinds = pyspiel.GameType
    margin, hands = reward == "margin", 1 if rules is None else rules.num_hands
    return pyspiel.GameType(
        short_name=NAME,
        long_name="Bluke",
        dynamics=kinds.Dynamics.SEQUENTIAL,
        chance_mode=kinds.ChanceMode.EXPLICIT_STOCHASTIC,
        information=kinds.Information.IMPERFECT_INFORMATION,
        utility=kinds.Utility.ZERO_SUM if margin else kinds.Utility.GENERAL_SUM,
        reward_model=kinds.RewardModel.TERMINAL if hands == 1 else kinds.RewardModel.REWARDS,
        max_num_players=MAX_PLAYERS,
        min_num_players=MIN_PLAYERS,
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=_DEFAULTS,
    )


class BlukeGame(pyspiel.Game):
    """The game with its rules.

    Attributes:
        rules: What is played.
        reward: "margin" or "points".
    """

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        parameters = {**_DEFAULTS, **(params or {})}
        self.rules = rules = _rules(parameters)
        self.reward = checked_choice("reward", parameters["reward"], REWARDS)
        self.facts = rules.record()
        self.layout = ObservationLayout.of(rules)
        started = np.zeros(1, GAME)
        start_games(self.facts, started, np.uint64(0), np.zeros(1, np.uint64))
        self.start = started.tobytes()
        most = float(rules.most_points * (2 if self.reward == "margin" else 1))
        info = pyspiel.GameInfo(
            num_distinct_actions=rules.num_actions,
            max_chance_outcomes=NUM_CARDS,
            num_players=rules.num_players,
            min_utility=-most,
            max_utility=most,
            utility_sum=0.0 if self.reward == "margin" else None,
            max_game_length=sum(rules.num_players * (hand.cards + 1) for hand in rules.schedule),
        )
        super().__init__(_game_type(rules, self.reward), info, params or {})

    def new_initial_state(self) -> BlukeState:
        """Returns a match before the draw for the first deal."""
        return BlukeState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> BlukeObserver:
        """Returns an observer; see `BlukeObserver`."""
        return BlukeObserver(self, iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False), params)


class BlukeState(pyspiel.State):
    """A match under way.

    OpenSpiel deep-copies every attribute whenever it makes a child, so there are few and none of them can be changed.
    """

    def __init__(self, game: BlukeGame) -> None:
        super().__init__(game)
        self._bytes = game.start
        self._drawn: tuple[int, ...] = ()  # chance outcomes of the hand being dealt
        self._player = int(pyspiel.PlayerId.CHANCE)
        self._just_scored = False
        self._past: tuple[tuple[str, ...], ...] = ()  # finished hands, as each seat knows them

    @property
    def record(self) -> np.ndarray:
        """The `GAME` record, a read-only array of one; while a hand is dealt it holds another."""
        return np.frombuffer(self._bytes, GAME)

    @property
    def dealing(self) -> bool:
        """Whether the next hand is being dealt."""
        return self._player == pyspiel.PlayerId.CHANCE

    def current_player(self) -> int:
        """Returns the seat to act, or OpenSpiel's number for chance or the end."""
        return self._player

    def is_terminal(self) -> bool:
        """Returns whether the match is over."""
        return self._player == pyspiel.PlayerId.TERMINAL

    def _legal_actions(self, player: int) -> list[int]:
        game = self.get_game()
        record = self.record
        bits = cards_of(legal_mask(game.facts, record, 0))
        return [bid_action(bit, game.rules.most_cards) for bit in bits] if record["phase"][0] == BID else list(bits)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Returns the possible next outcomes of the deal with their probabilities."""
        rules, first = self.get_game().rules, int(self.record["hand_number"][0] == 0)
        if first and not self._drawn:
            return [(seat, 1 / rules.num_players) for seat in range(rules.num_players)]
        dealt = self._drawn[first:]
        size = int(self.record["hand_size"][0])
        left = [card for card in rules.cards if card not in dealt]
        if len(dealt) >= size * rules.num_players:
            return [(card, 1 / len(left)) for card in left]
        place = len(dealt) % size
        due = size - place
        if place:
            left = [card for card in left if card > dealt[-1]]
        ways = comb(len(left), due)
        return [(card, comb(len(left) - 1 - i, due - 1) / ways) for i, card in enumerate(left[: len(left) - due + 1])]

    def _apply_action(self, action: int) -> None:
        game = self.get_game()
        if self.dealing:
            self._drawn = (*self._drawn, int(action))
            self._finish_deal(game)
            return
        self._just_scored = False
        before, record = self.record, np.frombuffer(bytearray(self._bytes), GAME)
        outcome = apply_action(game.facts, record, 0, int(action))
        if outcome == 0:
            raise IllegalAction(f"action {action} is illegal: the legal ones are {self.legal_actions()}")
        self._bytes, self._player = record.tobytes(), int(record["seat"][0])
        if outcome == 2:
            seats = game.rules.num_players
            texts = (hand_text(before, seats, seat, int(action)) for seat in range(seats))
            self._past = (*self._past, tuple(texts))
            self._drawn, self._just_scored, over = (), True, record["phase"][0] == OVER
            self._player = int(pyspiel.PlayerId.TERMINAL if over else pyspiel.PlayerId.CHANCE)

    def _finish_deal(self, game: BlukeGame) -> None:
        """Lays out the hand as soon as all of its cards are drawn."""
        rules, record = game.rules, np.frombuffer(bytearray(self._bytes), GAME)
        number, size, seats = int(record["hand_number"][0]), int(record["hand_size"][0]), rules.num_players
        first = int(number == 0)
        dealt, others = self._drawn[first : first + size * seats], self._drawn[first + size * seats :]
        no_trump = rules.schedule[number].no_trump
        due = 0 if no_trump else 2 if rules.teams and others and _gives_back(dealt, others[0]) else 1
        if len(dealt) < size * seats or len(others) < due:
            return
        hands = np.array([mask_of(dealt[seat * size : (seat + 1) * size]) for seat in range(seats)], np.int64)
        turned_up, next_card = (*others, NONE, NONE)[:2]
        dealer = self._drawn[0] if first else int(record["dealer"][0])
        set_deal(game.facts, record, 0, hands, turned_up, next_card, dealer)
        self._bytes, self._player = record.tobytes(), int(record["seat"][0])

    def _action_to_string(self, player: int, action: int) -> str:
        if player != pyspiel.PlayerId.CHANCE:
            return action_text(action, self.get_game().rules.most_cards)
        draws_dealer = self.record["hand_number"][0] == 0 and not self._drawn
        return f"dealer {action}" if draws_dealer else f"deal {card_text(action)}"

    def returns(self) -> list[float]:
        """Returns the points, or the margin, of every seat over all hands scored."""
        return self._utilities("scores")

    def rewards(self) -> list[float]:
        """Returns what every seat scored with the last decision; it stands while the next hand is dealt."""
        return self._utilities("last_points") if self._just_scored else [0.0] * self.num_players()

    def _utilities(self, field: str) -> list[float]:
        game = self.get_game()
        seats = game.rules.num_players
        points = self.record[field][0, :seats].astype(np.float64)
        if game.reward == "margin":
            points = points - (points.sum() - points) / (seats - 1)
        return points.tolist()

    def knowledge_text(self, seat: int) -> str:
        """Returns all that a seat knows and has known, as text."""
        hands = [texts[seat] for texts in self._past]
        if not self.dealing and not self.is_terminal():
            hands.append(hand_text(self.record, self.num_players(), seat))
        return f"seat {seat}: " + " / ".join(hands)

    def table_text(self, seat: int) -> str:
        """Returns what a seat knows of the present hand, and the scores, as text."""
        scores = " ".join(map(str, self.record["scores"][0, : self.num_players()].tolist()))
        hand = "" if self.dealing or self.is_terminal() else hand_text(self.record, self.num_players(), seat)
        return f"seat {seat}, scores {scores}: {hand}"

    def __str__(self) -> str:
        seats = range(self.num_players())
        drawn = " ".join(map(str, self._drawn)) if self.dealing else ""
        return "\n".join([*map(self.knowledge_text, seats), drawn])


def _gives_back(dealt: tuple[int, ...], turned_up: int) -> bool:
    """Returns whether a Blooper is turned up and somebody holds the other one."""
    return turned_up >= LO_BLUKE and LO_BLUKE + HI_BLUKE - turned_up in dealt


def hand_text(record: np.ndarray, seats: int, seat: int, last: int = NONE) -> str:
    """Returns what one of so many seats knows of a hand, with one more card played at the end."""
    game = record[0]
    parts = [f"dealer {game['dealer']}"]
    if game["turned_up"] != NONE:
        parts.append(f"up {card_text(int(game['turned_up']))}")
    parts.append(f"hand {_texts(cards_of(game['hands'][seat] | game['played'][seat]))}")
    if game["exchanged"] != NONE:
        drawn = f" took {card_text(int(game['drawn']))}" if game["exchanged"] == seat else ""
        parts.append(f"seat {game['exchanged']} gave back a Blooper{drawn}")
    bids = [f"{bidder}:{bid}" for bidder, bid in enumerate(game["bids"][:seats].tolist()) if bid != NONE]
    parts.append(f"bids {' '.join(bids)}")
    played = [*game["order"][: game["num_played"]].tolist(), *([last] if last != NONE else [])]
    parts.append(f"played {_texts(played)}")
    return ", ".join(parts)


def _texts(cards: Any) -> str:
    return " ".join(map(card_text, cards))


class BlukeObserver:
    """What a seat sees, as OpenSpiel asks for it.

    Attributes:
        tensor: float32, the observation of `bluke_env.observation`, scaled to [-1, 1] and all 0 while cards are dealt
            and when the match is over; empty with perfect recall, for which there are strings only.
        dict: The same under the name "observation".

    Raises:
        ValueError: Something else is asked for than the view of one seat.
    """

    def __init__(self, game: BlukeGame, iig_obs_type: Any, params: Any) -> None:
        if params:
            raise ValueError(f"observations have no parameters, but {params} were given")
        if not iig_obs_type.public_info or iig_obs_type.private_info != pyspiel.PrivateInfoType.SINGLE_PLAYER:
            raise ValueError("there are observations of one seat only, with all that it knows")
        self._game = game
        self._recall = iig_obs_type.perfect_recall
        self.tensor = np.zeros(0 if self._recall else game.layout.size, np.float32)
        self.dict = {"observation": self.tensor}

    def set_from(self, state: BlukeState, player: int) -> None:
        """Writes what a seat sees into the tensor."""
        self.tensor[:] = 0
        if self._recall or state.dealing or state.is_terminal():
            return
        entries = np.empty(self._game.layout.size, np.int8)
        observe(self._game.facts, state.record, 0, player, False, self._game.layout.record, entries)
        self.tensor[:] = entries * self._game.layout.scale

    def string_from(self, state: BlukeState, player: int) -> str:
        """Returns what a seat knows as text."""
        return state.knowledge_text(player) if self._recall else state.table_text(player)


pyspiel.register_game(_game_type(), BlukeGame)

"""The PettingZoo AEC environment.

```python
from bluke_env import bluke_v0

env = bluke_v0.env(num_players=4)
env.reset(seed=7)
for agent in env.agent_iter():
    observation, reward, termination, truncation, info = env.last()
    done = termination or truncation
    action = None if done else env.action_space(agent).sample(observation["action_mask"])
    env.step(action)
```
"""

from __future__ import annotations

import operator
import sys
import warnings
from dataclasses import fields
from typing import Any, ClassVar, SupportsIndex

import gymnasium
import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv

from bluke_env.actions import action_text
from bluke_env.cards import NUM_CARDS
from bluke_env.engine.aec import HAND_ENDED, ILLEGAL, advance, seat_facts, view
from bluke_env.engine.encode import observe_state
from bluke_env.engine.step import BID_BASE
from bluke_env.errors import IllegalAction, checked_choice, checked_seed
from bluke_env.game import Game
from bluke_env.observation import SUIT_ORDERS, ObservationLayout
from bluke_env.render import ansi
from bluke_env.rules import Rules

REWARDS = ("points", "margin", "win")

_SINCE_RESET = (
    "agents", "num_agents", "agent_selection", "rewards", "_cumulative_rewards", "terminations",
    "truncations", "infos", "game", "_ready_observation",
)  # fmt: skip
"""What there is from the first `reset` on."""


class _NotReset(gymnasium.error.ResetNeeded, AttributeError):
    """An AttributeError too, so that `hasattr` answers False before the first `reset`."""


class ActionSpace(spaces.Discrete):
    """Gymnasium's `Discrete`, with the same draws, but several times faster where a mask is given.

    Sampling a legal action would otherwise take longer than all the rest of a step.
    """

    def sample(self, mask: Any = None, probability: Any = None) -> np.int64:
        """Returns a uniformly random action; with an int8 `mask`, one of those that are 1 there."""
        if probability is not None:
            return super().sample(mask, probability)
        if isinstance(mask, np.ndarray) and mask.dtype == np.int8 and mask.shape == (self.n,):
            legal = mask.nonzero()[0]
            if len(legal) > 0:
                return legal[self.np_random.integers(len(legal))]
        return super().sample(mask)


def env(rules: Rules | None = None, **options: Any) -> raw_env:
    """Returns the environment; the arguments are those of `raw_env`.

    PettingZoo's usual wrappers are not stacked on top: each of them halves the rate, and `raw_env` makes
    their checks itself (order of calls, actions out of bounds, illegal actions) and raises an exception.
    To have an illegal action end the match for a penalty instead, add the wrapper for that, which stands in
    `pettingzoo.utils.wrappers`: `TerminateIllegalWrapper(bluke_v0.env(), illegal_reward=-100)`.
    """
    return raw_env(rules, **options)


class raw_env(AECEnv):
    """Matches of Bluke for agents `player_0`, `player_1`, ..., one decision at a time.

    An observation is a dictionary of `observation`, float32 [layout.size] in [-1, 1] (`layout.decode` turns
    it back into facts), and `action_mask`, int8 [layout.num_actions]: 1 where legal; all 0 for an agent that
    is not to act; all 1 when the match is over, where None is the only action. Actions 0..53 play that card,
    54 + b bids b tricks. An agent's info holds numbers: `hand_number` (from 0), `hand_size`, its `bid` (-1
    before it is made, 27 + level for a board), `tricks` taken in this hand and `score`. Arrays and infos that
    were handed out never change, and writing to them changes nothing here.

    The environment may be copied (`copy.deepcopy`) and pickled at any time.

    Args:
        rules: What is played; or give fields of `Rules` by keyword: `num_players`, `schedule`, `min_bid`,
            `bluke_lead`, `points_per_trick`, `points_per_overtrick`, `teams`, `num_suits`, `num_ranks`,
            `most_cards`. The standard game for four by default.
        hand_size: Matches of a single hand of so many cards, laid out as the whole match is, at no trump where the
            schedule says so (see `Rules.hands_of`); None for whole matches.
        reward: When a hand is scored, its "points", or the "margin" of them over the mean of the opponents';
            or at the end of the match only, the "win": 1 for the winner, or each partner of the winning side, an equal
            share for several.
        suit_order: "fixed", or "canonical" for suits relabelled for the observing agent, in observations,
            masks and actions alike. Rendering and `game` speak of the real cards.
        render_mode: None; "ansi": `render` returns text; "human": the text is printed at every reset and
            step. Rendering is for spectators: it shows all hands.
        **fields_of_rules: See `rules`.

    Attributes:
        rules: The rules, of single hands if `hand_size` is given.
        layout: Where everything stands in the observations.
        game: The match being played, from the first `reset` on. To play on with it, take a clone.
        state_space: The space of `state`.

    Raises:
        ValueError: The value of an argument is invalid; the sentence says which and what would be right.
        TypeError: An argument is unknown, or both rules and fields of them are given.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "bluke_v0",
        "render_modes": ["ansi", "human"],
        "is_parallelizable": False,
        "render_fps": 2,
    }

    game: Game

    def __init__(
        self,
        rules: Rules | None = None,
        *,
        hand_size: int | None = None,
        reward: str = "points",
        suit_order: str = "fixed",
        render_mode: str | None = None,
        **fields_of_rules: Any,
    ) -> None:
        super().__init__()
        match_rules = _chosen_rules(rules, fields_of_rules)
        self.rules = _single_hands(match_rules, hand_size)
        self.layout = ObservationLayout.of(match_rules)
        self.reward = checked_choice("reward", reward, REWARDS)
        self.suit_order = checked_choice("suit_order", suit_order, SUIT_ORDERS)
        modes = (None, *self.metadata["render_modes"])
        if not isinstance(render_mode, str | None) or render_mode not in modes:
            raise ValueError(f"render_mode is {render_mode!r}, but it must be one of {', '.join(map(str, modes))}")
        self.render_mode = render_mode
        self.possible_agents = [f"player_{seat}" for seat in range(self.rules.num_players)]
        observation_space = spaces.Dict(
            {
                "observation": spaces.Box(-1, 1, (self.layout.size,), np.float32),
                "action_mask": spaces.Box(0, 1, (self.layout.num_actions,), np.int8),
            }
        )
        self.observation_spaces = dict.fromkeys(self.possible_agents, observation_space)
        self.action_spaces = dict.fromkeys(self.possible_agents, ActionSpace(self.layout.num_actions))
        self.state_space = spaces.Box(-1, 1, (self.layout.state_size,), np.float32)
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._canonical = suit_order == "canonical"
        self._size, self._num_actions = self.layout.size, self.layout.num_actions
        self._view_args = (self._canonical, self.layout.record, self.layout.scale)
        self._facts = self.rules.record()
        self._seed: int | None = None
        self._number = 0
        self._warned = False

    def __getattr__(self, name: str) -> Any:
        if name in _SINCE_RESET:
            raise _NotReset("no match has been started: call reset() first")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def observation_space(self, agent: str) -> spaces.Dict:
        """Returns the observation space, the same object for all agents."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> ActionSpace:
        """Returns the action space, the same object for all agents."""
        return self.action_spaces[agent]

    # Playing.

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Starts a match.

        Args:
            seed: Game 0 of this seed is played, `Game(rules, seed)`. Without a seed the games that follow are
                played, 1, 2, ..., of the seed given last; if none was, of a fresh one.
            options: There are none; ignored.

        Raises:
            ValueError: The seed is invalid; nothing was changed.
        """
        if seed is None and self._seed is not None:
            self._number += 1
        else:
            self._seed, self._number = checked_seed(seed), 0
        self.game = Game(self.rules, self._seed, number=self._number)
        self.agents = self.possible_agents.copy()
        self.agent_selection = self.possible_agents[self.game.current_player or 0]
        self.rewards = dict.fromkeys(self.agents, 0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection = None
        self._rewarded = False
        self._ready_agent: str | None = None
        self._ready_observation: dict[str, np.ndarray] | None = None
        self._ready_facts: tuple[int, ...] = ()
        if self.render_mode == "human":
            self.render()

    def step(self, action: SupportsIndex | None) -> None:
        """Makes the decision of the selected agent, or takes it out once the match is over.

        Args:
            action: A legal action id; None for an agent that is done.

        Raises:
            IllegalAction: The action is not legal; nothing was changed.
            ValueError: The agent is done and the action is not None; nothing was changed.
            ResetNeeded: There is no match, or all agents were taken out.
        """
        agent = self._selected()
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)  # type: ignore[arg-type]  # whatever is not None is refused
            return
        observation = np.empty(self._size, np.float32)
        mask = np.empty(self._num_actions, np.int8)
        outcome, seat, facts = advance(
            self._facts, self.game._record, _action_id(action), *self._view_args, observation, mask
        )
        if outcome == ILLEGAL:
            raise self._refusal(action)
        self._cumulative_rewards[agent] = 0
        if self._rewarded:
            self.rewards = dict.fromkeys(self.agents, 0)
            self._rewarded = False
        if outcome == HAND_ENDED:
            self.game._end_hand()
            self._pay()
        if seat >= 0:
            self.agent_selection = self.possible_agents[seat]
            self._ready_observation = {"observation": observation, "action_mask": mask}
        else:
            self.terminations = dict.fromkeys(self.agents, True)
            self.agent_selection = self.agents[0]
            self._ready_observation = None
        self._ready_agent, self._ready_facts = self.agent_selection, facts
        if self.render_mode == "human":
            self.render()

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, int]]:
        """Returns what the selected agent has to know before its step.

        Args:
            observe: Whether to make the observation too.

        Returns:
            Its observation or None, the reward since its last step, termination, truncation and info.

        Raises:
            ResetNeeded: There is no match, or all agents were taken out.
        """
        agent = self._selected()
        facts = self._ready_facts if agent == self._ready_agent else self._facts_of(agent)
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            _info(*facts),
        )

    def _selected(self) -> str:
        if not self.agents:
            raise gymnasium.error.ResetNeeded("the match is over and all agents are done: call reset() for another")
        return self.agent_selection

    def _was_dead_step(self, action: int | None) -> None:
        if action is not None:
            raise ValueError(f"{self.agent_selection} is done, so its only action is None, but {action!r} was given")
        super()._was_dead_step(action)

    def _pay(self) -> None:
        """Hands out the rewards for a hand that has just been scored."""
        points = self.game._record["last_points"][0, : len(self.agents)].tolist()
        if self.reward == "points":
            rewards = points
        elif self.reward == "margin":
            size = len(self.rules.sides[0])
            rewards = [own - (sum(points) - size * own) / (len(points) - size) for own in points]
        else:
            winners = self.game.winners
            share = len(self.rules.sides[0]) / len(winners) if winners else 0
            rewards = [share if seat in winners else 0 for seat in range(len(points))]
        self.rewards = dict(zip(self.agents, rewards, strict=True))
        self._accumulate_rewards()
        self._rewarded = True

    def _refusal(self, action: Any) -> IllegalAction:
        legal = np.flatnonzero(self.game.action_mask(suit_order=self.suit_order)).tolist()
        labels = ", in its own suit labels" if self._canonical else ""
        most = self.layout.most_cards
        return IllegalAction(
            f"action {action!r} is illegal: in hand {self.game.hand_number} the legal actions of "
            f"{self.agent_selection} are {', '.join(f'{a} ({action_text(a, most)})' for a in legal)}{labels}"
        )

    # Seeing.

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """Returns the observation of any agent at any time, also after the end."""
        ready = self._ready_observation
        if ready is not None and agent == self._ready_agent:
            self._ready_observation = None  # handed out once, so that what is written into it stays outside
            return ready
        observation = np.empty(self._size, np.float32)
        mask = np.empty(self._num_actions, np.int8)
        view(self._facts, self.game._record, self._seat(agent), *self._view_args, observation, mask)
        return {"observation": observation, "action_mask": mask}

    @property
    def infos(self) -> dict[str, dict[str, int]]:
        """Every agent's info, made anew at each reading."""
        return {agent: _info(*self._facts_of(agent)) for agent in self.agents}

    def _facts_of(self, agent: str) -> tuple[int, ...]:
        return seat_facts(self.game._record, self._seats[agent])

    def state(self) -> np.ndarray:
        """Returns the perfect-information state, float32 [layout.state_size] in [-1, 1].

        It is the observation of the selected agent and, after it, the hands of the others.
        """
        entries = np.empty(self.layout.state_size, np.int8)
        seat = self._seats[self.agent_selection]
        observe_state(self._facts, self.game._record, 0, seat, self._canonical, self.layout.record, entries)
        return entries * self.layout.state_scale

    def _seat(self, agent: str) -> int:
        if not isinstance(agent, str) or agent not in self._seats:
            raise ValueError(f"there is no agent {agent!r}: the agents are {', '.join(self.possible_agents)}")
        return self._seats[agent]

    # Showing.

    def render(self) -> str | None:
        """Returns the match as text ("ansi") or prints it ("human"); without a mode it warns, once."""
        game = self.game
        if self.render_mode == "ansi":
            return ansi.frame(game)
        if self.render_mode == "human":
            print(ansi.printable(ansi.frame(game), sys.stdout.encoding), end="\n\n", flush=True)
        elif not self._warned:
            self._warned = True
            modes = " or ".join(f'render_mode="{mode}"' for mode in self.metadata["render_modes"])
            warnings.warn(f"render() shows nothing without a mode: make the environment with {modes}", stacklevel=2)
        return None

    def close(self) -> None:
        """Does nothing: there is nothing to release."""


def _chosen_rules(rules: Rules | None, changes: dict[str, Any]) -> Rules:
    known = [field.name for field in fields(Rules)]
    for name in changes:
        if name not in known:
            others = "rules, hand_size, reward, suit_order, render_mode"
            raise TypeError(f"{name!r} is no option of bluke_v0: the options are {others}, {', '.join(known)}")
    if rules is None:
        return Rules(**changes)
    if changes:
        raise TypeError(f"rules and {', '.join(changes)} are both given: put {', '.join(changes)} into the rules")
    if not isinstance(rules, Rules):
        raise TypeError(f"rules is {rules!r}, but it must be a Rules object, for example Rules(num_players=4)")
    return rules


def _single_hands(rules: Rules, hand_size: int | None) -> Rules:
    if hand_size is None:
        return rules
    whole = isinstance(hand_size, int | np.integer) and not isinstance(hand_size, bool)
    if not whole or not 1 <= hand_size <= rules.most_cards:
        raise ValueError(
            f"hand_size is {hand_size!r}, but it must be a whole number from 1 to {rules.most_cards}, "
            "the most cards of the schedule, or None for whole matches"
        )
    return rules.hands_of(int(hand_size))


def _info(hand_number: int, hand_size: int, bid: int, tricks: int, score: int) -> dict[str, int]:
    return {"hand_number": hand_number, "hand_size": hand_size, "bid": bid, "tricks": tricks, "score": score}


def _action_id(action: Any) -> int:
    """Returns an action as an integer that the engine can take, -1 if it is none."""
    try:
        number = operator.index(action)
    except TypeError:
        return -1
    return number if 0 <= number < BID_BASE + NUM_CARDS and not isinstance(action, bool) else -1

"""Other projects' speed, for comparison: OpenSpiel's oh_hell and PettingZoo's connect_four_v3.

Each peer is prepared by a function that takes a seed and returns the function to be timed, which does a chunk
of work and returns how many decisions it was. A decision is one action chosen by a player (a bid, a card, a
column); dealing is none. Set-up, imports and OpenSpiel's deals are done before the clock starts. All run on
one thread.
"""

import os
from collections.abc import Callable, Iterator
from itertools import cycle
from random import Random
from typing import Any

from benchmarks import timing
from benchmarks.timing import Rate

PLAYERS = 4
TRICKS = 12
DEALS = 64
ROLLOUTS_PER_CALL = 500
GAMES_PER_CALL = 20
MISSING = 'not installed: pip install -e ".[bench]"'


def openspiel_rollouts(seed: int) -> Callable[[], int]:
    """Random rollouts of oh_hell by OpenSpiel's C++ `RandomRolloutEvaluator`.

    Python cannot call the evaluator itself, but it can run a search that does. With one simulation the C++
    `MCTSBot` makes a root, adds no child, asks the evaluator about the very state it was given and returns:
    `ROLLOUTS_PER_CALL` rollouts in C++ for one call from Python.

    A rollout copies the state and plays it to the end. With all cards dealt and all bids to come, every
    play-out has the same length: a bid from each player, then a card from each player to each trick. So the
    decisions are counted on one play-out and multiplied by the number of rollouts. That the deals lie ready
    favours OpenSpiel over a benchmark that deals while the clock runs.
    """
    import pyspiel

    rng = Random(seed)
    game = _oh_hell()
    deals = _deals(game, rng)
    decisions = _decisions(next(deals).clone(), rng)
    evaluator = pyspiel.RandomRolloutEvaluator(ROLLOUTS_PER_CALL, rng.getrandbits(31))
    bot = pyspiel.MCTSBot(
        game,
        evaluator,
        uct_c=1.0,
        max_simulations=1,
        max_memory_mb=1,
        solve=False,
        seed=rng.getrandbits(31),
        verbose=False,
    )

    def chunk() -> int:
        bot.mcts_search(next(deals))
        return ROLLOUTS_PER_CALL * decisions

    return chunk


def openspiel_observations(seed: int) -> Callable[[], int]:
    """Random play of oh_hell from Python, with the acting player's numpy observation at every decision.

    oh_hell offers one kind of tensor, the information state with perfect recall (4,644 numbers); `set_from`
    writes it into the same array each time.
    """
    from open_spiel.python.observation import INFO_STATE_OBS_TYPE, make_observation

    rng = Random(seed)
    game = _oh_hell()
    deals = _deals(game, rng)
    observation = make_observation(game, INFO_STATE_OBS_TYPE)

    def chunk() -> int:
        return sum(_decisions(next(deals).clone(), rng, observation) for _ in range(GAMES_PER_CALL))

    return chunk


def connect_four_loop(seed: int) -> Callable[[], int]:
    """PettingZoo's connect_four_v3 through the AEC loop: `last()`, then a random legal action by the mask.

    The steps with None that end a game take time but are not counted: nobody decides anything in them.
    """
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # connect_four imports pygame even to play unseen
    from pettingzoo.classic.connect_four import connect_four

    rng = Random(seed)
    env = connect_four.env()
    env.reset(seed=rng.getrandbits(31))
    for agent in env.possible_agents:
        env.action_space(agent).seed(rng.getrandbits(31))

    def chunk() -> int:
        return sum(_aec_game(env) for _ in range(GAMES_PER_CALL))

    return chunk


PEERS: dict[str, Callable[[int], Callable[[], int]]] = {
    "OpenSpiel oh_hell rollouts": openspiel_rollouts,
    "OpenSpiel oh_hell observations": openspiel_observations,
    "PettingZoo connect_four_v3": connect_four_loop,
}


def measure_peer(name: str, *, seed: int = 0, seconds: float = 2.0, repeats: int = 5) -> tuple[Rate | None, str]:
    """Measures one of `PEERS`, in decisions per second.

    Returns:
        The rate and an empty text; or None and the reason, where the peer cannot be imported.
    """
    try:
        function = PEERS[name](seed)
    except ImportError as error:
        return None, f"{MISSING} ({error})"
    return timing.measure(name, "decisions", function, seconds=seconds, repeats=repeats), ""


def _oh_hell() -> Any:
    import pyspiel

    return pyspiel.load_game("oh_hell", {"players": PLAYERS, "num_tricks_fixed": TRICKS})


def _deals(game: Any, rng: Random) -> Iterator[Any]:
    """Random deals with the bidding to come, over and over; every chance node of oh_hell is uniform."""
    states = []
    for _ in range(DEALS):
        state = game.new_initial_state()
        while state.is_chance_node():
            state.apply_action(rng.choice(state.legal_actions()))
        states.append(state)
    return cycle(states)


def _decisions(state: Any, rng: Random, observation: Any = None) -> int:
    """Plays a state to its end at random, observing each decision if asked, and counts the decisions."""
    decisions = 0
    while not state.is_terminal():
        if observation is not None:
            observation.set_from(state, state.current_player())
        actions = state.legal_actions()
        state.apply_action(actions[int(rng.random() * len(actions))])
        decisions += 1
    return decisions


def _aec_game(env: Any) -> int:
    decisions = 0
    env.reset()
    for agent in env.agent_iter():
        observation, _, terminated, truncated, _ = env.last()
        if terminated or truncated:
            env.step(None)
        else:
            env.step(env.action_space(agent).sample(observation["action_mask"]))
            decisions += 1
    return decisions


def main() -> None:
    """Measures every peer that is installed."""
    arguments = timing.parser("How fast OpenSpiel and PettingZoo are on this machine.").parse_args()
    timing.print_machine()
    rates = []
    for name in PEERS:
        rate, reason = measure_peer(name, seed=arguments.seed, seconds=arguments.seconds, repeats=arguments.repeats)
        if rate is None:
            print(f"{name}: {reason}")
        else:
            rates.append(rate)
    if rates:
        timing.print_rates(rates)
    if arguments.json:
        timing.write_json(arguments.json, rates)


if __name__ == "__main__":
    main()

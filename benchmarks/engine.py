"""How fast the engine and the environment are, beside OpenSpiel and PettingZoo where those are installed.

python -m benchmarks.engine
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks import timing
from benchmarks.peers import measure_peer
from bluke_env import BatchGame, Rules, bluke_v0
from bluke_env.engine.state import GAME
from bluke_env.engine.step import random_playouts

PLAYOUTS = "random playouts"
TEAM_PLAYOUTS = "random playouts, Back Alley"
BATCH = "batch, observations and masks"
AEC = "AEC loop, last() and sample(mask)"
COMPARED_WITH = {
    PLAYOUTS: "OpenSpiel oh_hell rollouts",
    BATCH: "OpenSpiel oh_hell observations",
    AEC: "PettingZoo connect_four_v3",
}
BATCH_SIZE, STEPS_PER_CALL = 1024, 50


def playouts(seed: int, preset: str = "bluke") -> Callable[[], int]:
    """Whole matches of 4 players by uniformly random legal decisions: dealing, legal moves, choosing, scoring."""
    facts, scratch, first = Rules.preset(preset).record(), np.zeros(1, GAME), np.zeros(1, np.uint64)

    def chunk() -> int:
        decisions = random_playouts(facts, scratch, np.uint64(seed), first[0], 100)
        first[0] += np.uint64(100)
        return decisions

    return chunk


def batch_steps(seed: int, suit_order: str = "fixed") -> Callable[[], int]:
    """Matches of 4 players, the observation and the mask of every decision, actions drawn from the masks' facts."""
    batch = BatchGame(Rules(), BATCH_SIZE, seed, suit_order=suit_order)
    state = np.array([seed], np.uint64)

    def chunk() -> int:
        for _ in range(STEPS_PER_CALL):
            batch.step(batch.random_actions(state))
        return STEPS_PER_CALL * BATCH_SIZE

    return chunk


def aec_loop(seed: int) -> Callable[[], int]:
    """One match of 4 players a call; the steps with None that end it take time but are not counted."""
    env = bluke_v0.env(num_players=4)
    env.reset(seed=seed)
    for agent in env.possible_agents:
        env.action_space(agent).seed(seed)

    def chunk() -> int:
        decisions = 0
        env.reset()
        for agent in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated or observation is None:
                env.step(None)
            else:
                env.step(env.action_space(agent).sample(observation["action_mask"]))
                decisions += 1
        return decisions

    return chunk


def main() -> None:
    """Measures ours and the peers in turn, and prints rates and ratios."""
    arguments = timing.parser("How fast the engine and the environment are on this machine.").parse_args()
    options = {"seconds": arguments.seconds, "repeats": arguments.repeats}
    timing.print_machine()
    ours = {
        PLAYOUTS: playouts(arguments.seed),
        TEAM_PLAYOUTS: playouts(arguments.seed, "back_alley"),
        BATCH: batch_steps(arguments.seed),
        f"{BATCH}, canonical suits": batch_steps(arguments.seed, "canonical"),
        AEC: aec_loop(arguments.seed),
    }
    rates, ratios = [], []
    for name, function in ours.items():
        rate = timing.measure(name, "decisions", function, **options)
        rates.append(rate)
        if name not in COMPARED_WITH:
            continue
        peer, reason = measure_peer(COMPARED_WITH[name], seed=arguments.seed, **options)
        if peer is None:
            print(f"{COMPARED_WITH[name]}: {reason}")
        else:
            rates.append(peer)
            ratios.append(timing.ratio(rate, peer))
    timing.print_rates(rates)
    timing.print_ratios(ratios)
    if arguments.json:
        timing.write_json(arguments.json, rates, ratios)


if __name__ == "__main__":
    main()

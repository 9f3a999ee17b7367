"""How fast worlds are drawn, hands played out and moves found, beside OpenSpiel's information-set tree search.

python -m benchmarks.search

All run on one thread, with 4 players.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np

from benchmarks import timing
from benchmarks.peers import MISSING, PLAYERS, TRICKS
from bluke_env import BatchGame, Rules, Turn, bots
from bluke_env.belief import Belief
from bluke_env.bots.rule_kernels import hidden_cards, play_out
from bluke_env.engine.jit import kernel
from bluke_env.engine.state import GAME
from bluke_env.game import Game

WORLDS = "worlds drawn, 13 cards, before the first lead"
PLAYOUTS = "rule bot's cards in hands played out, 13 cards"
SIMULATIONS = "ismcts"
PEER = "OpenSpiel ISMCTSBot"
POSITIONS = 64
SIMS = 1000
MOVES = ("rule", "pimc:worlds=30", "pimc:worlds=100", "pimc:worlds=30,endgame=3", "ismcts:sims=1000")
SIZES = (13, 8, 4)


def worlds(seed: int) -> Callable[[], int]:
    """Worlds of one hand of 13 cards from what its first player knows."""
    belief, count = Belief.of(Game(Rules(), seed=seed), 0), 10_000

    def chunk() -> int:
        return len(belief.sample(count, seed))

    return chunk


@kernel
def _play_out_all(rules, games, scratch):
    """Plays every game's hand out by the rule bot's cards; returns how many cards were played."""
    cards, seats = 0, np.int64(rules[0].num_players)
    for index in range(len(games)):
        scratch[0] = games[index]
        cards += seats * scratch[0].hand_size - scratch[0].num_played
        play_out(rules[0], scratch[0], seats, hidden_cards(rules[0], scratch[0], seats))
    return cards


def playouts(seed: int) -> Callable[[], int]:
    """Hands of 13 cards played out from the first lead, as search bots do in every world."""
    rules = Rules().hands_of(13)
    games, _ = _positions(rules, seed, lambda rng: rules.num_players)
    scratch = np.zeros(1, GAME)

    def chunk() -> int:
        return _play_out_all(rules.record(), games, scratch)

    return chunk


def simulations(seed: int) -> Callable[[], int]:
    """Our tree search at random points of play in hands of as many cards as the peer's."""
    rules = Rules().hands_of(TRICKS)
    _, views = _positions(rules, seed, _depth)
    bot = bots.make(f"ismcts:sims={SIMS}")
    turn = Turn(rules, views, views["seat"].copy(), np.arange(POSITIONS))
    choices = int((turn.masks.sum(axis=1) > 1).sum())  # where there is no choice, nothing is searched

    def chunk() -> int:
        bot.act(turn)
        return choices * SIMS

    return chunk


def openspiel_simulations(seed: int) -> Callable[[], int]:
    """The C++ `ISMCTSBot` on oh_hell with random rollouts, likewise."""
    import pyspiel

    rng = Random(seed)
    game = pyspiel.load_game("oh_hell", {"players": PLAYERS, "num_tricks_fixed": TRICKS})
    states = []
    for _ in range(POSITIONS):
        state = game.new_initial_state()
        while state.is_chance_node():
            state.apply_action(rng.choice(state.legal_actions()))
        for _ in range(_depth(rng)):
            state.apply_action(rng.choice(state.legal_actions()))
        if len(state.legal_actions()) > 1:
            states.append(state)
    evaluator = pyspiel.RandomRolloutEvaluator(1, rng.getrandbits(31))
    most_visits = pyspiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT
    bot = pyspiel.ISMCTSBot(rng.getrandbits(31), evaluator, 1.0, SIMS, -1, most_visits, False, False)

    def chunk() -> int:
        for state in states[:8]:
            bot.step(state)
        states.append(states.pop(0))
        return 8 * SIMS

    return chunk


def moves(spec: str, size: int, seed: int) -> Callable[[], int]:
    """A bot's own decisions, forced ones too, in whole hands in which all seats are its own."""
    rules = Rules().hands_of(size)
    bot, games = bots.make(spec), 16
    batch = BatchGame(rules, games, seed, autoreset=False)
    rows = np.arange(games)

    def chunk() -> int:
        batch.reset(seed)
        decisions = 0
        while not batch.is_over.all():
            batch.step(bot.act(Turn(rules, batch.views(), batch.seats.copy(), rows)))
            decisions += games
        return decisions

    return chunk


def _depth(rng: Random) -> int:
    """Returns a random number of decisions, from the first lead to the last tricks."""
    return rng.randrange(PLAYERS, PLAYERS * (TRICKS - 1))


def _positions(rules: Rules, seed: int, depth: Callable[[Random], int]) -> tuple[np.ndarray, np.ndarray]:
    """Returns games after random decisions, as many in each as `depth` says, and what the seats to act see of them."""
    rng = Random(seed)
    depths = np.array([depth(rng) for _ in range(POSITIONS)])
    batch = BatchGame(rules, POSITIONS, seed, autoreset=False)
    games, views = batch.records.copy(), batch.views()
    state = np.array([seed], np.uint64)
    for done in range(1, depths.max() + 1):
        batch.step(batch.random_actions(state))
        here = depths == done
        games[here], views[here] = batch.records[here], batch.views()[here]
    return games, views


def main() -> None:
    """Measures worlds, rollouts and simulations, then what a move costs."""
    arguments = timing.parser("How fast the search bots are on this machine.").parse_args()
    options = {"seconds": arguments.seconds, "repeats": arguments.repeats}
    timing.print_machine()
    ours = timing.measure(SIMULATIONS, "simulations", simulations(arguments.seed), **options)
    rates = [
        timing.measure(WORLDS, "worlds", worlds(arguments.seed), **options),
        timing.measure(PLAYOUTS, "decisions", playouts(arguments.seed), **options),
        ours,
    ]
    ratios = []
    try:
        peer = timing.measure(PEER, "simulations", openspiel_simulations(arguments.seed), **options)
        rates.append(peer)
        ratios.append(timing.ratio(ours, peer))
    except ImportError as error:
        print(f"{PEER}: {MISSING} ({error})")
    for spec in MOVES:
        for size in SIZES:
            function = moves(spec, size, arguments.seed)
            rates.append(timing.measure(f"{spec}, {size} cards", "decisions", function, **options))
    timing.print_rates(rates)
    timing.print_ratios(ratios)
    if arguments.json:
        timing.write_json(arguments.json, rates, ratios)


if __name__ == "__main__":
    main()

"""How fast all cards of decisions are tried in the hands as they are, played on by `rule` and by the small network.

python -m benchmarks.hindsight

It is the part of training that searches. A decision is one of half-played hands of 4 players in which there is a
choice; each of its cards is played, and the hand played on to its end. On one thread.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from agents.hindsight import Styles, hindsight
from agents.playouts import RULE, Playouts
from benchmarks import timing
from bluke_env import BatchGame, Rules

HANDS = 512
SIZES = (13, 8, 4)
STYLES = {"rule": RULE, "small network": 0}


def tried(size: int, style: int, seed: int) -> Callable[[], int]:
    """All cards of the decisions in half-played hands, where all seats play on in one style."""
    rules = Rules(num_players=4)
    batch = BatchGame.hands_of(rules, size, HANDS, seed, suit_order="canonical")
    rng = np.random.default_rng(seed)
    for _ in range(rules.num_players * (1 + size // 2) + 1):
        batch.step((rng.random(batch.masks.shape) * batch.masks).argmax(1))
    rows = np.flatnonzero(batch.masks.sum(1) > 1)
    illegal = torch.from_numpy(batch.masks[rows] == 0)
    policy = torch.zeros(illegal.shape).masked_fill(illegal, -np.inf).log_softmax(1)
    actions = torch.from_numpy(batch.masks[rows].argmax(1))
    styles = Styles(np.full((HANDS, rules.num_players), style), Playouts().packed()[None])

    def chunk() -> int:
        hindsight(batch, rows, batch.masks, policy, actions, styles)
        return len(rows)

    return chunk


def main() -> None:
    """Measures every size and style, and prints how they compare."""
    arguments = timing.parser("How fast cards are tried in hindsight on this machine.").parse_args()
    options = {"seconds": arguments.seconds, "repeats": arguments.repeats}
    torch.set_num_threads(1)
    timing.print_machine()
    rates, ratios = [], []
    for size in SIZES:
        own = [
            timing.measure(f"{name}, {size} cards", "decisions", tried(size, style, arguments.seed), **options)
            for name, style in STYLES.items()
        ]
        rates += own
        ratios.append(timing.ratio(*own))
    timing.print_rates(rates)
    timing.print_ratios(ratios)
    if arguments.json:
        timing.write_json(arguments.json, rates, ratios)


if __name__ == "__main__":
    main()

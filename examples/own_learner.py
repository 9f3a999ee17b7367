"""A learner of your own: REINFORCE in PyTorch on many hands at once, with a checkpoint and an evaluation.

Run it with `python examples/own_learner.py`, or with other numbers of iterations and cards, say
`python examples/own_learner.py 20 3`; it needs `pip install -e ".[train]"`. In half a minute of one core it learns to
beat random play, and not yet the rule bot; `0 5` shows where it starts:

    against random: +28.80 ± 1.87 points a hand
    against rule: -1.81 ± 0.53 points a hand

For another game change `RULES`; the hands have to be of a size that its schedule has.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

from agents.evaluate import compare
from bluke_env import BatchGame, ObservationLayout, Rules, Turn, bots

RULES = Rules(num_players=4)
LAYOUT = ObservationLayout.of(RULES)


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(LAYOUT.size, 256), nn.ReLU(), nn.Linear(256, LAYOUT.num_actions))


def policy(logits_of: nn.Module, observations: np.ndarray, masks: np.ndarray) -> torch.distributions.Categorical:
    """Returns the chances of what the seats to act may do, from int8 arrays as `BatchGame` and `Turn` write them."""
    inputs = torch.from_numpy(observations * LAYOUT.scale).float()
    illegal = torch.from_numpy(masks == 0)
    return torch.distributions.Categorical(logits=logits_of(inputs).masked_fill(illegal, -torch.inf))


def loss_of_hands(logits_of: nn.Module, hands: BatchGame, cards: int) -> torch.Tensor:
    """Plays a hand in every game, the network in all seats, and returns REINFORCE's loss."""
    log_probs, seats, games = [], [], np.arange(hands.num_games)
    for _ in range(RULES.num_players * (cards + 1)):
        seats.append(hands.seats.astype(np.int64))
        chances = policy(logits_of, hands.observations, hands.masks)
        actions = chances.sample()
        log_probs.append(chances.log_prob(actions))
        hands.step(actions.numpy())
    points = hands.rewards - hands.rewards.mean(0)
    advantages = torch.from_numpy(points / (points.std() + 1e-6)).float()
    gained = [chosen @ advantages[games, seat] for chosen, seat in zip(log_probs, seats, strict=True)]
    return -torch.stack(gained).mean()


class Player:
    """Takes a seat anywhere: plays the likeliest legal action, with canonical suits, as the network learned it."""

    def __init__(self, checkpoint: Path) -> None:
        self.name = checkpoint.stem
        self._network = network()
        self._network.load_state_dict(torch.load(checkpoint, weights_only=True))

    def reset(self, num_games: int, seed: int) -> None:
        """Forgets everything; there is nothing to forget."""

    @torch.inference_mode()
    def act(self, turn: Turn) -> np.ndarray:
        seen = turn.encode(LAYOUT, canonical=True)
        best = policy(self._network, seen.observations, seen.masks).logits.argmax(1)
        return turn.real_actions(best.numpy(), seen)


def main(iterations: int = 200, cards: int = 5) -> None:
    torch.set_num_threads(1)  # layers this small gain nothing from more
    torch.manual_seed(0)
    learning = network()
    optimizer = torch.optim.Adam(learning.parameters(), lr=1e-3)
    hands = BatchGame.hands_of(RULES, cards, num_games=256, seed=0, suit_order="canonical")
    for _ in range(iterations):
        optimizer.zero_grad()
        loss_of_hands(learning, hands, cards).backward()  # the next hands have been dealt by now
        optimizer.step()
    checkpoint = Path("runs/own_learner.pt")
    checkpoint.parent.mkdir(exist_ok=True)
    torch.save(learning.state_dict(), checkpoint)
    opponents = [bots.make("random"), bots.make("rule")]
    result = compare(Player(checkpoint), opponents, RULES, deals=200, seed=0, sizes=[cards])
    for comparison in result.comparisons:
        lead = comparison.average["over_same_seat"]
        print(f"against {comparison.baseline.name}: {lead.mean:+.2f} ± {lead.half_width:.2f} points a hand")


if __name__ == "__main__":
    main(*(int(number) for number in sys.argv[1:]))

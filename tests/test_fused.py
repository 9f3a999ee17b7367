"""The compiled losses against plain ones in PyTorch."""

import numpy as np
import pytest
import torch

from agents import fused
from agents.network import Heads, Network, log_softmax
from bluke_env import BatchGame, Rules

torch.set_num_threads(1)  # several wait for each other wherever something else computes too

ACTIONS = 54


def decisions(seed: int, rows: int = 300, size: float = 3.0, guided: bool = True) -> tuple[torch.Tensor, ...]:
    """Logits, masks of 68 columns, legal actions, log-probabilities when they were chosen, advantages, guides."""
    rng = np.random.default_rng(seed)
    masks = (rng.random((rows, 68)) < rng.choice([0.03, 0.2, 1.0], (rows, 1))).astype(np.int8)
    actions = rng.integers(0, ACTIONS, rows)
    masks[np.arange(rows), actions] = 1
    logits = torch.from_numpy(rng.normal(0, size, (rows, ACTIONS)).astype(np.float32))
    legal = torch.from_numpy(masks)
    log_probs = torch.log_softmax(logits.masked_fill(legal[:, :ACTIONS] == 0, -torch.inf), 1)
    chosen = torch.from_numpy(actions)
    played = log_probs.gather(1, chosen[:, None])[:, 0] + torch.from_numpy(rng.normal(0, 0.3, rows).astype(np.float32))
    advantages = torch.from_numpy(rng.normal(0, 1, rows).astype(np.float32))
    guides = torch.from_numpy(rng.normal(0, 1, (rows, ACTIONS if guided else 0)).astype(np.float32))
    return logits, legal, chosen, played, advantages, guides


def plain(
    logits: torch.Tensor,
    masks: torch.Tensor,
    actions: torch.Tensor,
    played: torch.Tensor,
    advantages: torch.Tensor,
    guides: torch.Tensor,
    clip: float,
    sharpness: float,
) -> torch.Tensor:
    illegal = masks[:, :ACTIONS] == 0
    log_probs = torch.log_softmax(logits.double().masked_fill(illegal, -torch.inf), 1)
    softened = torch.log_softmax((logits.double() / sharpness).masked_fill(illegal, -torch.inf), 1)
    log_ratio = log_probs.gather(1, actions[:, None])[:, 0] - played
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - clip, 1 + clip)
    loss = -torch.minimum(ratio * advantages, clipped * advantages).sum()
    entropy = -(softened.exp() * softened.masked_fill(illegal, 0.0)).sum()
    made = (softened.exp() * guides).sum() if guides.shape[1] else torch.zeros(())
    return torch.stack([loss, entropy, -made, (ratio - 1 - log_ratio).sum(), (ratio != clipped).sum()])


@pytest.mark.parametrize("sharpness", [1.0, 2.0, 0.5])
@pytest.mark.parametrize("clip", [0.0, 0.2, 10.0])
@pytest.mark.parametrize("guided", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_policys_sums_and_gradients_are_those_of_plain_ppo(
    clip: float, seed: int, guided: bool, sharpness: float
) -> None:
    logits, *others = decisions(seed, guided=guided)
    one, two = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    found, expected = fused.policy_sums(one, *others, clip, sharpness), plain(two, *others, clip, sharpness)
    torch.testing.assert_close(found.detach()[:4].double(), expected.detach()[:4], rtol=1e-4, atol=1e-3)
    assert float(found.detach()[4]) == pytest.approx(
        float(expected.detach()[4]), abs=2
    )  # a ratio at the very bound may round either way
    (found[0] - 0.3 * found[1] + 0.7 * found[2]).backward()
    (expected[0] - 0.3 * expected[1] + 0.7 * expected[2]).backward()
    assert one.grad is not None
    assert two.grad is not None
    assert one.grad.abs().sum() > 1
    differs = (one.grad - two.grad).abs().amax(1) > 1e-4
    assert differs.sum() <= (2 if clip else 0)
    assert (one.grad[others[0][:, :ACTIONS] == 0] == 0).all()


@pytest.mark.parametrize("size", [0.0, 1e4, 1e30])
def test_extreme_logits_give_finite_gradients(size: float) -> None:
    logits, *others = decisions(7, size=size)
    logits.requires_grad_()
    others[2] = torch.zeros(len(logits))
    sums = fused.policy_sums(logits, *others, 0.2, 2.0)
    (sums[0] - 0.01 * sums[1]).backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


def test_a_forced_action_has_no_entropy_and_no_gradient() -> None:
    masks = torch.zeros(1, 68, dtype=torch.int8)
    masks[0, 9] = 1
    logits = torch.randn(1, ACTIONS, generator=torch.Generator().manual_seed(1)).requires_grad_()
    sums = fused.policy_sums(
        logits, masks, torch.tensor([9]), torch.zeros(1), torch.ones(1), torch.ones(1, ACTIONS), 0.2, 2.0
    )
    (sums[0] - sums[1] + sums[2]).backward()
    assert float(sums.detach()[1]) == 0
    assert logits.grad is not None
    assert (logits.grad == 0).all()


@pytest.mark.parametrize("columns", [54, 68])
def test_features_of_cards_are_weighed_and_added(columns: int) -> None:
    rng = np.random.default_rng(columns)
    cards = torch.from_numpy(rng.integers(-128, 128, (90, 4 * ACTIONS)).astype(np.int8))
    numbers = [torch.from_numpy(rng.normal(0, 1, (90, width)).astype(np.float32)) for width in (columns, 4)]
    one, two = ([each.clone().requires_grad_() for each in numbers] for _ in range(2))
    found = fused.card_logits(*one, cards, 100.0)
    added = (two[1][:, :, None] * cards.view(90, 4, ACTIONS) / 100).sum(1)
    expected = two[0] + torch.nn.functional.pad(added, (0, columns - ACTIONS))
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    weights = torch.from_numpy(rng.normal(0, 1, (90, columns)).astype(np.float32))
    for result in (found, expected):
        (result * weights).sum().backward()
    for own, plainly in zip(one, two, strict=True):
        assert own.grad is not None
        torch.testing.assert_close(own.grad, plainly.grad, rtol=1e-4, atol=1e-4)


def possible_tricks(rng: np.random.Generator, rows: int, most: int) -> torch.Tensor:
    return torch.from_numpy(np.sort(rng.integers(0, most + 1, (rows, 2)), axis=1))


@pytest.mark.parametrize("seed", range(3))
def test_the_loss_of_tricks_is_their_cross_entropy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    possible = possible_tricks(rng, 200, 13)
    tricks = torch.from_numpy(rng.integers(possible[:, 0], possible[:, 1] + 1))
    one = torch.from_numpy(rng.normal(0, 3, (200, 14)).astype(np.float32)).requires_grad_()
    two = one.detach().double().requires_grad_()
    places = torch.arange(14)
    impossible = (places < possible[:, :1]) | (places > possible[:, 1:])
    log_probs = torch.log_softmax(two.masked_fill(impossible, -torch.inf), 1)
    expected = torch.nn.functional.nll_loss(log_probs, tricks, reduction="sum")
    found = fused.trick_loss(one, possible, tricks)
    assert float(found.detach()) == pytest.approx(float(expected.detach()), rel=1e-4)
    (2 * found).backward()
    (2 * expected).backward()
    torch.testing.assert_close(one.grad.double(), two.grad, rtol=1e-4, atol=1e-5)


def test_expected_points_are_those_of_the_distribution() -> None:
    rng = np.random.default_rng(5)
    network = Network((Rules(num_players=4),), Heads((8,)))
    table = network.score_table.numpy()
    possible = possible_tricks(rng, 100, 13)
    logits, bids = rng.normal(0, 2, (100, 14)).astype(np.float32), rng.integers(0, 14, 100)
    values = np.empty(100, np.float32)
    fused.expected_points(logits, possible.numpy(), bids, table, values)
    places = np.arange(14)
    impossible = (places < possible[:, :1].numpy()) | (places > possible[:, 1:].numpy())
    probs = log_softmax(torch.from_numpy(logits).masked_fill(torch.from_numpy(impossible), -torch.inf), 1).exp().numpy()
    np.testing.assert_allclose(values, (probs * table[bids]).sum(1), rtol=1e-4, atol=1e-3)


def test_a_networks_values_are_the_same_with_and_without_gradients() -> None:
    rules = Rules(num_players=4)
    network = Network((rules,), Heads((8,)))
    batch = BatchGame.hands_of(rules, 5, 20, 1)
    rng = np.random.default_rng(0)
    for _ in range(8):
        batch.step((rng.random(batch.masks.shape) * batch.masks).argmax(1))
    observations = torch.from_numpy(batch.observations.copy())
    plain_values = network.values(network.features(observations), observations)
    with torch.inference_mode():
        compiled = network.values(network.features(observations), observations)
    torch.testing.assert_close(compiled, plain_values.detach(), rtol=1e-4, atol=1e-4)

"""The network's first layer against an ordinary one."""

import numpy as np
import pytest
import torch

from agents.precision import autocast
from agents.sparse import SparseInput

torch.set_num_threads(1)  # several wait for each other wherever something else computes too

CPU = torch.device("cpu")
SHAPES = [(1, 1, 1), (5, 3, 7), (64, 17, 1), (65, 40, 33), (130, 301, 64)]
"""Rows, inputs and outputs; gradients are worked out for 64 rows at a time, and inputs taken up four at a time."""

shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)


def layer_of(inputs: int, width: int) -> SparseInput:
    scale = np.random.default_rng(inputs).choice([0.0, 1 / 127, 1 / 13, 1.0, 1.0], inputs).astype(np.float32)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(width)
        return SparseInput(scale, width)


def inputs_of(rows: int, size: int, seed: int = 0) -> torch.Tensor:
    """Mostly zeros, some ones and a few other numbers; every third row has none but zeros, and every fourth no zero."""
    rng = np.random.default_rng(seed)
    numbers = rng.choice(np.array([0, 1, 2, 13, 127, -1, -128], np.int8), (rows, size), p=[0.7, 0.2, *[0.02] * 5])
    numbers[::3] = 0
    numbers[1::4] = rng.choice(np.array([1, -3, 127], np.int8), numbers[1::4].shape)
    return torch.from_numpy(numbers)


def dense(layer: SparseInput, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The outputs of an ordinary layer in float64, and its own weights and biases."""
    weight, bias = (parameter.detach().double().requires_grad_() for parameter in (layer.weight, layer.bias))
    return torch.relu((inputs.double() * layer.scale.double()) @ weight + bias), weight, bias


def assert_rounded(found: torch.Tensor | None, exact: torch.Tensor, magnitude: torch.Tensor) -> None:
    """Checks float32 sums of terms of which the magnitudes add up to so much."""
    assert found is not None
    assert found.dtype == torch.float32
    assert ((found.detach().double() - exact).abs() <= 2e-6 * magnitude + 1e-30).all()


@shapes
def test_outputs_are_those_of_an_ordinary_layer(shape: tuple[int, int, int]) -> None:
    rows, size, width = shape
    layer, inputs = layer_of(size, width), inputs_of(rows, size)
    outputs = layer(inputs)
    expected, weight, bias = dense(layer, inputs)
    magnitude = (inputs.double() * layer.scale.double()).abs() @ weight.abs() + bias.abs()
    assert_rounded(outputs, expected, magnitude.detach())
    assert (outputs > 0).any() or width == 1
    with torch.inference_mode():
        assert torch.equal(layer(inputs), outputs)


@shapes
def test_gradients_are_those_of_an_ordinary_layer(shape: tuple[int, int, int]) -> None:
    rows, size, width = shape
    layer, inputs = layer_of(size, width), inputs_of(rows, size)
    outward = torch.from_numpy(np.random.default_rng(1).standard_normal((rows, width))).float()
    outputs = layer(inputs)
    outputs.backward(outward)
    expected, weight, bias = dense(layer, inputs)
    torch.testing.assert_close(outputs > 0, expected > 0)  # otherwise rounding has moved a kink
    expected.backward(outward.double())
    through = outward.double().abs() * (expected > 0)
    assert weight.grad is not None
    assert bias.grad is not None
    assert_rounded(layer.weight.grad, weight.grad, (inputs.double() * layer.scale.double()).abs().T @ through)
    assert_rounded(layer.bias.grad, bias.grad, through.sum(0))


def test_gradients_are_the_slopes_of_what_comes_out() -> None:
    layer, inputs = layer_of(40, 9), inputs_of(30, 40)
    with torch.no_grad():
        layer.bias += 100  # far from the kinks, except where an output is surely cut off
        layer.bias[4] = -1e4
    wanted = torch.from_numpy(np.random.default_rng(2).standard_normal((30, 9))).float()
    (layer(inputs) * wanted).sum().backward()
    for parameter in (layer.weight, layer.bias):
        direction = torch.from_numpy(np.random.default_rng(3).standard_normal(parameter.shape)).float()
        ends = []
        for step in (0.01, -0.01):
            with torch.no_grad():
                parameter += step * direction
                ends.append(float((layer(inputs) * wanted).double().sum()))
                parameter -= step * direction
        assert parameter.grad is not None
        slope = float((parameter.grad * direction).sum())
        assert abs(slope) > 1
        assert (ends[0] - ends[1]) / 0.02 == pytest.approx(slope, rel=0.01)
    assert layer.weight.grad is not None
    assert (layer.weight.grad[:, 4] == 0).all()


@shapes
def test_in_bfloat16_outputs_are_rounded_once(shape: tuple[int, int, int]) -> None:
    rows, size, width = shape
    layer, inputs = layer_of(size, width), inputs_of(rows, size)
    with autocast(CPU, "bfloat16"):
        rounded = layer(inputs)
    assert rounded.dtype == torch.bfloat16
    assert torch.equal(rounded, layer(inputs).to(torch.bfloat16))


@shapes
def test_in_bfloat16_sums_of_gradients_are_still_exact(shape: tuple[int, int, int]) -> None:
    rows, size, width = shape
    layer, inputs = layer_of(size, width), inputs_of(rows, size)
    outward = torch.from_numpy(np.random.default_rng(1).standard_normal((rows, width))).to(torch.bfloat16)
    found = []
    for precision in ("bfloat16", "float32"):
        layer.zero_grad()
        with autocast(CPU, precision):
            outputs = layer(inputs)
        outputs.backward(outward.to(outputs.dtype))
        assert layer.weight.grad is not None
        assert layer.bias.grad is not None
        found.append((layer.weight.grad, layer.bias.grad))
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])


def test_a_gradient_that_is_the_same_everywhere_is_taken_as_it_is() -> None:
    """PyTorch gives that of a sum as one number in many places."""
    layer, inputs = layer_of(40, 9), inputs_of(30, 40)
    layer(inputs).sum().backward()
    found = layer.bias.grad
    assert torch.equal(found, (layer(inputs) > 0).sum(0).float())


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_no_rows_give_no_outputs_and_no_gradient(precision: str) -> None:
    layer = layer_of(40, 9)
    with autocast(CPU, precision):
        outputs = layer(torch.empty((0, 40), dtype=torch.int8))
    assert outputs.shape == (0, 9)
    outputs.sum().backward()
    for parameter in (layer.weight, layer.bias):
        assert parameter.grad is not None
        assert not parameter.grad.any()


def test_an_output_of_exactly_zero_has_no_slope_as_in_pytorch() -> None:
    layer = layer_of(40, 9)
    with torch.no_grad():
        layer.bias.zero_()
    outputs = layer(torch.zeros((5, 40), dtype=torch.int8))
    assert (outputs == 0).all()
    outputs.sum().backward()
    assert layer.bias.grad is not None
    assert not layer.bias.grad.any()


def test_on_other_devices_the_same_is_worked_out() -> None:
    """What a GPU does, done here."""
    layer, inputs = layer_of(40, 9), inputs_of(30, 40)
    here = layer(inputs)
    elsewhere = SparseInput.forward(layer, Elsewhere(inputs))  # type: ignore[arg-type]
    torch.testing.assert_close(here, elsewhere)


class Elsewhere:
    """A tensor that says it is on another device."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.device, self._tensor = torch.device("meta"), tensor

    def to(self, dtype: torch.dtype) -> torch.Tensor:
        return self._tensor.to(dtype)

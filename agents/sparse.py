"""The first layer of a network: most of an observation is zero, so on a CPU it adds up a few rows of weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numba import types
from numba.extending import overload
from torch import nn

from bluke_env.engine.jit import kernel


class SparseInput(nn.Module):
    """A linear layer with ReLU for whole numbers that are mostly zero.

    Args:
        scale: What the entries of an input are multiplied by, float32 [inputs].
        width: Outputs.

    Attributes:
        weight: float32 [inputs, width], the rows that an input adds up.
    """

    scale: torch.Tensor

    def __init__(self, scale: np.ndarray, width: int) -> None:
        super().__init__()
        self.register_buffer("scale", torch.from_numpy(np.array(scale)), persistent=False)
        bound = 1 / math.sqrt(len(scale))  # as in torch.nn.Linear
        self.weight = nn.Parameter(torch.empty(len(scale), width).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(width).uniform_(-bound, bound))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Returns the layer's outputs [n, width] for inputs int8 [n, inputs], in bfloat16 under autocast."""
        if inputs.device.type == "cpu":
            return _SparseInput.apply(inputs, self.scale, self.weight, self.bias)
        return torch.relu(inputs.to(self.scale.dtype) @ (self.weight * self.scale[:, None]) + self.bias)


class _SparseInput(torch.autograd.Function):
    """The same on a CPU; sums are in float32 whatever the others compute in."""

    @staticmethod
    def forward(
        context: Any, inputs: torch.Tensor, scale: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
    ) -> torch.Tensor:
        dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else torch.float32
        outputs = torch.empty(len(inputs), weight.shape[1], dtype=dtype)
        _outputs(inputs.numpy(), scale.numpy(), weight.detach().numpy(), bias.detach().numpy(), _bits(outputs))
        context.save_for_backward(inputs, scale, outputs)
        return outputs

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> tuple[None, None, torch.Tensor, torch.Tensor]:
        inputs, scale, outputs = context.saved_tensors
        weight, bias = torch.zeros(inputs.shape[1], outputs.shape[1]), torch.zeros(outputs.shape[1])
        arrays = inputs.numpy(), scale.numpy(), _bits(outputs), _bits(gradients[0].contiguous())
        _gradients(*arrays, weight.numpy(), bias.numpy())
        return None, None, weight, bias


def _bits(tensor: torch.Tensor) -> np.ndarray:
    """Returns a tensor as NumPy has it: the bits of bfloat16 as uint16."""
    return tensor.view(torch.uint16).numpy() if tensor.dtype == torch.bfloat16 else tensor.numpy()


@kernel
def _outputs(inputs: np.ndarray, scale: np.ndarray, weight: np.ndarray, bias: np.ndarray, outputs: np.ndarray) -> None:
    """Writes relu(inputs * scale @ weight + bias); four rows of weights at a time, to read and write sums less."""
    width = weight.shape[1]
    places = np.empty(inputs.shape[1] + 4, np.int64)
    factors = np.empty(inputs.shape[1] + 4, np.float32)
    sums = np.empty(width, np.float32)
    for row in range(len(inputs)):
        seen, count = inputs[row], 0
        for place in range(len(seen)):
            places[count] = place
            count += seen[place] != 0
        for at in range(count):
            factors[at] = np.float32(seen[places[at]]) * scale[places[at]]
        places[count : count + 4] = 0
        factors[count : count + 4] = 0
        sums[:] = bias
        for at in range(0, count, 4):
            f0, f1, f2, f3 = factors[at], factors[at + 1], factors[at + 2], factors[at + 3]
            w0, w1 = weight[places[at]], weight[places[at + 1]]
            w2, w3 = weight[places[at + 2]], weight[places[at + 3]]
            for unit in range(width):
                sums[unit] += (f0 * w0[unit] + f1 * w1[unit]) + (f2 * w2[unit] + f3 * w3[unit])
        for unit in range(width):
            sums[unit] = max(sums[unit], np.float32(0))
        _store(sums, outputs[row])


_BLOCK = 64
"""Rows whose gradients stay in a core's cache."""


@kernel
def _gradients(
    inputs: np.ndarray,
    scale: np.ndarray,
    outputs: np.ndarray,
    gradients: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
) -> None:
    """Adds up the gradients of weights and biases from those of the outputs, where these are above zero."""
    width = weight.shape[1]
    rows = np.empty(_BLOCK + 4, np.int64)
    factors = np.empty(_BLOCK + 4, np.float32)
    through = np.empty((_BLOCK, width), np.float32)
    for start in range(0, len(inputs), _BLOCK):
        block = min(_BLOCK, len(inputs) - start)
        for row in range(block):
            _load(gradients[start + row], through[row])
            for unit in range(width):
                through[row, unit] = through[row, unit] if outputs[start + row, unit] != 0 else np.float32(0)
                bias[unit] += through[row, unit]
        for place in range(inputs.shape[1]):
            count = 0
            for row in range(block):
                rows[count] = row
                count += inputs[start + row, place] != 0
            for at in range(count):
                factors[at] = np.float32(inputs[start + rows[at], place]) * scale[place]
            rows[count : count + 4] = 0
            factors[count : count + 4] = 0
            out = weight[place]
            for at in range(0, count, 4):
                f0, f1, f2, f3 = factors[at], factors[at + 1], factors[at + 2], factors[at + 3]
                g0, g1 = through[rows[at]], through[rows[at + 1]]
                g2, g3 = through[rows[at + 2]], through[rows[at + 3]]
                for unit in range(width):
                    out[unit] += (f0 * g0[unit] + f1 * g1[unit]) + (f2 * g2[unit] + f3 * g3[unit])


def _store(numbers: np.ndarray, out: np.ndarray) -> None:
    """Writes float32 numbers into float32 or, rounded to the nearest, the bits of bfloat16."""
    raise NotImplementedError("compiled alone")


@overload(_store, inline="always")
def _compiled_store(numbers, out):
    if out.dtype == types.float32:

        def store(numbers, out):
            out[:] = numbers

    else:

        def store(numbers, out):
            bits = numbers.view(np.uint32)
            for at in range(len(out)):
                out[at] = np.uint16(
                    (bits[at] + np.uint32(0x7FFF) + ((bits[at] >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
                )

    return store


def _load(numbers: np.ndarray, out: np.ndarray) -> None:
    """Writes float32 numbers, or the bits of bfloat16, as float32."""
    raise NotImplementedError("compiled alone")


@overload(_load, inline="always")
def _compiled_load(numbers, out):
    if numbers.dtype == types.float32:

        def load(numbers, out):
            out[:] = numbers

    else:

        def load(numbers, out):
            bits = out.view(np.uint32)
            for at in range(len(out)):
                bits[at] = np.uint32(numbers[at]) << np.uint32(16)

    return load

"""All weights of a network as one vector, so that a step, a sum over processes or an average is one operation."""

from __future__ import annotations

import torch
from torch import nn


class FlatWeights:
    """Makes the parameters of a network, and their gradients, views of one vector each.

    Args:
        network: Its parameters keep their values.

    Attributes:
        vector: float32 [weights], a parameter of its own for an optimiser.
    """

    def __init__(self, network: nn.Module) -> None:
        parameters = list(network.parameters())
        with torch.no_grad():
            self.vector = nn.Parameter(torch.cat([parameter.reshape(-1) for parameter in parameters]))
            self.gradient = torch.zeros_like(self.vector)
            self.vector.grad = self.gradient
            start = 0
            for parameter in parameters:
                part = slice(start, start + parameter.numel())
                parameter.data = self.vector.data[part].view_as(parameter)
                parameter.grad = self.gradient[part].view_as(parameter)
                start = part.stop

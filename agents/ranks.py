"""The processes that `torchrun` starts: one of them, or all there is."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypeVar

import torch
import torch.distributed as distributed

from bluke_env.evaluation.asking import AgentError
from bluke_env.evaluation.plan import Job
from bluke_env.evaluation.run import JobResult
from bluke_env.evaluation.store import packed, unpacked

T = TypeVar("T")


class Ranks:
    """One of the processes that `torchrun` started; a `bluke_env.evaluation.evaluate.Share`.

    Started without `torchrun` it is the only one, and nothing is exchanged.

    Attributes:
        index: The rank of this process.
        count: How many there are.
    """

    def __init__(self) -> None:
        self.index, self.count = 0, 1
        if "RANK" in os.environ:
            if not distributed.is_initialized():
                distributed.init_process_group("gloo" if not torch.cuda.is_available() else "cpu:gloo,cuda:nccl")
            self.index, self.count = distributed.get_rank(), distributed.get_world_size()

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that writes and tells."""
        return self.index == 0

    def own(self, items: Sequence[T]) -> list[T]:
        """Returns this process's share of some items: every `count`-th, from `index` on."""
        return list(items[self.index :: self.count])

    def joined(self, own: Sequence[float]) -> list[float]:
        """Returns the numbers of all processes, in every process, in the order that `own` took them from.

        All processes give as many.
        """
        if self.count == 1:
            return list(own)
        numbers = torch.tensor(own, dtype=torch.float64)
        shares = [torch.empty_like(numbers) for _ in range(self.count)]
        distributed.all_gather(shares, numbers)
        return torch.stack(shares, 1).flatten().tolist()

    def add(self, tensor: torch.Tensor) -> None:
        """Puts the sum over the processes in place of each one's tensor."""
        if self.count > 1:
            distributed.all_reduce(tensor)

    def close(self) -> None:
        """Ends the exchange, in all processes together: one that just ends while others do not may be aborted."""
        if "RANK" in os.environ:
            distributed.barrier()
            distributed.destroy_process_group()

    def exchanged(self, jobs: Sequence[Job], done: Mapping[Job, JobResult]) -> dict[Job, JobResult]:
        """Returns the results of all jobs, in every process; job i was done by rank i modulo `count`."""
        if self.count == 1:
            return dict(done)
        results = {}
        for number, job in enumerate(jobs):
            owner = number % self.count
            content = packed(done[job]) if owner == self.index else b""
            try:
                results[job] = unpacked(_broadcast(content, owner), f"what rank {owner} sent")
            except RuntimeError as error:
                raise AgentError(f"rank {owner} ended before it could tell its results") from error
        return results


def _broadcast(content: bytes, owner: int) -> bytes:
    """Returns what the owner gave, in every process."""
    size = torch.tensor([len(content)])
    distributed.broadcast(size, owner)
    buffer = torch.frombuffer(bytearray(content or bytes(int(size))), dtype=torch.uint8)
    distributed.broadcast(buffer, owner)
    return buffer.numpy().tobytes()

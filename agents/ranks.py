"""The processes that `torchrun` starts, sharing the jobs of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.distributed as distributed

from bluke_env.evaluation.asking import AgentError
from bluke_env.evaluation.plan import Job
from bluke_env.evaluation.run import JobResult
from bluke_env.evaluation.store import packed, unpacked


class Ranks:
    """One of the processes that `torchrun` started; a `bluke_env.evaluation.evaluate.Share`.

    Attributes:
        index: The rank of this process.
        count: How many there are.
    """

    def __init__(self) -> None:
        distributed.init_process_group("gloo")
        self.index, self.count = distributed.get_rank(), distributed.get_world_size()

    def exchanged(self, jobs: Sequence[Job], done: Mapping[Job, JobResult]) -> dict[Job, JobResult]:
        """Returns the results of all jobs, in every process; job i was done by rank i modulo `count`."""
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

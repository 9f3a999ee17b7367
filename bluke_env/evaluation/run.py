"""Doing the jobs of a plan: here, in several processes, or a part of them on each of several machines."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from bluke_env.errors import checked_integer
from bluke_env.evaluation.asking import AgentError
from bluke_env.evaluation.duplicate import GAMES_AT_ONCE, DuplicateResult
from bluke_env.evaluation.plan import Job, Plan, Seater

JobResult = tuple[DuplicateResult, ...]


def do_jobs(
    plan: Plan,
    jobs: Sequence[Job],
    seat: Seater,
    *,
    workers: int = 1,
    games_at_once: int = GAMES_AT_ONCE,
) -> Generator[tuple[Job, JobResult]]:
    """Does jobs of a plan and yields each with its result as soon as it is done, in any order.

    The results depend on the plan alone, not on who does the jobs.

    Args:
        plan: The plan.
        jobs: Which of its jobs.
        seat: Gives the agent of a name. With several workers it must be a function that another process can import.
        workers: Processes. Scripts that ask for more than one keep their own work under `if __name__ == "__main__":`.
        games_at_once: Games that a process plays at the same time.

    Raises:
        ValueError: An argument is invalid, or a player plays other games.
        AgentError: A player failed, or a process was killed. What was yielded before is complete.
    """
    if checked_integer("workers", workers, 1, 1024) == 1:
        for job in jobs:
            yield job, plan.play(job, seat, games_at_once)
        return
    # Spawned, not forked: a forked process inherits the threads of numerical libraries in an unusable state.
    context = multiprocessing.get_context("spawn")
    failure: Exception | None = None
    with ProcessPoolExecutor(workers, context, _prepare, (plan, seat, games_at_once)) as pool:
        waiting = {pool.submit(_do, job): job for job in jobs}
        for future in as_completed(waiting):
            if future.cancelled():
                continue
            error = future.exception()
            if error is None:
                yield waiting[future], future.result()
            elif failure is None:
                failure = _explained(error)
                pool.shutdown(wait=False, cancel_futures=True)  # what is being played is still finished and yielded
    if failure is not None:
        raise failure


def _explained(error: BaseException) -> Exception:
    if isinstance(error, BrokenProcessPool):
        return AgentError("a worker process was killed, for example for want of memory: use fewer workers")
    return error if isinstance(error, Exception) else RuntimeError(repr(error))


_worker: Callable[[Job], JobResult]
"""In a worker process: does a job."""


def _prepare(plan: Plan, seat: Seater, games_at_once: int) -> None:
    global _worker

    def _worker(job: Job) -> JobResult:
        return plan.play(job, seat, games_at_once)


def _do(job: Job) -> JobResult:
    return _worker(job)

"""Doing the jobs of a plan: here, in several processes, or a part of them on each of several machines."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path

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
    failure: BaseException | None = None
    with ProcessPoolExecutor(workers, context, _prepare, (plan, seat, games_at_once)) as pool:
        with _importable_main():  # this is when the processes start
            waiting = {pool.submit(_do, job): job for job in jobs}
        try:
            for future in as_completed(waiting):
                job, failure = waiting.pop(future), future.exception()
                if failure is not None:
                    break
                yield job, future.result()
        finally:
            for future in waiting:
                future.cancel()
        # What is being played is still finished and yielded.
        for future in as_completed([future for future in waiting if not future.cancelled()]):
            if future.exception() is None:
                yield waiting[future], future.result()
    if failure is not None:
        raise _explained(failure)


@contextmanager
def _importable_main() -> Iterator[None]:
    """Hides that `python -` calls the file of its program "<stdin>", which a process would look for in vain."""
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    if file is None or Path(file).exists():
        yield
        return
    del main.__file__
    try:
        yield
    finally:
        main.__file__ = file


def _explained(error: BaseException) -> Exception:
    if isinstance(error, BrokenProcessPool):
        return AgentError(
            "a worker process died: it was ended by a player, killed, for example for want of memory (use fewer "
            "workers), or could not start (its own error stands above)"
        )
    return error if isinstance(error, Exception) else RuntimeError(repr(error))


_worker: Callable[[Job], JobResult]
"""In a worker process: does a job."""


def _prepare(plan: Plan, seat: Seater, games_at_once: int) -> None:
    global _worker
    threading.Thread(target=_end_with_parent, daemon=True).start()

    def _worker(job: Job) -> JobResult:
        return plan.play(job, seat, games_at_once)


def _end_with_parent() -> None:
    """Ends this process once the one that started it was killed: it would wait for jobs for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _do(job: Job) -> JobResult:
    return _worker(job)

"""Running an evaluation from a command line: playing, going on after a break, writing what came of it."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console
from rich.progress import Progress

from agents.options import Parser, Seats
from bluke_env.evaluation import AgentError, Evaluation, Plan, ResultStore, write_json
from bluke_env.evaluation.evaluate import Share, played
from bluke_env.evaluation.measure import Participant
from bluke_env.evaluation.page import write_page
from bluke_env.evaluation.plan import Job, Results
from bluke_env.evaluation.run import JobResult

_NEUTRAL = ("--workers", "--games-at-once", "--threads", "--time-limit", "--results", "--part", "--json", "--html")
"""Options of one value that change no result; a report does not name them."""


_LONGEST_NAME = 200
"""Bytes of a file's name, so that there is room for what a temporary name adds."""


class Unfinished(Exception):
    """Only a part of the results is there, as was asked for; the sentence says how many."""


class Part:
    """Part `index` + 1 of `count` of the jobs; a `bluke_env.evaluation.evaluate.Share`."""

    def __init__(self, text: str, store: ResultStore) -> None:
        numbers = text.split("/")
        if len(numbers) != 2 or not all(number.isdecimal() for number in numbers):
            raise ValueError(f"--part is {text!r}, but it must be K/N, such as 1/4")
        self.index, self.count = int(numbers[0]) - 1, int(numbers[1])
        if not 0 <= self.index < self.count:
            raise ValueError(f"--part is {text!r}, but K must lie from 1 to N")
        self._store = store

    def exchanged(self, jobs: Sequence[Job], done: Mapping[Job, JobResult]) -> dict[Job, JobResult]:
        """Returns the results of all jobs if the store has the other parts, too."""
        found = {job: self._store.load(job) for job in jobs}
        missing = [job for job, result in found.items() if result is None]
        if missing:
            raise Unfinished(
                f"part {self.index + 1} of {self.count} is done: {self._store.folder} holds {len(jobs) - len(missing)} "
                f"of {len(jobs)} results; once it holds all, this command shows them without --part"
            )
        return {job: result for job, result in found.items() if result is not None}


def play(plan: Plan, seats: Seats, options: Any) -> tuple[Results, float]:
    """Plays a plan as a command line asks, with a progress bar on a terminal.

    Returns:
        The results, and the seconds that it took.

    Raises:
        ValueError: An argument is invalid, or a player plays other games.
        AgentError: A player failed; the sentence says where the results are kept.
        Unfinished: Only a part was to be played.
    """

    def identity(name: str) -> str:
        return repr(tuple(Participant.of(name, seats(name))))

    store = None if options.results is None else ResultStore(options.results, plan, identity)
    for other in options.merge:
        if store is None:
            raise ValueError("--merge needs --results, the folder to merge into")
        store.merge(other)
    if options.part is not None and store is None:
        raise ValueError("--part needs --results, the folder for what it plays")
    share: Share | None = Part(options.part, store) if options.part is not None and store is not None else _ranks()
    rescued: list[ResultStore] = []

    def rescue() -> ResultStore:
        rescued.append(ResultStore(_unused_folder(), plan, identity))
        return rescued[0]

    start = time.perf_counter()
    try:
        with (
            _interruptible(),
            Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress,
        ):
            task = progress.add_task("evaluating", total=len(plan.jobs()) / (1 if share is None else share.count))
            results = played(
                plan,
                seats,
                workers=options.workers,
                games_at_once=options.games_at_once,
                store=store,
                rescue=rescue,
                share=share,
                on_job=lambda: progress.advance(task),
            )
    except (AgentError, KeyboardInterrupt, OSError) as error:
        kept = store or (rescued[0] if rescued else None)
        if kept is None:
            raise
        told = f"{error.strerror} ({error.filename})" if isinstance(error, OSError) else str(error)
        hint = f"what was played before is in {kept.folder}: the same command with --results {kept.folder} goes on"
        raise type(error)(f"{told}; {hint}" if told else hint) from error.__cause__
    return results, time.perf_counter() - start


def is_first_rank() -> bool:
    """Returns whether this process is the one of those that `torchrun` started that shows the results, or alone."""
    return os.environ.get("RANK", "0") == "0"


def _ranks() -> Share | None:
    if "RANK" not in os.environ:
        return None
    from agents.ranks import Ranks

    return Ranks()


def _unused_folder() -> Path:
    number = 1
    while (folder := Path(f"unfinished-{number}")).exists():
        number += 1
    return folder


def check_files(options: Any) -> None:
    """Checks before the work that the files a command line asks for can be written after it.

    Raises:
        ValueError: They cannot.
    """
    for path in (options.json, options.html):
        if path is None:
            continue
        if not path.parent.is_dir() or (path.exists() and not path.is_file()):
            raise ValueError(f"{path} cannot be written: give a file in a folder that exists")
        if not os.access(path.parent, os.W_OK) or len(path.name.encode()) > _LONGEST_NAME:
            raise ValueError(f"{path} cannot be written: its folder is read-only, or its name is too long")
    if options.json is not None and options.json == options.html:
        raise ValueError(f"--json and --html are both {options.json}: give two files")
    if options.html is not None:
        require("an HTML page", "jinja2", "matplotlib")


def require(what: str, *packages: str) -> None:
    """Checks that optional packages are installed.

    Raises:
        ValueError: One is not.
    """
    for package in packages:
        if find_spec(package) is None:
            raise ValueError(f"{what} needs {package}: pip install 'bluke-env[evaluate]'")


def write(evaluation: Evaluation, options: Any, command: Sequence[str], title: str = "Evaluation") -> None:
    """Writes the files that a command line asks for.

    Raises:
        OSError: One could not be written.
    """
    if options.json is None and options.html is None:
        return
    facts = evaluation.to_dict(repeatable(command), options.title or title) | _learning_curves(evaluation)
    failures = []
    for path, writer in ((options.json, write_json), (options.html, write_page)):
        try:
            if path is not None:
                writer(path, facts)
        except OSError as error:
            failures.append(f"{path} could not be written: {error.strerror}")
    if failures:
        raise OSError("; ".join(failures))


def _learning_curves(evaluation: Evaluation) -> dict[str, Any]:
    paths = [player.name for player in evaluation.players if player.name.endswith(".pt")]
    if not paths:
        return {}
    from agents.logs import learning_curve

    curves = ({"name": path, "columns": learning_curve(Path(path))} for path in paths)
    known = [curve for curve in curves if curve["columns"]]
    return {"learning_curves": known} if known else {}


def repeatable(command: Sequence[str]) -> list[str]:
    """Returns a command without the options that change no result."""
    kept: list[str] = []
    words = deque(command)
    while words:
        word = words.popleft()
        name, equals, _ = word.partition("=")
        if name in _NEUTRAL and not equals:
            words.popleft()
        elif name == "--merge":
            while words and not words[0].startswith("--"):
                words.popleft()
        elif name not in _NEUTRAL:
            kept.append(word)
    return kept


@contextmanager
def _interruptible() -> Iterator[None]:
    """Lets what ends this process from outside, `torchrun` for one, interrupt it, so that what was played is kept."""

    def interrupt(*_: Any) -> NoReturn:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # only the main thread hears of signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def reporting(parser: Parser) -> Iterator[None]:
    """Turns what can go wrong into a sentence and an exit code: 2 for bad input, 1 for a player that failed."""
    try:
        yield
    except (ValueError, OSError) as error:
        parser.error(str(error))
    except AgentError as error:
        if error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
        parser.exit(1, f"{parser.prog}: {error}\n")
    except KeyboardInterrupt as error:
        parser.exit(130, f"{parser.prog}: interrupted{f'; {error}' if str(error) else ''}\n")
    except Unfinished as told:
        print(told)
        parser.exit()

"""The folder of a run and how it ends: one process at a time writes there, and an interruption loses nothing."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from filelock import FileLock, Timeout

from agents.ranks import Ranks


def claim(folder: Path, new: bool) -> FileLock:
    """Makes the folder of a run and keeps it for this process.

    Args:
        folder: Where the run writes.
        new: The run begins: the folder of an earlier one is renamed, so that nothing of it is lost.

    Raises:
        ValueError: Another process is training there, or there is a file of that name.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"run_dir is {str(folder)!r}, but that is a file: name a folder")
    if new and (folder / "log.csv").exists():
        locked(folder).release()
        number = next(n for n in itertools.count(1) if not folder.with_name(f"{folder.name}.{n}").exists())
        moved = folder.rename(folder.with_name(f"{folder.name}.{number}"))
        print(f"{folder} held another run, which is now in {moved}")
    folder.mkdir(parents=True, exist_ok=True)
    return locked(folder)


def locked(folder: Path) -> FileLock:
    """Returns the lock of a run's folder, held by this process until it ends.

    Raises:
        ValueError: Another process holds it.
    """
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ValueError(f"another process is training in {folder}: wait for it or choose another run_dir") from None
    return lock


class Interruption:
    """Turns Ctrl-C and SIGTERM into a wish to stop after the iteration; another one later stops at once.

    Args:
        path: The checkpoint of the run.
        ranks: The processes of the run, which stop together.
    """

    TOGETHER = 2.0
    """Seconds within which several signals are one wish: a terminal and `torchrun` both send one to every process."""

    def __init__(self, path: Path, ranks: Ranks) -> None:
        self.signal, self._at = 0, 0.0
        self._path, self._ranks = path, ranks
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._wish)

    def _wish(self, number: int, frame: FrameType | None) -> None:
        if self._ranks.count > 1 and self.signal and time.monotonic() - self._at < self.TOGETHER:
            return
        if self.signal:
            kept = f"{self._path} holds the last save" if self._path.exists() else "nothing was saved yet"
            print(f"\nstopped at once: {kept}", file=sys.stderr)
            os._exit(128 + number)  # the process may be in the middle of a long step
        self.signal, self._at = number, time.monotonic()

    def agreed(self) -> int:
        """Returns the signal that any process of the run got, 0 for none, the same in all of them."""
        return int(max(self._ranks.joined([self.signal])))

    def stop_at_once(self) -> None:
        """Lets the next signal end the program: from here on nothing can be lost."""
        self.signal = self.signal or signal.SIGINT

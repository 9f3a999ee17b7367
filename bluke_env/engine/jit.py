"""How the engine is compiled: the decorators, an honest cache and a line to the user when compiling takes long."""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
from numba.core import event
from numba.core.dispatcher import Dispatcher

NOTICE_AFTER_SECONDS = 2.0


def _source_stamp() -> str:
    """A hash of the source files that compiled code is made of.

    Numba's cache only looks at the file a function stands in; a change to another file that it calls would go
    unnoticed and an outdated engine would keep running.
    """
    digest = hashlib.blake2b(digest_size=16)
    engine = Path(__file__).parent
    for path in sorted(engine.parent.rglob("*.py")):
        source = path.read_bytes()
        if path.parent == engine or b"bluke_env.engine" in source or path.name in ("cards.py", "rules.py"):
            digest.update(source)
    return digest.hexdigest()


def _stamp_of(function: Callable) -> str:
    """A hash of the files of a kernel and of the compiled functions it calls by name, also outside the package."""
    parts, left = set(), {function}
    while left:
        part = left.pop()
        parts.add(part)
        names = part.__code__.co_names
        named = [part.__globals__.get(name) for name in names]
        named += [vars(module).get(name) for module in named if isinstance(module, ModuleType) for name in names]
        left |= {value.py_func for value in named if isinstance(value, Dispatcher)} - parts
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted({Path(part.__code__.co_filename) for part in parts}):
        if path.is_file():  # not so in a notebook or an archive
            digest.update(path.read_bytes())
    return digest.hexdigest()


_STAMP = _source_stamp()


def kernel(function: Callable) -> Any:
    """Compiles a function on its first call, without the interpreter lock, and caches it on disk."""
    dispatcher: Any = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    dispatcher._cache._cache_file._source_stamp = _STAMP + _stamp_of(function)
    return dispatcher


def subroutine(function: Callable) -> Any:
    """Compiles a function that only kernels call."""
    return numba.njit(nogil=True, error_model="numpy")(function)


def inlined(function: Callable) -> Any:
    """Compiles a small function into each of its callers."""
    return numba.njit(nogil=True, error_model="numpy", forceinline=True)(function)


class _Notice(event.Listener):
    """Tells the user once that the engine is being compiled, if that takes longer than a moment."""

    def __init__(self) -> None:
        self._depth = 0
        self._timer: threading.Timer | None = None
        self._told = False

    def on_start(self, event: Any) -> None:
        self._depth += 1
        ours = event.data["dispatcher"].py_func.__module__.startswith("bluke_env.")
        if ours and self._timer is None and not self._told:
            self._timer = threading.Timer(NOTICE_AFTER_SECONDS, self._tell)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: Any) -> None:
        self._depth -= 1

    def _tell(self) -> None:
        self._timer = None
        if self._depth > 0 and not self._told:
            self._told = True
            print(
                "bluke_env: compiling what is used for the first time since the installation ...",
                file=sys.stderr,
                flush=True,
            )


event.register("numba:compile", _Notice())

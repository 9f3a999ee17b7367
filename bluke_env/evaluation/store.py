"""Results on disk: a folder of small files, one a job, written as the jobs are done.

Interrupted runs go on from there, and folders filled on several machines are merged by copying files. A file's name
says what was played by whom, so nothing is ever mixed up: a changed checkpoint or another version of a bot has results
of its own.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np

from bluke_env.evaluation.duplicate import DuplicateResult
from bluke_env.evaluation.files import write_bytes, write_json
from bluke_env.evaluation.plan import Job, Plan

FORMAT = 1
_FACTS = "deals.json"
_NAMES = [field.name for field in fields(DuplicateResult)]


class ResultStore:
    """The results of jobs that share their rules and their deals' seed.

    Args:
        folder: Where they are; it is made if it is not there.
        plan: What is played.
        identity: Says for a name exactly who that is, for example by the hash of a checkpoint.

    Raises:
        ValueError: The folder holds something else, or results by other rules or of another seed.
    """

    def __init__(self, folder: Path, plan: Plan, identity: Callable[[str], str]) -> None:
        self.folder, self._identity = folder, identity
        facts = {"format": FORMAT, "rules": plan.rules.to_dict(), "seed": plan.seed}
        path = folder / _FACTS
        # Another process may be making the same folder now: its unfinished files count as none.
        if not folder.exists() or (folder.is_dir() and all(file.suffix == ".tmp" for file in folder.iterdir())):
            folder.mkdir(parents=True, exist_ok=True)
            write_json(path, facts)
        known = _read_facts(folder)
        for name, value in facts.items():
            if known.get(name) != value:
                raise ValueError(
                    f"{folder} holds results of {name} {known.get(name)}, but now {name} is {value}: "
                    "choose another folder"
                )

    def load(self, job: Job) -> tuple[DuplicateResult, ...] | None:
        """Returns the result of a job, None where it has not been done.

        Raises:
            ValueError: Its file is damaged.
        """
        path = self._path(job)
        return unpacked(path.read_bytes(), str(path), path.stem) if path.exists() else None

    def save(self, job: Job, result: tuple[DuplicateResult, ...]) -> None:
        """Writes the result of a job, whole or not at all."""
        path = self._path(job)
        write_bytes(path, packed(result, path.stem))

    def merge(self, other: Path) -> int:
        """Copies the results of another folder into this one; returns how many were new.

        Raises:
            ValueError: The other folder holds something else, or results by other rules or of another seed, or a
                damaged file. Nothing was copied.
        """
        if _read_facts(other) != _read_facts(self.folder):
            raise ValueError(
                f"{other} and {self.folder} hold results of different rules or seeds: they cannot be merged"
            )
        contents = {path.name: path.read_bytes() for path in sorted(other.glob("*.npz"))}
        for name, content in contents.items():
            unpacked(content, str(other / name), Path(name).stem)
        new = {name: content for name, content in contents.items() if not (self.folder / name).exists()}
        for name, content in new.items():
            write_bytes(self.folder / name, content)
        return len(new)

    def _path(self, job: Job) -> Path:
        who = "\n".join(self._identity(name) for name in job.table)
        table = hashlib.blake2b(who.encode(), digest_size=8).hexdigest()
        kind = "match" if job.hand is None else f"{job.hand.cards}{'nt' if job.hand.no_trump else ''}"
        return self.folder / f"{table}-{kind}-{job.first}-{job.last}.npz"


def packed(result: tuple[DuplicateResult, ...], job: str = "") -> bytes:
    """Returns a job's result as the bytes of an .npz file that knows the job's name."""
    file = io.BytesIO()
    stacked = {name: np.stack([getattr(hand, name) for hand in result]) for name in _NAMES}
    np.savez_compressed(file, allow_pickle=False, job=np.array(job), **stacked)
    return file.getvalue()


def unpacked(content: bytes, where: str, job: str = "") -> tuple[DuplicateResult, ...]:
    """Returns the result that `packed` made bytes of.

    Raises:
        ValueError: It did not make those, or of another job's result.
    """
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in _NAMES}
            of_job = str(file["job"])
        hands = len(arrays["points"])
        result = tuple(
            DuplicateResult(**{name: array[hand] for name, array in arrays.items()}) for hand in range(hands)
        )
    except Exception as error:  # a damaged archive fails in many ways: a wrong sum, an unknown compression, ...
        raise ValueError(f"{where} is damaged or no file of results: delete it, and it will be played again") from error
    if of_job != job:
        raise ValueError(f"{where} holds the results of {of_job}: delete it, and it will be played again")
    return result


def _read_facts(folder: Path) -> dict:
    try:
        facts = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        facts = None
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise ValueError(f"{folder} holds no results of an evaluation: give such a folder, an empty one or a new one")
    return facts

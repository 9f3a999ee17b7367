"""What a run tells about itself: CSV files and TensorBoard always, a progress bar on the terminal."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

from bluke_env.evaluation.files import write_text

Row = dict[str, float]

CURVE = "curve.csv"
"""The live evaluations of a run; see `agents.live`."""

_LOG = "log.csv"
_LOG_COLUMNS = ["decisions", "seconds", "points"]
_MOST_ROWS = 200


def learning_curve(checkpoint: Path) -> dict[str, list[float]] | None:
    """Returns columns of what the run that wrote a checkpoint tells; None where it tells nothing.

    These are the decisions so far and the seconds so far, and of a run with live evaluations what these measured. Of
    others, the points per hand of an iteration: those of the hands that were played to learn from, of whatever
    sizes were drawn. Of many rows at most `_MOST_ROWS` are returned, the last among them.
    """
    rows = read_rows(checkpoint.with_name(CURVE))
    columns = [name for name in rows[0] if name not in ("iteration", "over ladder")] if rows else _LOG_COLUMNS
    rows = rows or read_rows(checkpoint.with_name(_LOG))
    step = -(-len(rows) // _MOST_ROWS) or 1
    return {name: [row[name] for row in rows[::-step][::-1]] for name in columns} if rows else None


def read_rows(path: Path) -> list[Row]:
    """Returns the rows of a CSV file of numbers; none without the file.

    What is no whole row is left out: a crash, or a write that is going on, may have cut the last one.
    """
    if not path.is_file():
        return []
    text = path.read_text("utf-8", errors="replace")
    names, *lines = [*csv.reader(text[: text.rfind("\n") + 1].splitlines())] or [[]]
    rows = []
    for line in lines:
        with suppress(ValueError):
            rows.append({name: _number(value) for name, value in zip(names, line, strict=True)})
    return rows


def rows_until(path: Path, column: str, done: int) -> list[Row]:
    """Returns the rows whose number in a column is at most what a resumed run has already done."""
    return [row for row in read_rows(path) if row.get(column, done + 1) <= done]


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Writes rows of the same keys to a CSV file, whole or not at all; without rows there will be no file."""
    if rows:
        write_text(path, _text([list(rows[0]), *map(_values, rows)]))
    else:
        path.unlink(missing_ok=True)


class RunLog:
    """Writes one row of numbers an iteration.

    Args:
        folder: The run's folder.
        done: Iterations already done; rows beyond them, of a run that was cut off after its last checkpoint, are
            taken out, so that a resumed run logs every iteration once.
    """

    def __init__(self, folder: Path, done: int) -> None:
        self._path = folder / _LOG
        write_rows(self._path, rows_until(self._path, "iteration", done))
        self._writer = SummaryWriter(str(folder), purge_step=done + 1)

    def write(self, row: Row, live: Row) -> None:
        """Appends the numbers of an iteration; `row` has the same keys every time, `iteration` among them.

        Args:
            row: Of the iteration.
            live: Of a live evaluation after it, for TensorBoard alone; `agents.live` writes the file of those.
        """
        header = [] if self._path.exists() else [list(row)]
        with self._path.open("a", encoding="utf-8", newline="") as file:
            file.write(_text([*header, _values(row)]))
        for name, value in (row | {f"live/{name}": value for name, value in live.items()}).items():
            if not name.endswith("iteration"):
                self._writer.add_scalar(name, value, int(row["iteration"]))

    def close(self) -> None:
        """Makes sure that everything is written."""
        self._writer.close()


def _number(text: str) -> float:
    return int(text) if text.isdecimal() else float(text)


def _values(row: Row) -> list[str]:
    return [f"{value:.6g}" if isinstance(value, float) else str(value) for value in row.values()]


def _text(lines: Sequence[Sequence[str]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(lines)
    return file.getvalue()

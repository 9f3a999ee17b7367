"""What a run tells about itself: a CSV file and TensorBoard always, a progress bar on the terminal."""

from __future__ import annotations

import csv
from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

_COLUMNS = ("decisions", "seconds", "points")
_MOST_ROWS = 200


def learning_curve(checkpoint: Path) -> dict[str, list[float]] | None:
    """Returns columns of the log of the run that wrote a checkpoint, at most `_MOST_ROWS` rows; None without a log.

    The columns are the decisions so far, the seconds so far, and the points per hand of an iteration: those of the
    hands that were played to learn from, of whatever sizes were drawn.
    """
    path = checkpoint.with_name("log.csv")
    if not path.is_file():
        return None
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    rows = rows[:: -(-len(rows) // _MOST_ROWS) or 1]
    return {column: [float(row[column]) for row in rows] for column in _COLUMNS}


class RunLog:
    """Writes one row of numbers an iteration.

    Args:
        folder: The run's folder.
        done: Iterations already done; rows beyond them, of a run that was cut off after its last checkpoint, are
            taken out, so that a resumed run logs every iteration once.
    """

    def __init__(self, folder: Path, done: int) -> None:
        self._path = folder / "log.csv"
        self._keep(done)
        self._writer = SummaryWriter(str(folder), purge_step=done + 1)

    def _keep(self, done: int) -> None:
        """Leaves only whole rows of iterations up to `done`; a crash may have cut the last one."""
        lines = self._path.read_text("utf-8", errors="replace").splitlines() if self._path.exists() else []
        if not lines or not lines[0].startswith("iteration,"):
            self._path.unlink(missing_ok=True)
            return
        header, kept = lines[0], []
        for line in lines[1:]:
            iteration = line.partition(",")[0]
            if line.count(",") == header.count(",") and iteration.isdecimal() and int(iteration) <= done:
                kept.append(line)
        temporary = self._path.with_name("log.csv.tmp")
        temporary.write_text("".join(f"{line}\n" for line in (header, *kept)), "utf-8")
        temporary.replace(self._path)

    def write(self, row: dict[str, float]) -> None:
        """Appends the numbers of an iteration; `row` has the same keys every time, `iteration` among them."""
        new = not self._path.exists()
        with self._path.open("a", newline="") as file:
            writer = csv.DictWriter(file, row.keys())
            if new:
                writer.writeheader()
            writer.writerow(
                {name: f"{value:.6g}" if isinstance(value, float) else value for name, value in row.items()}
            )
        for name, value in row.items():
            if name != "iteration":
                self._writer.add_scalar(name, value, int(row["iteration"]))

    def close(self) -> None:
        """Makes sure that everything is written."""
        self._writer.close()

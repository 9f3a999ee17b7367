"""What a run tells about itself: a CSV file and TensorBoard always, a progress bar on the terminal."""

from __future__ import annotations

import csv
from pathlib import Path

from torch.utils.tensorboard import SummaryWriter


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
        if not self._path.exists():
            return
        with self._path.open(newline="") as file:
            reader = csv.DictReader(file)
            rows = [row for row in reader if int(row["iteration"]) <= done]
            names = reader.fieldnames or []
        with self._path.open("w", newline="") as file:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            writer.writerows(rows)

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

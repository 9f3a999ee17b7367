"""Files that are written whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file: first beside its place, and moved there once it is safely on the disk.

    Raises:
        OSError: It could not be written; what was there before is untouched.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes a text file in UTF-8; see `write_bytes`."""
    write_bytes(path, text.encode())


def write_json(path: Path, facts: dict[str, Any]) -> None:
    """Writes facts as a JSON file; see `write_bytes`."""
    write_text(path, json.dumps(facts, indent=2, allow_nan=False) + "\n")

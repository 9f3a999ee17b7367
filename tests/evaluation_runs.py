"""Commands and scripts of evaluation, run as a user runs them, with the policies of the tests at hand."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
TORCHRUN = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone")


def python(
    *arguments: object, cwd: Path, program: str | None = None, timeout: float = 240, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Runs Python with an own working folder; `program` is what it reads from its standard input."""
    paths = os.pathsep.join(map(str, (ROOT, ROOT / "tests")))
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "COLUMNS": "120", **variables},
        input=program,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=timeout,
    )
    done.stderr = re.sub(r"^bluke_env: compiling .*\n", "", done.stderr, flags=re.M)
    return done


def evaluate(*arguments: object, cwd: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    return python("-m", "agents.evaluate", *arguments, cwd=cwd, **options)


def hint_of(sentence: str) -> str:
    """The folder of which a failed run says that it goes on from there."""
    found = re.search(r"; what was played before is in (\S+): the same command with --results \1 goes on$", sentence)
    assert found is not None, sentence
    return found[1]

"""One HTML file that shows everything in an evaluation's JSON report: `python -m bluke_env.evaluation.page IN OUT`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from bluke_env.evaluation import page_sections, page_text, plots
from bluke_env.evaluation.files import write_text
from bluke_env.evaluation.page_text import Facts
from bluke_env.evaluation.report import FORMAT
from bluke_env.rules import Rules
from bluke_env.schedule import ScheduledHand, schedule_text


def write_page(path: Path, facts: Facts) -> None:
    """Writes a report as one HTML file that loads nothing from elsewhere, whole or not at all.

    Args:
        path: The file.
        facts: What the JSON report holds. The same facts give the same bytes.

    Raises:
        ValueError: The facts are no such report.
        ModuleNotFoundError: The packages of the extra `evaluate` are not installed.
        OSError: The file could not be written.
    """
    write_text(path, render_page(facts))


def render_page(facts: Facts) -> str:
    """Returns the text of the HTML file.

    Raises:
        ValueError: The facts are no report of an evaluation.
        ModuleNotFoundError: The packages of the extra `evaluate` are not installed.
    """
    try:
        import jinja2
        import markupsafe
        import matplotlib  # noqa: F401  # found missing here, not halfway through
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"the HTML report needs {error.name}: pip install 'bluke-env[evaluate]'", name=error.name
        ) from error
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise ValueError(f"these facts are no report of format {FORMAT}, as `--json` writes it")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("bluke_env.evaluation"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "estimate": page_text.estimate_text,
        "parts": page_text.estimate_parts,
        "number": page_text.number_text,
        "plain": page_text.plain_text,
        "breakable": lambda text: markupsafe.Markup(page_text.breakable(text)),
        "words": page_text.words,
        "hand": page_text.hand_text,
        "label": page_text.label,
        "command": page_text.command_text,
    }
    environment.globals |= {"dash": plots.dash, "num_series": plots.NUM_SERIES}
    try:
        return environment.get_template("page.html").render(
            facts=facts,
            title=page_text.title(facts),
            answer=page_text.answer(facts),
            overview=page_sections.overview(facts),
            comparisons=page_sections.comparisons(facts),
            tournament=page_sections.tournament(facts),
            curves=page_sections.curves(facts),
            variant=Rules.from_dict(facts["rules"]).variant_text,
            schedule=schedule_text([ScheduledHand(*hand) for hand in facts["rules"]["schedule"]]),
        )
    except (LookupError, TypeError, AttributeError, OverflowError, jinja2.UndefinedError) as error:
        raise ValueError(f"these facts are no complete report, something is missing: {error}") from error


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Ends the program with the message alone."""
        self.exit(2, f"{self.prog}: error: {message}\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line."""
    parser = _Parser(
        prog="python -m bluke_env.evaluation.page", description="Shows the JSON report of an evaluation as a web page."
    )
    parser.add_argument("facts", type=Path, metavar="FACTS.json", help="what --json wrote")
    parser.add_argument("page", type=Path, metavar="PAGE.html", help="the file to write")
    options = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    try:
        write_page(options.page, json.loads(options.facts.read_text(encoding="utf-8")))
    except OSError as error:
        parser.error(f"{error.filename or options.page}: {error.strerror}")
    except (ValueError, ModuleNotFoundError) as error:
        parser.error(f"{options.facts}: {error}" if isinstance(error, ValueError) else str(error))


if __name__ == "__main__":
    main()

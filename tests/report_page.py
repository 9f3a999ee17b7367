"""A report's facts for the tests of its page, and the page taken apart."""

import copy
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

FACTS_PATH = Path(__file__).parent / "page_facts.json"
FACTS = json.loads(FACTS_PATH.read_text(encoding="utf-8"))
SECTIONS = ("comparisons", "tournament", "exploitability", "learning_curves")


def only(*sections: str) -> dict[str, Any]:
    """The facts with these sections alone."""
    absent = set(SECTIONS).difference(sections)
    return {name: copy.deepcopy(value) for name, value in FACTS.items() if name not in absent}


def renamed(name: str) -> dict[str, Any]:
    """The facts with another name for a player, wherever it is."""
    text = json.dumps(FACTS).replace(json.dumps("pimc:worlds=10"), json.dumps(name))
    return json.loads(text)


def as_matches(**wins: float) -> dict[str, Any]:
    """The facts as if whole matches had been played, with what was won of them."""
    facts = only("comparisons") | {"unit": "match", "split": "final"}
    facts["statistics"]["match_wins"] = "share of matches won, ties shared"
    for comparison in facts["comparisons"]:
        comparison["hands"] = []
        comparison["average"]["match_wins"] = wins or {"mean": 0.312, "half_width": 0.021}
        comparison.pop("diagnostics", None)
    return facts


class Page(HTMLParser):
    """A page taken apart: elements, ids, headings, labels, and the rows of the tables by the names of their boxes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self._rows: list[list[str]] = []
        self._in_cell = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        self.tags.append((tag, found))
        if found.get("role") == "region":
            self._rows = self.tables[found["aria-label"] or ""] = []
        if tag == "tr":
            self._rows.append([])
        if tag in ("td", "th"):
            self._rows[-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        self._in_cell &= tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if self._in_cell:
            self._rows[-1][-1] += data.strip()

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == name]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    @property
    def sections(self) -> list[str]:
        return [attributes["id"] or "" for attributes in self.all("section")]

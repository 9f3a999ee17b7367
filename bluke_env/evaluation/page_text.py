"""The words and numbers of the report page."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence
from html import escape
from typing import Any

Facts = dict[str, Any]

_DEFAULT_TITLE = "Evaluation"
_MAX_LEADERS = 3
_LEADING = {"hand": ("over_same_seat", "over_opponents"), "match": ("match_wins", "over_same_seat", "over_opponents")}


def number_text(value: float, half_width: float = 0.0, *, share: bool = False, signed: bool = False) -> str:
    """Returns a number with the decimals that its interval deserves, two at least; a share in percent, one at least."""
    if share:
        return f"{_rounded(100 * value, 100 * half_width, 1, signed)} %"
    return _rounded(value, half_width, 2, signed)


def ends(estimate: Facts, *, share: bool = False) -> tuple[float, float]:
    """Returns the ends of an estimate's interval; a share brings its own where mean ± half width fails it."""
    if share and "low" in estimate:
        return estimate["low"], estimate["high"]
    mean, half_width = estimate["mean"], estimate["half_width"]
    return mean - half_width, mean + half_width


def estimate_parts(estimate: Facts, *, share: bool = False, signed: bool = False) -> tuple[str, str]:
    """Returns a mean, and the interval around it: ± its half, or both ends where the mean is not in the middle."""
    low, high = ends(estimate, share=share)
    half_width = (high - low) / 2
    mean = number_text(estimate["mean"], half_width, share=share, signed=signed)
    if math.isclose(low + high, 2 * estimate["mean"], abs_tol=1e-12):
        return mean, f"± {number_text(half_width, half_width, share=share)}"
    first, last = (number_text(end, half_width, share=share) for end in (low, high))
    return mean, f"({first.removesuffix(' %')} to {last})"


def estimate_text(estimate: Facts, *, share: bool = False, signed: bool = False) -> str:
    """Returns a mean and the interval around it."""
    mean, interval = estimate_parts(estimate, share=share, signed=signed)
    return f"{mean.removesuffix(' %') if interval.startswith('±') else mean} {interval}"


def rating_text(row: Facts) -> str:
    """Returns a rating and its interval."""
    half_width = (row["high"] - row["low"]) / 2
    rating, low, high = (_rounded(row[name], half_width, 0) for name in ("rating", "low", "high"))
    return f"{rating} ({low} to {high})"


def plain_text(value: Any) -> str:
    """Returns any fact as text: estimates with their intervals, other numbers with six digits, lists joined."""
    if isinstance(value, dict) and value.keys() >= {"mean", "half_width"}:
        return estimate_text(value)
    if isinstance(value, dict):
        return ", ".join(f"{words(key)} {plain_text(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(plain_text, value))
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace("-", "−")
    return f"{value:.6g}".replace("-", "−") if isinstance(value, float) else str(value)


def command_text(command: Sequence[str]) -> str:
    """Returns a command as a shell takes it; its first part is the program's name, which may have spaces."""
    return " ".join([command[0], *map(shlex.quote, command[1:])])


def breakable(text: str) -> str:
    """Returns text as HTML that breaks after the separators of players' names, in preference to within words."""
    return "<wbr>".join(map(escape, re.split(r"(?<=[:,/])(?=\S)", text)))


def words(name: str) -> str:
    """Returns the name of a fact as words."""
    return name.replace("_", " ")


def hand_text(hand: Facts) -> str:
    """Returns the kind of a hand."""
    return f"{hand['cards']} NT" if hand.get("no_trump") else str(hand["cards"])


def label(comparison: Facts) -> str:
    """Returns who was compared."""
    return f"{comparison['player']['name']} against {comparison['opponent']['name']}"


def leading(facts: Facts, comparison: Facts) -> list[str]:
    """Returns the statistics that tell who is better, the most telling first."""
    known = [name for name in _LEADING[facts["unit"]] if name in comparison["average"]]
    return known or list(comparison["average"])[:1]


def is_share(facts: Facts, statistic: str) -> bool:
    """Returns whether a statistic is a share, as its meaning says."""
    return facts["statistics"][statistic].startswith("share")


def even_share(facts: Facts) -> float:
    """Returns what each of equal players wins, in percent."""
    return 100 / facts["rotations"]


def title(facts: Facts) -> str:
    """Returns the page's title; that of a mere tournament says so unless it was given another."""
    others = any(facts.get(name) for name in ("comparisons", "exploitability", "learning_curves"))
    if facts["title"] == _DEFAULT_TITLE and facts.get("tournament") and not others:
        return "Tournament"
    return str(facts["title"])


def precision_text(comparison: Facts) -> str | None:
    """Returns what duplicate deals were worth; None where that is not known."""
    known = comparison.get("variance_reduction") or {}
    factors = {name: round(value, 2) for name, value in known.items() if value is not None}
    if not factors:
        return None
    times = (f"{_rounded(value, 0, 1 if value >= 1 else 2)} × ({words(name)})" for name, value in factors.items())
    text = f"Duplicate deals: as precise as {' and '.join(times)} as many independent hands."
    below = " Below 1, a fresh deal for each hand would have been more precise."
    return text + (below if min(factors.values()) < 1 else "")


def answer(facts: Facts) -> str | None:
    """Returns the main result in one sentence; None where nothing was compared."""
    if facts.get("comparisons"):
        return _answer_of_comparison(facts, facts["comparisons"][0])
    ratings = facts.get("tournament", {}).get("ratings")
    if ratings:
        return _answer_of_ratings([row for row in ratings if row["group"] == 0])
    if facts.get("exploitability"):
        first = facts["exploitability"][0]
        return f"The best answer to {first['player']} gains {plain_text(first['exploitability'])} points a hand."
    return None


def _answer_of_comparison(facts: Facts, comparison: Facts) -> str:
    player, opponent = comparison["player"]["name"], comparison["opponent"]["name"]
    statistic = leading(facts, comparison)[0]
    estimate = comparison["average"][statistic]
    if statistic == "match_wins":
        even = number_text(even_share(facts) / 100, share=True)
        value = estimate_text(estimate, share=True)
        return f"{player} wins {value} of the matches against {opponent}, where {even} would be even."
    baseline = (comparison.get("baseline") or comparison["opponent"])["name"]
    among = "" if baseline == opponent else f" among {opponent}"
    mean, half_width = estimate["mean"], estimate["half_width"]
    if abs(mean) <= half_width:
        value = estimate_text(estimate, signed=True)
        return f"{player} and {baseline} cannot be told apart{among}: {value} points a hand."
    size = estimate_text({"mean": abs(mean), "half_width": half_width})
    return f"{player} makes {size} points a hand {'more' if mean > 0 else 'less'} than {baseline}{among}."


def _answer_of_ratings(connected: Sequence[Facts]) -> str:
    ranked = sorted(connected, key=lambda row: -row["rating"])
    best = ranked[0]
    leaders = [row["name"] for row in ranked if row["high"] >= best["low"]]
    if len(leaders) == 1:
        return f"{best['name']} has the highest rating of {len(ranked)} players: {rating_text(best)}."
    *named, last = leaders[:_MAX_LEADERS]
    others = len(leaders) - _MAX_LEADERS
    if others > 0:
        named, last = [*named, last], "1 other" if others == 1 else f"{others} others"
    lead = "lead and " if len(leaders) < len(ranked) else ""
    return f"{', '.join(named)} and {last} {lead}are not told apart."


def _rounded(value: float, half_width: float, least: int, signed: bool = False) -> str:
    decimals = min(6, max(least, -math.floor(math.log10(half_width)))) if half_width > 0 else least
    return f"{value:{'+' if signed else ''}z.{decimals}f}".replace("-", "−")

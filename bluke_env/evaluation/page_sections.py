"""What the sections of the report page show: the facts arranged, and their plots."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from bluke_env.evaluation import plots
from bluke_env.evaluation.page_text import (
    Facts,
    ends,
    estimate_text,
    even_share,
    hand_text,
    is_share,
    label,
    leading,
    number_text,
    precision_text,
    rating_text,
    words,
)

_REACH = " half width"
"""What the name of the column with the half of a figure's interval ends in."""


def overview(facts: Facts) -> Facts | None:
    """Returns the averages of all comparisons, as columns and as forest plots."""
    comparisons = facts.get("comparisons")
    if not comparisons:
        return None
    figures = []
    for statistic in leading(facts, comparisons[0]):
        share = is_share(facts, statistic)
        estimates = [(label(one), one["average"][statistic]) for one in comparisons]
        reference = even_share(facts) if share else 0.0 if statistic.startswith("over_") else None
        axis = f"{words(statistic)}, {'%' if share else 'points a hand'}"
        alt = f"{words(statistic)}, {facts['statistics'][statistic]}: {_alt(estimates, share)}"
        rows = _intervals(estimates, share)
        svg = plots.forest(f"average-{statistic}", alt, rows, label=axis, reference=reference)
        figures.append({"svg": svg, "caption": facts["statistics"][statistic]})
    columns = sorted(_columns(facts, comparisons[0]), key=lambda column: column["name"] != "match_wins")
    return {"figures": figures, "columns": columns}


def comparisons(facts: Facts) -> list[Facts]:
    """Returns each comparison with its columns and its plots."""
    return [
        _comparison(facts, comparison, f"comparison{index}")
        for index, comparison in enumerate(facts.get("comparisons", []))
    ]


def tournament(facts: Facts) -> Facts | None:
    """Returns the matrix with the strength of each cell's colour, and the ratings from the best on, by group."""
    tournament = facts.get("tournament")
    if not tournament:
        return None
    cells = [cell for row in tournament["matrix"] for cell in row if cell is not None]
    most = max((abs(cell["mean"]) for cell in cells), default=0.0) or 1.0
    ratings = sorted(tournament.get("ratings", []), key=lambda row: (row["group"], -row["rating"]))
    figure = None
    if ratings:
        rows = [
            plots.Interval(
                f"{row['name']} · unconnected" if row["group"] > 0 else row["name"],
                row["rating"],
                row["low"],
                row["high"],
            )
            for row in ratings
        ]
        caption = "On Elo's scale: 400 more are odds of 10 to 1 to make more points at the same table"
        alt = "Ratings: " + "; ".join(f"{row['name']} {rating_text(row)}" for row in ratings)
        figure = {
            "svg": plots.forest("ratings", alt, rows, label="rating", reference=None),
            "caption": caption,
        }
    return {
        "most": most,
        "played": "matches" if facts["unit"] == "match" else "hands",
        "ratings": [row | {"text": rating_text(row)} for row in ratings],
        "points": all("points" in row for row in ratings),
        "connected": all(row["group"] == 0 for row in ratings),
        "figure": figure,
    }


def curves(facts: Facts) -> Facts | None:
    """Returns a plot of each figure that all runs have over each measure of effort, and where each run ended."""
    runs = facts.get("learning_curves")
    if not runs:
        return None
    names = list(dict.fromkeys(name for run in runs for name in run["columns"]))
    shared = [name for name in names if all(name in run["columns"] for run in runs)]
    leads = [name for name in shared if name == "points" or (name.startswith("over ") and not name.endswith(_REACH))]
    figures = [
        _curves(f"curves-{effort[0]}-{number}", runs, lead, *effort)
        for number, lead in enumerate(leads)
        for effort in (("decisions", "decisions", 1), ("seconds", "hours", 3600))
        if effort[0] in shared
    ]
    return {"figures": figures, "names": names}


def _curves(key: str, runs: Sequence[Facts], lead: str, effort: str, unit: str, scale: float) -> Facts:
    """Returns the plot of one figure over one measure of effort, a line for each run."""
    columns = [run["columns"] for run in runs]
    lines = [
        plots.Curve([value / scale for value in run[effort]], run[lead], run.get(lead + _REACH)) for run in columns
    ]
    what = "Points" if lead == "points" else f"Points {lead}"
    alt = f"{what} by {unit}, of {len(runs)} runs; the table tells where each ended"
    svg = plots.curves(key, alt, lines, x_label=unit, y_label="points")
    return {"svg": svg, "caption": f"{what} by {unit}"}


def _comparison(facts: Facts, comparison: Facts, key: str) -> Facts:
    return {
        "facts": comparison,
        "columns": _columns(facts, comparison),
        "figures": _hand_figures(facts, comparison, key),
        "bidding": _bidding(comparison, key),
        "precision": precision_text(comparison),
    }


def _columns(facts: Facts, comparison: Facts) -> list[Facts]:
    return [
        {"name": name, "share": is_share(facts, name), "signed": name.startswith("over_")}
        for name in comparison["average"]
    ]


def _hand_figures(facts: Facts, comparison: Facts, key: str) -> list[Facts]:
    if not comparison["hands"]:
        return []
    figures = []
    for statistic in leading(facts, comparison):
        estimates = [(hand_text(hand), hand["estimates"][statistic]) for hand in comparison["hands"]]
        name = words(statistic)
        alt = f"{name} by hand size: {_alt(estimates)}"
        svg = plots.by_hand(f"{key}-{statistic}", alt, _intervals(estimates), label="points a hand")
        figures.append({"svg": svg, "caption": f"{name} by hand size".capitalize()})
    return figures


def _bidding(comparison: Facts, key: str) -> Facts | None:
    """Returns the figures of a comparison's diagnostics."""
    cells = comparison.get("diagnostics", {}).get("calibration")
    if not cells:
        return None
    by_bid = _pooled(cells, lambda cell: cell["bid"])
    bids = sorted(by_bid)
    tricks = [by_bid[bid]["tricks"] for bid in bids]
    alt = "Mean tricks by bid: " + "; ".join(
        f"{bid} bid, {number_text(taken)} taken" for bid, taken in zip(bids, tricks, strict=True)
    )
    svg = plots.calibration(f"{key}-calibration", alt, bids, tricks, [by_bid[bid]["hands"] for bid in bids])
    figures = [
        {"svg": svg, "caption": "Reliability of the bids in all hands played; on the dashed line they come true"}
    ]
    rated = [
        (hand_text(hand), hand["estimates"]["made"]) for hand in comparison["hands"] if "made" in hand["estimates"]
    ]
    if rated:
        alt, rows = f"Bids made: {_alt(rated, share=True)}", _intervals(rated, share=True)
        svg = plots.by_hand(f"{key}-made", alt, rows, label="bids made, %", share=True)
        figures.append({"svg": svg, "caption": "Make rate by hand size"})
    by_size = _pooled(cells, lambda cell: cell["cards"])
    over, under = ([part[name] for part in by_size.values()] for name in ("over", "under"))
    alt = "Mean tricks over and under the bid: " + "; ".join(
        f"hands of {size}, {number_text(part['over'])} over, {number_text(part['under'])} under"
        for size, part in by_size.items()
    )
    svg = plots.over_and_under(f"{key}-over", alt, list(map(str, by_size)), over, under)
    figures.append({"svg": svg, "caption": "Tricks over and under the bid by hand size"})
    return {"figures": figures, "by_bid": [{"bid": bid, **by_bid[bid]} for bid in bids]}


def _pooled(cells: Iterable[Facts], key: Callable[[Facts], Any]) -> dict[Any, Facts]:
    """Returns the cells that share a key as one, their means weighted by hands."""
    groups = defaultdict(list)
    for cell in cells:
        groups[key(cell)].append(cell)
    pooled = {}
    for name, group in groups.items():
        hands = sum(cell["hands"] for cell in group)
        means = ("tricks", "made", "over", "under")
        pooled[name] = {mean: sum(cell[mean] * cell["hands"] for cell in group) / hands for mean in means}
        pooled[name]["hands"] = hands
    return pooled


def _intervals(estimates: Sequence[tuple[str, Facts]], share: bool = False) -> list[plots.Interval]:
    scale = 100 if share else 1
    return [
        plots.Interval(label, scale * estimate["mean"], *(scale * end for end in ends(estimate, share=share)))
        for label, estimate in estimates
    ]


def _alt(estimates: Sequence[tuple[str, Facts]], share: bool = False) -> str:
    return "; ".join(f"{label} {estimate_text(estimate, share=share)}" for label, estimate in estimates)

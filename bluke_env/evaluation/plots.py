"""The plots of the report page, drawn by matplotlib as SVG that takes its colours and its type from the page.

Every plot is as wide as a phone's screen and has its words as text. The same arguments give the same bytes.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NUM_SERIES = 6
"""Colours of the style sheet for lines that share a plot; beyond them the lines are broken."""

_POINTS_PER_INCH = 72
_WIDTH = 340
_HEIGHT = 260
_MAX_LABEL = 42
_MAX_TICKS = 14
_NAMES = ("ink", "muted", "line", "surface", "more", "less", *(f"series{index}" for index in range(NUM_SERIES)))
_COLOURS = {name: f"#a1b2{index:02x}" for index, name in enumerate(_NAMES)}
"""Stand-ins, each replaced by the style sheet's colour of that name."""

_STYLE = {
    "svg.fonttype": "none",
    "font.size": 12,
    "text.parse_math": False,
    "text.color": _COLOURS["ink"],
    "axes.labelcolor": _COLOURS["muted"],
    "axes.edgecolor": _COLOURS["line"],
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": _COLOURS["line"],
    "grid.linewidth": 0.6,
    "xtick.color": _COLOURS["line"],
    "ytick.color": _COLOURS["line"],
    "xtick.labelcolor": _COLOURS["muted"],
    "ytick.labelcolor": _COLOURS["muted"],
    "figure.facecolor": "none",
    "legend.frameon": False,
}


class Interval(NamedTuple):
    """A value, the interval around it, and what it is of."""

    label: str
    mean: float
    low: float
    high: float


class Curve(NamedTuple):
    """A line through points, with a gap where y is None, and around it the band of y ± `reach` if there is one."""

    x: Sequence[float]
    y: Sequence[float | None]
    reach: Sequence[float] | None = None


def forest(key: str, alt: str, rows: Sequence[Interval], *, label: str, reference: float | None) -> str:
    """Draws intervals one below the other, each under its name.

    Args:
        key: Names the plot within the page.
        alt: What it shows, in words.
        rows: From the top.
        label: Of the values.
        reference: Intervals that lie on one side of it take that side's colour; None for no such value.

    Returns:
        The SVG element; so do all plots here.
    """

    def draw(axes: Axes) -> None:
        for place, row in enumerate(rows):
            colour = _COLOURS[_side(row, reference)]
            reach = (row.high - row.low) / 2
            axes.errorbar(row.low + reach, -place, xerr=reach, fmt="none", ecolor=colour, capsize=3)
            axes.plot(row.mean, -place, "o", color=colour, markersize=6)
            # Neither the reference nor the grid runs through a name.
            axes.axhspan(-place + 0.2, -place + 0.47, color=_COLOURS["surface"], linewidth=0, zorder=0.8)
            axes.annotate(
                _shortened(row.label),
                (0, -place + 0.33),
                xycoords=("axes fraction", "data"),
                va="center",
                annotation_clip=False,
            )
        if reference is not None:
            axes.axvline(reference, color=_COLOURS["muted"], linewidth=1, zorder=0.5)
        axes.set(xlabel=label, ylim=(-len(rows) + 0.5, 0.6), yticks=[])
        axes.margins(x=0.08)
        axes.spines["left"].set_visible(False)

    return _svg(key, alt, 52 + 40 * len(rows), draw)


def by_hand(key: str, alt: str, rows: Sequence[Interval], *, label: str, share: bool = False) -> str:
    """Draws an interval for each kind of hand, with zero in sight; shares are percentages."""

    def draw(axes: Axes) -> None:
        for place, row in enumerate(rows):
            colour = _COLOURS["series0" if share else _side(row, 0)]
            reach = [[row.mean - row.low], [row.high - row.mean]]
            axes.errorbar(place, row.mean, yerr=reach, fmt="o", color=colour, capsize=3, markersize=5)
        _hand_ticks(axes, [row.label for row in rows])
        axes.axhline(0, color=_COLOURS["muted"], linewidth=1, zorder=0.5)
        axes.set_ylabel(label)
        if share:
            axes.set(ylim=(-4, 104), yticks=range(0, 101, 20))

    return _svg(key, alt, _HEIGHT, draw)


def over_and_under(key: str, alt: str, hands: Sequence[str], over: Sequence[float], under: Sequence[float]) -> str:
    """Draws the mean tricks over the bid upwards and those under it downwards, for each kind of hand."""

    def draw(axes: Axes) -> None:
        axes.bar(range(len(hands)), over, color=_COLOURS["more"], width=0.7)
        axes.bar(range(len(hands)), [-value for value in under], color=_COLOURS["less"], width=0.7)
        axes.axhline(0, color=_COLOURS["muted"], linewidth=1)
        _hand_ticks(axes, hands)
        axes.set_ylabel("tricks under · over the bid")

    return _svg(key, alt, _HEIGHT, draw)


def calibration(key: str, alt: str, bids: Sequence[int], tricks: Sequence[float], hands: Sequence[int]) -> str:
    """Draws the reliability curve of the bids: mean tricks by bid, the area of a point being the number of hands."""

    def draw(axes: Axes) -> None:
        end = max(*bids, *tricks) * 1.08 + 0.3
        axes.plot([0, end], [0, end], color=_COLOURS["muted"], linewidth=1, linestyle=(0, (4, 3)))
        axes.plot(bids, tricks, color=_COLOURS["series0"], linewidth=1.2)
        areas = [14 + 220 * count / max(hands) for count in hands]
        axes.scatter(bids, tricks, s=areas, color=_COLOURS["series0"], alpha=0.65, linewidths=0)
        axes.set(xlim=(0, end), ylim=(0, end), xlabel="tricks bid", ylabel="tricks taken, mean", aspect="equal")
        step = max(1, math.ceil(end / 8))
        ticks = range(0, math.floor(end) + 1, step)
        axes.set(xticks=ticks, yticks=ticks)

    return _svg(key, alt, _HEIGHT, draw)


def curves(key: str, alt: str, lines: Sequence[Curve], *, x_label: str, y_label: str) -> str:
    """Draws lines, in the colours `series0` on and with the dashes that `dash` tells of their number."""

    def draw(axes: Axes) -> None:
        from matplotlib.ticker import EngFormatter

        styles = {"solid": "-", "dashed": (0, (5, 2)), "dotted": (0, (1, 1.5))}
        for number, line in enumerate(lines):
            colour = _COLOURS[f"series{number % NUM_SERIES}"]
            y = [math.nan if value is None else value for value in line.y]
            axes.plot(line.x, y, color=colour, linestyle=styles[dash(number)], linewidth=1.6)
            if line.reach is not None:
                pairs = list(zip(y, line.reach, strict=True))
                low, high = [mean - reach for mean, reach in pairs], [mean + reach for mean, reach in pairs]
                axes.fill_between(line.x, low, high, color=colour, alpha=0.18, linewidth=0)
        if axes.get_xlim()[1] >= 1000:
            axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.set(xlabel=x_label, ylabel=y_label)

    return _svg(key, alt, _HEIGHT, draw)


def dash(number: int) -> str:
    """Returns the CSS border style that looks like the line of that number among `curves`."""
    return ("solid", "dashed", "dotted")[number // NUM_SERIES % 3]


def _side(row: Interval, reference: float | None) -> str:
    if reference is None:
        return "series0"
    return "more" if row.low > reference else "less" if row.high < reference else "muted"


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_LABEL else text[: _MAX_LABEL - 1] + "…"


def _hand_ticks(axes: Axes, hands: Sequence[str]) -> None:
    step = math.ceil(len(hands) / _MAX_TICKS)
    axes.set_xticks(range(0, len(hands), step), [hand.replace(" ", "\n") for hand in hands[::step]])
    axes.set_xlabel("cards of the hand")
    axes.grid(False, axis="x")


def _svg(key: str, alt: str, height: float, draw: Callable[[Axes], None]) -> str:
    from matplotlib import style
    from matplotlib.figure import Figure

    buffer = io.StringIO()
    with style.context([_STYLE, {"svg.hashsalt": key}], after_reset=True), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the reader's fonts draw the text, not matplotlib's
        figure = Figure(figsize=(_WIDTH / _POINTS_PER_INCH, height / _POINTS_PER_INCH), layout="constrained")
        draw(figure.add_subplot())
        figure.savefig(buffer, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    return _embedded(buffer.getvalue(), key, alt)


def _embedded(text: str, key: str, alt: str) -> str:
    """Returns an SVG file's element, fit to stand beside others within a page."""
    head, _, body = text.partition("<svg")[2].partition(">")
    view = re.search(r'viewBox="[^"]*"', head)
    assert view, "matplotlib's SVG has a viewBox"
    body = re.sub(r"<style.*?</style>", "", body, flags=re.DOTALL)
    body = body.replace("xlink:href", "href")
    body = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{key}-", body)
    for name, colour in _COLOURS.items():
        body = body.replace(colour, f"var(--{name})")
    return f'<svg {view[0]} role="img" aria-label="{escape(alt)}">{body.rstrip()}'

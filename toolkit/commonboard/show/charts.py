"""Curves: one line for each policy, drawn by matplotlib in one shared style, with the numbers as text beside it."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, Final

from commonboard.errors import CommonboardError
from commonboard.show.picture import Picture

# Okabe and Ito's colours, and a marker for each, so that colour is never the only sign.
_LOOKS: Final = (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"), ("#56B4E9", "v"), ("#E69F00", "P"))
_WIDTH, _HEIGHT = 640, 320


class ChartError(CommonboardError, ValueError):
    """There is nothing to draw, or nothing to draw it with."""


def curve(lines: Mapping[str, Mapping[float, float]], *, x: str, y: str, caption: str) -> Picture:
    """A line chart.

    Args:
        lines: for each line its name and its points, `{x: y}`.
        x, y: what the axes mean, with the unit in brackets.
        caption: one sentence: what is to be seen.

    Raises:
        ChartError: there are no points, more lines than can be told apart, or matplotlib is not installed.
    """
    if not lines or not all(lines.values()):
        raise ChartError("a chart needs at least one line, and each line at least one point")
    if len(lines) > len(_LOOKS):
        raise ChartError(f"{len(lines)} lines cannot be told apart; draw at most {len(_LOOKS)}")
    table = _table(lines, x, y)
    return Picture(_draw(lines, x, y), f"{caption}\n{table}", caption, table, _WIDTH, _HEIGHT)


def _draw(lines: Mapping[str, Mapping[float, float]], x: str, y: str) -> str:
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise ChartError("charts need matplotlib: pip install 'commonboard[lab]'") from None
    style: dict[str, Any] = {
        "svg.hashsalt": "commonboard",  # element ids that do not change from run to run
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.size": 11,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.3,
    }
    with rc_context(style):  # type: ignore[arg-type]  # its stubs want the names of all settings as literals
        figure = Figure(figsize=(_WIDTH / 100, _HEIGHT / 100), dpi=100, layout="constrained")
        axes = figure.subplots()
        for (name, points), (colour, marker) in zip(lines.items(), _LOOKS, strict=False):
            axes.plot(list(points), list(points.values()), color=colour, marker=marker, linewidth=2, label=name)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))
        if len(lines) > 1:
            axes.legend(frameon=False)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    return svg[svg.index("<svg") :]


def _table(lines: Mapping[str, Mapping[float, float]], x: str, y: str) -> str:
    rows = [[x, *lines]]
    for place in sorted({place for points in lines.values() for place in points}):
        rows.append([f"{place:g}", *(f"{points[place]:.3g}" if place in points else "" for points in lines.values())])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    told = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([f"{y}:", *told])

"""Charts: curves, curves in panels over one axis, and bars, drawn by matplotlib in one shared style.

Each says its numbers as text too, and no line is told from another by its colour alone.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Real
from typing import TYPE_CHECKING, Any, Final

from commonboard.errors import CommonboardError, kind_of
from commonboard.show.picture import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Points = Mapping[float, float]
Lines = Mapping[str, Points]

# Okabe and Ito's colours, and a marker and a hatch for each, so that colour is never the only sign.
_LOOKS: Final = (
    ("#0072B2", "o", ""),
    ("#D55E00", "s", "//"),
    ("#009E73", "^", "\\\\"),
    ("#CC79A7", "D", "xx"),
    ("#56B4E9", "v", ".."),
    ("#E69F00", "P", "++"),
)
# Panels often have lines at 0 on top of each other: through the gaps of the later ones, the earlier ones show.
_DASHES: Final = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 3)))
_WIDTH, _HEIGHT, _PANEL, _BAR = 640, 320, 190, 34
_STYLE: Final[dict[str, Any]] = {
    "svg.hashsalt": "commonboard",  # element ids that do not change from run to run
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
}


# matplotlib writes its colours into each element, and only `!important` is stronger than that.
_DARK: Final = (
    "<style>@media (prefers-color-scheme:dark){"
    '#figure_1 text{fill:#e6edf3 !important}#figure_1 [style*="fill: #ffffff"]{fill:#14191f !important}'
    '#figure_1 [style*="stroke: #000000"]{stroke:#c3ccd5 !important}'
    "}</style>"
)


class ChartError(CommonboardError, ValueError):
    """There is nothing to draw, or nothing to draw it with."""


def curve(lines: Lines, *, x: str, y: str, caption: str, log: bool = False) -> Picture:
    """A line chart.

    Args:
        lines: for each line its name and its points, `{x: y}`.
        x, y: what the axes mean, with the unit in brackets.
        caption: one sentence: what is to be seen.
        log: whether each step of the y axis is ten times the one before, for what grows fast; then all points are above 0.

    Raises:
        ChartError: there are no points, or none that such an axis has; more lines than can be told apart; an argument is not as
            above; or matplotlib is not installed.
    """
    _check_charts({y: lines})
    _check(list(lines), [list(points) for points in lines.values()], "line")
    if log and any(value <= 0 for points in lines.values() for value in points.values()):
        raise ChartError("an axis with log=True has no place for 0 and below; leave these points out, or log=True")
    with _figure(_WIDTH, _HEIGHT) as (figure, svg):
        axes = figure.subplots()
        _plot(axes, lines, y, log=log)
        axes.set_xlabel(x)
        if len(lines) > 1:
            axes.legend(frameon=False)
    return _picture(svg, _table(lines, x, y, _number if log else "{:.3g}".format), caption, _HEIGHT)


def panels(charts: Mapping[str, Lines], *, x: str, caption: str) -> Picture:
    """Line charts of the same lines one above the other, over one x axis.

    Args:
        charts: for each panel what its y axis means, and its lines as for `curve`; a line may lack points.
        x: what the shared axis means, with the unit in brackets.
        caption: one sentence: what is to be seen.

    Raises:
        ChartError: as for `curve`.
    """
    _check_charts(charts)
    names = list(dict.fromkeys(name for lines in charts.values() for name in lines))
    _check(names, [list(lines) for lines in charts.values()], "line")
    height = _PANEL * len(charts) + 60
    with _figure(_WIDTH, height) as (figure, svg):
        every = figure.subplots(len(charts), sharex=True, squeeze=False)
        for (y, lines), axes in zip(charts.items(), every[:, 0], strict=True):
            _plot(axes, {name: lines.get(name, {}) for name in names}, y, _DASHES)
        every[-1, 0].set_xlabel(x)
        if len(names) > 1:
            figure.legend(*every[0, 0].get_legend_handles_labels(), loc="outside upper left", frameon=False, ncols=3)
    told = "\n\n".join(_table(lines, x, y, _number) for y, lines in charts.items())
    return _picture(svg, told, caption, height)


def bars(charts: Mapping[str, Mapping[str, float | None]], *, caption: str) -> Picture:
    """Bars of the same names side by side, one chart a measure; a bar that is `None` is left out.

    Args:
        charts: for each chart what its axis means, with the unit in brackets, and its bars by name.
        caption: one sentence: what is to be seen.

    Raises:
        ChartError: as for `curve`.
    """
    _check_charts({"": charts}, str, Real | None)
    names = list(dict.fromkeys(name for chart in charts.values() for name in chart))
    _check([], [list(chart) for chart in charts.values()], "bar")
    height = _BAR * len(names) + 90
    with _figure(_WIDTH, height) as (figure, svg):
        every = figure.subplots(1, len(charts), sharey=True, squeeze=False)
        for (what, chart), axes in zip(charts.items(), every[0], strict=True):
            _bars(axes, names, [chart.get(name) for name in names])
            axes.set_title(what, fontsize=10, loc="left")
        every[0, 0].invert_yaxis()
    return _picture(svg, _columns(charts, names), caption, height)


def _check_charts(charts: Any, along: type = Real, up: Any = Real) -> None:
    """Refuse what is no `{axis: {line: {x: y}}}`, with each x of the type `along` and each y of the type `up`."""
    for lines in _parts(charts):
        for points in _parts(lines):
            wrong = [one for one in _parts(points) if not isinstance(one, up)]
            wrong += [one for one in points if not isinstance(one, along)]
            if wrong:
                raise ChartError(f"a chart is made of numbers, and here is {wrong[0]!r:.60}")


def _parts(things: Any) -> list[Any]:
    if not isinstance(things, Mapping):
        raise ChartError(
            f"a chart takes a dict of names to dicts of numbers, and here is {kind_of(things)} in the place of a dict"
        )
    return list(things.values())


def _check(lines: Sequence[str], parts: Sequence[Sequence[Any]], what: str) -> None:
    if not parts or not all(parts):
        raise ChartError(f"a chart needs at least one {what}, and each line at least one point")
    if len(lines) > len(_LOOKS):
        raise ChartError(f"{len(lines)} lines cannot be told apart; draw at most {len(_LOOKS)}")


@contextmanager
def _figure(width: int, height: int) -> Iterator[tuple[Figure, list[str]]]:
    """A figure in the shared style, and where its SVG will be when the block has ended."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise ChartError("charts need matplotlib: pip install 'commonboard[lab]'") from None
    svg: list[str] = []
    with rc_context(_STYLE):  # type: ignore[arg-type]  # its stubs want the names of all settings as literals
        figure = Figure(figsize=(width / 100, height / 100), dpi=100, layout="constrained")
        yield figure, svg
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    svg.append(text.getvalue())


def _plot(axes: Axes, lines: Lines, y: str, dashes: Sequence[Any] = ("-",) * len(_LOOKS), log: bool = False) -> None:
    for (name, points), (colour, marker, _), dash in zip(lines.items(), _LOOKS, dashes, strict=False):
        style: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": dash, "linewidth": 2, "label": name}
        axes.plot(list(points), list(points.values()), **style)
    if all(float(x).is_integer() for points in lines.values() for x in points):
        axes.locator_params("x", integer=True)  # there are no 2.5 agents
    axes.set_ylabel(y)
    if log:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))


def _bars(axes: Axes, names: Sequence[str], values: Sequence[float | None]) -> None:
    for place, value in enumerate(values):
        colour, _, hatch = _LOOKS[place % len(_LOOKS)]
        drawn = axes.barh([place], [value or 0], height=0.7, color=colour, hatch=hatch, edgecolor="white")
        axes.bar_label(drawn, ["–" if value is None else _number(value)], padding=3, fontsize=10)
    axes.set_yticks(range(len(names)), names)
    axes.set_xlim(0, 1.5 * max([value or 0 for value in values] + [1e-9]))
    axes.xaxis.set_major_locator(_ticks())
    axes.set_axisbelow(True)
    axes.grid(False, axis="y")


def _ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(3)


def _picture(svg: Sequence[str], told: str, caption: str, height: int) -> Picture:
    (text,) = svg
    drawing = text[text.index("<svg") :]
    inside = drawing.index(">") + 1
    return Picture(f"{drawing[:inside]}{_DARK}{drawing[inside:]}", f"{caption}\n{told}", caption, told, _WIDTH, height)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _table(lines: Lines, x: str, y: str, number: Callable[[float], str] = "{:.3g}".format) -> str:
    rows = [[x, *lines]]
    for place in sorted({place for points in lines.values() for place in points}):
        rows.append([f"{place:g}", *(number(points[place]) if place in points else "" for points in lines.values())])
    return "\n".join([f"{y}:", *_aligned(rows)])


def _columns(charts: Mapping[str, Mapping[str, float | None]], names: Sequence[str]) -> str:
    rows = [["", *charts]]
    for name in names:
        values = [chart.get(name) for chart in charts.values()]
        rows.append([name, *("–" if value is None else _number(value) for value in values)])
    return "\n".join(_aligned(rows))


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]

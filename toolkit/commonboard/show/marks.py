"""The alphabet of the space-time picture: one shape for each kind of operation, and the colours.

Colours follow Okabe and Ito (2008), whose palette people with any kind of colour vision can tell apart, a little darker on
white and lighter on black, for contrast. Vermillion is kept for the guilty path. No colour says anything that a shape, a
number or a word does not say too.
"""

from __future__ import annotations

from collections.abc import Iterable

from commonboard.history import Operation

SANS = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"

# On white, on black.
AGENT_COLOURS = (
    ("#0072B2", "#4FA9E2"),  # blue
    ("#009E73", "#2FC79B"),  # bluish green
    ("#B8568F", "#E39AC4"),  # reddish purple
    ("#C98600", "#F0B429"),  # orange
    ("#3E93C4", "#8CCBEF"),  # sky blue
    ("#5C6670", "#A9B4C0"),  # grey
)

_LIGHT = (
    f"text{{font:11.5px {SANS};fill:#1f2328}}",
    f".m{{font:12px {MONO};white-space:pre}}",
    f".k{{font:11px {MONO};fill:#59636e}}",
    ".h{font-size:13px;font-weight:600}",
    ".q{fill:#59636e}",
    ".i{font-style:italic}",
    ".a{font-weight:700}",
    ".x{fill:#A84300;font-weight:700}",
    ".w{fill:#A84300;font-size:12.5px;font-weight:600}",
    ".n{fill:#fff;font-size:11px;font-weight:700}",
    ".card{fill:#fff;stroke:#d5dbe1}",
    ".panel{fill:#f2f5f8}",
    ".edge{stroke:#8b96a2;stroke-width:3}",
    ".pill{fill:#fff;stroke:currentColor;stroke-width:1.8}",
    ".lane{stroke:currentColor;stroke-width:1.4;opacity:.55}",
    ".line{stroke:currentColor;stroke-width:1.6;fill:none}",
    ".solid{fill:currentColor}",
    ".open{fill:#fff;stroke:currentColor;stroke-width:2}",
    ".cut{stroke:#fff;stroke-width:2;fill:none}",
    ".cross{stroke:currentColor;stroke-width:2;fill:none}",
    ".bar{fill:currentColor;fill-opacity:.16;stroke:currentColor;stroke-width:1.2}",
    ".read{fill:#fff;stroke:#8b96a2}",
    ".made{fill:#3b4651}",
    ".v{font-weight:700}",
    ".made+.v{fill:#fff}",
    ".hi{color:#D55E00}",
    ".hi .line{stroke-width:3}",
    ".guilt{stroke:#D55E00;stroke-width:4.5;stroke-linecap:round}",
    ".badge{fill:#BF4F00}",
    ".dim>path,.dim>circle,.dim>rect,.bar.dim{opacity:.5}",
    ".dim>.made{opacity:.75}",
    ".dim text{fill:#59636e}",
    ".dim .made+.v{fill:#fff}",
    ".later{opacity:.3}",
    ".now{fill:#fff1cc}",
    ".here{fill:#1f2328}",
    ".gap{fill:#fff}",
    ".dots{stroke:#8b96a2;stroke-width:1.4;stroke-dasharray:1.5 4;fill:none}",
    ".store{color:#59636e}",
    *(f".c{place}{{color:{light}}}" for place, (light, _) in enumerate(AGENT_COLOURS)),
)
_DARK = (
    "text{fill:#e6edf3}",
    ".q,.k,.dim text{fill:#9aa7b4}",
    ".x,.w{fill:#FF9B57}",
    ".n,.made+.v,.dim .made+.v,.pill,.open,.gap,.read,.card{fill:#14191f}",
    ".card{stroke:#333c46}",
    ".panel{fill:#1d242c}",
    ".edge,.read{stroke:#6f7b88}",
    ".cut{stroke:#14191f}",
    ".made{fill:#c9d3dd}",
    ".hi{color:#FF7A2E}",
    ".guilt{stroke:#FF7A2E}",
    ".badge{fill:#FF7A2E}",
    ".now{fill:#3a3216}",
    ".here{fill:#e6edf3}",
    ".store{color:#9aa7b4}",
    *(f".c{place}{{color:{dark}}}" for place, (_, dark) in enumerate(AGENT_COLOURS)),
)


def _scoped(rules: Iterable[str]) -> str:
    """The rules for this picture alone, so that one which stands in a page leaves the page as it is."""
    scoped = []
    for rule in rules:
        selectors, brace, body = rule.partition("{")
        scoped.append(",".join(f".cbst {selector}" for selector in selectors.split(",")) + brace + body)
    return "".join(scoped)


STYLE = f"{_scoped(_LIGHT)}@media (prefers-color-scheme:dark){{{_scoped(_DARK)}}}"


def number(value: float) -> str:
    """A coordinate, always written the same way: at most one decimal.

    >>> number(12.0), number(7.25)
    ('12', '7.2')
    """
    return f"{value:.1f}".removesuffix(".0")


def mark(op: Operation, x: float, y: float) -> str:
    """The shape of an operation, centred at a point."""
    if op.kind == "fault":
        return f'<path class="cross" d="M{number(x - 6)} {number(y - 6)}l12 12m0-12l-12 12"/>'
    if op.kind == "read":
        return _circle("open", x, y, 5.5)
    if op.kind == "list":
        return _circle("open", x, y, 6) + _circle("solid", x, y, 2.4)
    if op.kind == "append":
        return _square("solid", x, y, 6.5) + f'<path class="cut" d="M{number(x - 4)} {number(y)}h8m-4-4v8"/>'
    if op.kind == "delete":
        return _square("open", x, y, 6) + f'<path class="cross" d="M{number(x - 6)} {number(y - 6)}l12 12m0-12l-12 12"/>'
    if op.kind == "compare-and-set":
        shape = f'd="M{number(x)} {number(y - 8)}l8 8l-8 8l-8-8z"/>'
        if op.ok:
            return f'<path class="solid" {shape}'
        return f'<path class="open" {shape}<path class="cross" d="M{number(x - 4)} {number(y - 4)}l8 8m0-8l-8 8"/>'
    return _square("solid", x, y, 5.5)


def pair(start: float, end: float, y: float) -> str:
    """A merge: a double line from one replica to another, with a ring where it came from and a full circle where it arrived."""
    step = 1 if end > start else -1
    a, b = start + 6 * step, end - 12 * step
    line = f'<path class="line" d="M{number(a)} {number(y - 1.8)}H{number(b)}M{number(a)} {number(y + 1.8)}H{number(b)}"/>'
    return line + head(end - 5 * step, y, step, 8) + _circle("open", start, y, 5) + _circle("solid", end, y, 5.5)


def head(x: float, y: float, direction: int, length: float = 8) -> str:
    """The head of an arrow whose tip is at x; `direction` is 1 to the right and -1 to the left."""
    back, half = number(-direction * length), number(-length / 2)
    return f'<path class="solid" d="M{number(x)} {number(y)}l{back} {half}v{number(length)}z"/>'


def refused(x: float, y: float) -> str:
    """The cross at which the arrow of a refused write ends."""
    return f'<path class="cross" d="M{number(x - 5)} {number(y - 5)}l10 10m0-10l-10 10"/>'


def hatched(x: float, width: float, top: float, bottom: float) -> str:
    """A band of slanted lines: here nothing passes."""
    slope, lines = 10.0, []
    y = top
    while y <= bottom - slope:
        lines.append(f"M{number(x)} {number(y + slope)}l{number(width)} {number(-slope)}")
        y += slope
    # Its style stands here, so that pictures without one keep the bytes they had.
    style = 'stroke="currentColor" stroke-width="2" opacity=".8" fill="none"'
    return f'<path class="store hatch" {style} d="{"".join(lines)}"/>' if lines else ""


def badge(x: float, y: float, count: int) -> str:
    """A number of the guilty path."""
    return f'{_circle("badge", x, y, 9)}<text class="n" x="{number(x)}" y="{number(y + 4)}" text-anchor="middle">{count}</text>'


def _circle(kind: str, x: float, y: float, radius: float) -> str:
    return f'<circle class="{kind}" cx="{number(x)}" cy="{number(y)}" r="{radius:g}"/>'


def _square(kind: str, x: float, y: float, half: float) -> str:
    side = f"{2 * half:g}"
    return f'<rect class="{kind}" x="{number(x - half)}" y="{number(y - half)}" width="{side}" height="{side}"/>'

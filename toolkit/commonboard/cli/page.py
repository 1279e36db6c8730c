"""A comparison as one HTML page that needs nothing else: no network, no script, light and dark."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from commonboard.show.charts import ChartError
from commonboard.show.measure import escape

if TYPE_CHECKING:
    from commonboard.check.comparison import Comparison, Row
    from commonboard.show.picture import Picture

STYLE = """
:root { color-scheme: light dark; --line: #ccc; --soft: #555; --back: #fff; --text: #1a1a1a; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --line: #444; --soft: #aaa; --back: #16181c; --text: #e8e8e8; --bad: #ff8a80; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--text); background: var(--back); }
h1 { font-size: 1.6rem; line-height: 1.25; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
code { font-family: ui-monospace, monospace; font-size: .9em; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; } caption { color: var(--soft); padding-bottom: .5rem; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .7rem; white-space: nowrap; font-variant-numeric: tabular-nums; }
tbody th { font-weight: 600; } thead th { white-space: normal; vertical-align: bottom; }
figure { margin: 0; } figcaption, .soft { color: var(--soft); }
figure img, figure svg { max-width: 100%; height: auto; }
.wide img { min-width: 800px; } .paper figcaption { color: #555; }
.paper { background: #fff; border-radius: 8px; padding: 8px; max-width: 100%; display: inline-block; box-sizing: border-box; }
.lost { color: var(--bad); font-weight: 600; }
pre { overflow-x: auto; padding: .8rem; border: 1px solid var(--line); border-radius: 8px; }
"""


_AT = {"agents": " with {:g} agent{}", "keys": " with {:g} key{}", "think": " where a change takes {:g} s of thinking"}


def page(made: Comparison, command: str) -> str:
    """The page.

    Args:
        made: the comparison.
        command: what made it; the page tells.
    """
    name = made.scenario.name
    parts = [
        f"<h1>{escape(name[:1].upper() + name[1:])}: what each policy keeps</h1>",
        f"<p>{escape(made.scenario.story)} The same agents ran {len(made.seeds):,} times under each policy. "
        "All that differs between the runs of a row is who comes to write first.</p>",
        f"<p>{_headline(made)}</p>",
        f'<h2>What became of their work</h2>\n<div class="wide">{made._repr_html_()}</div>',
        f"<h2>Loss, price and delay</h2>\n{_chart(made)}",
        _loss(made),
        f"<h2>Make it again</h2>\n<pre><code>{escape(command)}</code></pre>",
        '<p class="soft">Made by commonboard. The same command gives the same numbers.</p>',
    ]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(name)}: a comparison</title>'
    body = "\n".join(parts)
    start = f'<!DOCTYPE html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>'
    return f"{start}\n<body>\n<main>\n{body}\n</main>\n</body></html>\n"


def _worst(made: Comparison) -> Row | None:
    """The row that lost the greatest share; the first of these, where several did."""
    losing = [row for row in made if row.losses]
    return max(losing, key=lambda row: row.lost_percent) if losing else None


def _headline(made: Comparison) -> str:
    worst = _worst(made)
    if worst is None:
        return "Nothing was lost under any of them, in these runs. What it cost them is in the table."
    where = _AT[made.knob].format(worst.at, "" if worst.at == 1 else "s") if worst.at is not None else ""
    where += f", on {worst.world}" if len(made.worlds) > 1 else ""
    gone = "is" if worst.lost == 1 else "are"
    return (
        f'Under <strong>{escape(worst.policy)}</strong>{escape(where)}, <span class="lost">{worst.lost:,} of {worst.intended:,}'
        f"</span> pieces of work {gone} gone, without an error, in {worst.runs_lost:,} of {worst.runs:,} runs."
    )


def _chart(made: Comparison) -> str:
    try:
        return _figure(made.chart(), "paper")
    except ChartError as error:
        return f"<p>There is no chart: {escape(str(error))}.</p>"


def _loss(made: Comparison) -> str:
    worst = _worst(made)
    if worst is None:
        return ""
    run = made.first_loss(worst.policy)  # of the first row that has one: with fewest agents, the picture is easiest to read
    token = f'<p class="soft">This run again, in Python: <code>replay={escape(repr(run.token))}</code></p>'
    return f"<h2>One such loss, seed {escape(str(run.seed))}</h2>\n{_figure(run.spacetime(), 'wide')}\n{token}"


def _figure(picture: Picture, kind: str) -> str:
    """A picture as an <img> that holds it: its own style cannot touch the page's, and its alternative text is read."""
    html = picture._repr_html_()
    return re.sub(r"<img ", '<img loading="eager" ', f'<div class="{kind}">{html}</div>', count=1)

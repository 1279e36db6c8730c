"""What a comparison looks like: one row a policy as a table, and loss, price and delay as charts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from commonboard.check.comparison import Comparison, Row
from commonboard.errors import kind_of
from commonboard.show.charts import ChartError, bars, panels
from commonboard.show.frames import Column, frame, table
from commonboard.show.picture import Picture
from commonboard.show.tables import Table, Td, tabled

if TYPE_CHECKING:
    import pandas as pd

_COLUMN = {"agents": "agents", "keys": "keys", "think": "think_s"}
_AXIS = {"agents": "agents", "keys": "keys that they share", "think": "time to think (virtual s)"}
_SWEPT = {"agents": "the number of agents", "keys": "the number of keys", "think": "the time that a change thinks"}
_FATES = {
    "overwritten": "overwritten unseen",
    "discarded": "discarded",
    "rejected": "rejected (told)",
    "unresolved": "left unresolved",
    "unknown": "lost, unknown why",
}
_MEASURES: dict[str, Callable[[Row], float | None]] = {
    "lost updates (%)": lambda row: row.lost_percent,
    "tokens per kept": lambda row: row.tokens_per_kept,
    "virtual s per run": lambda row: row.virtual_s_per_run,
}


@frame.register(Comparison)
def _(comparison: Comparison) -> pd.DataFrame:
    columns: list[Column] = [("policy", "text", [row.policy for row in comparison])]
    columns += [("world", "text", [row.world for row in comparison])]
    if comparison.knob:
        kind = "float" if comparison.knob == "think" else "int"
        columns.append((_COLUMN[comparison.knob], kind, [row.at for row in comparison]))
    counts = ["runs", "intended", "kept", *_FATES, "lost", "retries"]
    columns += [(name, "int", [getattr(row, name) for row in comparison]) for name in counts]
    return table(
        [
            *columns,
            ("lost_percent", "float", [row.lost_percent for row in comparison]),
            ("virtual_s", "float", [row.virtual_s for row in comparison]),
            ("virtual_s_per_run", "float", [row.virtual_s_per_run for row in comparison]),
            ("tokens", "int", [row.tokens for row in comparison]),
            ("tokens_per_kept", "float", [row.tokens_per_kept for row in comparison]),
            ("runs_lost", "int", [row.runs_lost for row in comparison]),
        ]
    )


@tabled.register(Comparison)
def _(comparison: Comparison) -> Table:
    shown = {name: words for name, words in _FATES.items() if any(getattr(row, name) for row in comparison)}
    places = [comparison.knob] if comparison.knob else []
    worlds = ["world"] if len(comparison.worlds) > 1 else []
    head = ["policy", *worlds, *(_COLUMN[name].replace("_", " ") for name in places), "intended", "kept", *shown.values()]
    rows = [
        [
            Td(row.policy),
            *([Td(row.world)] if worlds else []),
            *([Td(_short(row.at), number=True)] if places else []),
            Td(f"{row.intended:,}", number=True),
            *(_share(getattr(row, name), row.intended) for name in ("kept", *shown)),
            Td(f"{row.retries:,}", number=True),
            Td(_short(row.virtual_s_per_run), number=True),
            Td(_short(row.tokens_per_kept), number=True),
            _share(row.runs_lost, row.runs),
        ]
        for row in comparison
    ]
    return Table(_caption(comparison), [*head, "retries", "virtual s/run", "tokens/kept", "runs with loss"], rows)


def comparison_chart(comparison: Comparison) -> Picture:
    """Loss, price and delay: curves over one axis where a knob was swept, else bars for each policy.

    Raises:
        ChartError: it is no comparison, matplotlib is not installed, or there are more lines than can be told apart.
    """
    if not isinstance(comparison, Comparison):
        raise ChartError(f"comparison_chart takes what cb.compare gives, not {kind_of(comparison)}")
    names = {id(row): f"{row.policy}, {row.world}" if len(comparison.worlds) > 1 else row.policy for row in comparison}
    beside = any(row.rejected or row.unresolved for row in comparison)
    aside = " What was rejected or left unresolved does not count as lost." if beside else ""
    if not comparison.knob:
        caption = f"What each policy loses of {_what(comparison)}, what a kept update costs, and how long a run takes.{aside}"
        return bars(
            {what: {names[id(row)]: measure(row) for row in comparison} for what, measure in _MEASURES.items()}, caption=caption
        )
    caption = f"Loss, price and delay of {_what(comparison)} against {_SWEPT[comparison.knob]}.{aside}"
    charts: dict[str, dict[str, dict[float, float]]] = {}
    for what, measure in _MEASURES.items():
        lines = charts.setdefault(what, {name: {} for name in names.values()})
        for row in comparison:
            value = measure(row)
            if value is not None and row.at is not None:
                lines[names[id(row)]][row.at] = value
    return panels(charts, x=_AXIS[comparison.knob], caption=caption)


def _caption(comparison: Comparison) -> str:
    runs, seeds = len(comparison.seeds), comparison.seeds
    span = f", seeds {seeds[0]} to {seeds[-1]}" if runs > 1 and seeds == tuple(range(runs)) else ""
    what = _what(comparison)
    facts = [f"{what[:1].upper()}{what[1:]}: {runs:,} run{'s' if runs != 1 else ''} a row{span}"]
    if len(comparison.worlds) == 1 and "one store" not in comparison.worlds:
        facts.append(f"on {next(iter(comparison.worlds))}")
    absent = [word for name, word in _FATES.items() if name != "unknown" and not any(getattr(row, name) for row in comparison)]
    told = f". Nothing was {_listed(absent)}".replace(" (told)", "") if absent else ""
    if any(row.unknown for row in comparison):  # then none of the other columns is known to be empty
        told = ". What became of some of it nobody can tell"
        told += ": give the scenario by=, which says whose an intent is" if comparison.scenario.by is None else ""
    return f"{', '.join(facts)}{told}."


def _what(comparison: Comparison) -> str:
    """The scenario, with the numbers that it was called with."""
    numbers = {name: value for name, value in comparison.scenario.numbers.items() if isinstance(value, int | float)}
    swept = {"think": "seconds"}.get(comparison.knob, comparison.knob)
    told = [f"{name} {value:g}" for name, value in numbers.items() if name != swept]
    return comparison.scenario.name + (f" ({', '.join(told)})" if told else "")


def _share(count: int, whole: int) -> Td:
    """A count with its share in percent, which says 0 or 100 only where it is exactly that."""
    if not count or not whole:
        return Td(f"{count:,}", number=True)
    percent = 100 * count / whole
    told = "<1" if percent < 1 else ">99" if 99 < percent < 100 else f"{percent:.0f}"
    return Td(f"{count:,} ({told} %)", number=True)


def _short(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value == round(value) or value >= 100 else f"{value:,.1f}"


def _listed(words: list[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)

"""Tables: their columns, their types, and that the HTML says what has changed."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pandas as pd
import pytest
from tests.show.histories import lost_update, many_keys, refused

import commonboard as cb
from commonboard.entry import Event, Log, MemoryEntry, Page, Viewable
from commonboard.history import History
from commonboard.show import NoTableError, board_table, frame, history_table, html
from commonboard.values import ENCODING

CREATED = datetime(2026, 1, 1, tzinfo=UTC)
NASTY = '<b onclick="x">&</b>'


def page() -> Page:
    return Page(
        [
            MemoryEntry("web/notes", '["A",1]', {ENCODING: "json", "agent": "web"}, CREATED, 3),
            MemoryEntry("docs/n", "text", {}, CREATED, None, 7),
        ]
    )


def log() -> Log:
    made = Event(1, "insert", "k", "[1]", "json", 0, 1, None, "web", "because", 2, CREATED, CREATED)
    return Log([made, made._replace(seq=2, operation="delete", value=None, version_before=1, version=2, saw=1, turn=None)])


def types(table: pd.DataFrame) -> dict[str, str]:
    return {name: str(kind) for name, kind in table.dtypes.items()}


def cells(text: str) -> list[list[str]]:
    """The rows of an HTML table, as a parser sees them."""
    root = ET.fromstring(text)
    return [["".join(cell.itertext()) for cell in row] for row in root.iter("tr")]


def test_a_page_as_a_frame() -> None:
    table = page().to_frame()
    assert types(table) == {
        "key": "str",
        "value": "object",
        "version": "Int64",
        "writer": "str",
        "created": "datetime64[us, UTC]",
        "expires_at_turn": "Int64",
    }
    assert table["value"].tolist() == [["A", 1], "text"]
    assert table["version"].tolist() == [3, pd.NA]
    assert table["created"].tolist() == [pd.Timestamp(CREATED)] * 2


def test_values_that_a_memory_has_decoded_are_not_decoded_again() -> None:
    entry = MemoryEntry("k", "abc", {ENCODING: "json"}, CREATED, 1)
    other = MemoryEntry("k", {"a": 1}, {ENCODING: "json"}, CREATED, 1)
    assert frame(Page([entry, other]))["value"].tolist() == ["abc", {"a": 1}]


def test_a_log_as_a_frame() -> None:
    table = log().to_frame()
    assert list(table) == [
        "seq",
        "time",
        "turn",
        "actor",
        "operation",
        "key",
        "value",
        "version_before",
        "version",
        "saw",
        "reason",
    ]
    kinds = types(table)
    assert {kinds[name] for name in ("seq", "turn", "version_before", "version", "saw")} == {"Int64"}
    assert table["value"].tolist() == [[1], None]
    assert table["turn"].tolist() == [2, pd.NA]


def test_a_history_as_a_frame_has_a_row_for_each_operation_and_times_with_their_unit() -> None:
    history = lost_update()[0]
    table = history.to_frame()
    assert len(table) == len(history)
    kinds = types(table)
    assert {kinds[name] for name in ("saw", "replaced", "made", "tokens")} == {"Int64"}
    assert (kinds["began_at_s"], kinds["ended_at_s"], kinds["ok"]) == ("float64", "float64", "bool")
    thought = table[table["kind"] == "think"].iloc[0]
    assert (thought["began_at_s"], thought["ended_at_s"], thought["tokens"]) == (0.0, 30.0, 800)
    assert table["value"].tolist()[-1] == ["A", "C"]


@pytest.mark.parametrize(("empty", "full"), [(Page(), page()), (Log(), log()), (History([]), lost_update()[0])])
def test_an_empty_one_has_the_same_columns_of_the_same_types_and_no_rows(empty: Any, full: Any) -> None:
    assert types(frame(empty)) == types(frame(full))
    assert len(frame(empty)) == 0


@dataclass
class Step:
    name: str
    count: int | None
    ok: bool


class Steps(list[Step], Viewable):
    """A result such as other modules give."""


class Pair(NamedTuple):
    left: float
    right: list[int]


def test_a_list_of_dataclasses_has_a_column_for_each_field() -> None:
    steps = Steps([Step("a", 1, True), Step("b", None, False)])
    assert types(steps.to_frame()) == {"name": "str", "count": "Int64", "ok": "bool"}
    assert steps.to_frame()["count"].tolist() == [1, pd.NA]
    rows = cells(steps._repr_html_())
    assert rows == [["name", "count", "ok"], ["a", "1", "true"], ["b", "", "false"]]
    assert '<caption style="text-align:left">Steps: 2 rows</caption>' in steps._repr_html_()


def test_an_empty_list_of_dataclasses_knows_its_columns_from_its_class() -> None:
    assert list(Steps().to_frame()) == ["name", "count", "ok"]
    assert cells(html(Steps())) == [["name", "count", "ok"], ["nothing"]]


def test_named_tuples_have_columns_too() -> None:
    assert types(frame([Pair(1, [2]), Pair(0.5, [])])) == {"left": "float64", "right": "object"}


@pytest.mark.parametrize("strange", [object(), [1, 2], "text", {"a": 1}])
def test_what_nobody_has_described_is_refused_with_the_way_to_describe_it(strange: Any) -> None:
    with pytest.raises(NoTableError, match=r"frame\.register"):
        frame(strange)
    with pytest.raises(NoTableError, match=r"html\.register"):
        html(strange)


def test_another_class_can_be_taught() -> None:
    class Mine:
        pass

    frame.register(Mine)(lambda mine: pd.DataFrame({"a": [1]}))
    html.register(Mine)(lambda mine: "<p>mine</p>")
    assert list(frame(Mine())) == ["a"]
    assert html(Mine()) == "<p>mine</p>"


def test_a_page_as_html_is_a_table_with_caption_and_scopes_and_whole_numbers() -> None:
    text = page()._repr_html_()
    assert cells(text) == [
        ["key", "value", "version", "writer", "expires at turn"],
        ["web/notes", "[A, 1]", "3", "web", ""],
        ["docs/n", "text", "", "", "7"],
    ]
    assert text.count('scope="col"') == 5
    assert text.count('scope="row"') == 2
    assert "The board: 2 entries</caption>" in text
    assert not re.search(r"<style| class=| id=|<script", text)


def test_a_log_as_html_shows_versions_side_by_side_and_deletes_in_words() -> None:
    rows = cells(html(log()))
    assert rows[1] == ["1", "2", "web", "insert", "k", "[1]", "0 → 1", "", "because"]
    assert rows[2][5] == "deleted"


def test_html_escapes_keys_values_and_writers() -> None:
    text = html(Page([MemoryEntry(NASTY, NASTY * 9, {"agent": NASTY}, CREATED, 1)]))
    assert "<b " not in text
    row = cells(text)[1]
    assert (row[0], row[3]) == (NASTY, NASTY)
    assert ET.fromstring(text).find(".//td[@title]").get("title") == NASTY * 9  # type: ignore[union-attr]


def test_a_long_value_is_cut_with_its_length_and_whole_in_its_title() -> None:
    text = html(Page([MemoryEntry("k", "word " * 40, {}, CREATED, 1)]))
    assert "… 200 characters" in text
    assert f'title="{"word " * 40}"' in text


def test_a_table_of_thousands_of_rows_stops_and_says_how_many_more() -> None:
    rows = cells(html(Page([MemoryEntry(f"k/{n}", "v", {}, CREATED, 1) for n in range(1500)])))
    assert len(rows) == 202
    assert rows[-1] == ["… and 1,300 more; to_frame() has them all"]


def test_what_a_step_changed_is_marked_and_named_in_words() -> None:
    history = many_keys()[0]
    before, after = history.board_at(3), history.board_at(4)
    text = board_table("after", before, after)
    assert cells(text)[1:] == [
        ["shared/brief", cells(text)[1][1], "1", "lead"],
        ["web/notes", "deleted changed: deleted", "", ""],
    ]
    assert text.count("<mark>") == 1
    new = board_table("after", history.board_at(1), history.board_at(2))
    assert "<mark>[up]</mark> <b>changed: new</b>" in new
    more = board_table("after", history.board_at(2), history.board_at(3))
    assert "<mark>[up, 漢字 🎉]</mark> <b>changed</b>" in more
    assert "<mark>" not in board_table("after", before, before)


def test_a_history_is_drawn_and_can_be_a_table() -> None:
    history = refused()[0]
    assert "data:image/svg+xml;base64," in history._repr_html_()
    rows = cells(history_table(history))
    assert rows[0] == ["operation", "time in s", "agent", "what", "key", "value", "saw version", "made version"]
    assert rows[4] == ["3", "31", "docs", "compare-and-set, refused", "shared/open_questions", "[A, C]", "1", ""]


def test_a_run_and_its_verdict_have_tables_and_html_with_the_story() -> None:
    async def add(me: Any) -> None:
        async def change(found: Any) -> Any:
            await me.think(seconds=30)
            return [*(found or []), me.name]

        await me.shared.update("list", change)

    run = cb.simulate({"web": add, "docs": add}, policy=cb.LastWriterWins(), seed=1)
    assert len(run.to_frame()) == len(run.history)
    page_of_run = run._repr_html_()
    assert "LastWriterWins" in page_of_run
    assert run.token in page_of_run
    assert "③ overwrites v1 unseen" in str(run.spacetime())
    assert run.spacetime(caption="mine").caption == "mine"
    verdict = cb.no_lost_updates(run)
    assert verdict.to_frame()["kind"].tolist() == ["lost update"]
    story = verdict._repr_html_()
    assert verdict.findings[0].sentence in story
    assert story.count("<img ") == 1
    for text in (page_of_run, story):
        assert "<svg" not in text
        assert not re.search(r"0x[0-9a-f]{6,}", text)
    fine = cb.no_lost_updates(cb.simulate({"web": add}, seed=1))
    assert len(fine.to_frame()) == 0
    assert "<img" not in fine._repr_html_()

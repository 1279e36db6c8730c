"""`show` and `log` print what is on a board, for people and for scripts, and never change it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import commonboard as cb
from commonboard.cli import app

runner = CliRunner()
LONG = "é" * 100


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A board that a crew left behind."""
    monkeypatch.chdir(tmp_path)

    async def crew() -> None:
        memory = cb.SharedMemory(cb.FileStore("board.json", clock=cb.LogicalClock()))
        web, docs = memory.agent("web"), memory.agent("docs")
        await web.write("findings", ["churn is up [bold]", LONG], reason="read the web")
        await docs.shared.write("open_questions", ["who left?"])
        await web.shared.update("open_questions", lambda asked: [*asked, "why?"])
        await docs.write("draft", "x")
        await docs.delete("draft", reason="no good")

    with asyncio.Runner() as loop:
        loop.run(crew())
    cb.FileStore("board.json").close()
    return tmp_path / "board.json"


def call(*arguments: str, code: int = 0) -> str:
    done = runner.invoke(app, list(arguments))
    assert done.exit_code == code, done.output
    return done.output


def test_show_prints_a_line_for_each_key(board: Path) -> None:
    assert call("show", "board.json").splitlines() == [
        "The board: 2 entries",
        "key                    value                                         version  writer",
        'web/findings           ["churn is up [bold]", ééééééééééééééééééé…]        1  web',
        "shared/open_questions  [who left?, why?]                                   2  web",
    ]


def test_show_prints_one_value_whole(board: Path) -> None:
    assert json.loads(call("show", "board.json", "--key", "web/findings")) == ["churn is up [bold]", LONG]


def test_a_text_is_printed_as_it_is(board: Path) -> None:
    with asyncio.Runner() as loop:
        store = cb.FileStore("board.json")
        loop.run(cb.SharedMemory(store).agent("web").write("note", "two\nlines"))
        store.close()
    assert call("show", "board.json", "--key", "web/note") == "two\nlines\n"


def test_show_picks_by_prefix_and_by_writer(board: Path) -> None:
    def keys(*options: str) -> list[str]:
        return [entry["key"] for entry in json.loads(call("show", "board.json", "--json", *options))]

    assert keys() == ["web/findings", "shared/open_questions"]
    assert keys("--prefix", "shared") == ["shared/open_questions"]
    assert keys("--prefix", "sha") == []
    assert keys("--actor", "web", "--key", "web/findings") == ["web/findings"]
    assert keys("--actor", "docs") == []


@pytest.mark.parametrize("command", ["show", "log"])
def test_a_writer_who_wrote_nothing_is_told_with_those_who_did(board: Path, command: str) -> None:
    told = call(command, "board.json", "--actor", "wbe", code=1)
    assert "'wbe' wrote nothing of this in board.json; there is something by 'web'" in told


def test_show_as_json_has_whole_values(board: Path) -> None:
    first: dict[str, Any] = json.loads(call("show", "board.json", "--json"))[0]
    assert first["value"] == ["churn is up [bold]", LONG]
    assert (first["version"], first["writer"], first["created_at"]) == (1, "web", "2026-01-01T00:00:00+00:00")


def test_log_prints_a_line_for_each_event_with_what_the_writer_had_seen(board: Path) -> None:
    lines = [line.split() for line in call("log", "board.json").splitlines()]
    assert lines[0] == ["The", "log:", "5", "events"]
    assert lines[1] == ["seq", "actor", "operation", "key", "value", "version", "saw", "version", "reason"]
    assert lines[4] == ["3", "web", "replace", "shared/open_questions", "[who", "left?,", "why?]", "1", "→", "2", "1"]
    assert lines[6] == ["5", "docs", "delete", "docs/draft", "deleted", "1", "→", "2", "no", "good"]


def test_log_picks_by_key_and_by_actor(board: Path) -> None:
    def seqs(*options: str) -> list[int]:
        return [event["seq"] for event in json.loads(call("log", "board.json", "--json", *options))]

    assert seqs() == [1, 2, 3, 4, 5]
    assert seqs("--key", "shared/open_questions") == [2, 3]
    assert seqs("--actor", "docs") == [2, 4, 5]
    assert seqs("--actor", "docs", "--key", "shared/open_questions") == [2]


def test_log_as_json_has_values_decoded(board: Path) -> None:
    events = json.loads(call("log", "board.json", "--json"))
    assert events[2]["value"] == ["who left?", "why?"]
    assert events[4]["value"] is None
    assert (events[2]["saw"], events[2]["version_before"], events[2]["version"]) == (1, 1, 2)


def test_the_turn_is_shown_where_there_is_more_than_one(board: Path) -> None:
    assert " turn " not in call("log", "board.json")
    with asyncio.Runner() as loop:
        store = cb.FileStore("board.json")
        loop.run(cb.SharedMemory(store, turn=3).agent("web").write("note", "late"))
        store.close()
    assert " turn " in call("log", "board.json")


def test_nothing_is_changed_and_a_board_in_use_can_be_read(board: Path) -> None:
    before = board.read_bytes()
    writer = cb.FileStore("board.json")
    try:
        call("show", "board.json")
        call("log", "file://board.json")
    finally:
        writer.close()
    assert board.read_bytes() == before


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("gone.json", "there is no file gone.json"),
        ("bad.json", "is not JSON"),
        ("new.json", "version"),
        ("a.db", "a.db is an SQLite database"),
        ("redis://localhost", "no store of this version opens redis:// addresses"),
        (".", "is a folder"),
    ],
)
@pytest.mark.parametrize("command", ["show", "log"])
def test_what_cannot_be_opened_is_told_in_one_line(board: Path, command: str, place: str, said: str) -> None:
    Path("bad.json").write_text("{")
    Path("new.json").write_text('{"version": 99, "entries": []}')
    Path("a.db").write_bytes(b"SQLite format 3\0" + bytes(100))
    done = runner.invoke(app, [command, place])
    assert done.exit_code == 1
    assert done.stdout == ""
    assert said in done.stderr
    assert done.stderr.startswith("commonboard: ")
    assert done.stderr.count("\n") == 1


def test_a_key_that_is_not_there_is_told(board: Path) -> None:
    done = runner.invoke(app, ["show", "board.json", "--key", "web/nothing"])
    assert (done.exit_code, done.stderr) == (1, "commonboard: board.json has no key 'web/nothing'\n")


def test_a_key_without_events_is_told(board: Path) -> None:
    said = call("log", "board.json", "--key", "nothing", code=1)
    assert said.strip() == (
        "commonboard: board.json has no event of the key 'nothing'; `commonboard show board.json` tells which keys there are"
    )


def test_on_a_terminal_brackets_in_values_are_no_markup_and_no_column_is_left_out(
    board: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    for columns in ("40", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        told = call("log", "board.json")
        for word in ("seq", "actor", "operation", "key", "value", "version", "reason", "[bold]", "shared/open_questions", "good"):
            assert word in told, (word, columns)

"""What nbval finds is told in a sentence: the cell, the old and the new, and how to mend it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.cli.books import printed, value

from commonboard.course.strict.explain import changed, failed

SKIPPED = ("image/png", "application/vnd.jupyter.widget-view+json")


def item(source: str, saved: list[dict[str, Any]], now: list[dict[str, Any]], others: tuple[str, ...] = ()) -> Any:
    """As much of nbval's item as is looked at."""
    cells = [SimpleNamespace(cell_type="code", source=other) for other in (source, *others)]
    parent = SimpleNamespace(skip_compare=SKIPPED, nb=SimpleNamespace(cells=cells))
    return SimpleNamespace(
        cell=SimpleNamespace(source=source, outputs=saved), test_outputs=now, parent=parent, sanitize=lambda text: text
    )


def told(saved: Any, now: Any, source: str = "show()", others: tuple[str, ...] = ()) -> tuple[str, str]:
    def listed(text: Any) -> list[dict[str, Any]]:
        return text if isinstance(text, list) else [printed(text)]

    return changed(item(source, listed(saved), listed(now), others))


@pytest.mark.parametrize(
    ("saved", "now", "what", "how"),
    [
        ("44\n", "45\n", "saved '44', now '45'", "if the number is drawn, give it a seed"),
        ("a\nb\nc", "a\nX\nc", "saved 'b', now 'X' (line 2)", "if the new output is right"),
        ("0.30000000001", "0.30000000000000004", "saved '0.3", "only the last digits differ: round"),
        ("0.1791234567", "0.5", "saved '0.1", "if the number is drawn"),
        ("took 12.5 ms", "took 340 µs", "saved 'took 12.5 ms', now 'took 340 µs'", "leave the time out"),
        ("at 2026-01-01 12:00:00", "at 2027-12-03 01:02:03", "saved 'at 2026", "leave the time out"),
        ("{'b', 'a'}", "{'a', 'b'}", "saved '{'b', 'a'}'", "the same words in another order: sort them"),
        ("<object at 0x7f3a5c001d90>", "<object at 0x7f3a5c001e00>", "holds an address in memory", "give the object a __repr__"),
        ("1b4e28ba-2fa1-11d2-883f-0016d3cca427", "976cbb06-176c-45a4-b201-f22174a43c06", "holds a random id", "draws no ids"),
        ("saved /tmp/abc/x", "saved /tmp/def/x", "holds the path of a temporary file", "show the file's name alone"),
        ("a\nb\n", "a\n\nb\n", "but for spaces or line ends: a b", "if the new output is right"),
        ([printed("x")], [], "it no longer shows printed text: x", "if the new output is right"),
        ([], [value("4")], "it shows a value that was not saved: 4", "if the new output is right"),
        ([], [printed("oh", "stderr")], "it shows a warning that was not saved: oh", "if the new output is right"),
        ([value("1")], [value("1"), value("2")], "it shows a value that was not saved: 2", "if the new output is right"),
        (
            [value("<matplotlib.axes.Axes at 0x1>")],
            [value("<Axes: xlabel='x'>")],
            "saved '<matplotlib.axes.Axes at 0x1>'",
            "end the cell with plt.show()",
        ),
        (
            [value("<td>0</td>", "text/html"), printed("same")],
            [value("<td>1</td>", "text/html"), printed("same")],
            "saved '<td>0</td>', now '<td>1</td>'",
            "if the number is drawn",
        ),
    ],
)
def test_a_changed_output_is_told_with_old_and_new(saved: Any, now: Any, what: str, how: str) -> None:
    found = told(saved, now)
    assert what in found[0]
    assert found[1].startswith(how) or how in found[1]


def test_a_long_line_is_shown_around_the_place_where_it_differs() -> None:
    what, _ = told("x" * 500 + "old" + "y" * 500, "x" * 500 + "new" + "y" * 500)
    assert "'…" + "x" * 20 + "old" in what
    assert "now '…" + "x" * 20 + "new" in what
    assert len(what) < 260


def test_what_is_not_compared_is_not_told() -> None:
    picture = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "AAAA"}}
    other = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "BBBB"}}
    what, _ = changed(item("plot()", [picture, printed("1")], [other, printed("2")]))
    assert "saved '1', now '2'" in what


def test_a_value_that_was_hushed_is_told_as_such() -> None:
    assert told([], [value("4")], "4;") == (
        "its ; hides the output from you and not from nbval",
        "take the ; away and give the value a name: `_ = …`",
    )


def test_what_is_overwritten_while_it_runs_cannot_be_compared() -> None:
    _, how = told("10", "1", "for i in range(10):\n    clear_output()\n    print(i)")
    assert "tag the cell nbval-ignore-output" in how
    _, how = told("10", "1", "print(1)", others=("handle.update_display(3, display_id='x')",))
    assert "if another cell shows something in this one's place" in how


def error(name: str, text: str, *trace: str) -> dict[str, Any]:
    return {"output_type": "error", "ename": name, "evalue": text, "traceback": list(trace)}


def test_an_error_is_told_with_its_line() -> None:
    trace = "Cell \x1b[32mIn[4], line 2\x1b[39m\n      1 x = 0\n----> 2 1 / x\n\nZeroDivisionError: division by zero"
    one = item("x = 0\n1 / x", [], [error("ZeroDivisionError", "division by zero", trace)])
    what, how = failed(one, "Cell execution caused an exception")
    assert what == "it ends in ZeroDivisionError: division by zero, at line 2: 1 / x"
    assert "tag the cell raises-exception" in how


def test_the_errors_of_a_group_are_named() -> None:
    trace = (
        "  + Exception Group Traceback (most recent call last):\n  | ExceptionGroup: two (2 sub-exceptions)\n"
        '  +-+---- 1 ----\n    | Traceback (most recent call last):\n    |   File "x", line 3\n    | ValueError: it broke\n'
        "    +---- 2 ----\n    | TimeoutError\n    +----\n"
    )
    what, _ = failed(item("await f()", [], [error("ExceptionGroup", "two (2 sub-exceptions)", trace)]), "Cell execution …")
    assert what == "it ends in ExceptionGroup: two (2 sub-exceptions), which holds ValueError: it broke; TimeoutError"


@pytest.mark.parametrize(
    ("name", "text", "how"),
    [
        ("ModuleNotFoundError", "No module named 'x'", "install that package where you validate"),
        ("FileNotFoundError", "no x.csv", "give paths from the notebook's folder"),
        ("StdinNotImplementedError", "raw_input was called", "put a value in the place of input()"),
        ("NameError", "name 'x' is not defined", "define the name in a cell above"),
        ("RuntimeError", "asyncio.run() cannot be called from a running event loop", "write `await`"),
    ],
)
def test_errors_that_have_a_known_cure_are_told_with_it(name: str, text: str, how: str) -> None:
    assert failed(item("f()", [], [error(name, text)]), "Cell execution caused an exception")[1].startswith(how)


def test_time_is_told_in_seconds() -> None:
    slow = item("f()", [], [error("KeyboardInterrupt", "")])
    assert failed(slow, "Timeout of 20 seconds exceeded executing cell")[0] == "it takes longer than 20 s"
    deaf = "Timeout of 20 seconds exceeded while executing cell. Failed to interrupt kernel in 5 seconds, so …"
    assert failed(slow, deaf)[0] == "it takes longer than 20 s, and could not be interrupted"


def test_an_error_that_only_the_reply_told_is_told() -> None:
    magic = item("%nosuch", [], [printed("UsageError: Line magic function `%nosuch` not found.\n", "stderr")])
    assert failed(magic, "")[0] == "it failed, though it shows no error: UsageError: Line magic function `%nosuch` not found"

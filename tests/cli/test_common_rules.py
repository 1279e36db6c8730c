"""The lint for anybody's notebooks finds what hinders others, and asks for nothing of this course."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.books import KERNEL, book, code, printed, value, words

from commonboard.course.common_rules import COMMON_RULES
from commonboard.course.lint import lint

Notebook = dict[str, Any]
HOME = "/ho" + "me/ada/data.csv"  # put together, so that this file names no path of one machine
VIEW = "application/vnd.jupyter.widget-view+json"


def good(*more: dict[str, Any]) -> Notebook:
    return book(words("Some words, just so."), code("x = 1"), code("x + 1", value("2")), *more)


def with_metadata(**metadata: Any) -> Notebook:
    notebook = good()
    return notebook | {"metadata": notebook["metadata"] | metadata}


# A notebook, and the beginning of the one thing that the lint says of it.
FAULTS: dict[str, tuple[Notebook, str]] = {
    "never run": (book(code("1", count=None), code("2", count=None)), "a.ipynb: it was never run"),
    "one cell not run": (good(code("3", count=None)), "a.ipynb, cell 4: it was not run, so"),
    "three cells not run": (good(*[code("3", count=None)] * 3), "a.ipynb, cell 4: it was not run, nor were 2 others, so"),
    "run again": (good(code("3", value("3"), count=7)), "a.ipynb, cell 4: it was run as number 7 and stands in place 3"),
    "another language": (with_metadata(kernelspec={"language": "R", "name": "ir"}), "a.ipynb: it is written in R"),
    "a kernel of one machine": (
        with_metadata(kernelspec=KERNEL | {"name": "my-venv"}),
        "a.ipynb: it asks for the kernel 'my-venv'",
    ),
    "the state of widgets": (with_metadata(widgets={}), "a.ipynb: it holds the state of widgets"),
    "views of widgets": (
        good(code("1", value("x", VIEW)), code("2", value("x", VIEW))),
        "a.ipynb: it holds views of widgets, which nobody can see without a kernel, in cells 4, 5",
    ),
    "three megabytes": (good(code("1", value("x" * 3_000_000))), "a.ipynb: it has 3.0 MB, more than 2"),
    "a path in the code": (good(code(f"open('{HOME}')")), f"a.ipynb, cell 4: it names a path of one machine: {HOME}"),
    "a path in an output": (good(code("1", printed(HOME))), "a.ipynb, cell 4: a path of one machine in its output"),
    "asyncio.run": (good(code("import asyncio\nasyncio.run(main())")), "a.ipynb, cell 4: asyncio.run( fails"),
    "a hushed value": (good(code("plot(x);  # no output")), "a.ipynb, cell 4: a ; at the end hides its output"),
    "a hushed await": (good(code("%matplotlib inline\nawait f();")), "a.ipynb, cell 4: a ; at the end hides its output"),
    "an address": (good(code("x", value("<object at 0x7f3a5c001d90>"))), "a.ipynb, cell 4: an address in memory"),
    "a random id": (good(code("x", printed("1b4e28ba-2fa1-11d2-883f-0016d3cca427"))), "a.ipynb, cell 4: a random id"),
    "a script from the network": (
        good(code("x", value('<script src="https://example.org/x.js"></script>', "text/html"))),
        "a.ipynb, cell 4: its output asks the network",
    ),
    "an error": (
        good(code("1/0", {"output_type": "error", "ename": "ZeroDivisionError", "evalue": "", "traceback": []})),
        "a.ipynb, cell 4: it was saved with an error: ZeroDivisionError",
    ),
    "an output's picture without words": (
        good(code("x", value("<img src='x'>", "text/html"))),
        "a.ipynb, cell 4: a picture without",
    ),
    "a picture without words": (good(words("![](x.png)")), "a.ipynb, cell 4: the picture x.png has no alternative text"),
    "an img without words": (good(words("<img src='x.png'>")), "a.ipynb, cell 4: a picture without alternative text"),
}

# What anybody may do. Much of it is not allowed in this course.
ALLOWED: dict[str, Notebook] = {
    "nothing of the course": good(),
    "an empty cell at the end": good(code("", count=None), code(" \n", count=None)),
    "a long cell that shows nothing": good(code("\n".join(["x = 1"] * 40))),
    "a sleep, a magic, an input": good(code("import time\ntime.sleep(1)\n%time 1\n!ls\ninput()")),
    "a cell that is skipped": good(code("1", count=None, tags=("nbval-skip",))),
    "an error that is meant": good(
        code("1/0", {"output_type": "error", "ename": "E", "evalue": "", "traceback": []}, tags=("raises-exception",))
    ),
    "an address that is not compared": good(code("# NBVAL_IGNORE_OUTPUT\nx", value("<object at 0x7f3a5c001d90>"))),
    "a hash": good(code("x", printed("d41d8cd98f00b204e9800998ecf8427e"))),
    "a number like a time": good(code("x", printed("1700000000"))),
    "a figure": good(
        code("plot()", {"output_type": "display_data", "metadata": {}, "data": {"image/png": "iV", "text/plain": "<F>"}})
    ),
    "a warning": good(code("x", printed("careful", "stderr"))),
    "a drawing": good(code("x", value("<svg></svg>", "image/svg+xml"))),
    "asyncio.run under nest_asyncio": good(code("import nest_asyncio"), code("asyncio.run(f())")),
    "asyncio.run in a file or a text": good(
        code("%%writefile a.py\nasyncio.run(f())"), code("print('asyncio.run(x)')", printed("x"))
    ),
    "a ; that hides nothing": good(code("x = 1;"), code("plt.show();"), code("print(1);", printed("1\n"))),
    "a kernel without a name": with_metadata(kernelspec={}, language_info={}),
    "an older format": {**good(), "nbformat_minor": 2},
    "code that is no Python": good(code("this is no Python;"), code("?help")),
    "code of which Python thinks little": good(code("if 1is 1:\n    pass")),
    "the language's name alone": with_metadata(kernelspec={"language": "python"}),
}


def findings(folder: Path, notebook: Notebook) -> list[str]:
    (folder / "a.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    return list(map(str, lint(folder, course=False)))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_and_nothing_else(tmp_path: Path, fault: str) -> None:
    notebook, told = FAULTS[fault]
    found = findings(tmp_path, notebook)
    assert len(found) == 1, found
    assert found[0].startswith(told)
    assert ". To mend it: " in found[0]


@pytest.mark.parametrize("case", ALLOWED)
def test_what_others_do_is_left_alone(tmp_path: Path, case: str) -> None:
    assert findings(tmp_path, ALLOWED[case]) == []


def test_every_rule_has_a_fault_that_it_alone_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for rule in COMMON_RULES:
        others = tuple(other for other in COMMON_RULES if other is not rule)
        monkeypatch.setattr("commonboard.course.lint.common_rules", lambda sheet, others=others: others)
        missed = [fault for fault, (notebook, _) in FAULTS.items() if findings(tmp_path, notebook) == []]
        assert missed, f"{rule.__name__} finds nothing that others do not find"


def test_of_a_notebook_in_another_language_only_that_is_told(tmp_path: Path) -> None:
    notebook = good(code("var x = 1;\nf(x);", count=None), code(HOME)) | {"metadata": {"kernelspec": {"language": "javascript"}}}
    assert [found.partition(": ")[2][:27] for found in findings(tmp_path, notebook)] == ["it is written in javascript"]


def test_the_course_asks_for_more(tmp_path: Path) -> None:
    assert findings(tmp_path, good()) == []
    assert len(lint(tmp_path, course=True)) > 3


def test_what_is_no_notebook_is_told_as_such(tmp_path: Path) -> None:
    for text in (
        "{}",
        "",
        '{"nbformat": 3, "nbformat_minor": 0, "cells": []}',
        '{"nbformat": 5, "nbformat_minor": 0, "cells": []}',
    ):
        (tmp_path / "a.ipynb").write_text(text)
        (found,) = lint(tmp_path, course=False)
        assert found.cell == 0
        assert "is not a notebook" in found.what or "is needed" in found.what

"""Each rule of the lint finds its fault in an otherwise clean notebook, and leaves a clean notebook alone."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commonboard.course import exercises as ex
from commonboard.course.lint import RULES, lint
from commonboard.course.refresh import FINISH, SET_UP, NotebookError, clean, write_notebook

Notebook = dict[str, Any]


def code(count: int, source: str, data: dict[str, str] | None = None, text: str = "") -> dict[str, Any]:
    outputs: list[dict[str, Any]] = []
    if data:
        outputs.append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data})
    if text:
        outputs.append({"output_type": "stream", "name": "stdout", "text": text})
    return {"cell_type": "code", "execution_count": count, "source": source, "outputs": outputs}


def prose(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "source": source}


def picture(alt: str = "web reads, docs writes", svg: str = "<svg/>") -> str:
    return f'<img alt="{alt}" src="data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}">'


def good() -> Notebook:
    return clean(
        {
            "cells": [
                prose("# The title\n\n*What is the question?*\n\nSome words, and `just code`."),
                code(1, SET_UP),
                prose("## A section\n\nSee [the next section](#another-section) and [the page](page.md#a-heading)."),
                code(2, "1 + 1", {"text/plain": "2"}),
                prose("### Another section\n\n![two agents](page.md)\n\n```python\n# simply a comment, and no title\n```"),
                code(3, "picture", {"text/plain": "Picture()", "text/html": picture()}),
                code(4, "ex.claim_the_task", {"text/plain": "Exercise"}),
                code(5, ex.claim_the_task.blank, {"text/plain": "Put your code"}),
                code(6, "ex.claim_the_task.hint()", {"text/plain": "Hint"}),
                code(7, "ex.claim_the_task.solution()", {"text/plain": "Solution"}),
                code(8, FINISH, text="No task died unseen.\n"),
            ]
        }
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "page.md").write_text("# Page\n\n## A heading\n")
    return tmp_path


def findings(folder: Path, notebook: Notebook) -> list[str]:
    write_notebook(notebook, folder / "10_lesson.ipynb")
    return list(map(str, lint(folder)))


def test_a_clean_notebook_has_nothing_to_mend(folder: Path) -> None:
    assert findings(folder, good()) == []


def said(place: int, text: str) -> Callable[[Notebook], None]:
    """Puts another source into a cell, counted from 1."""

    def change(notebook: Notebook) -> None:
        notebook["cells"][place - 1]["source"] = text

    return change


def shown(text: str, mime: str = "text/html") -> Callable[[Notebook], None]:
    def change(notebook: Notebook) -> None:
        notebook["cells"][5]["outputs"][0]["data"][mime] = text

    return change


def printed(text: str, name: str = "stdout") -> Callable[[Notebook], None]:
    def change(notebook: Notebook) -> None:
        notebook["cells"][5]["outputs"].append({"output_type": "stream", "name": name, "text": text})

    return change


def put(value: Any, *path: Any) -> Callable[[Notebook], None]:
    def change(notebook: Notebook) -> None:
        *inner, last = path
        place: Any = notebook
        for step in inner:
            place = place[step]
        place[last] = value

    return change


def without(place: int) -> Callable[[Notebook], None]:
    """Takes a cell out, and counts anew."""

    def change(notebook: Notebook) -> None:
        del notebook["cells"][place - 1]
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        for count, cell in enumerate(cells, 1):
            cell["execution_count"] = count

    return change


SECTION = "### Another section\n\n"
ERROR = {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []}
MODEL = {"model_id": "0" * 32}
HOME = "/ho" + "me/me/x"  # put together, so that this file names no path of one machine

# What is done to the clean notebook, and the beginning of the one thing that the lint then says.
FAULTS: dict[str, tuple[Callable[[Notebook], None], str]] = {
    "a cell was not run": (put(None, "cells", 3, "execution_count"), "cell 4: it has the count None where 2 belongs"),
    "cells ran out of order": (put(5, "cells", 3, "execution_count"), "cell 4: it has the count 5 where 2 belongs"),
    "no question": (said(1, "# The title\n\nWords."), "cell 1: the first cell is not a title with its question"),
    "no question mark": (said(1, "# The title\n\n*Words.*"), "cell 1: the first cell is not a title with its question"),
    "a second title": (said(5, SECTION + "# Again"), "cell 5: a second title: 'Again'"),
    "a level left out": (said(5, SECTION + "##### Too deep"), "cell 5: the heading 'Too deep' has level 5 after level 3"),
    "an empty cell": (lambda notebook: notebook["cells"].append(prose(" \n") | {"id": "new"}), "cell 12: it is empty"),
    "a tag that blinds": (put({"tags": ["nbval-skip"]}, "cells", 3, "metadata"), "cell 4: the tag nbval-skip blinds"),
    "an expected error": (put({"tags": ["raises-exception"]}, "cells", 3, "metadata"), "cell 4: the tag raises-exception"),
    "an attachment": (put({"a.png": {}}, "cells", 4, "attachments"), "cell 5: a picture is attached to it"),
    "a long cell": (said(4, "\n".join(["x = 1"] * 16)), "cell 4: it has 16 lines, more than 15"),
    "a silent cell": (put([], "cells", 3, "outputs"), "cell 4: it shows nothing"),
    "asyncio.run": (said(4, "asyncio.run(main())"), "cell 4: asyncio.run( fails in a notebook"),
    "a real sleep": (said(4, "time.sleep(1)"), "cell 4: time.sleep makes the reader wait"),
    "a magic": (said(4, "x = 1\n%time x"), "cell 4: a magic or a shell command"),
    "a shell command": (said(4, "!ls"), "cell 4: a magic or a shell command"),
    "an input": (said(4, 'input("?")'), "cell 4: input( waits for somebody who is not there"),
    "a marker": (said(4, "# NBVAL_SKIP\n1"), "cell 4: a marker that blinds"),
    "a semicolon": (said(4, "plot();"), "cell 4: a ; at the end"),
    "the state of widgets": (put({}, "metadata", "widgets"), "it holds the state of widgets"),
    "another kernel": (put({"name": "my-venv"}, "metadata", "kernelspec"), "its kernel is not the plain python3"),
    "a version of Python": (put("3.11.7", "metadata", "language_info", "version"), "it names a version of Python"),
    "a huge picture": (shown(picture("x" * 300_000)), "it has 303 kB, and 300 kB is the limit"),
    "two cells of one name": (
        lambda notebook: notebook["cells"][3].update(id=notebook["cells"][4]["id"]),
        "two cells have one name, or one has none",
    ),
    "a cell without a name": (put(None, "cells", 3, "id"), "two cells have one name, or one has none"),
    "times of the run": (put({"execution": {}}, "cells", 3, "metadata"), "cell 4: it holds the times at which it ran"),
    "a path in a source": (said(4, f"open('{HOME}')"), "cell 4: it names a path of one machine"),
    "a path in an output": (printed(f"saved to {HOME}"), "cell 6: a path of one machine in its output"),
    "an error": (put([ERROR], "cells", 5, "outputs"), "cell 6: it ended in ValueError"),
    "a warning": (printed("FutureWarning: …", "stderr"), "cell 6: it wrote to stderr"),
    "a view of a widget": (
        shown(MODEL, "application/vnd.jupyter.widget-view+json"),  # type: ignore[arg-type]
        "cell 6: it holds a view of a widget",
    ),
    "a bare picture": (shown("<s/>", "image/svg+xml"), "cell 6: a bare SVG picture"),
    "an inline picture": (shown("<p><svg></svg></p>"), "cell 6: inline <svg>"),
    "a picture without words": (shown(picture("  ")), "cell 6: a picture without alternative text"),
    "a chart without words": (
        lambda notebook: notebook["cells"][5]["outputs"][0].update(data={"image/png": "iVBO", "text/plain": "<Figure size 6x4>"}),
        "cell 6: a picture without alternative text",
    ),
    "an address": (printed("<object at 0x7f3a5c001d90>"), "cell 6: an address in memory in its output: 0x7f3a5c001d90"),
    "an address in a picture": (
        shown(picture(svg="<svg><text>at 0x7f3a5c001d90</text></svg>")),
        "cell 6: an address in memory in its output: 0x7f3a5c001d90",
    ),
    "a random id": (printed("1b4e28ba-2fa1-11d2-883f-0016d3cca427"), "cell 6: a random id in its output"),
    "the time in milliseconds": (shown("<td>1796062474194</td>"), "cell 6: what looks like the clock's time in its output: 1796"),
    "the time in seconds": (
        printed("at 1796062474.25 s"),
        "cell 6: what looks like the clock's time in its output: 1796062474.25",
    ),
    "something from the network": (shown('<script src="https://a.b/x.js"></script>'), "cell 6: its output asks the network"),
    "a stylesheet of a CDN": (shown("<link href='https://cdn.example.org/x.css'>"), "cell 6: its output asks the network"),
    "a traceback": (printed("Traceback (most recent call last):\n"), "cell 6: a traceback in its output"),
    "an exception group": (printed("  | ExceptionGroup: two\n"), "cell 6: a traceback in its output"),
    "no set-up": (said(2, "import commonboard as cb"), "cell 2: the first code cell is not the set-up alone"),
    "more than the set-up": (said(2, f"{SET_UP}\nx = 1"), "cell 2: the first code cell is not the set-up alone"),
    "a set-up that talks": (
        put([{"output_type": "stream", "name": "stdout", "text": "one\ntwo\n"}], "cells", 1, "outputs"),
        "cell 2: the set-up prints more than one short line",
    ),
    "no guard": (without(11), "cell 10: the last code cell is not the guard"),
    "a soft word": (said(5, SECTION + "It is *simply* so."), "cell 5: the word 'simply'"),
    "another soft word": (said(5, SECTION + "Of course it is."), "cell 5: the word 'of course'"),
    "an image of prose without words": (
        said(5, SECTION + "![ ](page.md)"),
        "cell 5: the picture page.md has no alternative text",
    ),
    "an img of prose without words": (said(5, SECTION + "<img src='page.md'>"), "cell 5: a picture without alternative text"),
    "a dead link": (said(5, SECTION + "[gone](gone.md)"), "cell 5: the link gone.md leads nowhere"),
    "a dead place": (said(5, SECTION + "[x](page.md#no)"), "cell 5: page.md has no heading for the link page.md#no"),
    "a dead place here": (said(5, "### Another section\n\n[x](#no)"), "cell 5: this notebook has no heading for the link #no"),
    "an unknown exercise": (said(4, "ex.claim_it"), "cell 4: there is no exercise 'claim_it'"),
    "a blank that was filled in": (
        said(8, ex.claim_the_task.answer),
        "cell 7: no cell is the blank of claim_the_task",
    ),
    "no question of the exercise": (without(7), "cell 7: there is no cell ex.claim_the_task"),
    "no hint": (without(9), "cell 7: there is no cell ex.claim_the_task.hint()"),
    "no solution": (without(10), "cell 7: there is no cell ex.claim_the_task.solution()"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_and_nothing_else(folder: Path, fault: str) -> None:
    change, told = FAULTS[fault]
    notebook = good()
    change(notebook)
    found = findings(folder, notebook)
    assert len(found) == 1, found
    assert re.match(rf"10_lesson.ipynb[:,] {re.escape(told)}.*\. To mend it: \w.+\.$", found[0], re.DOTALL)


def test_every_rule_has_a_fault_that_it_alone_finds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for rule in RULES:
        monkeypatch.setattr("commonboard.course.lint.RULES", tuple(other for other in RULES if other is not rule))
        missed = []
        for change, _ in FAULTS.values():
            notebook = good()
            change(notebook)
            missed += [] if findings(folder, notebook) else [change]
        assert missed, f"{rule.__name__} finds nothing that others do not find"


def test_long_numbers_are_not_taken_for_the_time(folder: Path) -> None:
    notebook = good()
    printed("1,796,062,474 0.1796062474 179606247 179606247412345678901 5796062474 1796062474.5.1")(notebook)
    assert findings(folder, notebook) == []


def test_base64_is_not_taken_for_an_address(folder: Path) -> None:
    notebook = good()
    shown(picture() + '<img alt="x" src="data:image/png;base64,AA0xabcdef01/0xabcdef01=">')(notebook)
    assert findings(folder, notebook) == []


def test_what_is_no_notebook_is_told_as_such(folder: Path) -> None:
    (folder / "10_lesson.ipynb").write_text("{}")
    (found,) = lint(folder / "10_lesson.ipynb")
    assert "is not a notebook" in found.what
    with pytest.raises(NotebookError, match="there is no notebook at"):
        lint(folder / "gone.ipynb")
    with pytest.raises(NotebookError, match="there is no notebook at"):
        lint([folder / "page.md"])

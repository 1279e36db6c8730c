"""Every example of README.md and docs/ runs, and prints what the page says that it prints.

How an example is written:

- A block fenced as `python` runs. The blocks of one page share their names, from top to bottom, as cells do. `await` works at the
  top level. A block with `>>>` is a doctest.
- A block fenced as `text` that follows it directly is what it prints, letter by letter.
- `<!-- not run: why -->` on the line above a block leaves it out, with a reason that a reader of the source can judge.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import doctest
import inspect
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^(?P=indent)```[ ]*$", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(r"<!-- not run: \S.*-->\s*\Z")


@dataclass
class Example:
    line: int
    code: str
    printed: str | None


def examples(text: str) -> list[Example]:
    """The examples of a page, in order."""
    found: list[Example] = []
    end_of_last = -1
    for fence in FENCE.finditer(text):
        body = inspect.cleandoc(fence["body"]) + "\n" if fence["indent"] else fence["body"]
        if fence["language"] == "python" and not NOT_RUN.search(text[: fence.start()]):
            found.append(Example(text.count("\n", 0, fence.start()) + 2, body, None))
            end_of_last = fence.end()
        elif fence["language"] == "text" and end_of_last >= 0 and not text[end_of_last : fence.start()].strip():
            found[-1].printed = body
            end_of_last = -1
        else:
            end_of_last = -1
    return found


def run(example: Example, names: dict[str, Any], page: str, runner: asyncio.Runner) -> str:
    """Run one example as a cell would be run, and give what it printed."""
    if ">>>" in example.code:
        test = doctest.DocTestParser().get_doctest(example.code, names, page, page, example.line - 1)
        report = io.StringIO()
        result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.write, clear_globs=False)
        names.update(test.globs)
        assert result.failed == 0, report.getvalue()
        return ""
    # The empty lines in front make a traceback point into the page.
    source = "\n" * (example.line - 1) + example.code
    code = compile(source, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        outcome = eval(code, names)
        if inspect.iscoroutine(outcome):
            runner.run(outcome)
    return printed.getvalue()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_examples_of_a_page_run_and_print_what_it_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    with asyncio.Runner() as runner:
        for example in examples(page.read_text(encoding="utf-8")):
            printed = run(example, names, str(page), runner)
            if example.printed is not None:
                assert printed == example.printed, f"{page.name}, line {example.line}"


def test_the_readme_has_examples() -> None:
    assert examples((ROOT / "README.md").read_text(encoding="utf-8"))


PAGE = """
```python
import asyncio
async def two():
    await asyncio.sleep(0)
    return 2
```

Words between.

```python
print(await two())
```

```text
2
```

<!-- not run: needs a server -->
```python
1 / 0
```

```sh
make lab
```

- in a list:

  ```python
  >>> 1 + 1
  2
  ```
"""


def test_a_page_is_taken_apart_into_its_examples() -> None:
    assert [(example.line, example.printed) for example in examples(PAGE)] == [(3, None), (12, "2\n"), (31, None)]


def test_the_examples_of_a_page_share_names_and_may_await() -> None:
    names: dict[str, Any] = {}
    with asyncio.Runner() as runner:
        assert [run(example, names, "page.md", runner) for example in examples(PAGE)] == ["", "2\n", ""]


def test_a_wrong_doctest_of_a_page_fails() -> None:
    (example,) = examples("```python\n>>> 1 + 1\n3\n```\n")
    with asyncio.Runner() as runner, pytest.raises(AssertionError, match=r"Expected:\n *3"):
        run(example, {}, "page.md", runner)

"""The lint for anybody's notebooks: what keeps a notebook from being run again, compared and read elsewhere.

It asks for nothing that is a matter of taste. What belongs to this course alone (its set-up cell, its guard, its exercises, its
words) is in `lint`.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

from commonboard.course.looks import HOMES, look_at_outputs
from commonboard.course.refresh import RUN_ANEW, WIDGET_VIEW, marks, source
from commonboard.course.sheet import Rule, Sheet, Told

LARGEST_FILE = 2_000_000

_RESTART = "restart the kernel and run all cells, or " + RUN_ANEW
_PLAIN_KERNELS = ("python3", "python")
_SAYS_NOTHING = ("print", "show", "close", "display")


def executed(sheet: Sheet) -> Told:
    """Every cell was run, once, from top to bottom: what was not run is compared with nothing."""
    asked = [(place, cell) for place, cell in sheet.code if source(cell).strip() and "skip" not in marks(cell)]
    ran = [(place, cell["execution_count"]) for place, cell in asked if cell.get("execution_count") is not None]
    if asked and not ran:
        yield 0, "it was never run, so there is nothing to compare with", RUN_ANEW
        return
    idle = [place for place, cell in asked if cell.get("execution_count") is None]
    if idle:
        more = f", nor were {len(idle) - 1} others" if len(idle) > 1 else ""
        yield idle[0], f"it was not run{more}, so its output is compared with nothing", _RESTART
    for wanted, (place, count) in enumerate(ran, 1):
        if count != wanted:
            yield place, f"it was run as number {count} and stands in place {wanted}: not run once, from top to bottom", _RESTART
            return


def kernel_language(metadata: dict[str, Any]) -> str:
    """The language that a notebook's metadata name, in lower case; `python` unless they name one."""
    named = metadata.get("kernelspec", {}).get("language") or metadata.get("language_info", {}).get("name") or "python"
    return "python" if named in ("ipython", "Python") else str(named)


def kernel(sheet: Sheet) -> Told:
    """Python, by the name that it has on every machine."""
    language = kernel_language(sheet.metadata)
    name = sheet.metadata.get("kernelspec", {}).get("name", "python3")
    if language != "python":
        yield 0, f"it is written in {language}, and only Python is run here", "leave it out of the paths"
    elif name not in _PLAIN_KERNELS:
        yield 0, f"it asks for the kernel {name!r}, which others do not have", f"choose python3 in JupyterLab, or {RUN_ANEW}"


def state(sheet: Sheet) -> Told:
    """Nothing of the machine on which it ran, and nothing that makes it heavy."""
    if "widgets" in sheet.metadata:
        yield 0, "it holds the state of widgets, which differs in every run and is shown with scripts from the network", RUN_ANEW
    views = [place for place, cell in sheet.code if any(WIDGET_VIEW in out.get("data", {}) for out in cell.get("outputs", []))]
    if views:
        where = f"cell{'s' if len(views) > 1 else ''} {', '.join(map(str, views))}"
        yield 0, f"it holds views of widgets, which nobody can see without a kernel, in {where}", RUN_ANEW
    size = sheet.path.stat().st_size
    if size > LARGEST_FILE:
        what = f"it has {size / 1e6:.1f} MB, more than {LARGEST_FILE / 1e6:g}, and is slow to open and to compare"
        yield 0, what, "show fewer or smaller pictures and tables"


def sources(sheet: Sheet) -> Told:
    """Code that fails in a notebook, or on another machine."""
    nested = any("nest_asyncio" in source(cell) for _, cell in sheet.code)
    for place, cell in sheet.code:
        text = source(cell)
        if text.lstrip().startswith("%%") or "skip" in marks(cell):
            continue
        if found := HOMES.search(text):
            yield place, f"it names a path of one machine: {_word_at(text, found.start())}", "give it from the notebook's folder"
        tree = _parsed(text)
        if not nested and any(ast.unparse(node.func) == "asyncio.run" for node in ast.walk(tree) if isinstance(node, ast.Call)):
            yield (
                place,
                "asyncio.run( fails in a notebook, where a loop runs already",
                "write `await` in the place of asyncio.run",
            )
        if "ignore" not in marks(cell) and _is_hushed(text, tree):
            what = "a ; at the end hides its output from you and not from nbval, which then finds an output too many"
            yield place, what, "give the value a name instead: `_ = …`"


def _word_at(text: str, place: int) -> str:
    return re.split(r"[\s'\"),]", text[place:], maxsplit=1)[0][:60]


def _parsed(text: str) -> ast.Module:
    """The code without magics; nothing where it still is no Python, which running it will tell."""
    plain = re.sub(r"^(\s*)[%!?].*$", r"\1pass", text, flags=re.MULTILINE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python thinks of the style of a cell is its author's affair
            return ast.parse(plain)
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _is_hushed(text: str, tree: ast.Module) -> bool:
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr) or not re.search(r";\s*(#.*)?\Z", text):
        return False
    value = last.value.value if isinstance(last.value, ast.Await) else last.value
    called = ast.unparse(value.func).rpartition(".")[2] if isinstance(value, ast.Call) else ""
    return called not in _SAYS_NOTHING


def outputs(sheet: Sheet) -> Told:
    """What the outputs show to others, and whether they can be the same again."""
    for place, cell in sheet.code:
        asked = marks(cell)
        if "skip" in asked:
            continue
        for output in cell.get("outputs", []):
            if output["output_type"] == "error":
                if "raises" not in asked:
                    told = f"it was saved with an error: {output.get('ename', 'unknown')}"
                    yield place, told, "mend the cell, or tag it raises-exception where the error is the point"
            elif "ignore" not in asked:
                yield from ((place, what, how) for what, how in look_at_outputs(output, course=False))


def pictures(sheet: Sheet) -> Told:
    """Pictures of the text say what they show."""
    for place, cell in sheet.prose:
        text = re.sub(r"^```.*?^```\s*$|`[^`\n]+`", "", source(cell), flags=re.MULTILINE | re.DOTALL)
        if re.search(r"<img\b(?![^>]*\balt=[\"'][^\"'])", text):
            yield place, "a picture without alternative text", 'give <img … alt="what it shows">'
        for target in re.findall(r"!\[\s*\]\(([^)\s]+)", text):
            yield place, f"the picture {target} has no alternative text", "write ![what it shows](…)"


def common_rules(sheet: Sheet) -> tuple[Rule, ...]:
    """The rules for a notebook: of one in another language, nothing is said but that."""
    return COMMON_RULES if kernel_language(sheet.metadata) == "python" else (kernel,)


COMMON_RULES: tuple[Rule, ...] = (executed, kernel, state, sources, outputs, pictures)

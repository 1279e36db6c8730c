"""What no test of outputs can see in a notebook: counts, headings, forbidden words, left-over state, exercises without a hint.

nbval runs a notebook again and compares. It compares nothing where a cell was saved without its count, it does not read prose,
and it does not know that a reader without a kernel is shown no inline SVG. `lint` looks at the file alone, without a kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from commonboard.course import exercises
from commonboard.course.common_rules import common_rules
from commonboard.course.looks import PATHS, look_at_outputs
from commonboard.course.refresh import (
    FINISH,
    KERNEL,
    OLDEST,
    REFRESH_COURSE,
    SET_UP,
    NotebookError,
    joined,
    notebooks_in,
    read_notebook,
    source,
)
from commonboard.course.sheet import LintFinding, Rule, Sheet, Told

LONGEST_CELL = 15
LARGEST_FILE = 300_000
SOFT_WORDS = ("simply", "obviously", "just", "trivial", "trivially", "clearly", "of course", "easily")
"""Words that make a reader who does not see it feel stupid."""

_GUARD = "guard = set_up()"
_IMPORT = re.compile(r"(import|from) \w[\w. ,]*( as \w+)?( import [\w ,]+)?$")
_SOURCES = (
    (r"\basyncio\.run\(", "asyncio.run( fails in a notebook, where a loop runs already", "await it, or call cb.simulate"),
    (r"\btime\.sleep\b", "time.sleep makes the reader wait", "use virtual time: await me.think(seconds=…)"),
    (r"^\s*[%!]", "a magic or a shell command", "write plain Python, which runs everywhere"),
    (r"\binput\(", "input( waits for somebody who is not there", "use predict(…), or a value in the cell"),
    (r"NBVAL_", "a marker that blinds the comparison of outputs", "make the output the same in every run instead"),
    (r";\s*\Z", "a ; at the end: the comparison of outputs fails on it", "end in something worth looking at"),
)
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)[^)]*\)")


def lint(paths: str | Path | Iterable[str | Path], *, course: bool = True) -> list[LintFinding]:
    """What is to be mended in notebooks, in their order; an empty list if nothing is.

    Args:
        paths: a notebook, a folder of notebooks, or several of them.
        course: by the rules of this course; without, by those that fit anybody's notebooks.

    Raises:
        NotebookError: a path is neither a notebook nor a folder that holds one.
    """
    given = [paths] if isinstance(paths, (str, Path)) else paths
    return [finding for path in notebooks_in(given) for finding in _lint(path, course)]


def _lint(path: Path, course: bool) -> Iterator[LintFinding]:
    try:
        notebook = read_notebook(path) if course else read_notebook(path, OLDEST)
    except NotebookError as error:
        yield LintFinding(path.name, 0, str(error).partition("; ")[0], "open it in JupyterLab and save it again")
        return
    sheet = Sheet(path, notebook.get("metadata", {}), list(enumerate(notebook["cells"], 1)))
    told = {(place, what, how) for rule in (RULES if course else common_rules(sheet)) for place, what, how in rule(sheet)}
    yield from (LintFinding(path.name, *one) for one in sorted(told))


def counts(sheet: Sheet) -> Told:
    """Cells were run once each, from top to bottom: what was not run is compared with nothing."""
    for wanted, (place, cell) in enumerate(sheet.code, 1):
        if cell.get("execution_count") != wanted:
            yield place, f"it has the count {cell.get('execution_count')} where {wanted} belongs", REFRESH_COURSE
            return


def title(sheet: Sheet) -> Told:
    """The first cell has the title and, in italics, the question."""
    first = source(sheet.cells[0][1]) if sheet.cells and sheet.cells[0][1]["cell_type"] == "markdown" else ""
    if not re.match(r"# \S[^\n]*\n\s*\*[^*\n]+\?\*", first):
        yield 1, "the first cell is not a title with its question", "begin with '# The title', an empty line, '*The question?*'"


def headings(sheet: Sheet) -> Told:
    """One title, and no level left out."""
    before = 0
    for place, level, text in _headings(sheet):
        if level == 1 and place > 1:
            yield place, f"a second title: {text!r}", "use ## for sections"
        elif level > before + 1:
            yield place, f"the heading {text!r} has level {level} after level {before}", "leave no level out"
        before = level


def _headings(sheet: Sheet) -> Iterator[tuple[int, int, str]]:
    for place, cell in sheet.prose:
        for found in re.finditer(r"^(#{1,6}) (.+)$", _without_code(source(cell)), re.MULTILINE):
            yield place, len(found[1]), found[2].strip()


def shape(sheet: Sheet) -> Told:
    """Short cells that end in something to look at; no hidden marks."""
    for place, cell in sheet.cells:
        text = source(cell)
        if not text.strip():
            yield place, "it is empty", "take it out"
        tags = [tag for tag in cell.get("metadata", {}).get("tags", []) if tag.startswith(("nbval", "raises"))]
        if tags:
            yield place, f"the tag {tags[0]} blinds the comparison of outputs", "make the output the same in every run instead"
        if cell.get("attachments"):
            yield place, "a picture is attached to it", "put the picture into docs/img and link it"
    for place, cell in sheet.code:
        lines = [line for line in source(cell).splitlines() if line.strip()]
        if len(lines) > LONGEST_CELL:
            what = f"it has {len(lines)} lines, more than {LONGEST_CELL}"
            yield place, what, "split it, or move what need not be read into the library"
        if not cell.get("outputs") and place != sheet.code[0][0]:
            yield place, "it shows nothing", "end it in something to look at"


def sources(sheet: Sheet) -> Told:
    """Code that does not belong into a lesson."""
    for place, cell in sheet.code:
        for pattern, what, how in _SOURCES:
            if re.search(pattern, source(cell), re.MULTILINE if pattern.startswith("^") else 0):
                yield place, what, how


def state(sheet: Sheet) -> Told:
    """Nothing of the machine on which it ran."""
    if "widgets" in sheet.metadata:
        yield 0, "it holds the state of widgets", REFRESH_COURSE
    if sheet.metadata.get("kernelspec") != KERNEL:
        yield 0, "its kernel is not the plain python3", REFRESH_COURSE
    if "version" in sheet.metadata.get("language_info", {}):
        yield 0, "it names a version of Python", REFRESH_COURSE
    size = sheet.path.stat().st_size
    if size >= LARGEST_FILE:
        what = f"it has {size // 1000} kB, and {LARGEST_FILE // 1000} kB is the limit"
        yield 0, what, "draw fewer operations, or fewer pictures"
    names = [cell.get("id") for _, cell in sheet.cells]
    if None in names or len(set(names)) < len(names):
        yield 0, "two cells have one name, or one has none", REFRESH_COURSE
    for place, cell in sheet.cells:
        if "execution" in cell.get("metadata", {}):
            yield place, "it holds the times at which it ran", REFRESH_COURSE
        if PATHS.search(source(cell)):
            yield place, "it names a path of one machine", "use cb.data(name) for data, and relative links"


def outputs(sheet: Sheet) -> Told:
    """What the outputs show to a reader without a kernel, and to one who cannot see."""
    for place, cell in sheet.code:
        for output in cell.get("outputs", []):
            yield from ((place, what, how) for what, how in look_at_outputs(output))


def frame(sheet: Sheet) -> Told:
    """The set-up comes first, and the guard last."""
    if not sheet.code:
        yield 0, "it has no code", f"begin with:\n{SET_UP}"
        return
    (first, opening), (last, closing) = sheet.code[0], sheet.code[-1]
    lines = [line for line in source(opening).splitlines() if line.strip() and not line.startswith("#")]
    if _GUARD not in lines or not all(line == _GUARD or _IMPORT.match(line) for line in lines):
        yield first, "the first code cell is not the set-up alone", f"let it hold the imports and {_GUARD!r}, and nothing else"
    shown = "".join(joined(output.get("text", "?\n?")) for output in opening.get("outputs", []))
    if shown.count("\n") > 1:
        yield first, "the set-up prints more than one short line", "find out what it warns of"
    if source(closing) != FINISH:
        yield last, "the last code cell is not the guard", f"end with {FINISH!r}, so that no task dies unseen"


def prose(sheet: Sheet) -> Told:
    """Words, links and pictures of the text."""
    for place, cell in sheet.prose:
        text = _without_code(source(cell))
        for word in SOFT_WORDS:
            if re.search(rf"\b{word}\b", text, re.IGNORECASE):
                yield place, f"the word {word!r}", "leave it out, or say why it is so"
        if re.search(r"<img\b(?![^>]*\balt=[\"'][^\"'])", text):
            yield place, "a picture without alternative text", 'give <img … alt="what it shows">'
        for image, label, target in _LINK.findall(text):
            if image and not label.strip():
                yield place, f"the picture {target} has no alternative text", "write ![what it shows](…)"
            if not re.match(r"[a-z]+:", target):
                yield from ((place, what, how) for what, how in _link(sheet, target))


def _link(sheet: Sheet, target: str) -> Iterator[tuple[str, str]]:
    name, _, anchor = target.partition("#")
    path = (sheet.path.parent / name) if name else sheet.path
    if not path.exists():
        yield f"the link {target} leads nowhere", "give its path from the notebook's folder"
    elif anchor and path.suffix == ".md" and anchor not in _anchors(path.read_text(encoding="utf-8")):
        yield f"{name} has no heading for the link {target}", "correct the part behind the #"
    elif anchor and path == sheet.path and anchor.lower() not in {_slug(text).lower() for _, _, text in _headings(sheet)}:
        yield f"this notebook has no heading for the link {target}", "correct the part behind the #"


def _anchors(markdown: str) -> set[str]:
    """As GitHub makes them."""
    headings = re.findall(r"^#{1,6} (.+)$", _without_code(markdown, inline=False), re.MULTILINE)
    return {_slug(text) for text in headings} | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", markdown))


def _slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def _without_code(text: str, inline: bool = True) -> str:
    text = re.sub(r"^```.*?^```\s*$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]+`", "", text) if inline else text


def exercised(sheet: Sheet) -> Told:
    """Each exercise is asked, blank, and has its hint and its solution."""
    texts = [source(cell) for _, cell in sheet.code]
    first = {name: place for place, cell in reversed(sheet.code) for name in re.findall(r"\bex\.(\w+)", source(cell))}
    for name, place in first.items():
        if name == "not_solved_yet":
            continue
        if name not in exercises.names():
            yield place, f"there is no exercise {name!r}", f"take one of {', '.join(exercises.names())}"
            continue
        if getattr(exercises, name).blank not in texts:
            yield place, f"no cell is the blank of {name}", f"let one hold exactly ex.{name}.blank, unsolved"
        for part in ("", ".hint()", ".solution()"):
            if f"ex.{name}{part}" not in texts:
                yield place, f"there is no cell ex.{name}{part}", "give it one of its own: the reader looks for it"


RULES: tuple[Rule, ...] = (counts, title, headings, shape, sources, state, outputs, frame, prose, exercised)

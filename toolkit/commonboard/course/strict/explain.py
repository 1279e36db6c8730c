"""A failure of nbval as a finding: in a sentence, what happened and how to mend it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from commonboard.course.refresh import joined

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_SHORT = 60

KEEP = "if the new output is right, let `commonboard validate --refresh` save it"
_MARK = "if the error is the point, tag the cell raises-exception"
_BY_ERROR = {
    "ModuleNotFoundError": "install that package where you validate; a module of your own has to be in the notebook's folder",
    "FileNotFoundError": "give paths from the notebook's folder: it runs there",
    "StdinNotImplementedError": "put a value in the place of input(): nobody is there to type",
    "StrayTaskError": "await the task in the cell that starts it, or cancel it there",
    "NameError": f"define the name in a cell above; {_MARK}",
}
_PLOTTED = "end the cell with plt.show(), or give its last value a name: `_ = …`"
_ELSEWHERE = re.compile(r"display_id|update_display|Output\(")
_HUSHED = re.compile(r"clear_output|display_id|update_display|tqdm|interact\b|Output\(")

_NOISE = (
    (re.compile(r"\b0x[0-9a-fA-F]{6,16}\b"), "an address in memory", "give the object a __repr__ of its own, or do not show it"),
    (
        re.compile(
            r"\b[0-9a-f]{8}(?:[-_]?[0-9a-f]{4}){3}[-_]?[0-9a-f]{12}\b|\bT_[0-9a-f]{5}|\b(?=\w*[a-f])(?=\w*\d)\w?[0-9a-f]{8,40}\b"
        ),
        "a random id",
        "show it in a way that draws no ids, or tag the cell nbval-ignore-output",
    ),
    (
        re.compile(r"(?:/tmp|/var/folders)/\S+|[A-Z]:\\\S*\\Temp\\\S+"),
        "the path of a temporary file",
        "show the file's name alone, without its folder",
    ),
)
_NUMBERS = re.compile(
    r"\d{4}-\d\d-\d\d|\b\d{1,2}:\d\d(?::\d\d)?\b|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\b"
    r"|\d+(?:\.\d+)?(?:e[-+]?\d+)?(?:\s?(?:ns|[µμ]s|us|ms|s|min)\b)?"
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_TIMED = re.compile(r"\d\s?(?:ns|µs|μs|us|ms|s|sec|seconds|min|it/s)\b|\d{4}-\d\d-\d\d|\d:\d\d|(?<![\d.])1[6-9]\d{8}")


def failed(item: Any, message: str) -> tuple[str, str]:
    """A cell that did not end well: what, and how to mend it.

    Args:
        item: nbval's item of the cell, after its run.
        message: what nbval says; empty where only the kernel's reply told.
    """
    if message.startswith("Timeout"):
        if "waiting for output" in message:
            return "its kernel answered, and then never came to rest", "await all tasks in the cell; leave no thread printing"
        seconds = message.split()[2]
        stuck = ", and could not be interrupted" if "Failed to interrupt" in message else ""
        return f"it takes longer than {seconds} s{stuck}", "make it do less, allow more with --timeout, or tag it nbval-skip"
    shown = [out for out in item.test_outputs or [] if out.get("output_type") == "error"]
    if not shown:
        printed = "".join(out["text"] for out in item.test_outputs or [] if out.get("name") == "stderr").strip()
        told = f": {_cut(printed.splitlines()[-1])}" if printed else ""
        return f"it failed, though it shows no error{told}", "mend the cell; a magic that is not there fails in this way"
    error = shown[-1]
    name, trace = error["ename"], _COLOURS.sub("", "\n".join(error["traceback"]))
    if "asyncio.run() cannot be called" in error["evalue"]:
        return "asyncio.run() fails in a notebook, where a loop runs already", "write `await` in the place of asyncio.run"
    value = _cut(error["evalue"], 160)
    what = f"it ends in {name}" + (f": {value}" if value else "") + _parts(trace) + _line(trace, item.cell.source)
    return what, _BY_ERROR.get(name, f"mend the cell; {_MARK}")


def _parts(trace: str) -> str:
    """The errors of an exception group, which its own message only counts."""
    inner = re.findall(r"^ +\| +((?:\w+\.)*\w+: .+|\w+(?:Error|Exception))$", trace, re.MULTILINE)
    found = [part for part in dict.fromkeys(inner) if not re.match(r"\S*ExceptionGroup: |File ", part)]
    return f", which holds {_cut('; '.join(found), 120)}" if found else ""


def _line(trace: str, source: str) -> str:
    """The line of the cell in which it happened."""
    found = re.search(r"(?:Cell In|Input In) ?\[[^\]]*\], line (\d+)|ipykernel_\d+[/\\]\d+\.py\", line (\d+)", trace)
    number = int(found[1] or found[2]) if found else 0
    lines = source.splitlines()
    text = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    # Where an earlier cell's function comes first, the line would be another's.
    return f", at line {number}: {_cut(text)}" if text and (text in trace or not trace) and len(lines) > 1 else ""


def changed(item: Any) -> tuple[str, str]:
    """A cell whose outputs are not those that were saved: what, and how to mend it."""
    before, after = _flat(item.cell.outputs, item), _flat(item.test_outputs, item)
    difference = _difference(before, after)
    if difference is None:
        return "its output is not the one that was saved", KEEP
    kind, old, new = difference
    if _HUSHED.search(item.cell.source):
        return _told(kind, old, new), "what is shown and then overwritten cannot be compared: tag the cell nbval-ignore-output"
    if kind == "text/plain" and re.search(r"\bmatplotlib\.|<Axes", f"{old}{new}"):
        return _told(kind, old, new), _PLOTTED
    if old is None or new is None:
        if old is None and _ends_in_semicolon(item.cell.source):
            return "its ; hides the output from you and not from nbval", "take the ; away and give the value a name: `_ = …`"
        return _told(kind, old, new), KEEP
    for noise, name, how in _NOISE:
        if noise.sub("·", old) == noise.sub("·", new):
            return f"its output holds {name}, which differs in every run: {_clip(old, new)}", how
    if any(_ELSEWHERE.search(cell.source) for cell in item.parent.nb.cells if cell.cell_type == "code"):
        return _told(kind, old, new), f"if another cell shows something in this one's place, tag it nbval-ignore-output; {KEEP}"
    return _told(kind, old, new), _how(kind, old, new)


def _how(kind: str, old: str, new: str) -> str:
    if _NUMBERS.sub("·", old) == _NUMBERS.sub("·", new):
        if _TIMED.search(old):
            return "leave the time out of what it shows, or tag the cell nbval-ignore-output"
        pairs = zip(_NUMBER.findall(old), _NUMBER.findall(new), strict=False)
        if all(one == other or ("." in one and _close(one, other)) for one, other in pairs):
            return "only the last digits differ: round what you show"
        return f"if the number is drawn, give it a seed; {KEEP}"
    if kind in ("stdout", "text/plain") and sorted(re.findall(r"\w+", old)) == sorted(re.findall(r"\w+", new)):
        return f"the same words in another order: sort them before you show them; {KEEP}"
    return KEEP


def _close(one: str, other: str) -> bool:
    return abs(float(one) - float(other)) <= 1e-6 * max(abs(float(one)), abs(float(other)))


def _flat(outputs: Any, item: Any) -> dict[str, list[str]]:
    """Outputs as nbval compares them: for each kind, what was shown, in order."""
    made: dict[str, list[str]] = {}
    skipped = item.parent.skip_compare
    for output in outputs or []:
        if output["output_type"] == "stream":
            made.setdefault(output["name"], []).append(item.sanitize(joined(output["text"])))
            continue
        shown: Mapping[str, Any] = output.get("data", {})
        if output["output_type"] == "error":
            shown = {"error": f"{output['ename']}: {output['evalue']}"}
        for mime, content in shown.items():
            if mime not in skipped:
                text = joined(content) if isinstance(content, (str, list)) else str(content)
                made.setdefault(mime, []).append(item.sanitize(text))
    return made


Difference = tuple[str, str | None, str | None]


def _difference(before: dict[str, list[str]], after: dict[str, list[str]]) -> Difference | None:
    """The first difference that a person would name: its kind, what was saved, what came now (`None`: nothing)."""
    for kind in _in_order({**before, **after}):
        old, new = before.get(kind, []), after.get(kind, [])
        for place in range(max(len(old), len(new))):
            was, now = (texts[place] if place < len(texts) else None for texts in (old, new))
            if was != now:
                return kind, was, now
    return None


_KINDS = {
    "error": "an error",
    "stdout": "printed text",
    "text/plain": "a value",
    "text/html": "HTML",
    "stderr": "a warning",
    "text/markdown": "Markdown",
    "text/latex": "a formula",
    "image/svg+xml": "a drawing",
    "application/javascript": "a script",
}


def _in_order(kinds: Mapping[str, Any]) -> Iterator[str]:
    yield from sorted(kinds, key=lambda kind: list(_KINDS).index(kind) if kind in _KINDS else len(_KINDS))


def _told(kind: str, old: str | None, new: str | None) -> str:
    name = _KINDS.get(kind, f"something of the kind {kind}")
    if old is None:
        return f"it shows {name} that was not saved: {_cut(new or '')}"
    if new is None:
        return f"it no longer shows {name}: {_cut(old)}"
    if old.split() == new.split():
        return f"its output is the one that was saved, but for spaces or line ends: {_cut(new)}"
    return f"its output is not the one that was saved: {_clip(old, new)}"


def _clip(old: str, new: str) -> str:
    """The two texts around the first place where they differ."""
    first, second = old.splitlines(), new.splitlines()
    line = next(
        (at for at, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]), min(len(first), len(second))
    )
    was, now = (lines[line] if line < len(lines) else "" for lines in (first, second))
    same = next((at for at, pair in enumerate(zip(was, now, strict=False)) if pair[0] != pair[1]), min(len(was), len(now)))
    begin = max(0, same - 20)
    where = f" (line {line + 1})" if line else ""
    return f"saved {_around(was, begin)}, now {_around(now, begin)}{where}"


def _around(text: str, begin: int) -> str:
    shown = text[begin : begin + _SHORT].strip()
    if not shown:
        return "nothing"
    return f"'{'…' if begin else ''}{shown}{'…' if len(text) > begin + _SHORT else ''}'"


def _cut(text: str, length: int = _SHORT) -> str:
    line = " ".join(text.split())
    return line.rstrip(".") if len(line) <= length else line[: length - 1] + "…"


def _ends_in_semicolon(source: str) -> bool:
    return re.search(r";\s*(#.*)?\Z", source) is not None

"""Run notebooks and save their outputs, always in the same form, so that a diff shows what really changed.

What a run leaves behind and no reader needs is dropped: the state of widgets (a viewer without a kernel cannot use it, and it
loads scripts from the network), times, the version of Python, the random names of cells and models.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from commonboard.errors import CommonboardError

Notebook = dict[str, Any]
Cell = dict[str, Any]

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
LANGUAGE = {"file_extension": ".py", "mimetype": "text/x-python", "name": "python", "pygments_lexer": "ipython3"}
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
ENVIRONMENT = {"PYTHONHASHSEED": "0", "TZ": "UTC", "COLUMNS": "80", "CI": "true"}
"""What every notebook runs in, here and in its tests."""
RUN_ANEW = "let `commonboard validate --refresh` run it and save it clean"
REFRESH_COURSE = "let `make refresh` run it and save it clean"
NEWEST, OLDEST = (4, 5), (4, 0)
"""Formats: the first in which cells have names, which the course wants, and the oldest that can be read."""

_MARKS = {
    "nbval-skip": "skip",
    "NBVAL_SKIP": "skip",
    "nbval-ignore-output": "ignore",
    "NBVAL_IGNORE_OUTPUT": "ignore",
    "nbval-raises-exception": "raises",
    "NBVAL_RAISES_EXCEPTION": "raises",
    "raises-exception": "raises",
}
_TIMES = ("execution", "ExecuteTime")
_SKIPPED, _RAISES = "commonboard-skipped", "raises-exception"
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class NotebookError(CommonboardError, ValueError):
    """A notebook could not be read, or one of its cells failed."""


def notebooks_in(paths: Iterable[str | Path]) -> list[Path]:
    """The notebooks at these paths: the files themselves, and those anywhere in the folders, by name.

    Raises:
        NotebookError: a path is neither a notebook nor a folder that holds one.
    """
    found: list[Path] = []
    for path in map(Path, paths):
        inside = [one for one in sorted(path.rglob("*.ipynb")) if ".ipynb_checkpoints" not in one.parts]
        here = inside if path.is_dir() else [path]
        if not here or not all(one.is_file() and one.suffix == ".ipynb" for one in here):
            raise NotebookError(f"there is no notebook at {path}; give .ipynb files, or folders that hold some")
        found += here
    return found


def read_notebook(path: str | Path, least: tuple[int, int] = NEWEST) -> Notebook:
    """A notebook as plain data.

    Args:
        path: the file.
        least: the oldest format that will do.

    Raises:
        NotebookError: it is not JSON, or not a notebook of format 4, or of an older one than `least`.
    """
    try:
        notebook = json.loads(Path(path).read_text(encoding="utf-8"))
        form = notebook["nbformat"], notebook["nbformat_minor"]
        cells = notebook["cells"]
    except (ValueError, KeyError, TypeError) as error:
        raise NotebookError(f"{path} is not a notebook: {error!r}; open it in JupyterLab and save it again") from None
    if form < least or form[0] > 4 or not isinstance(cells, list):
        needed = f"{least[0]}.{least[1]}"
        raise NotebookError(
            f"{path} has format {form[0]}.{form[1]}, and {needed} is needed; open it in JupyterLab and save it again"
        )
    return {**notebook, "cells": cells}


def write_notebook(notebook: Notebook, path: str | Path) -> bool:
    """Save a notebook, unless the file holds exactly that already; says whether it had to."""
    text = json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    target = Path(path)
    if target.is_file() and target.read_text(encoding="utf-8") == text:
        return False
    target.write_text(text, encoding="utf-8", newline="\n")
    return True


def source(cell: dict[str, Any]) -> str:
    """A cell's source as one text."""
    return joined(cell.get("source", ""))


def marks(cell: Cell) -> set[str]:
    """What a cell asks of nbval, by tags or in comments: of `skip`, `ignore` (its output) and `raises` (an error is meant).

    >>> sorted(marks({"source": "# NBVAL_SKIP", "metadata": {"tags": ["raises-exception"]}}))
    ['raises', 'skip']
    """
    tags = cell.get("metadata", {}).get("tags") or []
    comments = [line.strip().lstrip("#").strip() for line in source(cell).splitlines() if line.strip().startswith("#")]
    return {_MARKS[word] for word in (*tags, *comments) if word in _MARKS}


def joined(text: str | list[str]) -> str:
    """A notebook keeps a text whole, or as a list of its lines."""
    return text if isinstance(text, str) else "".join(text)


def refresh(paths: Iterable[str | Path], *, timeout: int = 60) -> list[Path]:
    """Run notebooks, each with a kernel of its own, and save what came of it; gives those that changed.

    Args:
        paths: notebooks, or folders of them.
        timeout: seconds that a cell may take.

    Raises:
        NotebookError: a cell failed. Its notebook is left as it was; those before it are saved.
    """
    changed = []
    for path in _shown(notebooks_in(paths)):
        if write_notebook(clean(execute(read_notebook(path), path, timeout)), path):
            changed.append(path)
    return changed


def execute(notebook: Notebook, path: str | Path, timeout: int = 60, *, environment: Mapping[str, str] | None = None) -> Notebook:
    """The notebook with the outputs of a fresh run. It runs in the folder of `path`, with the Python that runs this.

    Cells that nbval is told to skip are not run and stay as they are. It cannot be called where an event loop is running.

    Args:
        notebook: as `read_notebook` gives it.
        path: its file.
        timeout: seconds that a cell may take.
        environment: more variables for its kernel.

    Raises:
        NotebookError: a cell failed, or took longer than `timeout` seconds.
    """
    import nbformat.v4
    from nbclient.exceptions import CellControlSignal, DeadKernelError

    marked = [_with_tags(cell) for cell in notebook["cells"]]
    fresh = nbformat.v4.reads(  # type: ignore[no-untyped-call]
        json.dumps({**notebook, "cells": marked, "metadata": {"kernelspec": KERNEL}})
    )
    outside = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    whole = outside | ENVIRONMENT | dict(environment or {})
    told = ""
    try:
        # In a loop of its own, which is closed: what nbclient makes for each thread stays open.
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:  # the kind that zmq works with everywhere
            runner.run(_client(fresh, path, timeout).async_execute(env=whole, stderr=subprocess.DEVNULL))
    except (CellControlSignal, DeadKernelError) as error:
        told = _COLOURS.sub("", str(error)).rstrip()
    if told:
        raise NotebookError(f"{Path(path).name} does not run to its end, and was left as it is:\n{told}")
    made = dict(json.loads(nbformat.v4.writes(fresh)))  # type: ignore[no-untyped-call]
    for cell, before in zip(made["cells"], notebook["cells"], strict=True):
        cell["metadata"] = {**before.get("metadata", {}), **{k: v for k, v in cell["metadata"].items() if k != "tags"}}
    return made | {"metadata": notebook.get("metadata", {})}


def _with_tags(cell: Cell) -> Cell:
    """The cell with the tags by which nbclient knows what nbval knows by its own."""
    asked = marks(cell)
    more = [tag for tag, mark in ((_SKIPPED, "skip"), (_RAISES, "raises")) if mark in asked]
    if not more:
        return cell
    metadata = cell.get("metadata", {})
    return {**cell, "metadata": {**metadata, "tags": [*(metadata.get("tags") or []), *more]}}


def _client(fresh: Any, path: str | Path, timeout: int) -> Any:
    import ipykernel.kernelspec
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    class ThisPython(KernelSpecManager):  # a kernel "python3" that somebody installed may be another Python
        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
            return KernelSpec(resource_dir=ipykernel.kernelspec.RESOURCES, **ipykernel.kernelspec.get_kernel_dict())

    class Manager(AsyncKernelManager):
        def __init__(self, **options: Any) -> None:
            super().__init__(kernel_spec_manager=ThisPython(), **options)

    return NotebookClient(
        fresh,
        timeout=timeout,
        startup_timeout=120,
        kernel_name=KERNEL["name"],
        kernel_manager_class=Manager,
        skip_cells_with_tag=_SKIPPED,
        resources={"metadata": {"path": str(Path(path).resolve().parent)}},
        extra_arguments=["--log-level=40"],  # a kernel warns each time that it can be overheard on this machine
    )


def clean(notebook: Notebook) -> Notebook:
    """The notebook with nothing in it that differs from run to run."""
    seen: Counter[str] = Counter()
    return {
        "cells": [_clean_cell(cell, seen) for cell in notebook["cells"]],
        "metadata": {"kernelspec": dict(KERNEL), "language_info": dict(LANGUAGE)},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def clean_gently(notebook: Notebook) -> Notebook:
    """The notebook without what differs from run to run, and with all that its author may have put there on purpose.

    The names of cells, their tags and their other metadata stay; the state of widgets, the times of the run, the version of
    Python and the name of a kernel that is on one machine only go.
    """
    metadata = {name: value for name, value in notebook.get("metadata", {}).items() if name != "widgets"}
    metadata["kernelspec"] = dict(KERNEL)
    if "language_info" in metadata:
        metadata["language_info"] = {name: value for name, value in metadata["language_info"].items() if name != "version"}
    named = (notebook["nbformat"], notebook["nbformat_minor"]) >= NEWEST
    seen: set[str] = set()
    cells = []
    for place, cell in enumerate(notebook["cells"]):
        made = {**cell, "metadata": {k: v for k, v in cell.get("metadata", {}).items() if k not in _TIMES}}
        if named and (not cell.get("id") or cell["id"] in seen):
            made["id"] = hashlib.sha256(f"{place}\n{source(cell)}".encode()).hexdigest()[:8]
        seen.add(made.get("id", ""))
        if cell["cell_type"] == "code":
            made["outputs"] = _clean_outputs(cell.get("outputs", []))
        cells.append(made)
    return {**notebook, "cells": cells, "metadata": metadata}


def changes(before: Notebook, after: Notebook) -> list[str]:
    """What is different in a notebook after it was run anew and cleaned, in words; for what `write_notebook` saved."""

    def shown(cell: Cell) -> list[dict[str, Any]]:
        return [{k: v for k, v in out.items() if k != "execution_count"} for out in _clean_outputs(cell.get("outputs", []))]

    pairs = list(enumerate(zip(before["cells"], after["cells"], strict=True), 1))
    told = []
    if places := [place for place, (old, new) in pairs if shown(old) != shown(new)]:
        told.append(f"new output in cell{'s' if len(places) > 1 else ''} {', '.join(map(str, places))}")
    if any(old.get("execution_count") != new.get("execution_count") for _, (old, new) in pairs):
        told.append("cells counted from 1")
    if "widgets" in before.get("metadata", {}):
        told.append("the state of widgets dropped")
    if "version" in before.get("metadata", {}).get("language_info", {}):
        told.append("the version of Python dropped")
    if before.get("metadata", {}).get("kernelspec", {}).get("name") != KERNEL["name"]:
        told.append("its kernel is python3")
    return told or ["its form alone, no output"]


def _clean_cell(cell: dict[str, Any], seen: Counter[str]) -> dict[str, Any]:
    kind, text = cell["cell_type"], source(cell).rstrip()
    # A name made of the content: a cell keeps it when others come and go.
    content = f"{kind}\n{text}"
    seen[content] += 1
    name = hashlib.sha256(f"{seen[content]}\n{content}".encode()).hexdigest()[:8]
    tags = cell.get("metadata", {}).get("tags", [])
    made: dict[str, Any] = {
        "cell_type": kind,
        "id": name,
        "metadata": {"tags": tags} if tags else {},
        "source": text.splitlines(keepends=True),
    }
    if "attachments" in cell:
        made["attachments"] = cell["attachments"]
    if kind == "code":
        made["execution_count"] = cell.get("execution_count")
        made["outputs"] = _clean_outputs(cell.get("outputs", []))
    return made


def _clean_outputs(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    streams: dict[str, dict[str, Any]] = {}
    for output in outputs:
        if output["output_type"] == "stream":
            # How often a stream was flushed differs from run to run.
            if output["name"] not in streams:
                streams[output["name"]] = {**output, "text": []}
                made.append(streams[output["name"]])
            so_far = "".join(streams[output["name"]]["text"]) + joined(output["text"])
            streams[output["name"]]["text"] = so_far.splitlines(keepends=True)
        elif "data" in output:
            data = {mime: _lines(content) for mime, content in output["data"].items() if mime != WIDGET_VIEW}
            made.append({**output, "data": data})
        else:
            made.append(output)
    return made


def _lines(content: Any) -> Any:
    return joined(content).splitlines(keepends=True) if isinstance(content, (str, list)) else content


def _shown(paths: list[Path]) -> Iterator[Path]:
    """The paths, with a bar that shows how far we are if it takes longer than two seconds; none under CI."""
    from tqdm.auto import tqdm

    yield from tqdm(paths, desc="notebooks", unit="notebook", delay=2, disable=bool(os.environ.get("CI")))


def new_notebook(path: str | Path, number: int, title: str, question: str) -> Path:
    """Write a notebook that has what each one needs: title, question, set-up, guard. `refresh` then runs it.

    Args:
        path: the folder.
        number: its place in the course: 0, 10, 20, …
        title: such as `"The incident"`.
        question: one sentence that ends in a question mark.

    Raises:
        NotebookError: the file is there already.
    """
    target = Path(path) / f"{number:02d}_{re.sub(r'[^a-z0-9]+', '_', title.lower()).strip('_')}.ipynb"
    if target.exists():
        raise NotebookError(f"{target} is there already; choose another number or title")
    cells = [
        ("markdown", f"# {title}\n\n*{question}*"),
        ("code", SET_UP),
        ("markdown", "## What to remember\n\n1. …\n2. …\n3. …"),
        ("code", FINISH),
    ]
    empty: dict[str, Any] = {"execution_count": None, "outputs": []}
    made = [{"cell_type": kind, "source": text} | (empty if kind == "code" else {}) for kind, text in cells]
    write_notebook(clean({"cells": made}), target)
    return target


SET_UP = "import commonboard as cb\nfrom commonboard.course import exercises as ex, predict, set_up\n\nguard = set_up()"
FINISH = "await guard.finish()"

"""Run notebooks and save their outputs, always in the same form, so that a diff shows what really changed.

What a run leaves behind and no reader needs is dropped: the state of widgets (a viewer without a kernel cannot use it, and it
loads scripts from the network), times, the version of Python, the random names of cells and models.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from commonboard.errors import CommonboardError

Notebook = dict[str, Any]

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
LANGUAGE = {"file_extension": ".py", "mimetype": "text/x-python", "name": "python", "pygments_lexer": "ipython3"}
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
ENVIRONMENT = {"PYTHONHASHSEED": "0", "TZ": "UTC", "COLUMNS": "80", "CI": "true"}
"""What every notebook runs in, here and in its tests."""

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


def read_notebook(path: str | Path) -> Notebook:
    """A notebook as plain data.

    Raises:
        NotebookError: it is not JSON, or not a notebook of format 4.5, the first in which cells have names.
    """
    try:
        notebook = json.loads(Path(path).read_text(encoding="utf-8"))
        form = notebook["nbformat"], notebook["nbformat_minor"]
        cells = notebook["cells"]
    except (ValueError, KeyError, TypeError) as error:
        raise NotebookError(f"{path} is not a notebook: {error!r}; open it in JupyterLab and save it again") from None
    if form < (4, 5) or not isinstance(cells, list):
        raise NotebookError(f"{path} has format {form[0]}.{form[1]}, and 4.5 is needed; open it in JupyterLab and save it again")
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


def execute(notebook: Notebook, path: str | Path, timeout: int = 60) -> Notebook:
    """The notebook with the outputs of a fresh run. It runs in the folder of `path`.

    Raises:
        NotebookError: a cell failed, or took longer than `timeout` seconds.
    """
    import nbformat.v4
    from nbclient import NotebookClient
    from nbclient.exceptions import CellControlSignal, DeadKernelError

    fresh = nbformat.v4.reads(json.dumps({**notebook, "metadata": {"kernelspec": KERNEL}}))  # type: ignore[no-untyped-call]
    folder = str(Path(path).resolve().parent)
    client = NotebookClient(
        fresh,
        timeout=timeout,
        startup_timeout=120,
        kernel_name=KERNEL["name"],
        resources={"metadata": {"path": folder}},
        extra_arguments=["--log-level=40"],  # a kernel warns each time that it can be overheard on this machine
    )
    outside = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    told = ""
    try:
        client.execute(env=outside | ENVIRONMENT)
    except (CellControlSignal, DeadKernelError) as error:
        told = _COLOURS.sub("", str(error)).rstrip()
    if told:
        raise NotebookError(f"{Path(path).name} does not run to its end, and was left as it is:\n{told}")
    return dict(json.loads(nbformat.v4.writes(fresh)))  # type: ignore[no-untyped-call]


def clean(notebook: Notebook) -> Notebook:
    """The notebook with nothing in it that differs from run to run."""
    seen: Counter[str] = Counter()
    return {
        "cells": [_clean_cell(cell, seen) for cell in notebook["cells"]],
        "metadata": {"kernelspec": dict(KERNEL), "language_info": dict(LANGUAGE)},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


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

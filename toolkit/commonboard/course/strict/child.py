"""The process in which nbval runs notebooks. It tells what it finds on its standard output, one JSON object a line.

    python -m commonboard.course.strict.child FOLDER TIMEOUT NOTEBOOK…

nbval brings the kernel, the comparison and the marks; what is added here turns its failures into findings, notices a kernel that
died without waiting for the timeout, and runs one more cell at the end, which asks the guard in the kernel.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections import defaultdict
from collections.abc import Generator
from functools import partial
from pathlib import Path
from queue import Empty
from typing import Any, TextIO

import nbformat
import nbval.plugin  # type: ignore[import-untyped]
import pytest

from commonboard.course.refresh import marks
from commonboard.course.strict.explain import changed, failed
from commonboard.course.strict.kernel import LAST_CELL, MIME

SANITIZE = r"""A warning names the temporary file of the cell that it came from.
regex: \S*[/\\]ipykernel_\d+[/\\]\d+\.py
replace: IPYKERNEL_FILE
"""
Finding = tuple[int, str, str]


class KernelDied(RuntimeError):
    """The kernel's process is gone."""


class LastCell(nbval.plugin.IPyNbCell):  # type: ignore[misc]
    """The cell that is not in the notebook: it asks the guard."""


class Notebook:
    """What is known of one notebook while it runs."""

    def __init__(self, file: Any) -> None:
        self.path = str(file.path)
        self.places = [place for place, cell in enumerate(file.nb.cells, 1) if cell.cell_type == "code"]
        self.ran: list[tuple[int, str]] = []
        self.compared = 0
        self.findings: list[Finding] = []
        self.broken: Finding | None = None
        self.later = 0

    def place_of(self, item: Any) -> int:
        """The number of a cell among all cells, from 1; nbval counts code cells, from 0."""
        place: int = self.places[item.cell_num]
        return place

    def note(self, finding: Finding, breaks: bool) -> None:
        """Keep a finding. After a cell that broke, the others fail for want of it, and are counted only."""
        if self.broken is not None:
            self.later += 1
        else:
            self.findings.append(finding)
            self.broken = finding if breaks else None

    def told(self) -> list[Finding]:
        """All findings; the one that broke the notebook says how many cells failed after it."""
        if self.broken is None or not self.later:
            return self.findings
        place, what, how = self.broken
        count = "another cell" if self.later == 1 else f"{self.later} other cells"
        return [*self.findings[:-1], (place, f"{what}; {count} after it failed too", how)]


class Findings:
    """The pytest plugin."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._notebooks: dict[Any, Notebook] = {}

    def tell(self, **message: Any) -> None:
        """Write one message."""
        self._out.write(json.dumps(message) + "\n")
        self._out.flush()

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: Any) -> Generator[None, Any, Any]:
        """A file was read, or could not be."""
        report = yield
        if isinstance(collector, nbval.plugin.IPyNbFile):
            if report.failed:
                last = str(report.longrepr).strip().splitlines()[-1]
                what = f"nbval cannot read it: {last[:200]}"
                self.tell(kind="finding", path=str(collector.path), cell=0, what=what, how=_SAVE_AGAIN)
            if not report.result:  # unreadable, or without a cell of code
                self.tell(kind="done", path=str(collector.path), ran=0, compared=0)
        return report

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """After the last cell of each notebook comes the one that asks the guard."""
        last = {item.parent: item for item in items}
        for file, item in last.items():
            self._notebooks[file] = Notebook(file)
            cell = nbformat.v4.new_code_cell(LAST_CELL)  # type: ignore[no-untyped-call]
            asks = LastCell.from_parent(file, name="guard", cell_num=item.cell_num + 1, cell=cell, options=defaultdict(bool))
            items.insert(items.index(item) + 1, asks)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: Any) -> None:
        """Before a cell runs."""
        kernel, notebook = item.parent.kernel, self._notebooks[item.parent]
        if not isinstance(kernel.await_reply, partial):
            kernel.await_reply = partial(_await_reply, kernel)
        kernel.last_status = "ok"
        if not isinstance(item, LastCell):
            place = notebook.place_of(item)
            self.tell(kind="cell", path=notebook.path, cell=place, of=notebook.places[-1])
            if not item.options["skip"]:
                notebook.ran.append((place, item.cell.source))
                asked = marks(json.loads(json.dumps(item.cell)))
                notebook.compared += "ignore" not in asked and item.cell.execution_count is not None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, Any]:
        """A cell has run, or could not."""
        report = yield
        notebook = self._notebooks[item.parent]
        if report.when == "setup" and report.failed:
            self.tell(kind="trouble", what=f"the kernel of {notebook.path} did not start: {call.excinfo.value}")
        if report.when == "call":
            if isinstance(item, LastCell):
                self._end(item, notebook, call.excinfo)
            else:
                self._judge(item, notebook, call.excinfo)
        return report

    def _judge(self, item: Any, notebook: Notebook, raised: Any) -> None:
        error = raised.value if raised is not None else None
        place = notebook.place_of(item)
        if error is None:
            if item.parent.kernel.last_status == "error" and not item.options["check_exception"]:
                notebook.note((place, *failed(item, "")), breaks=False)
        elif isinstance(error, KernelDied):
            notebook.note((place, "the kernel died while it ran", _RUN_ALONE), breaks=True)
        elif not isinstance(error, nbval.plugin.NbCellError):
            if not isinstance(error, pytest.skip.Exception):
                notebook.note((place, f"it could not be run: {error}", _RUN_ALONE), breaks=True)
        elif str(error) == "Cell outputs differ":
            notebook.note((place, *changed(item)), breaks=False)
        elif not str(error).startswith("Unrun reference cell"):  # the lint tells
            notebook.note((place, *failed(item, str(error))), breaks=True)

    def _end(self, item: Any, notebook: Notebook, raised: Any) -> None:
        if raised is None:
            (tasks,) = [out["data"][MIME] for out in item.test_outputs if MIME in out.get("data", {})]
            notebook.findings = notebook.told()
            for task in tasks:
                places = [place for place, source in notebook.ran if source == task["source"]]
                place = places[min(task["nth"], len(places)) - 1] if places else 0
                notebook.findings.append((place, task["what"], _AWAIT))
        else:
            if notebook.broken is None:
                self.tell(
                    kind="trouble", what=f"after the cells of {notebook.path}, the guard could not be asked: {raised.value}"
                )
            notebook.findings = notebook.told()
        for place, what, how in notebook.findings:
            self.tell(kind="finding", path=notebook.path, cell=place, what=what, how=how)
        self.tell(kind="done", path=notebook.path, ran=len(notebook.ran), compared=notebook.compared)


_SAVE_AGAIN = "open it in JupyterLab and save it again"
_RUN_ALONE = "run it alone in JupyterLab; it may want more memory than there is, or end the process itself"
_AWAIT = "await the task in the cell that starts it, or cancel it there"


def _await_reply(kernel: Any, msg_id: str, timeout: float) -> None:
    """As nbval's, but a kernel that died is noticed at once, and how the reply went is kept: some errors show nowhere else."""
    waited = 0.0
    while True:
        try:
            message = kernel.get_message("shell", timeout=min(1.0, timeout))
        except Empty:
            waited += min(1.0, timeout)
            if not kernel.is_alive():
                raise KernelDied("the kernel died") from None
            if waited >= timeout:
                raise
            continue
        if message["parent_header"].get("msg_id") == msg_id:
            kernel.last_status = message["content"]["status"]
            return


def _no_diff(item: Any, key: str, left: Any, right: Any) -> None:
    """pytest's own comparison of two long texts takes minutes, and nobody reads it here."""


def run(folder: Path, timeout: float, paths: list[str], out: TextIO) -> int:
    """Run notebooks under nbval.

    Args:
        folder: for the configuration of pytest, so that none of the user's own is in force.
        timeout: seconds for a cell.
        paths: the notebooks.
        out: where to tell.
    """
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (folder / "sanitize.cfg").write_text(SANITIZE, encoding="utf-8")
    nbval.plugin.IPyNbCell.format_output_compare = _no_diff
    settings = ["-c", str(folder / "pytest.ini"), f"--rootdir={folder}", "--noconftest", "--continue-on-collection-errors", "-q"]
    settings += ["-p", "no:cacheprovider", "-p", "nbval.plugin", "-W", "ignore"]
    settings += ["--nbval", "--nbval-current-env", f"--nbval-cell-timeout={timeout}", "--nbval-kernel-startup-timeout=120"]
    settings += [f"--nbval-sanitize-with={folder / 'sanitize.cfg'}"]
    findings = Findings(out)
    code = int(pytest.main([*settings, *paths], plugins=[findings]))
    findings.tell(kind="end")
    return code


def main() -> int:
    """The command of this process. What pytest prints goes to standard error, where it is kept in case of trouble."""
    folder, timeout, *paths = sys.argv[1:]
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        with contextlib.redirect_stdout(sys.stderr):
            return run(Path(folder), float(timeout), paths, out)


if __name__ == "__main__":
    sys.exit(main())

"""Strict nbval for anybody's notebooks: every cell is run again, and every output must be the one that was saved.

Notebooks run in processes of their own, under settings that a test run of the reader's cannot change: the Python that runs this,
one fixed environment, a time limit for each cell, and a kernel that reports exception groups as errors and watches tasks.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from commonboard.course.refresh import ENVIRONMENT
from commonboard.course.sheet import LintFinding
from commonboard.course.strict.kernel import CONFIGURATION
from commonboard.errors import CommonboardError

NEEDED = ("pytest", "nbval", "nbformat", "nbclient", "ipykernel")
Progress = Callable[[Path, int, int], None]
"""Called before each cell: the notebook, the cell's number, that of its last cell; and (notebook, 0, 0) when it is through."""


class ValidationError(CommonboardError, RuntimeError):
    """Notebooks could not be run at all, which says nothing about them."""


@dataclass(slots=True)
class Validated:
    """What came of it.

    Attributes:
        findings: what is to be mended, by notebook.
        ran: how many cells ran.
        compared: how many of them were compared with what was saved; the others are marked, or were never run.
    """

    findings: list[LintFinding] = field(default_factory=list)
    ran: int = 0
    compared: int = 0


def check_environment() -> None:
    """Look whether all is installed that running notebooks takes.

    Raises:
        ValidationError: something is not.
    """
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ValidationError(
            f"running notebooks needs {', '.join(missing)}, which {sys.executable} does not have; "
            "install with: pip install 'commonboard[lab,test]' (or look at the files alone, with --lint-only)"
        )


@contextlib.contextmanager
def kernel_environment() -> Iterator[dict[str, str]]:
    """The variables by which a kernel finds the cure for exception groups and the guard; for as long as it runs."""
    with tempfile.TemporaryDirectory(prefix="commonboard-") as folder:
        profile = Path(folder) / "profile_default"
        profile.mkdir()
        (profile / "ipython_kernel_config.py").write_text(CONFIGURATION, encoding="utf-8")
        found = [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        yield {"IPYTHONDIR": folder, "PYTHONPATH": os.pathsep.join(found)}


def validate(paths: Sequence[Path], *, timeout: float = 60, jobs: int = 1, progress: Progress = lambda *told: None) -> Validated:
    """Run notebooks under strict nbval.

    Args:
        paths: the notebooks.
        timeout: seconds that a cell may take.
        jobs: how many notebooks run at once, each in a process of its own.
        progress: told of each cell.

    Raises:
        ValidationError: a package is missing, or a process or a kernel did not come up or broke down.
    """
    check_environment()
    whole = [path.resolve() for path in paths]
    jobs = max(1, min(jobs, len(whole)))
    with kernel_environment() as variables, ThreadPoolExecutor(jobs) as pool:
        batches = [_Batch(whole[start::jobs], timeout, variables, progress) for start in range(jobs)]
        try:
            told = [message for messages in pool.map(_Batch.run, batches) for message in messages]
        finally:
            for batch in batches:
                batch.stop()
    return _validated(paths, told)


def _validated(paths: Sequence[Path], told: list[dict[str, Any]]) -> Validated:
    troubles = [message["what"] for message in told if message["kind"] == "trouble"]
    if troubles:
        raise ValidationError("; ".join(troubles))
    through = {message["path"] for message in told if message["kind"] == "done"}
    if lost := [str(path) for path in paths if str(path.resolve()) not in through]:
        raise ValidationError(f"nbval came to its end without a word of {', '.join(lost)}; nothing is known of it")
    made = Validated()
    for path in paths:
        mine = [message for message in told if message.get("path") == str(path.resolve())]
        made.findings += [
            LintFinding(str(path), message["cell"], message["what"], message["how"])
            for message in mine
            if message["kind"] == "finding"
        ]
        made.ran += sum(message["ran"] for message in mine if message["kind"] == "done")
        made.compared += sum(message["compared"] for message in mine if message["kind"] == "done")
    return made


class _Batch:
    """One process, and what it tells."""

    def __init__(self, paths: list[Path], timeout: float, variables: dict[str, str], progress: Progress) -> None:
        self._paths = paths
        self._timeout = timeout
        self._variables = variables
        self._progress = progress
        self._process: subprocess.Popen[str] | None = None

    def run(self) -> list[dict[str, Any]]:
        """Run to the end; gives what it told but the progress."""
        outside = {name: value for name, value in os.environ.items() if name not in _NOT_THEIRS}
        env = outside | ENVIRONMENT | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | self._variables
        told: list[dict[str, Any]] = []
        with tempfile.TemporaryDirectory(prefix="commonboard-") as folder, open(Path(folder) / "said", "w+b") as said:
            command = [sys.executable, "-m", "commonboard.course.strict.child", folder, str(self._timeout)]
            self._process = subprocess.Popen(
                [*command, *map(str, self._paths)],
                cwd=folder,
                env=env,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                encoding="utf-8",
            )
            assert self._process.stdout is not None
            with self._process.stdout as lines:
                for line in lines:
                    message = json.loads(line)
                    if message["kind"] == "cell":
                        self._progress(Path(message["path"]), message["cell"], message["of"])
                    else:
                        told.append(message)
                    if message["kind"] == "done":
                        self._progress(Path(message["path"]), 0, 0)
            code = self._process.wait()
            ended = any(message["kind"] == "end" for message in told)
            if not ended or code not in (0, 1, 5):  # all well; failures, which it told of; no cell at all
                said.seek(0)
                last = said.read().decode(errors="replace").strip().splitlines()[-5:]
                told.append({"kind": "trouble", "what": f"running notebooks broke down (status {code}): {' | '.join(last)}"})
            return told

    def stop(self) -> None:
        """End the process, if it still runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait()


_NOT_THEIRS = ("MPLBACKEND", "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER")

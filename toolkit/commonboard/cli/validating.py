"""`commonboard validate`: what the notebooks of this course are held to, for anybody's notebooks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commonboard.cli.printing import CALLED_WRONGLY, FOUND, console, draw, plainly, say

if TYPE_CHECKING:
    from commonboard.course.sheet import LintFinding
    from commonboard.course.strict import Progress, Validated

_ECHOES = ("address in memory", "random id", "a ; at the end", "asyncio.run(", "saved with an error")
"""What the lint says of a cell and running the cell says better."""


def validate(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Notebooks, or folders with notebooks in them.")],
    refresh: Annotated[
        bool, typer.Option("--refresh", help="First run each notebook and save its new outputs, cleaned, if they changed.")
    ] = False,
    lint_only: Annotated[bool, typer.Option("--lint-only", help="Look at the files; run nothing.")] = False,
    course: Annotated[
        bool, typer.Option("--course", help="Hold them to the rules of this course too: set-up, guard, exercises, words.")
    ] = False,
    timeout: Annotated[int, typer.Option(min=1, metavar="SECONDS", help="How long one cell may take.")] = 60,
    jobs: Annotated[int, typer.Option(min=1, metavar="N", help="How many notebooks run at once.")] = 1,
) -> None:
    """Run notebooks anew, and tell where they differ from what was saved. They need not be about commonboard.

    Every cell must give the output that is saved with it, letter by letter (nbval in its strict mode; pictures in PNG and JPEG
    are not compared). An error in a TaskGroup counts, and so does a task that died unseen. A lint looks for what running cannot
    show: cells that were never run, the state of widgets, paths of one machine.

    **This runs the code of the notebooks**, in the Python that commonboard is installed in.

    Exit codes: 0 nothing to mend, 1 something to mend, 2 called wrongly or something is not installed.

    *Example:* `commonboard validate notebooks/ --jobs 2`
    """
    from commonboard.course.lint import lint
    from commonboard.course.refresh import notebooks_in
    from commonboard.course.strict import Validated, check_environment, validate as run

    with plainly(CALLED_WRONGLY):
        notebooks = list(dict.fromkeys(notebooks_in(paths)))
        if refresh or not lint_only:
            check_environment()
        if refresh:
            _refresh(notebooks, timeout, jobs, course)
        linted = [replace(found, file=str(path)) for path in notebooks for found in lint(path, course=course)]
        done = Validated()
        if not lint_only:
            runnable = [path for path in notebooks if _is_python(path)]
            with _bar("running", len(runnable)) as progress:
                done = run(runnable, timeout=timeout, jobs=jobs, progress=progress)
    findings = _in_order(notebooks, linted, done.findings)
    _tell(findings)
    say(_summary(len(notebooks), findings, None if lint_only else done))
    if findings:
        raise typer.Exit(FOUND)


def _is_python(path: Path) -> bool:
    """Whether it can be run here; where not, the lint says why."""
    from commonboard.course.common_rules import kernel_language
    from commonboard.course.refresh import OLDEST, NotebookError, read_notebook

    try:
        return kernel_language(read_notebook(path, OLDEST).get("metadata", {})) == "python"
    except NotebookError:
        return False


def _refresh(notebooks: list[Path], timeout: int, jobs: int, course: bool) -> None:
    """Run and save those that can be run; tells what changed. Why one does not run to its end is told by running it again."""
    from commonboard.course.strict import kernel_environment

    with _bar("refreshing", len(notebooks)) as progress, kernel_environment() as environment, ThreadPoolExecutor(jobs) as pool:

        def one(path: Path) -> str:
            told = _refreshed(path, timeout, course, environment) if _is_python(path) else ""
            progress(path, 0, 0)
            return told

        for told in pool.map(one, notebooks):
            if told:
                say(told)


def _refreshed(path: Path, timeout: int, course: bool, environment: dict[str, str]) -> str:
    from commonboard.course import refresh

    try:
        before = refresh.read_notebook(path, refresh.NEWEST if course else refresh.OLDEST)
        ran = refresh.execute(before, path, timeout, environment=environment)
    except refresh.NotebookError:
        return f"left {path} as it was: it does not run to its end"
    after = refresh.clean(ran) if course else refresh.clean_gently(ran)
    return f"saved {path}: {'; '.join(refresh.changes(before, after))}" if refresh.write_notebook(after, path) else ""


def _in_order(notebooks: list[Path], linted: list[LintFinding], ran: list[LintFinding]) -> list[LintFinding]:
    """All findings, by notebook and cell; without what the lint guessed where running the cell has told it."""
    known = {(found.file, found.cell) for found in ran if found.cell}
    kept = [found for found in linted if (found.file, found.cell) not in known or not any(echo in found.what for echo in _ECHOES)]
    names = [str(path) for path in notebooks]
    return sorted([*kept, *ran], key=lambda found: (names.index(found.file), found.cell))


def _tell(findings: list[LintFinding]) -> None:
    screen = console()
    if not screen.is_terminal:
        for found in findings:
            say(str(found))
        return
    for file in dict.fromkeys(found.file for found in findings):
        mine = [found for found in findings if found.file == file]
        rows = [[str(found.cell or ""), found.what, found.how] for found in mine]
        draw(screen, file, ["cell", "what", "to mend it"], rows, [True, False, False])


def _summary(notebooks: int, findings: list[LintFinding], done: Validated | None) -> str:
    told = _counted(len(findings), "thing") + " to mend" if findings else "nothing to mend"
    looked = _counted(notebooks, "notebook")
    if done is None:
        return f"{looked} looked at, and not run: {told}."
    aside = done.ran - done.compared
    unsaid = f", {aside} of them without a comparison (never run before, or marked so)" if aside else ""
    return f"{looked}, {_counted(done.ran, 'cell')} run{unsaid}: {told}."


def _counted(count: int, one: str) -> str:
    return f"{count:,} {one}{'' if count == 1 else 's'}"


@contextmanager
def _bar(doing: str, total: int) -> Iterator[Progress]:
    """A bar on the terminal that tells which cell is running; nothing in a pipe or on CI."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress as Bar, TextColumn, TimeElapsedColumn

    screen = console(stderr=True)
    if not screen.is_terminal or os.environ.get("CI"):
        yield lambda path, cell, of: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, console=screen, transient=True) as bar:
        task = bar.add_task(doing, total=total)

        def progress(path: Path, cell: int, of: int) -> None:
            where = f", cell {cell} of {of}" if cell else ""
            bar.update(task, advance=int(not cell and not of), description=f"{doing} {path.name}{where}")

        yield progress

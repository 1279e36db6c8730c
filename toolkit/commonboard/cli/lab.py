"""`commonboard lab`: the course, opened in JupyterLab."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from commonboard.cli.printing import CALLED_WRONGLY, plainly, say
from commonboard.errors import CommonboardError

_HERE = Path(__file__).resolve()
SHIPPED = _HERE.parents[1] / "_course"
"""Where an installed wheel has the course: its notebooks, and the pages that they link to."""
CHECKOUT = _HERE.parents[3]
COPY = "commonboard-course"

OFFLINE = (
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
)
"""JupyterLab asks nobody for news, for newer versions or for extensions."""


class CourseError(CommonboardError, LookupError):
    """The course, a notebook of it or JupyterLab is not there."""


def lab(
    context: typer.Context,
    notebook: Annotated[
        str, typer.Argument(metavar="NOTEBOOK", help="A number such as 20, a name of the course, or a path.")
    ] = "",
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address only; for a machine without a screen.")
    ] = False,
    where: Annotated[bool, typer.Option("--where", help="Print where the course is, and open nothing.")] = False,
) -> None:
    """Open the course in JupyterLab, at its first notebook or the one that you name. It needs no network.

    In a checkout the notebooks are opened where they are. Installed by pip, the course is copied to ./commonboard-course first;
    what is there already stays as you left it. Options that are not told here go to JupyterLab, such as `--port=8900`.

    Exit codes: as JupyterLab's; 2 where JupyterLab or the notebook is not there.

    *Example:* `commonboard lab 20`
    """
    with plainly(CALLED_WRONGLY):
        if where:
            say(str(course(copy=False)))
            return
        if importlib.util.find_spec("jupyterlab") is None:
            raise CourseError("JupyterLab is not installed; install it with: pip install 'commonboard[lab]'")
        chosen = find(notebook)
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    browser = ["--no-browser"] if no_browser else []
    command = [sys.executable, "-m", "jupyterlab", *OFFLINE, *root, *browser, *context.args, str(chosen)]
    raise typer.Exit(run(command))


def run(command: list[str]) -> int:
    """Run a program to its end, and give its exit status. A Ctrl-C is the program's: JupyterLab asks whether it is meant."""
    with subprocess.Popen(command) as process:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            return process.wait()
        finally:
            signal.signal(signal.SIGINT, before)


def find(name: str) -> Path:
    """The notebook that somebody means: a path, or a number or a name of the course; the first one if none is named.

    Raises:
        CourseError: there is none.
    """
    if name.endswith(".ipynb") and Path(name).is_file():
        return Path(name)
    there = sorted(course().glob("*.ipynb"))
    wanted = name.removesuffix(".ipynb")
    found = [path for path in there if path.stem == wanted or path.stem.startswith(f"{wanted.zfill(2)}_") or wanted == ""]
    if not found:
        raise CourseError(f"there is no notebook {name!r}; the course has {', '.join(path.stem for path in there) or 'none'}")
    return found[0]


def course(copy: bool = True) -> Path:
    """The folder of the course's notebooks.

    Args:
        copy: in an installed package, copy the course to where we are first: what is installed is not to be written to.

    Raises:
        CourseError: this installation has none.
    """
    if not SHIPPED.is_dir():
        if (CHECKOUT / "notebooks").is_dir() and (CHECKOUT / "pyproject.toml").is_file():
            return CHECKOUT / "notebooks"
        raise CourseError("this installation has no notebooks; clone the repository and run `make lab` in it")
    if not copy:
        return SHIPPED / "notebooks"
    made = Path.cwd() / COPY
    before = made.is_dir()
    for path in sorted(path for path in SHIPPED.rglob("*") if path.is_file() and ".ipynb_checkpoints" not in path.parts):
        target = made / path.relative_to(SHIPPED)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            shutil.copyfile(path, target)
    say(f"the course is in {made}{', as you left it' if before else ''}")
    return made / "notebooks"

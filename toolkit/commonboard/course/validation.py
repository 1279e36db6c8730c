"""Notebooks are committed executed: `lint` looks at the files, `refresh` runs them and saves their outputs.

    python -m commonboard.course.validation lint notebooks
    python -m commonboard.course.validation refresh notebooks/10_last_writer_wins.ipynb

That the saved outputs are still what a run gives is checked by nbval (`make notebooks`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from commonboard.course.lint import lint
from commonboard.course.refresh import (
    NotebookError,
    clean,
    execute,
    new_notebook,
    notebooks_in,
    read_notebook,
    refresh,
    write_notebook,
)
from commonboard.course.sheet import LintFinding

__all__ = [
    "LintFinding",
    "NotebookError",
    "clean",
    "execute",
    "lint",
    "main",
    "new_notebook",
    "notebooks_in",
    "read_notebook",
    "refresh",
    "write_notebook",
]

USAGE = "usage: python -m commonboard.course.validation lint|refresh PATH…"


def main(arguments: Sequence[str]) -> int:
    """The command; gives its exit status: 0 if all is well, 1 if a notebook is not, 2 if it was called wrongly."""
    if len(arguments) < 2 or arguments[0] not in ("lint", "refresh"):
        sys.stderr.write(USAGE + "\n")
        return 2
    command, *paths = arguments
    try:
        notebooks = notebooks_in(paths)
        lines = [f"saved {path}" for path in refresh(notebooks)] if command == "refresh" else list(map(str, lint(notebooks)))
    except NotebookError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    for line in lines:
        sys.stdout.write(line + "\n")
    count = f"{len(notebooks)} notebook{'s' if len(notebooks) > 1 else ''}"
    if command == "refresh":
        sys.stdout.write(f"{count} ran to the end; {len(lines)} changed\n")
        return 0
    sys.stdout.write(f"{count}, {len(lines)} thing{'s' if len(lines) != 1 else ''} to mend\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The small data sets that the notebooks read."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from commonboard.errors import InvalidArgumentError, kind_of

_HERE = Path(__file__).resolve()
_FOLDERS = (_HERE.parents[1] / "_data", _HERE.parents[3] / "data")
"""Where an installed wheel has them, and where a checkout does."""


@cache
def _copies() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="commonboard-", ignore_cleanup_errors=True)


def data(name: str) -> Path:
    """A fresh copy of a data set that comes with the project, to read and to write as you like; it is gone with the process.

    `data/README.md` tells the source and the licence of each.

    Args:
        name: the file's name, such as `"crew_board.json"`.

    Raises:
        FileNotFoundError: there is no such data set; the error lists those there are.
        InvalidArgumentError: it is no text.
    """
    if not isinstance(name, str):
        raise InvalidArgumentError(f"data takes the name of a file, such as 'crew_board.json', not {kind_of(name)}")
    for folder in _FOLDERS:
        path = folder / name
        if path.is_file() and path.resolve().parent == folder.resolve():
            return Path(shutil.copy(path, mkdtemp(dir=_copies().name)))
    there = sorted(path.name for folder in _FOLDERS if folder.is_dir() for path in folder.iterdir() if path.suffix != ".md")
    raise FileNotFoundError(f"there is no data set {name!r}; there are: {', '.join(there) or 'none'}")

"""The small data sets that the notebooks read."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve()
_FOLDERS = (_HERE.parents[1] / "_data", _HERE.parents[3] / "data")
"""Where an installed wheel has them, and where a checkout does."""


def data(name: str) -> Path:
    """The path of a data set that comes with the project; `data/README.md` tells its source and licence.

    Args:
        name: the file's name, such as `"crew_board.json"`.

    Raises:
        FileNotFoundError: there is no such data set; the error lists those there are.
    """
    for folder in _FOLDERS:
        path = folder / name
        if path.is_file() and path.resolve().parent == folder.resolve():
            return path
    there = sorted(path.name for folder in _FOLDERS if folder.is_dir() for path in folder.iterdir() if path.suffix != ".md")
    raise FileNotFoundError(f"there is no data set {name!r}; there are: {', '.join(there) or 'none'}")

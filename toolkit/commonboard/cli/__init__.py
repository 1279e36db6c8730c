"""The command `commonboard`: the course, comparisons, boards in files, and the validation of notebooks.

Each command imports what it needs when it runs, so that `commonboard --help` answers at once.
"""

from commonboard.cli.app import app

__all__ = ["app"]

"""A progress bar for a search that takes more than two seconds. Nobody knows the end, so it counts what has been done."""

from __future__ import annotations

import os
import sys
from typing import Any


class Progress:
    """`with Progress(shown) as progress:` and then `progress.tick(done)`.

    Args:
        shown: whether to show a bar; `None`: after two seconds, and not in CI or where notebooks are tested.
    """

    def __init__(self, shown: bool | None) -> None:
        self._wanted = shown if shown is not None else not os.environ.get("CI")
        self._shown = shown
        self._bar: Any = None
        self._done = 0

    def __enter__(self) -> Progress:
        if self._wanted:
            from tqdm.auto import tqdm
            from tqdm.std import tqdm as plain

            if tqdm is plain and not sys.stderr.isatty() and not self._shown:
                return self  # nobody looks at a log file while it grows
            delay = 0.0 if self._shown else 2.0
            self._bar = tqdm(desc="explored", unit=" states", unit_scale=True, leave=False, delay=delay, miniters=1)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._bar is not None:
            self._bar.close()
        if isinstance(error, KeyboardInterrupt) and self._done:
            error.add_note(
                f"explore was interrupted after about {self._done:,} states or schedules; budget={self._done} gives a verdict on "
                "so many"
            )

    def tick(self, done: int) -> None:
        """So many states or schedules have been done."""
        self._done = done
        if self._bar is not None and done != self._bar.n:
            self._bar.update(done - self._bar.n)

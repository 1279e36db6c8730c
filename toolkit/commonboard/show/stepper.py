"""Stepping through a run by hand: what is seen at each step, as a pure function, and the slider that shows it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from commonboard.history import GIVEN, Cell, History, Operation
from commonboard.show.picture import Picture
from commonboard.show.spacetime import spacetime
from commonboard.show.story import seconds
from commonboard.show.tables import board_table
from commonboard.show.timeline import PictureError, Timeline, timeline

if TYPE_CHECKING:
    from commonboard.show.widgets import Stepper

_WINDOW = 24
"""How many rows of a longer history are drawn around the step, so that stepping stays quick."""


class Step(NamedTuple):
    """What one step shows.

    Attributes:
        picture: the space-time picture, with the step's row marked.
        table: the board after the step, as HTML, with what the step changed marked.
        sentence: what happened in it.
    """

    picture: Picture
    table: str
    sentence: str


class Walk:
    """A history cut into steps: one a row of the picture, so that thoughts that share a row are one step.

    Args:
        history: what happened.
        highlight, caption: as for `spacetime`.

    Attributes:
        steps: how many there are.
        start: the step at which the agents begin: what was there before is on the board.
    """

    def __init__(self, history: History, highlight: Iterable[Operation] = (), caption: str = "") -> None:
        self.history = history
        self.highlight = list(highlight)
        self.caption = caption
        self._line: Timeline = timeline(history, self.highlight, limit=None)
        self.steps = len(self._line.rows)
        given = [row.kind == "operation" and history[row.places[0]].agent == GIVEN for row in self._line.rows]
        self.start = given.index(False) if False in given else len(given)

    def place(self, step: int) -> int:
        """Where in the history the last operation before the end of a step stands; -1 for step 0."""
        places = [max(row.places) for row in self._line.rows[:step] if row.kind == "operation"]
        return max(places, default=-1)

    def render(self, step: int) -> Step:
        """What step `step` shows; 0 is before anything happened.

        Raises:
            PictureError: there is no such step.
        """
        if not isinstance(step, int) or not 0 <= step <= self.steps:
            raise PictureError(f"there is no step {step!r:.60}; the steps are 0 to {self.steps}")
        limit = None if self.steps <= _WINDOW * 2 else _WINDOW
        picture = spacetime(self.history, self.highlight, self.caption, limit=limit, now=step)
        before, after = self._boards(max(step - 1, 0)), self._boards(step)
        tables = [
            board_table(f"{name} after step {step} of {self.steps}", old, new)
            for (name, old), (_, new) in zip(before, after, strict=True)
        ]
        return Step(picture, "".join(tables), self.sentence(step))

    def still(self) -> tuple[Picture, str]:
        """What stays in a saved notebook: the whole picture, and the board at the end."""
        tables = [board_table(f"{name} at the end", board, board) for name, board in self._boards(self.steps)]
        return spacetime(self.history, self.highlight, self.caption), "".join(tables)

    def sentence(self, step: int) -> str:
        """What happens in a step, with its time."""
        if step == 0:
            return "Before the first step: nothing has happened yet."
        row = self._line.rows[step - 1]
        told = " ".join(self._line.story.sentence(place) for place in row.places)
        return told if row.time is None else f"{seconds(row.time)}: {told}"

    def _boards(self, step: int) -> list[tuple[str, dict[str, Cell]]]:
        """The board after a step, or each replica's, by name."""
        place = self.place(step)
        if not self.history.replicas:
            return [("The board", self.history.board_at(place))]
        return [(name, self.history.board_at(place, name)) for name in self.history.replicas]


def render(history: History, step: int) -> tuple[str, str]:
    """The picture and the board at a step, as HTML."""
    shown = Walk(history).render(step)
    return shown.picture._repr_html_(), shown.table


def stepper(run_or_history: Any, highlight: Iterable[Operation] = (), caption: str = "") -> Stepper:
    """A slider that steps through a run or a history, with the board below the picture. A saved notebook shows its last step.

    Args:
        run_or_history: a `History`, or anything that has one as `history`.
        highlight, caption: as for `spacetime`.

    Raises:
        PictureError: it has no history.
    """
    from commonboard.show.widgets import Stepper

    history = run_or_history if isinstance(run_or_history, History) else getattr(run_or_history, "history", None)
    if not isinstance(history, History):
        raise PictureError(f"a {type(run_or_history).__name__} cannot be stepped through; give a run or a history")
    return Stepper(Walk(history, highlight, caption))

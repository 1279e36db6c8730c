"""A row of the grid: one anomaly, with the smallest program of agents that can show it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from commonboard.anomaly_grid.columns import Column, Job
from commonboard.check import Verdict, at_the_end
from commonboard.check.properties import Property
from commonboard.crdt import ORSet

Check = Callable[[Any], Verdict]


@dataclass(frozen=True)
class Row:
    """One anomaly.

    Attributes:
        name: the field's name for it.
        sentence: what it is.
        story: what the agents of the program do.
        jobs: the agents, written against a `Way`.
        check: what must be true; the anomaly breaks it.
        given: what `shared/…` holds before.
        readers: which agents only look.
        crdt: what the CRDT column keeps the values in.
        faults: what may go wrong, as arguments of `World`.
        not_for: why it does not apply to some columns, by their names.
        shown: the column whose run shows it best; the first that permits it unless given.
        outside: where it is found outside.
        named_by: who named or described it.
    """

    name: str
    sentence: str
    story: str
    jobs: Mapping[str, Job]
    check: Check
    given: Mapping[str, Any] = field(default_factory=dict)
    readers: tuple[str, ...] = ()
    crdt: type[Any] = ORSet
    faults: Mapping[str, Any] = field(default_factory=dict)
    not_for: Mapping[str, str] = field(default_factory=dict)
    shown: str = ""
    outside: str = ""
    named_by: str = ""

    @property
    def board(self) -> dict[str, Any]:
        """What the board holds before, by full key."""
        return {f"shared/{key}": value for key, value in self.given.items()}

    @property
    def source(self) -> str:
        """The program, as it stands in the file."""
        return "\n\n\n".join(inspect.getsource(job).rstrip() for job in dict.fromkeys(self.jobs.values()))

    def why_not(self, column: Column) -> str:
        """Why it does not apply to a column; empty if it does."""
        return self.not_for.get(column.name, "")


def never(wrong: Callable[[Board], bool], name: str) -> Property:
    """A check on the final board, told by what must not be: `wrong(board)` says whether it is."""
    return at_the_end(lambda state: not wrong(Board(state)), name)


class Board:
    """The final board: `board["x"]` is the value at `shared/x`, `board.saw("reader")` what an agent noted."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._state = state

    def __getitem__(self, key: str) -> Any:
        return self._state.get(f"shared/{key}")

    def saw(self, agent: str) -> list[Any]:
        """What an agent noted; empty if nothing."""
        return list(self._state.get(f"shared/{agent} saw", []))

    def under(self, prefix: str) -> list[str]:
        """The keys under `shared/<prefix>/`."""
        return [key for key in self._state if key.startswith(f"shared/{prefix}/")]

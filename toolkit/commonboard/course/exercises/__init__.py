"""The exercises of the course, by name: `exercises.claim_the_task`.

Each is a question, a blank cell, hints, a solution and a property; see `commonboard.course.exercise`. To add one, write it like
its neighbours and put it into its module's `EXERCISES`; the tests then run its blank and its solution.
"""

from __future__ import annotations

from commonboard.course.exercise import Exercise, not_solved_yet
from commonboard.course.exercises import (
    anomalies,
    audit,
    compare_and_set,
    compare_policies,
    crdt_merge,
    faults,
    interleavings,
    last_writer_wins,
    optimistic,
    reality,
    store_and_values,
    the_incident,
    turns_and_expiry,
    visibility,
)

_MODULES = (
    the_incident,
    store_and_values,
    turns_and_expiry,
    last_writer_wins,
    optimistic,
    compare_and_set,
    crdt_merge,
    compare_policies,
    interleavings,
    faults,
    visibility,
    audit,
    anomalies,
    reality,
)
_ALL: dict[str, Exercise] = {exercise.name: exercise for module in _MODULES for exercise in module.EXERCISES}


def names() -> list[str]:
    """The names of all exercises, in the order of the course."""
    return list(_ALL)


def __getattr__(name: str) -> Exercise:
    if name in _ALL:
        return _ALL[name]
    raise AttributeError(f"there is no exercise {name!r}; there are: {', '.join(_ALL)}")


def __dir__() -> list[str]:
    return [*_ALL, "names", "not_solved_yet"]


__all__ = ["names", "not_solved_yet"]

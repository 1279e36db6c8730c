"""All orders of a small program: what the tests of the simulator walk over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import commonboard as cb


def every(*agents: Any, **options: Any) -> Iterator[cb.Run]:
    """The runs of all choice lists: an odometer whose wheels have as many digits as there were alternatives."""
    numbers: list[int] = []
    while True:
        made = cb.simulate(*agents, replay=numbers, **options)
        yield made
        numbers, wheels = made.choices.numbers, made.choices.alternatives
        while numbers and numbers[-1] + 1 == wheels[len(numbers) - 1]:
            numbers.pop()
        if not numbers:
            return
        numbers[-1] += 1

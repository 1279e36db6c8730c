"""How fast the space-time picture is. Run by hand:

    PYTHONPATH=toolkit:. python tests/benchmarks/bench_spacetime.py

Prints the best of some rounds in milliseconds: 1,000 operations drawn without leaving any out (to reach: 100 ms), the same
with the usual limit, and one step of a stepper through them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tests.show.histories import long

from commonboard.show import spacetime
from commonboard.show.stepper import Walk

ROUNDS = 7


def best(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def main() -> None:
    history, highlight, caption = long(1000)
    walk = Walk(history, highlight, caption)
    picture = spacetime(history, highlight, caption, limit=None)
    print(f"1,000 operations, all drawn   {best(lambda: spacetime(history, highlight, caption, limit=None)):6.1f} ms", end="")
    print(f"   ({len(picture.svg) / 1000:.0f} kB)")
    print(f"1,000 operations, 60 rows     {best(lambda: spacetime(history, highlight, caption)):6.1f} ms")
    print(f"one step through them         {best(lambda: walk.render(500)):6.1f} ms")


if __name__ == "__main__":
    main()

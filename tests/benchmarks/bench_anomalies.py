"""How many transactions a second `anomalies` judges, at 20,000 and at 200,000 of them. Run by hand:

    PYTHONPATH=toolkit python tests/benchmarks/bench_anomalies.py

Ten agents take turns on 1,000 keys. A transaction is two reads and a write of one of the two keys; or, in the second history, a
single update that says what its writer had seen. In the third, every hundredth transaction has missed the last write, so that
there is something to find. Times are of the processor, the best of three; a plain loop that only checks each read against the
newest version is timed beside, since a busy machine slows both. The other checks follow.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

from commonboard.check.anomalies import anomalies
from commonboard.check.sessions import session_guarantees
from commonboard.check.staleness import staleness
from commonboard.history import History, Operation

SIZES, ROUNDS, KEYS = (20_000, 200_000), 3, 1_000


def reads_and_a_write(size: int, missed: int = 0) -> History:
    """Transactions of two reads and a write; every `missed`-th has not seen the newest version of the key that it writes."""
    dice, versions, operations = random.Random(1), [0] * KEYS, list[Operation]()
    for number in range(size):
        one, other = dice.sample(range(KEYS), 2)
        behind = 1 if missed and number % missed == 0 and versions[one] else 0
        for kind, key, late in (("read", one, behind), ("read", other, 0), ("write", one, 0)):
            place, version = len(operations), versions[key] - late
            op = Operation(place, f"agent-{number % 10}", "read", f"shared/{key}", begin=2 * place, end=2 * place + 1)
            op.transaction = str(number)
            if kind == "read":
                op.saw, op.text = version, str(version) if version else None
            else:
                versions[key] += 1
                op.kind, op.replaced, op.made, op.text = "write", version, version + 1, str(version + 1)
            operations.append(op)
    return History(operations)


def updates(size: int) -> History:
    """Single operations, each of which had seen what it replaced."""
    dice, versions, operations = random.Random(1), [0] * KEYS, list[Operation]()
    for place in range(size):
        key = dice.randrange(KEYS)
        op = Operation(place, f"agent-{place % 10}", "write", f"shared/{key}", begin=2 * place, end=2 * place + 1)
        op.saw = op.replaced = versions[key]
        versions[key] += 1
        op.made, op.text = versions[key], str(versions[key])
        operations.append(op)
    return History(operations)


def plain_loop(history: History) -> int:
    """How many reads did not find the newest version: the least that could be called a check."""
    newest: dict[str, int] = {}
    stale = 0
    for op in history:
        if op.is_write and op.made is not None:
            newest[op.key] = op.made
        elif op.kind == "read" and op.saw != newest.get(op.key, 0):
            stale += 1
    return stale


def seconds(task: Callable[[History], Any], history: History) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        task(history)
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    print(f"{'what':<44}{'transactions':>14}{'operations':>12}{'a second':>12}{'times a plain loop':>20}")
    for what, make, check in [
        ("anomalies, two reads and a write", reads_and_a_write, anomalies),
        ("anomalies, single updates", updates, anomalies),
        ("anomalies, 1 of 100 has missed a write", lambda size: reads_and_a_write(size, missed=100), anomalies),
        ("anomalies, single updates, in real time", updates, lambda history: anomalies(history, realtime=True)),
        ("session guarantees, two reads and a write", reads_and_a_write, session_guarantees),
        ("staleness, two reads and a write", reads_and_a_write, staleness),
    ]:
        for size in SIZES:
            history = make(size)
            plain, taken = seconds(plain_loop, history), seconds(check, history)
            print(f"{what:<44}{size:>14,}{len(history):>12,}{size / taken:>12,.0f}{taken / plain:>20.1f}")


if __name__ == "__main__":
    main()

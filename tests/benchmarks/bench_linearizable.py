"""How fast linearizability is decided, on what other projects recorded, beside detangle if it is there. Run by hand:

    PYTHONPATH=toolkit:. python tests/benchmarks/bench_linearizable.py

The 102 logs of etcd and the key-value histories lie in ../shared/histories; without them only the made-up histories of
fifty clients are judged, of which a few late reads are wrong. Three times are taken, each the least of the rounds: the
search alone; the whole check, which also shrinks a violation and tells it; and detangle's check of the same calls. Steps
are counts, and the same everywhere. porcupine, the reference in Go, was measured at 2.4 to 2.8 s for the 102 logs on the
machine on which this library was written; it is not run here.
"""

from __future__ import annotations

import gc
import importlib
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from tests.check.calls import many_clients
from tests.helpers import SHARED

from commonboard.check.jepsen import read_calls
from commonboard.check.linearizable import linearizable
from commonboard.check.model import Call, Model
from commonboard.check.models import CompareAndSetRegister, KeyValue
from commonboard.check.wgl import decide

ROUNDS = 3
PLENTY = 10**7
HISTORIES = SHARED / "histories"
try:
    detangle: Any = importlib.import_module("detangle.lin")
except ImportError:
    detangle = None


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """The least of the rounds in seconds, and what came of it."""
    least, result = float("inf"), None
    for _ in range(ROUNDS):
        gc.collect()
        start = time.perf_counter()
        result = work()
        least = min(least, time.perf_counter() - start)
    return least, result


def theirs(calls: Sequence[Call], of_text: bool) -> Callable[[], Any]:
    """detangle's check of the same calls; it has no append, so its model gets one."""

    class Texts(detangle.KV):  # type: ignore[misc, name-defined]
        def step(self, state: Any, op: Any) -> tuple[bool, Any]:
            if op.f == "append":
                before = "" if state == self.init() else state
                return True, before + op.arg[1]
            return super().step(state, op)  # type: ignore[no-any-return]

        def partition(self, operations: Any) -> Any:
            self.initial = {self._key(op): "" for op in operations}
            return super().partition(operations)

    history = detangle.History()
    moments: list[tuple[int, int, int, Call]] = []
    for number, call in enumerate(calls):
        moments.append((call.begin, 0, number, call))
        if call.end is not None:
            moments.append((call.end, 1, number, call))
    under_way: dict[int, Any] = {}
    for _, returns, number, call in sorted(moments, key=lambda moment: moment[:3]):
        if returns:
            history.ok(under_way.pop(number), call.result)
        else:
            name = {"compare-and-set": "cas"}.get(call.kind, call.kind)
            argument = call.argument if not of_text else call.key if call.kind == "read" else (call.key, call.argument)
            under_way[number] = history.invoke(call.process, name, argument)
    for open_ in under_way.values():
        history.info(open_)
    return lambda: detangle.check(history.operations, Texts() if of_text else detangle.Register()).ok


def measure(name: str, model: Model, calls: Sequence[Call], beside: bool = True) -> tuple[int, float, float, float | None]:
    """Steps, and the seconds of the search, of the whole check and of detangle's."""
    searched, decision = timed(lambda: decide(model, calls, PLENTY))
    whole, verdict = timed(lambda: linearizable(model)(calls))
    assert verdict.holds is decision.answer
    if detangle is None or not beside:
        return decision.steps, searched, whole, None
    their, answer = timed(theirs(calls, isinstance(model, KeyValue)))
    assert answer is decision.answer, f"{name}: detangle says {answer}"
    return decision.steps, searched, whole, their


def line(name: str, steps: object, *seconds: float | None) -> None:
    print(f"{name:<34}{steps:>10}" + "".join(f"{'' if s is None else f'{s * 1000:,.2f}':>12}" for s in seconds))


def logs() -> None:
    """The logs of etcd: sum, median, 90th percentile and slowest."""
    rows = []
    reading = time.perf_counter()
    read = {path.name: read_calls(path) for path in sorted((HISTORIES / "etcd").glob("*.log"))}
    reading = time.perf_counter() - reading
    for name, calls in read.items():
        rows.append(measure(name, CompareAndSetRegister(), calls))
    columns = [[row[place] for row in rows] for place in (1, 2, 3)]
    total = sum(row[0] for row in rows)
    ways: dict[str, Callable[[Sequence[float]], float]] = {
        "sum": sum,
        "median": statistics.median,
        "90th percentile": lambda times: statistics.quantiles(times, n=10)[-1],
        "slowest": max,
    }
    for what, way in ways.items():
        cells = [None if None in column else way([cell for cell in column if cell is not None]) for column in columns]
        counts = [float(row[0]) for row in rows]
        line(f"{len(rows)} etcd logs, {what}", f"{total if what == 'sum' else way(counts):,.0f}", *cells)
    print(f"(reading them: {reading * 1000:,.0f} ms)")


def main() -> None:
    print(
        f"{'':<34}{'steps':>10}{'search ms':>12}{'check ms':>12}{'detangle ms' if detangle is not None else '(no detangle)':>14}"
    )
    if HISTORIES.is_dir():
        logs()
        for path in sorted((HISTORIES / "kv").glob("*.txt")):
            steps, *seconds = measure(path.stem, KeyValue(""), read_calls(path))
            line(path.stem, f"{steps:,}", *seconds)
    else:
        print("(../shared/histories is not there)")
    for seed in range(3):
        for wrong in (0, 3):
            steps, *seconds = measure("made up", KeyValue(""), many_clients(seed, wrong=wrong), beside=False)
            line(f"50 clients, 10 keys, seed {seed}, {'bad' if wrong else 'ok'}", f"{steps:,}", *seconds)


if __name__ == "__main__":
    main()

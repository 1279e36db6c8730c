"""How fast the sets and counters are, beside loro (a Rust library) through its Python bindings. Run by hand:

    PYTHONPATH=toolkit python tests/benchmarks/bench_crdt.py

Prints, for each task, the best of some rounds in milliseconds, and the ratio loro / ours: 1.0 and more means that we are
no slower. loro has no add-wins set; its last-writer-wins map stands in, which does less, so the ratio is a lower bound.
Without loro only our own times are printed.
"""

from __future__ import annotations

import gc
import importlib
import time
from collections.abc import Callable
from typing import Any

from commonboard.crdt import ORSet, PNCounter

ROUNDS = 5
try:
    loro: Any = importlib.import_module("loro")
except ImportError:
    loro = None


def names(start: int, count: int) -> list[str]:
    return [f"question {number}" for number in range(start, start + count)]


def own_set(elements: list[str], replica: str = "a~1") -> ORSet:
    made = ORSet(replica)
    for element in elements:
        made.add(element)
    return made


def own_counter(times: int) -> PNCounter:
    counter = PNCounter("a~1")
    for _ in range(times):
        counter.add(1)
    return counter


def own_churn(times: int) -> ORSet:
    made = ORSet("a~1")
    for _ in range(times):
        made.add("x")
        made.remove("x")
    return made


def loro_set(elements: list[str]) -> Any:
    doc = loro.LoroDoc()
    made = doc.get_map("set")
    for element in elements:
        made.insert(element, True)
    doc.commit()
    return doc


def loro_counter(times: int) -> Any:
    doc = loro.LoroDoc()
    counter = doc.get_counter("count")
    for _ in range(times):
        counter.increment(1)
    doc.commit()
    return doc


def loro_churn(times: int) -> Any:
    doc = loro.LoroDoc()
    made = doc.get_map("set")
    for _ in range(times):
        made.insert("x", True)
        made.delete("x")
    doc.commit()
    return doc


def updates(doc: Any) -> bytes:
    return bytes(doc.export(loro.ExportMode.Updates(loro.VersionVector())))


def snapshot_size(doc: Any) -> int:
    return len(doc.export(loro.ExportMode.Snapshot()))


def best(task: Callable[[Any], Any], given: Callable[[], Any] = lambda: None) -> float:
    """Milliseconds of the fastest round; what `given` makes is not timed."""
    times = []
    for _ in range(ROUNDS):
        ready = given()
        gc.collect()
        start = time.perf_counter()
        task(ready)
        times.append((time.perf_counter() - start) * 1000)
    return min(times)


def row(name: str, ours: float, theirs: float | None) -> None:
    beside = "" if theirs is None else f"{theirs:10.1f}{theirs / ours:9.2f}"
    print(f"{name:<44}{ours:10.1f}{beside}")


def measure_adds(count: int) -> None:
    elements = names(0, count)
    row(f"{count:,} adds", best(lambda _: own_set(elements)), best(lambda _: loro_set(elements)) if loro else None)


def measure_merge(count: int) -> None:
    mine, theirs = own_set(names(0, count)), own_set(names(count, count), "b~1")
    merge = best(lambda _: mine.merge(theirs))
    text = theirs.to_json()
    read_and_merge = best(lambda _: mine.merge(ORSet.from_json(text)))
    beside = None
    if loro:
        left, right = loro_set(names(0, count)), updates(loro_set(names(count, count)))
        beside = best(lambda doc: doc.import_(right), left.fork)
    row(f"merge {count:,} + {count:,}, disjoint", merge, beside)
    row("  the same from its stored text", read_and_merge, beside)


def measure_counter(count: int) -> None:
    row(f"{count:,} increments", best(lambda _: own_counter(count)), best(lambda _: loro_counter(count)) if loro else None)


def measure_churn(count: int) -> None:
    row(
        f"{count:,} adds and removes of one",
        best(lambda _: own_churn(count)),
        best(lambda _: loro_churn(count)) if loro else None,
    )
    size = f"{len(own_churn(count).to_json()):,} bytes"
    print("  state kept after it: " + size + (f", loro {snapshot_size(loro_churn(count)):,}" if loro else ""))


def measure_text(count: int) -> None:
    ours = own_set(names(0, count))
    doc = loro_set(names(0, count)) if loro else None
    row(f"write the text of {count:,}", best(lambda _: ours.to_json()), best(lambda _: updates(doc)) if loro else None)
    text = ours.to_json()
    blob = updates(doc) if loro else b""
    beside = best(lambda doc: doc.import_(blob), lambda: loro.LoroDoc()) if loro else None
    row(f"read the text of {count:,}", best(lambda _: ORSet.from_json(text)), beside)


def main() -> None:
    print(f"{'task':<44}{'ours ms':>10}" + (f"{'loro ms':>10}{'ratio':>9}" if loro else "   (loro is not installed)"))
    measure_adds(10_000)
    measure_adds(100_000)
    measure_merge(10_000)
    measure_counter(100_000)
    measure_churn(10_000)
    measure_text(10_000)


if __name__ == "__main__":
    main()

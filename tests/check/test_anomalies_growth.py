"""How the work of `anomalies` grows with the history: counted in nodes and edges, so that it is the same everywhere."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable

import pytest
from tests.check.notation import told

from commonboard.check.anomalies import Judge, anomalies
from commonboard.check.dependencies import dependencies
from commonboard.check.graph import REALTIME, components
from commonboard.check.observed import observed
from commonboard.check.proof import Teller
from commonboard.history import History, Operation


class Long:
    """A long history, one operation after the other; each agent does one transaction."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._versions: dict[str, int] = {}

    def _add(self, op: Operation) -> None:
        op.begin, op.end, op.transaction = 2 * op.index, 2 * op.index + 1, "1"
        self.operations.append(op)

    def read(self, agent: int, key: str, behind: int = 0) -> None:
        saw = max(self._versions.get(key, 0) - behind, 0)
        self._add(Operation(len(self.operations), f"agent-{agent}", "read", key, f"{key}{saw}" if saw else None, saw=saw))

    def write(self, agent: int, key: str) -> None:
        made = self._versions[key] = self._versions.get(key, 0) + 1
        at = len(self.operations)
        self._add(Operation(at, f"agent-{agent}", "write", key, f"{key}{made}", replaced=made - 1, made=made))

    def list(self, agent: int, prefix: str) -> None:
        keys = ",".join(f'"{key}"' for key in self._versions if key.startswith(f"{prefix}/"))
        self._add(Operation(len(self.operations), f"agent-{agent}", "list", prefix, f"[{keys}]", "json"))


def one_after_the_other(size: int) -> Long:
    made, keys = Long(), random.Random(1)
    for agent in range(size):
        key = f"x{keys.randrange(size // 10)}"
        made.read(agent, key)
        made.write(agent, key)
    return made


def a_hot_counter(size: int) -> Long:
    """Every update has missed the last one: one strongly connected part of all."""
    made = Long()
    for agent in range(size):
        made.read(agent, "x", behind=1)
        made.write(agent, "x")
    return made


def pairs_of_write_skew(size: int) -> Long:
    made = Long()
    for agent in range(0, size, 2):
        made.read(agent, f"x{agent}")
        made.read(agent + 1, f"y{agent}")
        made.write(agent, f"y{agent}")
        made.write(agent + 1, f"x{agent}")
    return made


def a_tangle(size: int) -> Long:
    """Stale reads and blind writes of a few keys: one part in which everything hangs together."""
    made, dice = Long(), random.Random(2)
    for agent in range(size):
        made.read(agent, f"x{dice.randrange(9)}", behind=dice.randrange(4))
        made.write(agent, f"x{dice.randrange(9)}")
    return made


def lists_between_creations(size: int) -> Long:
    """Twenty lists among creations under one prefix: each list comes before all that is created later."""
    made = Long()
    for agent in range(0, size, 2):
        made.write(agent, f"p/{agent}")
        made.read(agent + 1, f"q{agent}")
        if agent % (size // 20) == 0:
            made.list(agent + 1, "p")
        made.write(agent + 1, f"q{agent}")
    return made


def a_work_queue(size: int) -> Long:
    """Tasks that come and go, with a list while each is there: it rests on all that came and went before."""
    made = Long()
    for agent in range(0, size, 3):
        made.write(agent, f"p/{agent}")
        made.list(agent + 1, "p")
        made.operations[-1].text = f'["p/{agent}"]'
        made.write(agent + 2, f"p/{agent}")
        made.operations[-1].kind, made.operations[-1].text = "delete", None
    return made


def missed_writes_in_long_sessions(size: int) -> Long:
    """Three agents, whose transactions follow each other; every hundredth has missed a write, long before."""
    made, keys = Long(), random.Random(3)
    for number in range(size):
        key = f"x{keys.randrange(size // 10)}"
        made.read(number % 3, key, behind=number % 100 == 0)
        made.write(number % 3, key)
        for op in made.operations[-2:]:
            op.transaction = str(number)
    return made


def judged(history: History) -> Judge:
    found = dependencies(observed(history))
    return Judge(found, Teller(found, "transaction"), realtime=False)


@pytest.mark.parametrize(
    ("made", "most"),
    [
        (one_after_the_other, 2.1),
        (a_hot_counter, 2.1),
        (pairs_of_write_skew, 2.1),
        (a_tangle, 2.5),
        (lists_between_creations, 2.1),
        (a_work_queue, 2.1),
        (missed_writes_in_long_sessions, 2.1),
    ],
)
def test_twice_the_history_is_twice_the_work(made: Callable[[int], Long], most: float) -> None:
    few, many = (judged(History(made(size).operations)).steps for size in (2_000, 4_000))
    assert few > 2_000
    assert many < most * few


def test_as_many_lists_as_creations_need_no_edge_for_each_pair() -> None:
    made = Long()
    for agent in range(0, 1_000, 2):
        made.list(agent, "p")
        made._versions.clear()
        made.operations[-1].text = "[]"
        made.write(agent + 1, f"q/{agent}")
    for agent in range(1_000, 2_000):
        made.write(agent, f"p/{agent}")
    graph = dependencies(observed(History(made.operations))).graph
    assert graph.size < 10_000  # 500 lists come before 1,000 creations: half a million pairs


def test_an_order_in_time_needs_no_edge_that_follows_from_others() -> None:
    history = History(one_after_the_other(1_000).operations)
    for op in history:
        op.end += 2  # each overlaps the next one
    edges = [kind for _, _, kind in dependencies(observed(history)).order(realtime=True)]
    assert 1_000 < edges.count(REALTIME) < 3_000


def test_what_is_cut_short_says_so_and_still_names_the_level() -> None:
    verdict = anomalies(History(a_tangle(3_000).operations))
    assert "more" in [note.kind for note in verdict.notes]
    assert any(note.sentence == "snapshot isolation" for note in verdict.notes if note.kind == "first level broken")


def test_a_cycle_may_be_longer_than_the_stack_of_calls() -> None:
    size = 20_000
    ring = [[(node + 1) % size] for node in range(size)]
    (part,) = components(ring)
    assert sorted(part) == list(range(size))
    # Each agent sees what the next one writes, and the last what the first one does.
    made = Long()
    for agent in range(3_000):
        made.write(agent, f"x{agent}")
    for agent in range(3_000):
        made.read(agent, f"x{(agent + 1) % 3_000}")
    (found,) = anomalies(History(made.operations)).findings
    assert found.kind == "circular information flow"
    assert len(found.operations) == 6_000


def test_small_histories_are_never_cut_short() -> None:
    assert not judged(told("w1x1 w2y1 r3x1 r3y0 r4y1 r4x0", in_transactions=True)).is_spent
    assert not judged(History(pairs_of_write_skew(200).operations)).is_spent
    assert len(judged(History(pairs_of_write_skew(200).operations)).findings) == 100


def test_garbage_is_collected_again_after_a_judgement_and_after_one_that_failed() -> None:
    assert gc.isenabled()
    anomalies(told("w1x1"))
    assert gc.isenabled()
    broken = told("w1p/a1 l2p")
    broken[1].text = "["
    with pytest.raises(ValueError, match="JSON"):
        anomalies(broken)
    assert gc.isenabled()


def test_garbage_that_somebody_else_does_not_want_collected_stays() -> None:
    gc.disable()
    try:
        anomalies(told("w1x1"))
        assert not gc.isenabled()
    finally:
        gc.enable()

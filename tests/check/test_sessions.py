"""Session guarantees: for each the smallest history that breaks it, a near miss, and what simulated replicas do."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from tests.check.notation import told

import commonboard as cb
from commonboard.check.sessions import session_guarantees
from commonboard.history import History, Operation

SMALLEST = [
    ("read your writes", "w1x1 r1x0", "w1x1 r1x1"),
    ("read your writes", "w1x1 w1x2 r1x1", "w1x1 r1x1 w1x2"),
    ("monotonic reads", "w2x1 r1x1 r1x0", "w2x1 r1x0 r1x1"),
    ("monotonic writes", "w1x1 w1y1 r2y1 r2x0", "w1x1 w1y1 r2x0 r2y1"),
    ("monotonic writes", "w1x2 w1x1", "w1x1 w1x2"),
    ("writes follow reads", "w1q1 r2q1 w2a1 r3a1 r3q0", "w1q1 r2q1 w2a1 r3q0 r3a1"),
    ("writes follow reads", "w1q1 r2q1 w2a1 r3a1 r3q0", "w1q1 r2q0 w2a1 r3a1 r3q0"),  # who had not read it answered blindly
    ("writes follow reads", "w1x2 r2x2 w2x1", "w1x1 r2x1 w2x2"),
    ("causal", "w1x1 r2x1 w2y1 r3y1 w3z1 r4z1 r4x0", "w1x1 r2x1 w2y1 r3y1 w3z1 r4z1 r4x1"),
]


def kinds(history: Any) -> list[str]:
    return [found.kind for found in session_guarantees(history).findings]


@pytest.mark.parametrize(("name", "smallest", "near_miss"), SMALLEST)
class TestAGuarantee:
    def test_is_broken_in_the_smallest_history(self, name: str, smallest: str, near_miss: str) -> None:
        assert kinds(told(smallest)) == [name]

    def test_is_kept_in_a_near_miss(self, name: str, smallest: str, near_miss: str) -> None:
        verdict = session_guarantees(told(near_miss))
        assert verdict.findings == []
        assert verdict.holds is (True if "r" in near_miss else None)


def by_definition(history: History) -> list[set[str]]:
    """For each operation on one store, what it breaks: all pairs are looked at, and all that anybody had read."""
    writes = [op for op in history if op.is_write and op.agent != "given"]
    made = {(op.key, op.made): op for op in writes}
    knows: dict[str, set[int]] = {}
    rests_on: dict[int, set[int]] = {}
    found: list[set[str]] = []
    for op in history:
        broken: set[str] = set()
        found.append(broken)
        known = knows.setdefault(op.agent, set())
        if op.is_write:
            rests_on[op.index] = known | {op.index}
            known.add(op.index)
            continue

        def is_missing(write: Operation, read: Operation = op) -> bool:
            return write.key == read.key and (write.made or 0) > (read.saw or 0)

        mine = [other for other in history[: op.index] if other.agent == op.agent]
        if any(other.is_write and is_missing(other) for other in mine):
            broken.add("read your writes")
        if any(other.kind == "read" and other.key == op.key and (other.saw or 0) > (op.saw or 0) for other in mine):
            broken.add("monotonic reads")
        for write in [made[other.key, other.saw] for other in mine if other.kind == "read" and (other.key, other.saw) in made]:
            theirs = [other for other in history[: write.index] if other.agent == write.agent]
            if any(other.is_write and is_missing(other) for other in theirs):
                broken.add("monotonic writes")
            read = [made.get((other.key, other.saw)) for other in theirs if other.kind == "read"]
            if any(other is not None and is_missing(other) for other in read):
                broken.add("writes follow reads")
        if any(is_missing(history[place]) for place in known):
            broken.add("causal")
        if (op.key, op.saw) in made:
            known |= rests_on[made[op.key, op.saw].index]
    return found


@st.composite
def one_copy_and_caches(draw: st.DrawFn) -> str:
    """Writes in the order of their versions, and reads of any version that was there; in words."""
    newest, words = {"x": 0, "y": 0}, []
    for key in draw(st.sampled_from(["", "x", "xy"])):
        newest[key] = 1
        words.append(f"w0{key}1")
    for letter, agent, key, back in draw(
        st.lists(st.tuples(st.sampled_from("wdrrr"), st.integers(1, 4), st.sampled_from("xy"), st.integers(0, 3)), max_size=12)
    ):
        newest[key] += letter != "r"
        words.append(f"{letter}{agent}{key}{max(newest[key] - back, 0) if letter == 'r' else newest[key]}")
    return " ".join(words)


@settings(max_examples=300)
@given(one_copy_and_caches())
def test_each_read_that_breaks_a_guarantee_is_found_and_named_after_one_that_it_breaks(words: str) -> None:
    history = told(words)
    found: dict[int, str] = {one.operations[-1].index: one.kind for one in session_guarantees(history).findings}
    broken = {place: names for place, names in enumerate(by_definition(history)) if names}
    assert found.keys() == broken.keys()
    assert all(name in broken[place] for place, name in found.items())


class TestTheSentence:
    def test_names_both_operations(self) -> None:
        (found,) = session_guarantees(told("w1x1 r1x0")).findings
        assert found.sentence == "web wrote version 1 of x, and then found nothing at x: its own write was missing."
        assert [op.index for op in found.operations] == [0, 1]

    def test_of_an_answer_without_its_question_tells_the_way(self) -> None:
        (found,) = session_guarantees(told("w1q1 r2q1 w2a1 r3a1 r3q0")).findings
        assert found.sentence == (
            "docs read version 1 of q, and then wrote version 1 of a; synth saw the second, and then found nothing at q: "
            "the first was missing."
        )
        assert [op.index for op in found.operations] == [0, 1, 2, 3, 4]

    def test_of_a_causal_finding_names_what_was_missing(self) -> None:
        (found,) = session_guarantees(told("w1x1 r2x1 w2y1 r3y1 w3z1 r4z1 r4x0")).findings
        assert found.sentence.startswith("lead had seen what rests, by way of others, on version 1 of x, and then found nothing")

    def test_says_one_thing_about_one_read(self) -> None:
        assert kinds(told("w1x1 r1x1 r1x0")) == ["read your writes"]


class TestAScan:
    def test_takes_a_delete_for_a_version(self) -> None:
        assert kinds(told("w0x1 d1x2 r1x1")) == ["read your writes"]
        assert kinds(told("w0x1 d1x2 r1x2")) == []

    def test_remembers_what_was_read_before_the_last_read(self) -> None:
        found = session_guarantees(told("w2x1 w2x2 w2x3 r1x3 r1x1 r1x2")).findings
        assert [(one.kind, [op.index for op in one.operations]) for one in found] == [
            ("monotonic reads", [3, 4]),
            ("monotonic reads", [3, 5]),
        ]
        assert found[1].sentence == "web read version 3 of x, and then read version 2 of x: what it had read was missing."

    def test_remembers_what_was_read_of_what_was_given(self) -> None:
        assert kinds(told("w0x1 r1x1 r1x0 r1x0")) == ["monotonic reads", "monotonic reads"]

    def test_takes_what_was_given_for_known_to_nobody(self) -> None:
        assert kinds(told("w0x1 w0y1 r1y1 r1x0")) == []

    def test_learns_by_a_list(self) -> None:
        assert kinds(told("w1p/a1 w1p/b1 l2p r2p/a0")) == ["monotonic writes"]

    def test_counts_what_it_has_judged(self) -> None:
        (note,) = session_guarantees(told("w1x1 r2x1 r2x1")).notes
        assert note.sentence == "2 reads and 1 write in 2 sessions"

    def test_of_one_store_finds_nothing_whatever_the_order(self) -> None:
        for seed in range(30):
            made = cb.simulate(cb.scenarios.research_crew, policy=cb.LastWriterWins(), seed=seed)
            assert isinstance(session_guarantees(made), cb.Holds)


class TestUnknown:
    def why(self, history: Any) -> str:
        verdict = session_guarantees(history)
        assert isinstance(verdict, cb.Unknown), verdict
        return verdict.why

    def test_where_nothing_was_read(self) -> None:
        assert self.why(told("w1x1")) == "nothing was read, so nothing could be missed"
        assert self.why(cb.simulate(cb.scenarios.counter, seed=1).log) == "nothing was read, so nothing could be missed"

    def test_where_versions_are_missing(self) -> None:
        assert "is not in the history" in self.why(told("w1x1 w1x3 r2x2"))
        history = told("w1x1 r2x1")
        history[1].saw = None
        assert "nobody knows which version of x docs read" in self.why(history)

    def test_where_a_read_is_of_what_was_rolled_back(self) -> None:
        told_of = "web saw version 2 of x, which was rolled back, so it has no place in the order"
        assert self.why(told("w1x1 a2x2 r1x2")) == f"{told_of}; nothing was read, so nothing could be missed"
        assert self.why(told("w1x1 a2x2 r1x2 r1x1")) == told_of

    def test_where_a_read_is_garbage(self) -> None:
        assert self.why(told("w1x1 r2x1 r2x9=ghost")) == "docs read version 9 of x, which nobody made"

    def test_is_not_for_what_is_no_history(self) -> None:
        with pytest.raises(TypeError, match="session guarantees takes a Run, a History or a log's events, not a str"):
            session_guarantees("a run")


async def writes(me: cb.AgentMemory) -> None:
    await me.shared.write("x", 1)
    await me.value("shared/x")
    await me.shared.write("y", 1)


async def reads(me: cb.AgentMemory) -> None:
    for _ in range(2):
        await me.value("shared/y")
        await me.value("shared/x")


def found_in(agents: dict[str, Any], world: cb.World, policy: Any = None, seeds: int = 200) -> set[str]:
    policy = policy or cb.LastWriterWins()
    return {kind for seed in range(seeds) for kind in kinds(cb.simulate(agents, policy=policy, seed=seed, world=world))}


class TestBetweenReplicas:
    def test_an_agent_that_stays_with_a_replica_reads_its_own_writes(self) -> None:
        assert found_in({"web": writes, "docs": reads}, cb.World(replicas=2, reorder=False)) == set()

    def test_messages_that_overtake_each_other_break_monotonic_writes(self) -> None:
        assert found_in({"web": writes, "docs": reads}, cb.World(replicas=2)) == {"monotonic writes"}

    def test_an_agent_whose_operations_happen_anywhere_has_no_guarantee(self) -> None:
        found = found_in({"web": writes, "docs": reads}, cb.World(replicas=2, visibility="eventual"))
        assert found == {"read your writes", "monotonic reads", "monotonic writes"}

    def test_where_all_happens_at_one_replica_all_is_kept(self) -> None:
        assert found_in({"web": writes, "docs": reads}, cb.World(replicas=2, visibility="strong")) == set()

    def test_an_answer_may_arrive_before_its_question(self) -> None:
        async def asks(me: cb.AgentMemory) -> None:
            await me.write("question", "why?")

        async def answers(me: cb.AgentMemory) -> None:
            while not await me.value("asks/question"):
                await me.think(seconds=1)
            await me.write("answer", "because")

        async def looks(me: cb.AgentMemory) -> None:
            while not await me.value("answers/answer"):
                await me.think(seconds=1)
            await me.value("asks/question")

        found = found_in({"asks": asks, "answers": answers, "looks": looks}, cb.World(replicas=3))
        assert found == {"writes follow reads"}

    def test_a_write_that_a_policy_dropped_was_seen(self) -> None:
        async def sets(me: cb.AgentMemory) -> None:
            await me.shared.write("x", me.name)
            await me.value("shared/x")

        agents = {"web": sets, "docs": sets}
        made = [cb.simulate(agents, policy=cb.LastWriterWins(), seed=seed, world=cb.World(replicas=2)) for seed in range(40)]
        assert any(op.dropped for each in made for op in each.history)
        assert found_in(agents, cb.World(replicas=2)) == set()

    def test_a_write_that_stands_beside_another_is_missing_in_what_is_shown(self) -> None:
        async def sets(me: cb.AgentMemory) -> None:
            await me.shared.write("x", me.name)
            await me.value("shared/x")

        found = found_in({"web": sets, "docs": sets}, cb.World(replicas=2), policy=cb.Optimistic())
        assert found == {"read your writes"}

    def test_a_crash_that_forgets_breaks_read_your_writes(self) -> None:
        world = cb.World(replicas=2, crashes=1, durable=False)
        assert "read your writes" in found_in({"web": writes, "docs": reads}, world)
        assert "read your writes" not in found_in({"web": writes, "docs": reads}, cb.World(replicas=2, crashes=1))

    def test_an_agent_that_crashed_is_a_new_session(self) -> None:
        async def web(me: cb.AgentMemory) -> None:
            await me.value("shared/x")
            await me.shared.write("x", 1)
            await me.think(seconds=1)

        world = cb.World(replicas=2, visibility="eventual", agent_crashes=1)
        crashed = 0
        for seed in range(100):
            made = cb.simulate({"web": web}, seed=seed, world=world)
            # Each life reads once and then writes, so that no read comes after a write of its own life.
            assert kinds(made) == []
            crashed += sum(op.kind == "read" for op in made.history) > 1
        assert crashed

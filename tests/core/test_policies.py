"""Conflict policies: each one alone, what an update does with its answer, and what a nonsensical policy gets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.helpers import everything, run

from commonboard import (
    RETRY,
    AppendOnly,
    ConflictError,
    ConflictPolicy,
    FirstWriterWins,
    Keep,
    LastWriterWins,
    MemoryEntry,
    Merge,
    Optimistic,
    Reject,
    SharedMemory,
    SingleWriter,
    ThreeWay,
    Version,
)
from commonboard.crdt import ORSet, PNCounter
from commonboard.errors import NotAdmittedError, PolicyError, UnstorableValueError
from commonboard.policies import as_policy

NOTHING = object()


async def collide(
    policy: Any, given: Any, mine: Callable[[Any], Any], theirs: Any, names: tuple[str, str] = ("me", "other")
) -> tuple[SharedMemory, MemoryEntry | None]:
    """I begin an update of `shared/key`; before I commit, somebody else writes `theirs`. Gives what my update gave."""
    memory = SharedMemory(incarnation="1")
    me, other = (memory.agent(name) for name in names)
    if given is not NOTHING:
        await memory.agent("given").shared.write("key", given)
    began, go_on = asyncio.Event(), asyncio.Event()

    async def change(value: Any) -> Any:
        began.set()
        await go_on.wait()
        return mine(value)

    update = asyncio.create_task(me.shared.update("key", change, policy))
    await began.wait()
    if theirs is NOTHING:
        await other.shared.delete("key")
    else:
        await other.shared.write("key", theirs)
    go_on.set()
    return memory, await update


ORDERS = pytest.mark.parametrize("names", [("a", "z"), ("z", "a")], ids=["my name first", "my name last"])


# --- the built-in ones, on a store ---


@ORDERS
def test_last_writer_wins_overwrites_what_came_in_between(names: tuple[str, str]) -> None:
    memory, entry = run(collide(LastWriterWins(), [1], lambda v: [*v, 2], [1, "theirs"], names))
    assert entry is not None
    assert entry.value == run(memory.value("shared/key")) == [1, 2]
    assert [event.saw for event in run(memory.log())] == [None, None, 1]


@ORDERS
def test_first_writer_wins_lets_what_came_in_between_stand_and_shows_it_to_the_later(names: tuple[str, str]) -> None:
    memory, entry = run(collide(FirstWriterWins(), "start", lambda v: "mine", "theirs", names))
    assert entry is not None
    assert (entry.value, entry.actor) == ("theirs", names[1])
    assert run(memory.value("shared/key")) == "theirs"
    assert len(run(memory.log())) == 2


@ORDERS
def test_first_writer_wins_where_both_create(names: tuple[str, str]) -> None:
    memory, entry = run(collide(FirstWriterWins(), NOTHING, lambda v: "mine", "theirs", names))
    assert entry is not None
    assert entry.value == run(memory.value("shared/key")) == "theirs"


@ORDERS
def test_optimistic_runs_the_change_again_on_what_is_there_now(names: tuple[str, str]) -> None:
    memory, entry = run(collide(Optimistic(), [1], lambda v: [*v, 2], [1, "theirs"], names))
    assert entry is not None
    assert entry.value == run(memory.value("shared/key")) == [1, "theirs", 2]
    assert [event.saw for event in run(memory.log())] == [None, None, 2]


def test_optimistic_runs_the_change_again_where_the_key_is_gone() -> None:
    _, entry = run(collide(Optimistic(), [1], lambda v: [*(v or ["anew"]), 2], NOTHING))
    assert entry is not None
    assert entry.value == ["anew", 2]


@ORDERS
def test_merge_keeps_both_changes_and_runs_the_change_once(names: tuple[str, str]) -> None:
    calls = []

    def add(tags: Any) -> None:
        calls.append(tags.replica)
        tags.add("mine")

    theirs = ORSet("other~1")
    theirs.add("theirs")
    memory, entry = run(collide(Merge(ORSet), NOTHING, add, theirs, names))
    assert entry is not None
    assert entry.value == run(memory.value("shared/key"))
    assert sorted(entry.value.value) == ["mine", "theirs"]
    assert calls == [f"{names[0]}~1"]


def test_merge_takes_a_plain_value_for_its_difference() -> None:
    async def main() -> None:
        memory = SharedMemory(policy=Merge(ORSet))
        me, other = memory.agent("me"), memory.agent("other")
        await other.shared.write("key", ["a", "b"])

        async def change(tags: Any) -> list[str]:
            await other.shared.update("key", lambda theirs: [*theirs, "theirs"])
            return ["b", "mine"]  # without "a"

        await me.shared.update("key", change)
        assert sorted((await memory.value("shared/key")).value) == ["b", "mine", "theirs"]

    run(main())


@pytest.mark.parametrize("agents", [["a"] * 6, ["a", "a", "b", "b", "c", "c"]], ids=["one agent", "three agents"])
def test_merges_at_the_same_time_all_count_also_those_of_one_agent(agents: list[str]) -> None:
    async def main() -> None:
        memory = SharedMemory(policy=Merge(PNCounter))

        async def increment(counter: Any) -> None:
            await asyncio.sleep(0)
            counter.add(1)

        await asyncio.gather(*(memory.agent(name).shared.update("count", increment) for name in agents))
        assert (await memory.value("shared/count")).value == len(agents)
        await memory.agent("a").shared.update("count", increment)
        assert (await memory.value("shared/count")).value == len(agents) + 1

    run(main())


def test_three_way_calls_its_function_with_the_three_values() -> None:
    async def fn(base: Any, mine: Any, theirs: Any) -> Any:
        await asyncio.sleep(0)
        return [base, mine, theirs]

    _, entry = run(collide(ThreeWay(fn), [1], lambda v: [*v, 2], [1, 3]))
    assert entry is not None
    assert entry.value == [[1], [1, 2], [1, 3]]


def test_three_way_refuses_where_there_is_no_base() -> None:
    with pytest.raises(ConflictError, match=r"there is no version that both started from.*; nothing was written"):
        run(collide(ThreeWay(lambda *three: "never"), NOTHING, lambda v: "mine", "theirs"))


@ORDERS
@pytest.mark.parametrize(
    ("given", "mine", "theirs", "wanted"),
    [
        ([1], [1, 2], [1, 3], [1, 3, 2]),
        (NOTHING, ["mine"], ["theirs"], ["theirs", "mine"]),
        ("a", "ab", "ac", "acb"),
        ([1], [1], [1, 3], [1, 3]),
    ],
)
def test_append_only_keeps_what_each_side_added(given: Any, mine: Any, theirs: Any, wanted: Any, names: tuple[str, str]) -> None:
    _, entry = run(collide(AppendOnly(), given, lambda v: mine, theirs, names))
    assert entry is not None
    assert entry.value == wanted


@pytest.mark.parametrize("theirs", [[2], "text", NOTHING, []], ids=["a list", "a text", "nothing", "an empty list"])
def test_append_only_refuses_what_no_longer_begins_with_the_base(theirs: Any) -> None:
    with pytest.raises(ConflictError, match="what is there now no longer begins with what both started from"):
        run(collide(AppendOnly(), [1], lambda v: [1, 2], theirs))


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ([2, 1], "this key is append-only: what was there must stay as the beginning"),
        ([], "this key is append-only"),
        ("text", "this key is append-only"),
        ({"a": 1}, "only a list or a text can be appended to, not a dict"),
        (5, "only a list or a text can be appended to, not an int"),
    ],
)
def test_append_only_admits_nothing_but_growth(value: Any, why: str) -> None:
    async def main() -> None:
        memory = SharedMemory(policy=AppendOnly())
        me = memory.agent("me")
        await me.shared.write("key", [1])
        before = await everything(memory.store)
        with pytest.raises(NotAdmittedError, match=f"'me' may not change 'shared/key': {why}.*; nothing was written"):
            await me.shared.update("key", lambda old: value)
        assert await everything(memory.store) == before

    run(main())


def test_single_writer_admits_its_owner_and_nobody_else() -> None:
    async def main() -> None:
        memory = SharedMemory(policy=SingleWriter("owner"))
        await memory.agent("owner").shared.update("key", lambda old: 1)
        with pytest.raises(NotAdmittedError, match="only 'owner' may write this key; send it a message instead"):
            await memory.agent("me").shared.update("key", lambda old: 2)
        with pytest.raises(PermissionError):
            await memory.agent("me").shared.update("other", lambda old: 2)
        assert [event.actor for event in await memory.log()] == ["owner"]

    run(main())


def test_single_writer_retries_where_its_owner_raced_with_himself() -> None:
    _, entry = run(collide(SingleWriter("me"), 1, lambda v: v + 1, 10, ("me", "me")))
    assert entry is not None
    assert entry.value == 11


# --- the built-in ones, between replicas ---

BASE = Version("base", 1, "x", 1)
EARLY, LATE = Version("early", None, "z", 2), Version("late", None, "a", 3)
SAME_A, SAME_B = Version("a", None, "a", 2), Version("b", None, "b", 2)


@pytest.mark.parametrize(
    ("policy", "one", "two", "winner"),
    [
        (LastWriterWins(), EARLY, LATE, LATE),
        (LastWriterWins(), SAME_A, SAME_B, SAME_B),
        (FirstWriterWins(), EARLY, LATE, EARLY),
        (FirstWriterWins(), SAME_A, SAME_B, SAME_A),
    ],
)
def test_between_replicas_the_order_of_stamp_and_name_decides_whoever_asks(
    policy: ConflictPolicy, one: Version, two: Version, winner: Version
) -> None:
    assert policy.resolve(BASE, one, two) is winner
    assert policy.resolve(BASE, two, one) is winner


def test_between_replicas_both_additions_stand_in_one_order_whoever_asks() -> None:
    base, one, two = Version(["x"], 1), Version(["x", "early"], None, "z", 2), Version(["x", "late"], None, "a", 3)
    for answer in (AppendOnly().resolve(base, one, two), AppendOnly().resolve(base, two, one)):
        assert answer == Keep(["x", "early", "late"])


def test_between_replicas_optimistic_and_single_writer_keep_both() -> None:
    assert Optimistic().resolve(BASE, EARLY, LATE) is RETRY
    assert SingleWriter("x").resolve(BASE, EARLY, LATE) is RETRY


def test_a_version_without_an_actor_has_an_order_too() -> None:
    assert Version("x", stamp=3).order == (3, "")


# --- policies of one's own ---


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (lambda base, mine, theirs: mine, "mine"),
        (lambda base, mine, theirs: theirs, "theirs"),
        (lambda base, mine, theirs: Keep(f"{base.value}+{mine.value}+{theirs.value}"), "start+mine+theirs"),
        (lambda base, mine, theirs: Keep(None), None),
        (lambda base, mine, theirs: RETRY, "mine"),
    ],
    ids=["mine", "theirs", "keep", "keep null", "retry"],
)
@pytest.mark.parametrize("is_async", [False, True])
def test_a_function_of_three_versions_is_a_policy_plain_or_async(answer: Any, wanted: Any, is_async: bool) -> None:
    async def later(base: Any, mine: Any, theirs: Any) -> Any:
        await asyncio.sleep(0)
        return answer(base, mine, theirs)

    def at_once(base: Any, mine: Any, theirs: Any) -> Any:
        return answer(base, mine, theirs)

    memory, entry = run(collide(later if is_async else at_once, "start", lambda v: "mine", "theirs"))
    assert entry is not None
    assert entry.value == wanted
    assert run(memory.value("shared/key")) == wanted


def test_a_policy_sees_three_versions_with_value_version_and_actor() -> None:
    seen: list[Any] = []

    def policy(base: Version, mine: Version, theirs: Version) -> Any:
        seen.extend((v.value, v.version, v.actor) for v in (base, mine, theirs))
        seen.append(theirs.order < mine.order)
        return mine

    run(collide(policy, {"n": 1}, lambda v: {"n": 2}, {"n": 3}))
    assert seen == [({"n": 1}, 1, "given"), ({"n": 2}, None, "me"), ({"n": 3}, 2, "other"), True]


def test_a_rejection_tells_the_writer_why_and_what_is_there() -> None:
    with pytest.raises(ConflictError) as raised:
        run(collide(lambda base, mine, theirs: Reject("the budget is spent"), 1, lambda v: 2, 3))
    assert str(raised.value) == "the update of 'shared/key' by 'me' was refused: the budget is spent; nothing was written"
    assert (raised.value.key, raised.value.expected, raised.value.found_version) == ("shared/key", 1, 2)
    assert raised.value.found.value == 3


@pytest.mark.parametrize(
    "nonsense",
    [None, True, "mine", {"value": 1}, Keep, Reject, Version("made up"), object(), ("mine",)],
    ids=lambda value: repr(value)[:20],
)
def test_a_policy_that_answers_nonsense_is_told_so_and_nothing_is_written(nonsense: Any) -> None:
    async def main() -> None:
        memory = SharedMemory()

        async def change(old: Any) -> Any:
            await memory.agent("other").shared.write("key", "theirs")
            return "mine"

        def silly(base: Any, mine: Any, theirs: Any) -> Any:
            return nonsense

        with pytest.raises(
            PolicyError, match=r"silly answered .*; a policy returns mine, theirs, cb\.Keep\(value\), cb\.RETRY or cb\.Reject"
        ):
            await memory.agent("me").shared.update("key", change, silly)
        assert [entry.value for entry in await memory.list()] == ["theirs"]

    run(main())


def test_a_policy_that_keeps_what_cannot_be_stored_is_told_so_and_nothing_is_written() -> None:
    with pytest.raises(UnstorableValueError, match="value at <root> is a set"):
        run(collide(lambda base, mine, theirs: Keep({1, 2}), 1, lambda v: 2, 3))


def test_a_policy_that_raises_lets_its_error_through_and_nothing_is_written() -> None:
    def broken(base: Any, mine: Any, theirs: Any) -> Any:
        raise KeyError("oops")

    with pytest.raises(KeyError, match="oops"):
        run(collide(broken, 1, lambda v: 2, 3))


@pytest.mark.parametrize("answer", [None, 1, "yes", Keep(1)])
def test_admit_that_answers_nonsense_is_told_so_and_nothing_is_written(answer: Any) -> None:
    class Silly(Optimistic):
        def admit(self, base: Any, mine: Any) -> Any:
            return answer

    memory = SharedMemory(policy=Silly())
    with pytest.raises(PolicyError, match=r"Silly\.admit answered .*; it returns True, False or cb\.Reject"):
        run(memory.agent("me").shared.update("key", lambda old: 1))
    assert run(memory.log()) == []


def test_admit_may_refuse_without_a_word() -> None:
    class Closed(Optimistic):
        def admit(self, base: Any, mine: Any) -> bool:
            return False

    with pytest.raises(NotAdmittedError, match="Closed does not admit this change"):
        run(SharedMemory(policy=Closed()).agent("me").shared.update("key", lambda old: 1))


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (5, "5 is not a policy; give a ConflictPolicy or a function"),
        ("optimistic", "'optimistic' is not a policy"),
        (Optimistic, r"Optimistic is a class; make a policy of it with Optimistic\(\)"),
        (lambda mine, theirs: mine, "must take three arguments: base, mine, theirs"),
        (lambda: None, "must take three arguments"),
        (type("Odd", (ConflictPolicy,), {"expects": "luck"})(), r"Odd\(\)\.expects must be 'version' or 'nothing', not 'luck'"),
    ],
)
def test_what_is_no_policy_is_refused_where_it_is_given(policy: Any, why: str) -> None:
    with pytest.raises(PolicyError, match=why):
        SharedMemory(policy=policy)
    with pytest.raises(PolicyError, match=why):
        run(SharedMemory().agent("me").shared.update("key", lambda old: 1, policy))
    with pytest.raises(TypeError):
        as_policy(policy)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Optimistic(attempts=0), "attempts must be a whole number of at least 1, not 0"),
        (lambda: Optimistic(attempts=1.5), "attempts must be a whole number"),  # type: ignore[arg-type]
        (lambda: Optimistic(attempts=True), "attempts must be a whole number"),
        (lambda: Optimistic(backoff=-1), "backoff must be at least 0 seconds, not -1"),
        (lambda: Optimistic(backoff=float("nan")), "backoff must be at least 0 seconds, not nan"),
        (lambda: Merge(dict), "Merge takes a CRDT class such as cb.ORSet; <class 'dict'> lacks merge"),
        (lambda: Merge(ORSet("a~1")), "lacks being a class"),  # type: ignore[arg-type]
        (lambda: ThreeWay(5), "ThreeWay takes a function of"),  # type: ignore[arg-type]
        (lambda: SingleWriter(""), "SingleWriter takes the owner's name, not ''"),
        (lambda: SingleWriter(None), "not None"),  # type: ignore[arg-type]
    ],
)
def test_a_policy_with_a_wrong_setting_is_refused_when_it_is_made(make: Any, why: str) -> None:
    with pytest.raises(PolicyError, match=why):
        make()


def test_a_policy_must_define_resolve() -> None:
    class Empty(ConflictPolicy):
        pass

    with pytest.raises(PolicyError, match=r"Empty has no answer to a conflict: define resolve\(self, base, mine, theirs\)"):
        as_policy(Empty())


def test_policies_have_names_and_reprs_that_repeat() -> None:
    def mine_first(base: Any, mine: Any, theirs: Any) -> Any:
        return mine

    policies = [
        LastWriterWins(),
        FirstWriterWins(),
        Optimistic(3, 0.5),
        Merge(ORSet),
        ThreeWay(mine_first),
        AppendOnly(),
        SingleWriter("web"),
        as_policy(mine_first),
    ]
    assert [policy.name for policy in policies] == [
        "LastWriterWins",
        "FirstWriterWins",
        "Optimistic",
        "Merge(ORSet)",
        "ThreeWay(mine_first)",
        "AppendOnly",
        "SingleWriter",
        "mine_first",
    ]
    assert [repr(policy) for policy in (policies[2], policies[3], policies[6], RETRY)] == [
        "Optimistic(attempts=3, backoff=0.5)",
        "Merge(ORSet)",
        "SingleWriter('web')",
        "RETRY",
    ]


# --- the loop of an update ---


async def always_beaten(attempts: int, policy: Any = None) -> tuple[int, ConflictError]:
    """An update that somebody overtakes each time; gives how often its change ran, and the error."""
    memory, runs = SharedMemory(), 0

    async def change(old: Any) -> str:
        nonlocal runs
        runs += 1
        await memory.agent("other").shared.write("key", str(runs))
        return "mine"

    with pytest.raises(ConflictError) as raised:
        await memory.agent("me").shared.update("key", change, policy or Optimistic(attempts=attempts))
    assert await memory.value("shared/key") == str(runs)
    return runs, raised.value


@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_an_update_gives_up_after_its_attempts_and_says_so(attempts: int) -> None:
    runs, error = run(always_beaten(attempts))
    assert runs == attempts
    assert f"Optimistic(attempts={attempts}, backoff=0) gave up after {attempts} attempts; nothing was written" in str(error)
    assert (error.found.value, error.found.actor) == (str(attempts), "other")


def test_a_policy_of_ones_own_has_attempts_too() -> None:
    class Stubborn(Optimistic):
        def __init__(self) -> None:
            self.attempts, self.backoff = 3, 0.0

    assert run(always_beaten(0, Stubborn()))[0] == 3


def test_backoff_grows_with_the_attempts_differs_by_agent_and_never_overflows() -> None:
    policy = Optimistic(attempts=10_000, backoff=1.0)
    waits = [policy.pause(attempt, "web") for attempt in range(2, 40)]
    assert waits == [policy.pause(attempt, "web") for attempt in range(2, 40)]
    assert waits != [policy.pause(attempt, "docs") for attempt in range(2, 40)]
    assert all(0 <= wait <= 2 * 2 ** (number) for number, wait in enumerate(waits[:30]))
    assert policy.pause(9_999, "web") <= 2.0**31
    assert Optimistic().pause(5_000, "web") == 0


def test_a_change_may_be_async_and_may_change_what_it_is_given_in_place() -> None:
    async def main() -> None:
        memory = SharedMemory()
        me = memory.agent("me")
        await me.shared.write("key", {"deep": [1]})
        before = await memory.value("shared/key")

        async def change(value: Any) -> Any:
            value["deep"].append(2)
            await asyncio.sleep(0)
            return value

        entry = await me.shared.update("key", change, reason="why")
        assert entry is not None
        assert entry.value == {"deep": [1, 2]}
        assert before == {"deep": [1]}
        assert (await memory.log())[-1].reason == "why"
        entry.value["deep"].append(3)
        assert await memory.value("shared/key") == {"deep": [1, 2]}

    run(main())


def test_a_change_that_raises_leaves_everything_as_it_was() -> None:
    async def main() -> None:
        memory = SharedMemory()
        me = memory.agent("me")
        await me.shared.write("key", [1])
        before = await everything(memory.store)

        def change(value: Any) -> Any:
            value.append(2)
            raise RuntimeError("no idea")

        with pytest.raises(RuntimeError, match="no idea"):
            await me.shared.update("key", change)
        assert await everything(memory.store) == before

    run(main())


@pytest.mark.parametrize("policy", [Optimistic(), LastWriterWins(), AppendOnly(), ThreeWay(lambda b, m, t: m)])
def test_a_change_that_returns_none_is_refused_and_told_what_to_do(policy: Any) -> None:
    async def main() -> None:
        memory = SharedMemory()
        me = memory.agent("me")
        await me.shared.write("key", [1])
        before = await everything(memory.store)
        with pytest.raises(
            UnstorableValueError, match=r"the change returned None; .*to store null use write\(\), to remove the key"
        ):
            await me.shared.update("key", lambda old: old.append(2), policy)
        assert await everything(memory.store) == before

    run(main())


def test_a_cancelled_update_leaves_the_memory_usable() -> None:
    async def main() -> None:
        memory = SharedMemory(policy=Merge(PNCounter), incarnation="1")
        me = memory.agent("me")

        async def forever(counter: Any) -> None:
            await asyncio.Event().wait()

        task = asyncio.create_task(me.shared.update("count", forever))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        entry = await me.shared.update("count", lambda counter: counter.add(1))
        assert entry is not None
        assert entry.value.to_json() == '{"n":{},"p":{"me~1":1},"t":"pncounter","v":1}'

    run(main())


def test_an_update_within_an_update_of_the_same_key_is_a_conflict_like_any_other() -> None:
    async def main() -> None:
        memory = SharedMemory()
        me = memory.agent("me")
        nested = False

        async def change(items: Any) -> Any:
            nonlocal nested
            if not nested:
                nested = True
                await me.shared.update("key", lambda inner: [*(inner or []), "inner"])
            return [*(items or []), "outer"]

        entry = await me.shared.update("key", change)
        assert entry is not None
        assert entry.value == ["inner", "outer"]

    run(main())


def test_many_increments_at_once_all_count_under_optimistic_and_not_under_last_writer_wins() -> None:
    async def main(policy: Any) -> int:
        memory = SharedMemory(policy=policy)

        async def increment(count: Any) -> int:
            await asyncio.sleep(0)
            return (count or 0) + 1

        agents = [memory.agent(f"agent-{number}") for number in range(8)]
        await asyncio.gather(*(me.shared.update("count", increment) for me in agents for _ in range(5)))
        return int(await memory.value("shared/count"))

    assert run(main(Optimistic(attempts=100))) == 40
    assert run(main(LastWriterWins())) < 40

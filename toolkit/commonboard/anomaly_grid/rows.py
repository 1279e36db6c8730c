"""The anomalies that one copy of the board can show already. Those that need several copies are in `copies.py`."""

# ruff: noqa: D103 - what an agent does is told by the story of its row

from __future__ import annotations

from typing import Any

from commonboard.anomaly_grid.columns import Way
from commonboard.anomaly_grid.row import Row, never
from commonboard.crdt import PNCounter

# --- one key ---


async def adds_one(way: Way) -> None:
    await way.change("count", lambda count: count + 1)


LOST_UPDATE = Row(
    "lost update",
    "Two agents read the same value and both write what they made of it; one of the two changes is gone.",
    "Two agents add one to a counter.",
    {"a": adds_one, "b": adds_one},
    never(lambda board: board["count"] != 2, "both additions count"),
    {"count": 0},
    crdt=PNCounter,
    outside="Letta's `memory_insert` reads a block, changes its text and writes the whole: a concurrent insert is lost. "
    "ruvnet/ruflo#2878: twelve of twelve writers were told that they succeeded, and the work of two was left.",
    named_by="P4 in Berenson et al., “A critique of ANSI SQL isolation levels” (1995)",
)


async def closes(way: Way) -> None:
    async def close(way: Way) -> None:
        async def if_idle(working: Any) -> Any:
            seen.clear()
            if working == 0:
                seen.append(await way.see("results"))
            return "closed" if working == 0 else working

        seen: list[Any] = []
        await way.change("working", if_idle)
        if seen:
            await way.write("summary", seen[0])

    await way.together(close)


async def works(way: Way) -> None:
    if await way.change("working", lambda working: 1 if working == 0 else working) == 1:
        await way.change("results", lambda results: [*results, "churn is up"])
        await way.change("working", lambda working: 0)


ABA = Row(
    "ABA",
    "A value changed and changed back, so whoever compares values believes that nothing has happened.",
    "`lead` sums up the results and closes the work if nobody is working. `web` says that it is working, adds a result, "
    "and says that it is done.",
    {"lead": closes, "web": works},
    never(lambda board: board["summary"] is not None and board["summary"] != board["results"], "the summary has all results"),
    {"working": 0, "results": []},
    not_for={"CRDT, replicas": "a merge compares nothing, so nothing can be mistaken for unchanged"},
    outside="open-multi-agent's `compareAndSet` compares the exact text, so it does not notice A→B→A.",
    shown="compare-and-set by value",
    named_by="the literature on compare-and-set; the remedy is a version that only grows",
)


async def claims(way: Way) -> None:
    if await way.change("owner", lambda owner: owner or [way.name]) == [way.name]:
        await way.write(f"done/{way.name}", [1])


CHECK_THEN_ACT = Row(
    "check-then-act",
    "Two agents look, see that nothing is there, and both put something there.",
    "Two agents look whether a task has an owner; who finds none takes it, and does the work.",
    {"a": claims, "b": claims},
    never(lambda board: len(board.under("done")) > 1, "one agent does the work"),
    outside="CodeCRDT describes a claim by writing and verifying on a shared map; the published code has one dispatcher instead.",
    named_by="time of check to time of use; here it is a lost update of something that was absent",
)


# --- several keys ---


async def labels(way: Way) -> None:
    async def both(way: Way) -> None:
        await way.write("title", [way.name])
        await way.write("author", [way.name])

    await way.together(both)


DIRTY_WRITE = Row(
    "dirty write",
    "The writes of two agents that each change several keys interleave, so that the board is part one's and part the other's.",
    "Two agents each write their own title and author.",
    {"a": labels, "b": labels},
    never(lambda board: board["title"] != board["author"], "title and author are of one agent"),
    named_by="P0 in Berenson et al. (1995); G0 in Adya, “Weak consistency” (1999)",
)


async def takes_back(way: Way) -> None:
    async def tries(way: Way) -> None:
        await way.write("plan", ["go"])
        await way.take_back("plan", [])

    await way.together(tries)


async def reads_plan(way: Way) -> None:
    await way.note(await way.see("plan"))


ABORTED_READ = Row(
    "aborted read",
    "An agent reads a write that is then taken back, and goes on with what never was.",
    "One agent writes a plan, thinks better of it, and takes it back; another reads the plan.",
    {"planner": takes_back, "reader": reads_plan},
    never(lambda board: ["go"] in board.saw("reader"), "nobody reads what is taken back"),
    {"plan": []},
    readers=("reader",),
    named_by="P1 in Berenson et al. (1995); G1a in Adya (1999)",
)


async def drafts(way: Way) -> None:
    async def twice(way: Way) -> None:
        await way.write("plan", ["draft"])
        await way.write("plan", ["final"])

    await way.together(twice)


INTERMEDIATE_READ = Row(
    "intermediate read",
    "An agent reads a value that its writer was not done with.",
    "One agent writes a draft and then the final plan, as one piece of work; another reads the plan.",
    {"planner": drafts, "reader": reads_plan},
    never(lambda board: ["draft"] in board.saw("reader"), "nobody reads the draft"),
    {"plan": []},
    readers=("reader",),
    named_by="G1b in Adya (1999)",
)


async def says_x(way: Way) -> None:
    async def work(way: Way) -> Any:
        await way.write("x", [1])
        return await way.see("y")

    await way.note(await way.together(work))


async def says_y(way: Way) -> None:
    async def work(way: Way) -> Any:
        await way.write("y", [1])
        return await way.see("x")

    await way.note(await way.together(work))


CIRCULAR_FLOW = Row(
    "circular information flow",
    "Each of two agents saw what the other wrote, so neither of them can have been first.",
    "One agent writes x and reads y, the other writes y and reads x, each as one piece of work.",
    {"a": says_x, "b": says_y},
    never(lambda board: board.saw("a") == board.saw("b") == [[1]], "one of the two was first"),
    {"x": [], "y": []},
    named_by="G1c in Adya (1999)",
)


async def files(way: Way) -> None:
    async def both(way: Way) -> None:
        if not await way.see("report"):  # else it was done before a crash
            await way.write("report", [1])
            await way.write("index", [1])

    await way.together(both)


TORN = Row(
    "torn multi-key update",
    "Who writes two keys that belong together stops between the two, and the second write never comes.",
    "An agent files a report and enters it in the index; it may crash anywhere, and begins anew unless the report is there.",
    {"clerk": files},
    never(lambda board: board["report"] != board["index"], "the report is in the index"),
    {"report": [], "index": []},
    faults={"agent_crashes": 1},
    outside="CrewAI's `update` of a record deletes and then adds, so a crash between the two loses the record. "
    "LangGraph's SQLite store commits in a `finally`, so what came before a failure in a batch stays.",
    named_by="atomicity, the A of ACID (Haerder and Reuter, 1983)",
)


async def moves_both(way: Way) -> None:
    async def both(way: Way) -> None:
        await way.write("x", ["new"])
        await way.write("y", ["new"])

    await way.together(both)


async def reads_both(way: Way) -> None:
    async def both(way: Way) -> list[Any]:
        return [await way.see("x"), await way.see("y")]

    await way.note(*await way.together(both))


READ_SKEW = Row(
    "read skew",
    "An agent reads one key before somebody's change of two, and the other key after it: it saw a board that never was.",
    "One agent writes x and y as one piece of work, another reads x and y.",
    {"writer": moves_both, "reader": reads_both},
    never(lambda board: board.saw("reader") == [["old"], ["new"]], "nobody sees the old x beside the new y"),
    {"x": ["old"], "y": ["old"]},
    readers=("reader",),
    named_by="A5A in Berenson et al. (1995); G-single in Adya (1999)",
)


async def goes_home(way: Way) -> None:
    async def if_covered(way: Way) -> None:
        other = {"a": "b", "b": "a"}[way.name]
        if await way.see(f"{other} is on call"):
            await way.write(f"{way.name} is on call", [])

    await way.together(if_covered)


WRITE_SKEW = Row(
    "write skew",
    "Two agents each read what the other changes, and change something else: each was right to, and together they are wrong.",
    "Two agents are on call; each may go home if the other stays.",
    {"a": goes_home, "b": goes_home},
    never(lambda board: not board["a is on call"] and not board["b is on call"], "somebody is on call"),
    {"a is on call": [1], "b is on call": [1]},
    shown="snapshot transactions",
    named_by="A5B in Berenson et al. (1995); G2-item in Adya (1999)",
)


async def claims_by_list(way: Way) -> None:
    async def if_free(way: Way) -> None:
        if not await way.keys("claims"):
            await way.write(f"claims/{way.name}", [1])

    await way.together(if_free)


PHANTOM = Row(
    "phantom",
    "An agent decides by what a list does not contain, while another adds just that.",
    "Two agents list the claims; who finds none enters a claim of its own.",
    {"a": claims_by_list, "b": claims_by_list},
    never(lambda board: len(board.under("claims")) > 1, "there is one claim"),
    shown="snapshot transactions",
    named_by="P3 in Berenson et al. (1995); G2 in Adya (1999)",
)


async def deposits(way: Way) -> None:
    await way.change("savings", lambda savings: savings + 20)


async def withdraws(way: Way) -> None:
    async def work(way: Way) -> None:
        async def with_fee(checking: Any) -> Any:
            return checking - (10 if int(checking) + await way.see("savings") >= 10 else 11)

        await way.change("checking", with_fee)

    await way.together(work)


async def reports(way: Way) -> None:
    async def both(way: Way) -> list[Any]:
        return [await way.see("savings"), await way.see("checking")]

    await way.note(*await way.together(both))


READ_ONLY = Row(
    "read-only anomaly",
    "Two writers alone are fine, and so is what is left; only what a reader saw in between fits no order of the three.",
    "One agent pays 20 into savings, another withdraws 10 from checking, with a fee of 1 if both together do not cover it. "
    "A third sees the deposit and no withdrawal; and yet there is a fee.",
    {"payer": deposits, "holder": withdraws, "reader": reports},
    never(lambda board: board.saw("reader") == [20, 0] and board["checking"] == -11, "no fee after a deposit that was seen"),
    {"savings": 0, "checking": 0},
    readers=("reader",),
    crdt=PNCounter,
    shown="snapshot transactions",
    named_by="Fekete, O'Neil and O'Neil, “A read-only transaction anomaly under snapshot isolation” (2004)",
)


async def deletes_old(way: Way) -> None:
    await way.change("notes", lambda notes: [note for note in notes if note != "old"])


async def adds_new(way: Way) -> None:
    await way.change("notes", lambda notes: [*notes, "new"])


RESURRECTED = Row(
    "resurrected delete",
    "What one agent removed is back, since another wrote a copy that still had it.",
    "One agent removes a note from a list, another adds one.",
    {"cleaner": deletes_old, "adder": adds_new},
    never(lambda board: "old" in board["notes"], "what was removed stays away"),
    {"notes": ["old"]},
    outside="open-multi-agent/open-multi-agent#213 is its mirror image: a cleaning up on read deletes what was written anew.",
    named_by="DeCandia et al., “Dynamo” (2007): deleted items come back",
)


async def takes_one(way: Way) -> None:
    await way.change("stock", lambda stock: stock - 1 if int(stock) > 0 else stock)


_NO_MERGE = "nothing is merged here: one of the two changes is lost instead, which is the row “lost update”"

SEMANTIC = Row(
    "semantic conflict after a merge",
    "Each of two changes was allowed, and the merge kept both; what they come to together was not.",
    "One piece is left; two agents each take it if there is one.",
    {"a": takes_one, "b": takes_one},
    never(lambda board: board["stock"] < 0, "the stock is never below nothing"),
    {"stock": 1},
    crdt=PNCounter,
    not_for={"last writer wins, one copy": _NO_MERGE, "last writer wins, replicas": _NO_MERGE},
    outside="CodeCRDT merged without a failure in all its trials, and admits semantic conflicts, which a merge does not see.",
    named_by="Bailis et al., “Coordination avoidance in database systems” (2014): an invariant that merges do not keep",
)

ONE_COPY = (
    LOST_UPDATE,
    ABA,
    CHECK_THEN_ACT,
    DIRTY_WRITE,
    ABORTED_READ,
    INTERMEDIATE_READ,
    CIRCULAR_FLOW,
    TORN,
    READ_SKEW,
    WRITE_SKEW,
    PHANTOM,
    READ_ONLY,
)
"""In the order of the catalogue."""

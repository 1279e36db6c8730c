"""Exercises of notebooks 40 and 45: which policy, and a total that holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from commonboard.compare import compare
from commonboard.course.exercise import Exercise, Fault, Feedback, call, over_seeds
from commonboard.handle import AgentMemory
from commonboard.policies import FirstWriterWins, LastWriterWins, Optimistic
from commonboard.scenarios import claim_the_task, consolidation, counter, research_crew
from commonboard.sim import Run

# --- pick_the_policy --------------------------------------------------------------------------------------------------


def _picks_well(pick: Callable[[Any], Any]) -> Feedback:
    """For each table, the function names a policy that keeps everything, and the cheapest of those."""
    three = [LastWriterWins(), FirstWriterWins(), Optimistic()]
    tables = [
        compare(research_crew, seeds=40),
        compare(research_crew, three, seeds=40),
        compare(counter, agents=6, think=30, seeds=10),
        compare(counter(agents=4, seconds=30, keys=4), seeds=10),
        compare(consolidation, seeds=10),
        compare(claim_the_task, seeds=40),
    ]
    for table in tables:
        told = call(pick, table)
        rows = {row.policy: row for row in table}
        if told not in rows:
            return Feedback(False, (f"`pick` gave `{told!r:.60}`, which is not a policy of this table.",), code=str(table))
        row = rows[told]
        if row.kept < row.intended:
            return Feedback(False, (f"{told} keeps {row.kept} of {row.intended} here, so work is gone.",), code=str(table))
        cheapest = min(other.tokens for other in table if other.kept == other.intended)
        if row.tokens > cheapest:
            return Feedback(False, (f"{told} keeps everything here, and another row does so for fewer tokens.",), code=str(table))
    return Feedback(True, (f"In all {len(tables)} tables: nothing is gone, and nobody keeps everything for fewer tokens.",))


pick_the_policy = Exercise(
    name="pick_the_policy",
    question="""
**Pick the policy.** Write a function that takes a table such as `cb.compare` gives, and returns the name of the policy to take:
one that keeps everything, and of those the one that spends the fewest tokens.
""",
    blank="""
def pick(table):
    ex.not_solved_yet()  # which rows keep everything? which of them is cheapest?


ex.pick_the_policy.check(pick)
""",
    hints=(
        "A table is a list of rows. A row has `policy`, `intended`, `kept` and `tokens`, among others.",
        "`[row for row in table if row.kept == row.intended]` are the rows that keep everything.",
        "`min(rows, key=lambda row: row.tokens)` is the cheapest of some rows.",
    ),
    answer="""
def pick(table):
    complete = [row for row in table if row.kept == row.intended]
    return min(complete, key=lambda row: row.tokens).policy


ex.pick_the_policy.check(pick)
""",
    why="""
First what must hold, then the price: a cheap policy that loses work is cheap for that very reason. To look at `overwritten` alone
would not do, for a policy that drops work on purpose has nothing in that column.
""",
    judge=_picks_well,
)


# --- hold_the_total ---------------------------------------------------------------------------------------------------

TOTAL = "shared/total"
PRICES = {"billing": 209, "shipping": 35, "gifts": -20}


def _holds_the_total(add: Callable[..., Any]) -> Feedback:
    """Three agents each add their amount once; in every run the total is right, and each has looked up its amount once."""

    def adder(name: str) -> Any:
        async def agent(me: AgentMemory) -> None:
            async def look_up() -> int:
                await me.think(seconds=8, tokens=900)
                return PRICES[name]

            await add(me, look_up)

        return agent

    def wrong(run: Run) -> Fault | None:
        total, wanted = run.value(TOTAL), 1100 + sum(PRICES.values())
        writes = tuple(run.history.writes(TOTAL)[1:])
        if total != wanted:
            return Fault("the total was wrong", f"the total is {total!r:.40}, and {wanted} would be right", writes)
        if run.tokens != 900 * len(PRICES):
            told = f"the agents spent {run.tokens:,} tokens; three look-ups cost {900 * len(PRICES):,}"
            return Fault("an amount was looked up more than once", told, writes)
        return None

    done = "the total was right, and each amount was looked up once."
    return over_seeds({name: adder(name) for name in PRICES}, wrong, done, given={TOTAL: 1100})


hold_the_total = Exercise(
    name="hold_the_total",
    question="""
**Hold the total.** Three agents each look up an amount and add it to `shared/total`, all at once. `look_up` is dear: 900 tokens.
Mend `add`, so that the total is right in every run and each amount is looked up once.
""",
    blank="""
async def add(me, look_up):
    ex.not_solved_yet()  # mend what follows
    total = await me.value("shared/total")
    await me.shared.write("total", total + await look_up())


ex.hold_the_total.check(add)
""",
    hints=(
        "What is lost between the `value` and the `write`? `update` reads and writes so that the store can say no.",
        "Inside the change of an `update`, a look-up is paid for again with each retry. Where else could it stand?",
        '`amount = await look_up()` first, and then `me.shared.update("total", lambda total: total + amount)`.',
    ),
    answer="""
async def add(me, look_up):
    amount = await look_up()
    await me.shared.update("total", lambda total: total + amount)


ex.hold_the_total.check(add)
""",
    why="""
The amount does not depend on the total, so it can be looked up before. What has to be done again when the store says no is one
addition. Had the amount depended on the total, the thought would have to be repeated, and paid for.
""",
    judge=_holds_the_total,
)

EXERCISES = (pick_the_policy, hold_the_total)

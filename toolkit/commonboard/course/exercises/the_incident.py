"""The exercise of notebook 00: who lost it, and to whom?"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from commonboard.course.exercise import SEEDS, Exercise, Feedback, call
from commonboard.history import Operation
from commonboard.policies import LastWriterWins
from commonboard.scenarios.crews import DOCS_ASKS, WEB_ASKS, research_crew
from commonboard.sim import Run, simulate

LIST = "shared/open_questions"
ASKED_BY = {"web": WEB_ASKS, "docs": DOCS_ASKS}


def _finds_the_two(name_the_two: Callable[[Run], Any]) -> Feedback:
    """In every run that lost a question, the function names whose it was, and who wrote over it."""
    judged = 0
    for seed in range(SEEDS):
        run = simulate(research_crew, policy=LastWriterWins(), seed=seed)
        if not run.lost:
            continue
        judged += 1
        told = call(name_the_two, run)
        if inspect.isawaitable(told):
            told.close() if inspect.iscoroutine(told) else None
            return Feedback(False, ("`name_the_two` is async. Write a plain `def`: a run is over, so nothing is awaited.",))
        if not isinstance(told, (tuple, list)) or len(told) != 2:
            return Feedback(False, (f'You gave `{told!r:.60}`; two names are asked for, loser first: `("web", "docs")`.',))
        loser, winner = _truth(run)
        if tuple(told) != (loser, winner):
            sentence = f"In the run of seed {seed}, {winner} wrote last, and {loser}'s question is gone. You gave `{told!r:.60}`."
            path: list[Operation] = [op for op in run.history.writes(LIST) if op.agent in (loser, winner)]
            return Feedback(
                False, (sentence,), run=run, picture=run.spacetime(path, f"{winner} wrote over what {loser} had written.")
            )
    return Feedback(True, (f"All {judged} runs in which a question was lost: the right two, in the right order.",))


def _truth(run: Run) -> tuple[str, str]:
    (lost,) = run.lost
    (loser,) = (name for name, question in ASKED_BY.items() if question == lost)
    return loser, next(name for name in ASKED_BY if name != loser)


name_the_two = Exercise(
    name="name_the_two",
    question="""
**Name the two.** A colleague sends you runs of this crew in which a question is gone. Whose was it, and who wrote over it? Write
a function that takes the run and gives the two names, loser first: `("web", "docs")`.
""",
    blank="""
def name_the_two(run):
    ex.not_solved_yet()  # which write came first, and which replaced it?


ex.name_the_two.check(name_the_two)
""",
    hints=(
        "`run.log` holds every write in order. Each event has a `key` and an `actor`.",
        '`[event.actor for event in run.log if event.key == "shared/open_questions"]` gives the writers, first to last.',
        "In a run that lost something, the first of the two is the loser and the last is the winner.",
    ),
    answer="""
def name_the_two(run):
    loser, winner = [event.actor for event in run.log if event.key == "shared/open_questions"]
    return loser, winner


ex.name_the_two.check(name_the_two)
""",
    why="""
A lost update is a write that was replaced unseen, so the loser wrote earlier and the winner later. The log keeps both, in order,
even though the board shows the second one alone. `cb.no_lost_updates(run).findings[0].operations` tells the same, with the read
that caused it.
""",
    judge=_finds_the_two,
)

EXERCISES = (name_the_two,)

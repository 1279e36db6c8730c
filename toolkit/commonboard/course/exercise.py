"""An exercise: a question, a cell to fill in, three hints, a solution, and a property that tells right from wrong.

The property is judged on runs of the reader's own code: over many seeds, or over every small history. It is never compared with
a hidden text, so there are as many right answers as there are programs that do it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from commonboard.check import no_lost_updates
from commonboard.course.markup import block_of_code, inline, paragraphs
from commonboard.course.setup import place_of
from commonboard.errors import CommonboardError
from commonboard.history import Operation
from commonboard.sim import Run, simulate
from commonboard.sim.trouble import died

SEEDS = 200
"""How many runs an exercise is judged on."""
MOST_OPERATIONS = 2_000
"""After so many, a run counts as endless: an exercise needs some fifty."""


class NotSolvedYet(CommonboardError, NotImplementedError):
    """The blank of an exercise was run as it is."""


class AnswerError(CommonboardError, TypeError):
    """What the reader gave to `check` cannot be judged."""


class NotSolvedError(CommonboardError, AssertionError):
    """An exercise that had to be solved is not."""


def not_solved_yet() -> NoReturn:
    """Stands in a blank where the reader's code goes. `check` knows it, so that the notebook runs on.

    Raises:
        NotSolvedYet: always.
    """
    raise NotSolvedYet("this is not solved yet: put your code in the place of ex.not_solved_yet()")


@dataclass(frozen=True, slots=True)
class Feedback:
    """What `check` says.

    Attributes:
        solved: whether the property held.
        sentences: what was expected, what happened.
        items: one line for each part of the answer, where it has parts.
        code: a block of text to show as it is: a history, a table.
        run: the run that shows it, if there is one: `feedback.run.stepper()` walks through it.
        picture: its space-time picture.
        name: the exercise's name; `check` puts it in.
    """

    solved: bool
    sentences: tuple[str, ...]
    items: tuple[str, ...] = ()
    code: str = ""
    run: Run | None = None
    picture: Any = None
    name: str = ""

    def __repr__(self) -> str:
        lines = [("Solved. " if self.solved else "") + " ".join(self.sentences)]
        lines += ["\n".join(f"- {item}" for item in self.items)] if self.items else []
        lines += [self._walk] if self.run is not None else []
        blocks = [self.code] if self.code else []
        blocks += [str(self.picture)] if self.picture is not None else []
        return "\n\n".join([*(line.replace("`", "").replace("**", "") for line in lines), *blocks])

    def _repr_html_(self) -> str:
        first = f"<strong>{'Solved.' if self.solved else 'Not yet.'}</strong> "
        html = f"<p>{first}{inline(' '.join(self.sentences))}</p>"
        html += paragraphs("\n".join(f"- {item}" for item in self.items)) if self.items else ""
        html += block_of_code(self.code) if self.code else ""
        html += self.picture._repr_html_() if self.picture is not None else ""
        return html + (f"<p>{inline(self._walk)}</p>" if self.run is not None else "")

    @property
    def _walk(self) -> str:
        token = self.run.token if self.run is not None else ""
        return f"To walk through this run: `ex.{self.name}.feedback.run.stepper()`. Its token: `replay={token!r}`."


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one run.

    Attributes:
        what: in a few words, the same for all runs of this kind: `2 agents took task 7`.
        sentence: what happened in this run.
        operations: those to draw thick, in the order of the story.
    """

    what: str
    sentence: str
    operations: tuple[Operation, ...] = ()


def over_seeds(agents: Any, wrong: Callable[[Run], Fault | None], done: str, **options: Any) -> Feedback:
    """Run agents with the seeds 0 to 199, and judge each run.

    Args:
        agents: as `simulate` takes them.
        wrong: the fault of a run, or `None`.
        done: the sentence if no run has one.
        options: for `simulate`: `policy`, `given`, `world`.
    """
    faults: list[tuple[Run, Fault]] = []
    ran = 0
    for seed in range(SEEDS):
        ran += 1
        run = simulate(agents, seed=seed, max_operations=MOST_OPERATIONS, **options)
        _raise_if_blank(run.errors.values())
        fault = wrong(run) if run.ok else _unfinished(run)
        if fault is not None:
            faults.append((run, fault))
        if run.outcome == "endless":
            break
    if not faults:
        return Feedback(True, (f"In all {SEEDS} runs: {done}",))
    first, fault = faults[0]
    count = sum(other.what == fault.what for _, other in faults)
    told = f"{fault.what} in {count} of {ran} runs. The first, seed {first.seed}: {fault.sentence}."
    picture = first.spacetime(fault.operations, f"{fault.sentence}.")
    return Feedback(False, (upper(told),), run=first, picture=picture)


def story(run: Run, loser: str = "") -> tuple[Operation, ...]:
    """The operations of the first lost update of a run; of the first by which `loser` lost something, if named."""
    for found in no_lost_updates(run).findings:
        if not loser or any(op.is_write and op.agent == loser for op in found.operations[:-1]):
            return found.operations
    return ()


def call(function: Callable[..., Any], *given: Any) -> Any:
    """Call a function of the reader's.

    Raises:
        AnswerError: it takes something else, or it raised an error; the message tells which, and in which line.
        NotSolvedYet: it is still the blank.
    """
    name = getattr(function, "__name__", type(function).__name__)
    if not callable(function):
        raise AnswerError(f"`check` takes the function itself, not {function!r:.60}")
    _check_takes(function, name, len(given))
    try:
        return function(*given)
    except NotSolvedYet:
        raise
    except Exception as error:
        trouble = died("", error)
        raise AnswerError(f"`{name}` {trouble.what}{place_of(trouble)}") from error


def _check_takes(function: Callable[..., Any], name: str, number: int) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # of what is written in C nobody can tell before the call
    try:
        signature.bind(*range(number))
    except TypeError:
        things = "1 thing" if number == 1 else f"{number} things"
        raise AnswerError(f"what you wrote is called with {things}, and `{name}{signature}` does not take that") from None


def check_async(function: Any, name: str) -> None:
    """Refuse what cannot be awaited.

    Raises:
        AnswerError: it is no async function.
    """
    if not inspect.iscoroutinefunction(function):
        raise AnswerError(f"`{name}` must be an async function: write `async def {name}(…):`")


def _unfinished(run: Run) -> Fault:
    told = "; ".join(map(str, run.troubles)) or f"it ended as {run.outcome}"
    return Fault("an agent did not come to its end", told)


def _raise_if_blank(errors: Iterable[BaseException]) -> None:
    for error in errors:
        if isinstance(error, NotSolvedYet):
            raise error


def upper(text: str) -> str:
    """The text as a sentence begins."""
    return text[:1].upper() + text[1:]


@dataclass(eq=False)
class Exercise:
    """One exercise. Show it to read the question; `check`, `hint` and `solution` are for the reader.

    Attributes:
        name: what `exercises.<name>` calls it.
        question: as markdown.
        blank: the cell that the reader fills in; its last line calls `check`.
        hints: at most three, each one step nearer.
        answer: a cell that solves it, like the blank.
        why: why the solution works.
        judge: the property: takes what `check` is given, and tells.
        feedback: what the last check said; `None` before the first.
    """

    name: str
    question: str
    blank: str
    hints: tuple[str, ...]
    answer: str
    why: str
    judge: Callable[..., Feedback]
    feedback: Feedback | None = field(default=None, init=False)
    _hinted: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.question, self.blank, self.answer, self.why = (
            text.strip() for text in (self.question, self.blank, self.answer, self.why)
        )

    @property
    def solved(self) -> bool:
        """Whether the last check found it solved."""
        return self.feedback is not None and self.feedback.solved

    def check(self, *answer: Any) -> Feedback:
        """Judge the reader's code, and say what was expected and what happened, with the run that shows it."""
        try:
            self._check_call(answer)
            self.feedback = replace(self.judge(*answer), name=self.name)
        except NotSolvedYet:
            told = "Put your code in the place of `ex.not_solved_yet()`, and run the cell again."
            self.feedback = Feedback(False, (f"{told} Stuck? `ex.{self.name}.hint()` is one step nearer.",))
        except CommonboardError as error:
            self.feedback = Feedback(False, (f"This could not be run: {error}.",))
        return self.feedback

    def _check_call(self, answer: tuple[Any, ...]) -> None:
        signature = inspect.signature(self.judge)
        try:
            signature.bind(*answer)
        except TypeError:
            wanted = " and ".join(f"`{name}`" for name in signature.parameters)
            got = "1 thing" if len(answer) == 1 else f"{len(answer)} things"
            raise AnswerError(f"`check` takes {wanted}, and got {got}") from None

    def hint(self) -> Hint:
        """One step nearer; each call gives the next, and after the last one all of them stay."""
        self._hinted = min(self._hinted + 1, len(self.hints))
        return Hint(self.hints[: self._hinted], len(self.hints))

    def solution(self) -> Solution:
        """Code that solves it, and why."""
        return Solution(self.answer, self.why)

    def assert_solved(self) -> None:
        """For tests.

        Raises:
            NotSolvedError: it was not checked, or the check failed; the message tells what it said.
        """
        if not self.solved:
            raise NotSolvedError(f"{self.name} is not solved: {self.feedback or 'nobody has checked it'}")

    def __repr__(self) -> str:
        return f"Exercise {self.name}\n\n{self.question}"

    def _repr_markdown_(self) -> str:
        return f"**Exercise.** {self.question}"


@dataclass(frozen=True, slots=True)
class Hint:
    """Hints, the newest hidden until it is asked for."""

    shown: tuple[str, ...]
    of: int

    def __repr__(self) -> str:
        return "\n".join(f"Hint {place} of {self.of}: {hint}" for place, hint in enumerate(self.shown, 1))

    def _repr_html_(self) -> str:
        *before, newest = self.shown
        told = "".join(f"<p>Hint {place} of {self.of}: {inline(hint)}</p>" for place, hint in enumerate(before, 1))
        more = "" if len(self.shown) == self.of else "<p>Run the cell again for the next one.</p>"
        return told + f"<details><summary>Hint {len(self.shown)} of {self.of}</summary>{paragraphs(newest)}{more}</details>"


@dataclass(frozen=True, slots=True)
class Solution:
    """A solution, hidden until it is asked for."""

    code: str
    why: str

    def __repr__(self) -> str:
        return f"{self.code}\n\n{self.why}"

    def _repr_html_(self) -> str:
        return f"<details><summary>Show a solution</summary>{block_of_code(self.code)}{paragraphs(self.why)}</details>"

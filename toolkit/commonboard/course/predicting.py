"""`predict`: a question before each reveal, with the answer one click away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from commonboard.course.markup import inline


@dataclass(frozen=True, slots=True)
class Prediction:
    """A question, its answer, and what the reader guessed.

    Attributes:
        question: in one sentence.
        answer: a number, a yes or no, a word.
        guess: what the reader thinks; `None` if nothing was said.
        why: one or two sentences that explain the answer.
    """

    question: str
    answer: Any
    guess: Any = None
    why: str = ""

    @property
    def nearness(self) -> str:
        """How near the guess is; empty without one."""
        if self.guess is None:
            return ""
        if self.guess == self.answer:
            return f"You said {_told(self.guess)}, and that is right."
        if _is_number(self.guess) and _is_number(self.answer):
            far = self.guess - self.answer
            counted = isinstance(self.answer, int)
            word = ("many" if counted else "high") if far > 0 else ("few" if counted else "low")
            return f"You said {_told(self.guess)}, which is {_told(abs(far))} too {word}."
        return f"You said {_told(self.guess)}."

    def __repr__(self) -> str:
        lines = [f"Predict: {self.question}", self.nearness, f"Answer: {_told(self.answer)}. {self.why}".rstrip()]
        return "\n".join(line for line in lines if line)

    def _repr_html_(self) -> str:
        # Whoever has guessed may see the answer at once.
        opened = " open" if self.guess is not None else ""
        said = f"<p>{inline(self.nearness)}</p>" if self.guess is not None else ""
        why = f" {inline(self.why)}" if self.why else ""
        answer = f"<p><strong>{inline(_told(self.answer))}</strong>.{why}</p>"
        return (
            f"<p><strong>Predict:</strong> {inline(self.question)}</p>{said}"
            f"<details{opened}><summary>Show the answer</summary>{answer}</details>"
        )


def predict(question: str, answer: Any, guess: Any = None, why: str = "") -> Prediction:
    """Ask the reader something before it is shown. The answer is hidden until it is asked for.

    Args:
        question: in one sentence.
        answer: the real one, from a run: a number, `True` or `False`, a word.
        guess: the reader may fill it in; then the answer is open, and says how near the guess is.
        why: one or two sentences that explain the answer.

    >>> predict("In how many of 50 runs is a question lost?", 31, guess=10)
    Predict: In how many of 50 runs is a question lost?
    You said 10, which is 21 too few.
    Answer: 31.
    """
    return Prediction(question, answer, guess, why)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, (set, frozenset)):
        return ", ".join(sorted(map(_told, value)))
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_told, value))
    return value if isinstance(value, str) else repr(value)

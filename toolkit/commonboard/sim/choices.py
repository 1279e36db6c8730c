"""The one choice list. All that is not determined in a simulation is one list of numbers, where 0 is the boring choice.

A seed writes the list, a replay token is the list, and a search walks over lists. The token packs it as one number in
mixed radix: the first choice is the remainder by its number of alternatives, and so on; so boring ends cost nothing.
A checksum of the choices' labels makes a token of another program fail instead of replaying something else.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeVar

from commonboard.errors import ReplayError

_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
TAGS: Final = {("exact", False): "cb1", ("free", False): "cf1", ("exact", True): "cbs1", ("free", True): "cfs1"}
"""How a token begins, by how time passed in the run, and by whether agents began late."""

Source = Callable[[int], int]
"""Takes the number of alternatives, at least 2, and gives the choice, from 0."""


class Labelled(Protocol):
    """What can be chosen: anything with a label that says what it is, the same in every run."""

    @property
    def label(self) -> str: ...


Choice = TypeVar("Choice", bound=Labelled)


class Choices:
    """The list as it grows: what was chosen, out of how many, and what it was called.

    Args:
        source: who chooses; the boring choice always, unless given. A source with a method `sees` is shown the alternatives
            before each step, also where there is only one.
        timing: how time passes: `exact` or `free`.
        late_starts: whether it is a choice, too, when an agent begins.

    Attributes:
        labels: what was chosen each time, in words.
        cut: after how many operations the run was cut; `None` if it was not.
    """

    def __init__(self, source: Source | None = None, timing: str = "exact", late_starts: bool = False) -> None:
        self._source = source or boring
        self._sees: Callable[[Sequence[Any]], None] | None = getattr(self._source, "sees", None)
        self.timing, self.late_starts = timing, late_starts
        self.labels: list[str] = []
        self.cut: int | None = None
        self._taken: list[tuple[int, int]] = []
        self._checksum = 0

    def __len__(self) -> int:
        return len(self._taken)

    def __repr__(self) -> str:
        return f"Choices({self.numbers})"

    def belong_to(self, *program: str | None) -> None:
        """Make the token fit only where all this is the same: the agents' names, what was given."""
        for text in program:
            self._checksum = zlib.crc32(repr(text).encode(), self._checksum)

    def choose(self, alternatives: Sequence[Choice]) -> Choice:
        """One of the alternatives; where there is only one, that is no choice and is not recorded."""
        count = len(alternatives)
        if self._sees is not None:
            self._sees(alternatives)
        if count == 1:
            return alternatives[0]
        number = self._source(count)
        if not 0 <= number < count:
            raise ReplayError(f"choice {len(self)} is {number}, but there were {count} alternatives")
        chosen = alternatives[number]
        label = chosen.label
        self._taken.append((count, number))
        self.labels.append(label)
        self._checksum = zlib.crc32(label.encode(), self._checksum)
        return chosen

    @property
    def numbers(self) -> list[int]:
        """The bare list; `replay=` takes it too."""
        return [chosen for _, chosen in self._taken]

    @property
    def alternatives(self) -> list[int]:
        """Out of how many each was chosen: to walk over all lists, count up in these radices."""
        return [count for count, _ in self._taken]

    @property
    def token(self) -> str:
        """The list as a short text: give it as `replay=` to run exactly this again."""
        packed, radix = 0, 1
        for alternatives, chosen in self._taken:
            packed += chosen * radix
            radix *= alternatives
        parts = [TAGS[self.timing, self.late_starts], to_text(packed), to_text(len(self)), to_text(self._checksum)]
        return "-".join(parts if self.cut is None else [*parts, to_text(self.cut)])


def boring(alternatives: int) -> int:
    """Always the first: the same agent goes on, messages arrive in order, nothing fails."""
    return 0


def seeded(seed: int | str) -> Source:
    """Choices that look random and depend on the seed alone, the same on every machine and Python."""
    generator = random.Random(f"commonboard {seed}")
    return lambda alternatives: int(generator.random() * alternatives)


class Listed:
    """The choices of a list, and the boring one after its end; `check` says afterwards whether all of them were needed."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._numbers = list(numbers)
        self._rest = iter(self._numbers)

    def __call__(self, alternatives: int) -> int:
        return next(self._rest, 0)

    def check(self, choices: Choices) -> None:
        """Refuse a list that is longer than the choices there were.

        Raises:
            ReplayError: there were fewer.
        """
        if len(self._numbers) > len(choices):
            raise ReplayError(f"the list holds {len(self._numbers)} choices, but the run came to its end after {len(choices)}")


class Replay:
    """The choices of a token; `check` says afterwards whether they belonged to this program.

    Attributes:
        timing, late_starts: how time passed in the run that printed it, and whether agents began late.
        cut: after how many operations that run was cut, if it was.

    Raises:
        ReplayError: the text is not a token.
    """

    def __init__(self, token: str) -> None:
        self.token = token
        try:
            tag, packed, self._count, self._checksum, *cut = token.split("-")
            self._rest, _ = from_text(packed), from_text(self._count)
            self.cut = from_text(*cut) if cut else None
            if self.cut == 0:
                raise ValueError("no run is cut before it begins")
        except (AttributeError, TypeError, ValueError):
            tag = ""
        self.timing, self.late_starts = next((kind for kind, known in TAGS.items() if known == tag), ("", False))
        if not self.timing:
            raise ReplayError(f"{token!r:.80} is not a replay token; one looks like cb1-2F-7-1k9Xz and is printed with every run")

    def __call__(self, alternatives: int) -> int:
        self._rest, chosen = divmod(self._rest, alternatives)
        return chosen

    def check(self, choices: Choices) -> None:
        """Refuse a replay that came out otherwise than the run that made the token.

        Raises:
            ReplayError: agents, policy, given values or the library's version are not what they were.
        """
        if choices.token != self.token:
            raise ReplayError(
                f"the token {self.token} is of another program: replaying it gave {choices.token}; "
                "use the same agents, policy, given values and world as the run that printed it. If they are the same, an agent "
                "depends on something else: global random, the clock, or objects left over from an earlier run"
            )


class Retrace:
    """The choices of an earlier run, which must come up again exactly: the first step that differs is named.

    Args:
        earlier: the choices of that run.
    """

    def __init__(self, earlier: Choices) -> None:
        self.timing, self.late_starts, self.cut = earlier.timing, earlier.late_starts, earlier.cut
        self._numbers, self._labels, self._counts = earlier.numbers, earlier.labels, earlier.alternatives
        self._place = 0
        self._offered: Sequence[Any] = ()

    def sees(self, alternatives: Sequence[Any]) -> None:
        """Look at what there is to choose from."""
        self._offered = alternatives

    def __call__(self, alternatives: int) -> int:
        place, labels = self._place, [each.label for each in self._offered]
        self._place += 1
        if place >= len(self._numbers):
            raise ReplayError(f"the earlier run came to its end after {place} choices; this one goes on with {labels[0]!r}")
        number, label = self._numbers[place], self._labels[place]
        if alternatives != self._counts[place] or labels[number] != label:
            raise ReplayError(
                f"this is not what happened before. The first step that differs is number {place + 1}: then it was {label!r}, "
                f"out of {self._counts[place]}; now there are {', '.join(map(repr, labels))}. The agents depend on something "
                "else: global random, the clock, or objects left over from an earlier run"
            )
        return number

    def check(self, choices: Choices) -> None:
        """Refuse a run that came to its end before the earlier one.

        Raises:
            ReplayError: it did.
        """
        if len(choices) < len(self._numbers):
            then = self._labels[len(choices)]
            raise ReplayError(f"this run came to its end after {len(choices)} choices; the earlier one went on with {then!r}")


def to_text(number: int) -> str:
    """A whole number in base 62.

    >>> to_text(0), to_text(61), to_text(62), from_text(to_text(10**12))
    ('0', 'z', '10', 1000000000000)
    """
    digits = _DIGITS[number % 62]
    while number := number // 62:
        digits = _DIGITS[number % 62] + digits
    return digits


def from_text(text: str) -> int:
    """The number again; a `ValueError` for anything else."""
    number = 0
    for digit in text:
        number = number * 62 + _DIGITS.index(digit)
    return number

"""What a check is, what comes of it, and the words in which the checks are written."""

from __future__ import annotations

import asyncio
import html
import inspect
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from commonboard.errors import ConformanceError

MakeStore = Callable[[], Any]
"""Gives a fresh, empty store, or an awaitable of one."""
_LONGEST_WHY = 300
BUILT_IN = ("commit", "look", "events", "watch")
"""The methods by which a store counts as one that offers what the built-in stores do."""


class NotOffered(Exception):
    """Raised inside a check: the store has nothing that could be checked here."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one check.

    Attributes:
        name: the check's name, which tells the behaviour.
        status: `"passed"`, `"failed"` or `"not offered"`.
        why: what the store did instead, or what it does not offer.
    """

    name: str
    status: Literal["passed", "failed", "not offered"]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One behaviour. Called with a function that makes an empty store, it raises `ConformanceError` if the store lacks it.

    Attributes:
        name: tells the behaviour.
        needs: the methods without which there is nothing to check, besides the five.
        body: the check itself, which is given the store.
    """

    name: str
    needs: tuple[str, ...]
    body: Callable[[Any], Awaitable[None]]

    def __str__(self) -> str:
        return self.name

    async def __call__(self, make_store: MakeStore, *, built_in: bool | None = None, seconds: float = 60.0) -> Outcome:
        """Check a fresh store; gives the outcome, passed or not offered.

        Raises:
            ConformanceError: the store does something else; the message says what.
        """
        store = await _awaited(make_store())
        try:
            if built_in is False and "commit" in self.needs:
                return Outcome(self.name, "not offered", "not asked for")
            lacking = [name for name in self.needs if not callable(getattr(store, name, None))]
            if lacking and built_in and "commit" in lacking:
                self._fail(f"{type(store).__name__} has no {', '.join(lacking)}, which built_in=True asks for")
            if lacking:
                return Outcome(self.name, "not offered", f"no {', '.join(lacking)}")
            return await self._checked(store, seconds)
        finally:
            close = getattr(store, "aclose", None) or getattr(store, "close", None)
            if callable(close):
                await _awaited(close())

    async def outcome(self, make_store: MakeStore, *, built_in: bool | None = None, seconds: float = 60.0) -> Outcome:
        """As a call, but a failure is an outcome too."""
        try:
            return await self(make_store, built_in=built_in, seconds=seconds)
        except ConformanceError as error:
            return Outcome(self.name, "failed", str(error).removeprefix(f"{self.name}: "))

    async def _checked(self, store: Any, seconds: float) -> Outcome:
        try:
            async with asyncio.timeout(seconds):
                await self.body(store)
        except NotOffered as error:
            return Outcome(self.name, "not offered", str(error))
        except ConformanceError as error:
            self._fail(str(error))
        except TimeoutError:
            self._fail(f"it was not done after {seconds:g} s")
        except Exception as error:
            raise ConformanceError(f"{self.name}: the store raised {type(error).__name__}: {error}") from error
        return Outcome(self.name, "passed")

    def _fail(self, why: str) -> NoReturn:
        raise ConformanceError(f"{self.name}: {why}") from None


@dataclass(frozen=True, slots=True)
class Report:
    """What came of all checks.

    Attributes:
        outcomes: one for each check, in order.
    """

    outcomes: list[Outcome]

    @property
    def failed(self) -> list[Outcome]:
        """The checks that failed."""
        return self._with("failed")

    @property
    def not_offered(self) -> list[Outcome]:
        """The checks for which the store offers nothing."""
        return self._with("not offered")

    @property
    def holds(self) -> bool | None:
        """Whether all that was checked passed; `None` if nothing was checked."""
        if self.failed:
            return False
        return True if self._with("passed") else None

    def assert_holds(self) -> None:
        """Raise a `ConformanceError` that holds the whole report, unless all that was checked passed."""
        if not self.holds:
            raise ConformanceError(str(self))

    def __bool__(self) -> bool:
        raise TypeError("a report is neither true nor false; ask its .holds, or call .assert_holds()")

    def __str__(self) -> str:
        count = {status: len(self._with(status)) for status in ("passed", "failed", "not offered")}
        lines = [", ".join(f"{number} {status}" for status, number in count.items())]
        lines += [_line(one) for one in (*self.failed, *self._with("passed"))]
        reasons = Counter(one.why for one in self.not_offered)
        lines += [f"  not offered {why}: {number} check{'s' if number > 1 else ''}" for why, number in reasons.items()]
        return "\n".join(lines)

    __repr__ = __str__

    def to_frame(self) -> Any:
        """The outcomes as a pandas `DataFrame`."""
        import pandas as pd

        return pd.DataFrame([(one.name, one.status, one.why) for one in self.outcomes], columns=["check", "status", "why"])

    def _repr_html_(self) -> str:
        rows = ""
        for one in self.outcomes:
            status = f"<mark>{one.status}</mark>" if one.status == "failed" else one.status
            rows += f"<tr><td>{one.name.replace('_', ' ')}</td><td>{status}</td><td>{html.escape(one.why)}</td></tr>"
        return f"<table><thead><tr><th>check</th><th>status</th><th>why</th></tr></thead><tbody>{rows}</tbody></table>"

    def _with(self, status: str) -> list[Outcome]:
        return [one for one in self.outcomes if one.status == status]


def check(checks: list[Check], *needs: str) -> Callable[[Callable[[Any], Awaitable[None]]], Callable[[Any], Awaitable[None]]]:
    """Decorator: put an async function of a store into a list of checks, under its own name."""

    def add(body: Callable[[Any], Awaitable[None]]) -> Callable[[Any], Awaitable[None]]:
        checks.append(Check(body.__name__, needs, body))
        return body

    return add


def same(found: object, wanted: object, what: str) -> None:
    """Fail unless the two are equal."""
    if found != wanted:
        raise ConformanceError(f"{what}: {found!r:.200}, where {wanted!r:.200} should be")


def true(holds: object, what: str) -> None:
    """Fail unless it holds."""
    if not holds:
        raise ConformanceError(what)


@contextmanager
def refused(error: type[Exception], what: str) -> Iterator[Any]:
    """Fail unless the body raises this error; what it raised is in the list that it gives."""
    raised: list[Exception] = []
    try:
        yield raised
    except error as expected:
        raised.append(expected)
        return
    except Exception as other:
        raise ConformanceError(f"{what}: {type(other).__name__} instead of {error.__name__} ({other})") from other
    raise ConformanceError(f"{what}: no {error.__name__} was raised")


async def facts(store: Any) -> list[tuple[str, str, dict[str, Any]]]:
    """All that a store with the five methods says of its entries, to compare with later."""
    return [(entry.key, entry.value, dict(entry.metadata or {})) for entry in await store.list()]


async def keys(store: Any) -> list[str]:
    """The keys, in the order of the list."""
    return [entry.key for entry in await store.list()]


async def _awaited(made: Any) -> Any:
    return await made if inspect.isawaitable(made) else made


def _line(one: Outcome) -> str:
    why = one.why if len(one.why) <= _LONGEST_WHY else f"{one.why[:_LONGEST_WHY]}…"
    return f"  {one.status:<12}{one.name.replace('_', ' ')}" + (f": {why}" if why else "")

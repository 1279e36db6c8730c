"""Conflict policies: the version you read is no longer the newest; what now?

A policy answers that one question. The same object settles a lost compare-and-set on one store, where the writer waits
for the answer, and two siblings that meet between replicas, where nobody waits and both writes were acknowledged.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import Any, ClassVar, Final, Literal

from commonboard.errors import PolicyError, UnstorableValueError, kind_of
from commonboard.values import canonical_json, copy_json


@dataclass(slots=True)
class Version:
    """One of the three versions that a policy is shown.

    Attributes:
        value: the Python value.
        version: its version; `None` for a value that has not been written yet.
        actor: who wrote it, or wants to.
        stamp: its place in time, for a policy that compares; equal stamps are told apart by the actor.
    """

    value: Any
    version: int | None = None
    actor: str | None = None
    stamp: int = 0

    @property
    def order(self) -> tuple[int, str]:
        """`(stamp, actor)`: a total order, since one actor never uses a stamp twice."""
        return self.stamp, self.actor or ""


class _Retry:
    __slots__ = ()

    def __repr__(self) -> str:
        return "RETRY"


RETRY: Final = _Retry()
"""An answer: run the change again, on the newest value. Between replicas: keep both."""


@dataclass(frozen=True, slots=True)
class Reject:
    """An answer: refuse the write and tell its writer why. Between replicas: keep both."""

    why: str


@dataclass(frozen=True, slots=True)
class Keep:
    """An answer: write this value, which is made of both."""

    value: Any


Answer = Version | Keep | _Retry | Reject


class ConflictPolicy:
    """The base of all policies. Override `resolve`, and `admit` if not every change is allowed.

    Attributes:
        expects: `"version"` if a write must expect the version that was read, `"nothing"` to write without looking.
        by_value: whether the policy is still safe enough where a store can only compare texts (ABA is then possible).
        attempts: how often a write is tried before it gives up with a `ConflictError`.
    """

    expects: ClassVar[Literal["version", "nothing"]] = "version"
    by_value: ClassVar[bool] = False
    attempts: int = 20

    @property
    def name(self) -> str:
        """What tables and pictures call it."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"{self.name}()"

    def admit(self, base: Version | None, mine: Version) -> bool | Reject:
        """Whether this actor may make this change at all; `False` or `Reject(why)` refuses it."""
        return True

    def resolve(self, base: Version | None, mine: Version, theirs: Version) -> Any:
        """The answer: `mine`, `theirs`, `Keep(value)`, `RETRY` or `Reject(why)`. May be async.

        Args:
            base: what both started from; `None` where there was nothing, or between replicas no single such version.
            mine: what the waiting writer wants; between replicas, what this replica holds.
            theirs: what is there now; between replicas, what arrived.
        """
        raise NotImplementedError(f"{type(self).__name__} must define resolve(self, base, mine, theirs)")

    def pause(self, attempt: int, actor: str) -> float:
        """Seconds that this actor waits before attempt number `attempt` (2, 3, …)."""
        return 0.0

    def lift(self, value: Any, text: str | None) -> Any:
        """A stored value, and its text, as this policy works on it; `None` where nothing is stored."""
        return value

    def begin(self, value: Any, replica: str) -> Any:
        """What an agent's change is handed: a copy of its own, which it may change in place."""
        return copy_json(value)

    def finish(self, handed: Any, returned: Any) -> Any:
        """What is to be written, given what the change was handed and what it returned."""
        if returned is None:
            raise UnstorableValueError(
                "the change returned None; it must return the new value "
                "(to store null use write(), to remove the key use delete())"
            )
        try:
            return copy_json(returned)
        except RecursionError:
            canonical_json(returned)  # raises, and says where it is too deep or contains itself
            raise


class LastWriterWins(ConflictPolicy):
    """Write without looking. The last write stays; between replicas, the one with the greater `(stamp, actor)`.

    Right for values that only replace each other, or that have one owner. Anything else it loses silently.
    """

    expects = "nothing"
    by_value = True

    def resolve(self, base: Version | None, mine: Version, theirs: Version) -> Version:
        return max(mine, theirs, key=lambda version: version.order)


class FirstWriterWins(ConflictPolicy):
    """What was written first stays; between replicas, what has the smaller `(stamp, actor)`. The later write is dropped.

    The writer sees it: `update` returns the entry that stayed.
    """

    by_value = True

    def resolve(self, base: Version | None, mine: Version, theirs: Version) -> Version:
        return min(mine, theirs, key=lambda version: version.order)


class Optimistic(ConflictPolicy):
    """Optimistic concurrency: write only if nothing has changed, else run the change again on what is there now.

    Nothing is lost on one store, and each retry pays for the change again. Between replicas nobody can retry: both stay.

    Args:
        attempts: how many tries in all.
        backoff: seconds to wait before the second try, on average; doubled for each further one. The wait is between nothing
            and twice that, by the agent's name, so that those who were refused together do not come back together.

    Source: Kung and Robinson, "On optimistic methods for concurrency control" (1981).
    """

    by_value = True

    def __init__(self, attempts: int = 20, backoff: float = 0.0) -> None:
        if isinstance(attempts, bool) or not isinstance(attempts, int) or attempts < 1:
            raise PolicyError(f"attempts must be a whole number of at least 1, not {attempts!r}")
        if not backoff >= 0:
            raise PolicyError(f"backoff must be at least 0 seconds, not {backoff!r}")
        self.attempts = attempts
        self.backoff = backoff

    def __repr__(self) -> str:
        return f"Optimistic(attempts={self.attempts}, backoff={self.backoff:g})"

    def resolve(self, base: Version | None, mine: Version, theirs: Version) -> _Retry:
        return RETRY

    def pause(self, attempt: int, actor: str) -> float:
        spread = 2 * Random(f"{actor} {attempt}").random()  # looks random, and is the same in every run
        return round(float(self.backoff * 2 ** min(attempt - 2, 30) * spread), 3)


class Merge(ConflictPolicy):
    """Merge the two as a CRDT: nobody waits, nothing is asked again, and both changes are in the result.

    The change is given a CRDT bound to the agent's replica id; it may return the CRDT, or a plain value whose
    difference is then applied. On a conflict the result is merged again, never made again, so that nothing counts twice.

    Args:
        crdt: a class such as `ORSet` or `PNCounter`: `crdt(replica)` is its empty state, and it has `merge`, `bind`,
            `become`, `to_json` and `from_json`.

    Source: Shapiro, Preguiça, Baquero and Zawirski, "Conflict-free replicated data types" (2011).
    """

    by_value = True

    def __init__(self, crdt: type[Any]) -> None:
        lacking = [name for name in ("merge", "bind", "become", "to_json", "from_json") if not hasattr(crdt, name)]
        if not isinstance(crdt, type) or lacking:
            raise PolicyError(
                f"Merge takes a CRDT class such as cb.ORSet; {crdt!r} lacks {', '.join(lacking) or 'being a class'}"
            )
        self.crdt = crdt

    @property
    def name(self) -> str:
        return f"Merge({self.crdt.__name__})"

    def __repr__(self) -> str:
        return self.name

    def lift(self, value: Any, text: str | None) -> Any:
        """A plain value becomes a CRDT under an id made from its text, so that whoever lifts it gets the same state."""
        if isinstance(value, self.crdt):
            return value
        empty = self.crdt(f"plain~{sha256((text or '').encode()).hexdigest()[:12]}")
        return empty if value is None else empty.become(value)

    def begin(self, value: Any, replica: str) -> Any:
        return value.bind(replica)

    def finish(self, handed: Any, returned: Any) -> Any:
        if returned is None:
            return handed
        return returned if isinstance(returned, self.crdt) else handed.become(returned)

    def resolve(self, base: Version | None, mine: Version, theirs: Version) -> Keep:
        return Keep(mine.value.merge(theirs.value))


class ThreeWay(ConflictPolicy):
    """Call `fn(base, mine, theirs)` with the three values and write what it gives. Refuses where there is no base.

    Args:
        fn: a plain or async function of three values.
    """

    by_value = True

    def __init__(self, fn: Callable[[Any, Any, Any], Any]) -> None:
        if not callable(fn):
            raise PolicyError(f"ThreeWay takes a function of (base, mine, theirs), not {fn!r}")
        self.fn = fn

    @property
    def name(self) -> str:
        return f"ThreeWay({getattr(self.fn, '__name__', 'fn')})"

    def __repr__(self) -> str:
        return self.name

    async def resolve(self, base: Version | None, mine: Version, theirs: Version) -> Keep | Reject:
        if base is None:
            return Reject("there is no version that both started from, so there is nothing to merge against")
        made = self.fn(base.value, mine.value, theirs.value)
        return Keep(await made if inspect.isawaitable(made) else made)


class AppendOnly(ConflictPolicy):
    """A list or a text that may only grow at its end. On a conflict, what each side added is kept: theirs, then mine."""

    def admit(self, base: Version | None, mine: Version) -> bool | Reject:
        if not isinstance(mine.value, (list, str)):
            return Reject(f"only a list or a text can be appended to, not {kind_of(mine.value)}")
        if base is None or base.value is None:
            return True
        if type(base.value) is not type(mine.value) or mine.value[: len(base.value)] != base.value:
            return Reject("this key is append-only: what was there must stay as the beginning")
        return True

    def resolve(self, base: Version | None, mine: Version, theirs: Version) -> Keep | Reject:
        shared = base.value if base is not None and base.value is not None else type(mine.value)()
        if type(theirs.value) is not type(mine.value) or theirs.value[: len(shared)] != shared:
            return Reject("what is there now no longer begins with what both started from")
        first, second = sorted((theirs, mine), key=lambda version: version.order)
        return Keep(first.value + second.value[len(shared) :])


class SingleWriter(ConflictPolicy):
    """Only `owner` may change the key; everybody may read it. With one writer there is no conflict to lose by.

    Args:
        owner: the agent's name.
    """

    def __init__(self, owner: str) -> None:
        if not isinstance(owner, str) or not owner:
            raise PolicyError(f"SingleWriter takes the owner's name, not {owner!r}")
        self.owner = owner

    def __repr__(self) -> str:
        return f"SingleWriter({self.owner!r})"

    def admit(self, base: Version | None, mine: Version) -> bool | Reject:
        return mine.actor == self.owner or Reject(f"only {self.owner!r} may write this key; send it a message instead")

    def resolve(self, base: Version | None, mine: Version, theirs: Version) -> _Retry:
        return RETRY


class _Function(ConflictPolicy):
    """A plain function of (base, mine, theirs) as a policy."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._fn = fn

    @property
    def name(self) -> str:
        return getattr(self._fn, "__name__", "policy")

    def resolve(self, base: Version | None, mine: Version, theirs: Version) -> Any:
        return self._fn(base, mine, theirs)


def as_policy(policy: Any) -> ConflictPolicy:
    """The policy itself, or a plain function of `(base, mine, theirs)` as one.

    Raises:
        PolicyError: it is neither.
    """
    if isinstance(policy, ConflictPolicy):
        if policy.expects not in ("version", "nothing"):
            raise PolicyError(f"{policy!r}.expects must be 'version' or 'nothing', not {policy.expects!r}")
        if policy.expects == "version" and type(policy).resolve is ConflictPolicy.resolve:
            raise PolicyError(f"{policy.name} has no answer to a conflict: define resolve(self, base, mine, theirs)")
        return policy
    if isinstance(policy, type) and issubclass(policy, ConflictPolicy):
        raise PolicyError(f"{policy.__name__} is a class; make a policy of it with {policy.__name__}()")
    if callable(policy):
        try:
            inspect.signature(policy).bind(None, None, None)
        except TypeError:
            name = getattr(policy, "__qualname__", type(policy).__name__).rpartition(".")[2]
            raise PolicyError(f"the policy {name} must take three arguments: base, mine, theirs") from None
        except ValueError:
            pass  # a built-in without a signature shows at the call
        return _Function(policy)
    raise PolicyError(f"{policy!r:.80} is not a policy; give a ConflictPolicy or a function of (base, mine, theirs)")


async def ask(policy: ConflictPolicy, base: Version | None, mine: Version, theirs: Version) -> Answer:
    """The policy's answer, awaited if it is async, and checked.

    Raises:
        PolicyError: the answer is none of the five.
    """
    try:
        made = policy.resolve(base, mine, theirs)
        answer = await made if inspect.isawaitable(made) else made
    except (TypeError, AttributeError) as error:
        error.add_note(f"{policy.name} was given three cb.Version objects (base may be None); their values are in .value")
        raise
    return checked(policy, answer, mine, theirs)


def checked(policy: ConflictPolicy, answer: Any, mine: Version, theirs: Version) -> Answer:
    """The answer, if it is one.

    Raises:
        PolicyError: it is not.
    """
    if answer is mine or answer is theirs or answer is RETRY or isinstance(answer, (Keep, Reject)):
        return answer
    raise PolicyError(
        f"{policy.name} answered {answer!r:.80}; a policy returns mine, theirs, cb.Keep(value), cb.RETRY or cb.Reject('why'): "
        "to write this value, answer cb.Keep(…) of it"
    )


def admitted(policy: ConflictPolicy, base: Version | None, mine: Version) -> Reject | None:
    """`None` if the change is allowed, else the refusal.

    Raises:
        PolicyError: `admit` answered neither `True`, `False` nor a `Reject`.
    """
    answer = policy.admit(base, mine)
    if answer is True:
        return None
    if answer is False:
        return Reject(f"{policy.name} does not admit this change")
    if isinstance(answer, Reject):
        return answer
    raise PolicyError(f"{policy.name}.admit answered {answer!r:.80}; it returns True, False or cb.Reject('why')")

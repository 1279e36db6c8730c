"""What a check of calls goes by: a `Call`, as its caller saw it, and a `Model` of what the shared object does.

A model is a state and a pure step: from a state and a call to the next state, or to `ILLEGAL` where the call could not
have returned what it did. `commonboard.check.models` has the usual ones. For anything else, write a subclass of `Model`;
`initial` and `step` are all that it needs.

A model as state and step is how Wing and Gong (1993) put it, and Knossos and porcupine after them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Final, SupportsIndex

from commonboard.errors import InvalidArgumentError, SubjectError
from commonboard.history import History, Operation

State = Hashable
Outlook = Callable[[State], State]


class Mark(Enum):
    """What stands where no value can: see `ILLEGAL` and `UNKNOWN`."""

    ILLEGAL = "illegal"
    UNKNOWN = "unknown"
    LOST = "lost"


ILLEGAL: Final = Mark.ILLEGAL
"""What a step gives where a call could not have returned what it did."""
UNKNOWN: Final = Mark.UNKNOWN
"""The result of a call of which nobody knows what it returned."""
LOST: Final = Mark.LOST
"""A state that no call still to come has seen, so that it does not matter which one it is."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call on a shared object, as its caller saw it.

    Attributes:
        process: who called: an agent's name, or a number as in Jepsen; `given` for what was there before all calls.
        kind: what was called; each model says which kinds it knows.
        argument: what was handed in.
        result: what came back; `UNKNOWN` where nobody knows, which is so for every call without an end.
        key: the object it was about, where there are several.
        begin: when it was called, as a whole number on a line that all calls share.
        end: when it returned, on the same line; `None` if it never did: it may have happened at any later time, or never.
            Equal numbers count as at the same time: neither call was before the other.
        operation: the operation of a `History` that it stands for.

    Raises:
        InvalidArgumentError: it ended before it began, or begin or end is no whole number.
    """

    process: str | int
    kind: str
    argument: Any = None
    result: Any = None
    key: Hashable = None
    begin: int = field(kw_only=True)
    end: int | None = field(kw_only=True)
    operation: Operation | None = field(default=None, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name, moment in (("begin", self.begin), ("end", self.end)):
            if not isinstance(moment, int) and not isinstance(moment, SupportsIndex) and (moment is not None or name == "begin"):
                raise InvalidArgumentError(
                    f"the {name} of the {self.kind} by {self.process} is {moment!r:.60}, and must be a whole number: a place "
                    "among the events, or a time in nanoseconds" + ("; None if it never returned" if name == "end" else "")
                )
        if self.end is None:
            object.__setattr__(self, "result", UNKNOWN)
        elif self.end < self.begin:
            raise InvalidArgumentError(
                f"the {self.kind} by {self.process} ends at {self.end}, before it begins at {self.begin}; "
                "an end is at least the begin, and None for a call that never returned"
            )

    @property
    def who(self) -> str:
        """The caller, as a text to print."""
        return self.process if isinstance(self.process, str) else f"process {self.process}"


class Model:
    """The base of all models, and of your own: a subclass has at least `initial` and `step`.

    A step is pure, and looks only at the call's kind, key, argument and result: two calls that are equal in these are
    taken for one another. States are hashable; `frozen` makes them so. Values count as equal where Python's `==` says so.

    Attributes:
        kinds: the kinds of calls that it knows; empty: any, and `step` must do with them.
        noun: what to call the object where it has no key.

    >>> class Lock(Model):
    ...     kinds = ("acquire", "release")
    ...     noun = "the lock"
    ...     def initial(self, key):
    ...         return "free"
    ...     def step(self, state, call):
    ...         wanted, then = ("free", "held") if call.kind == "acquire" else ("held", "free")
    ...         return then if state == wanted else ILLEGAL
    """

    kinds: ClassVar[tuple[str, ...]] = ()
    noun: ClassVar[str] = "the object"

    def initial(self, key: Hashable) -> State:
        """The state before the first call."""
        raise SubjectError(f"{type(self).__name__} needs a method initial(key): the state before the first call")

    def step(self, state: State, call: Call) -> State:
        """The state after the call, or `ILLEGAL` if from this state it could not have returned what it did.

        A call whose result is `UNKNOWN` is taken as one that did happen: give the state that it leaves.
        """
        raise SubjectError(f"{type(self).__name__} needs a method step(state, call): the next state, or ILLEGAL")

    def key_of(self, call: Call) -> Hashable:
        """The object that the call is about, if it is about one alone: each object is then judged by itself.

        Without it, all calls are about one. Splitting is exact, because a history is linearizable if and only if its part
        for each object is (Herlihy and Wing, 1990), and it is what makes long histories possible.
        """
        return None

    def is_read(self, call: Call) -> bool:
        """Whether the call changes nothing, whatever the state: a read, or a refused compare-and-set."""
        return False

    def rests_on(self, observer: Call, writer: Call) -> bool:
        """Whether what `observer` returned may have to do with `writer`. Shrinking keeps such a writer; in doubt, say yes."""
        return True

    def overwrites(self, call: Call) -> bool:
        """Whether the call leaves the same state whatever was there, so that nothing from before it can be seen after it."""
        return False

    def outlook(self, read: Call, ahead: Sequence[Call]) -> Outlook | None:
        """What of a state still matters, given what was read later: a way to see early that an order is wrong.

        Args:
            read: the read (see `is_read`) that has to be explained next.
            ahead: calls that may still come, this read and those that never returned among them.

        Returns:
            A function from a state to the same state, to `ILLEGAL` where the read can be explained no more, or to one state
            that stands for all those that nothing ahead has seen. `None` if there is nothing to tell.
        """
        return None

    def from_history(self, history: History) -> list[Call]:
        """The calls that a `History` of reads and writes tells of.

        Raises:
            InvalidArgumentError: the model is about something else.
        """
        raise InvalidArgumentError(
            f"{type(self).__name__} judges calls ({', '.join(self.kinds) or 'of its own kinds'}), and a run or a history holds "
            "reads and writes of keys: use linearizable() for those, or give the model a method from_history(history)"
        )

    def check(self, call: Call) -> None:
        """Refuse a call that the model does not know.

        Raises:
            InvalidArgumentError: its kind or its argument is none of the model's.
        """
        if self.kinds and call.kind not in self.kinds:
            raise InvalidArgumentError(f"{type(self).__name__} knows {', '.join(self.kinds)}, not {call.kind!r} (by {call.who})")

    def name(self, key: Hashable) -> str:
        """The object, as a text to print."""
        return self.noun if key is None else f"key {key}"

    def show(self, state: State) -> str:
        """A state, as a text to print."""
        return self.value(state)

    def value(self, value: Any) -> str:
        """An argument or a result, as a text to print."""
        return shown(value)

    def why_not(self, state: State, call: Call) -> str:
        """Why the call is illegal in a state, as a text to print: `web reads 0, but the register is 2`."""
        return f"{call.who} {self.describe(call)}, but {self.name(call.key)} is {self.show(state)}"

    def describe(self, call: Call) -> str:
        """What the caller did and got, such as `reads 3`."""
        given = "" if call.argument is None else f" {self.value(call.argument)}"
        return f"calls {call.kind}{given}{self.got(call)}"

    def got(self, call: Call) -> str:
        """How the description of a call ends that need not give anything back."""
        if call.result is UNKNOWN:
            return " (and never hears of it)" if call.end is None else " (and hears nothing)"
        return "" if call.result is None else f" and gets {self.value(call.result)}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _Pairs(frozenset[Any]):
    """What `frozen` makes of a dict."""

    __hash__ = frozenset.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Pairs) and super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other


def frozen(value: Any) -> Any:
    """A hashable value that equals another's exactly where the two are equal.

    Lists become tuples, sets frozensets, and dicts sets of pairs that equal no other set. A list and a tuple count as equal.

    >>> frozen([1, {2}])
    (1, frozenset({2}))
    >>> frozen({"b": [2]}) == frozen({"b": (2,)}), frozen({}) == frozen(set())
    (True, False)
    """
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(map(frozen, value))
    if isinstance(value, Mapping):
        return _Pairs((frozen(key), frozen(part)) for key, part in value.items())
    if isinstance(value, AbstractSet) and not isinstance(value, _Pairs):
        return frozenset(map(frozen, value))
    return value


def shown(value: Any) -> str:
    """A value as a text to print; sets in order, so that it is the same each time.

    >>> shown({"b", "a"}), shown(("x", None))
    ("{'a', 'b'}", "['x', nothing]")
    """
    if value is None:
        return "nothing"
    if isinstance(value, _Pairs):
        return f"{{{', '.join(sorted(f'{shown(key)}: {shown(part)}' for key, part in value))}}}"
    if isinstance(value, AbstractSet):
        return f"{{{', '.join(sorted(map(shown, value)))}}}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{shown(key)}: {shown(part)}' for key, part in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(shown, value))}]"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:40]} … {text[-38:]}"


def counted(count: int, word: str) -> str:
    """A number of things, as a text to print.

    >>> counted(1, "read"), counted(2_000, "step")
    ('1 read', '2,000 steps')
    """
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def seen(state: State, call: Call) -> State:
    """The step of a read: the same state if it gave that, else `ILLEGAL`."""
    return state if call.result is UNKNOWN or frozen(call.result) == state else ILLEGAL

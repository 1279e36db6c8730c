"""Every error the library raises on purpose.

Each one is a `CommonboardError`, so that one `except` catches them all, and also the built-in error that fits, so
that code which knows nothing of commonboard still reacts as it should. A message says what was wrong, where, and what to do.
"""

from __future__ import annotations

from typing import Any


class CommonboardError(Exception):
    """The base of all errors that commonboard raises on purpose."""


class InvalidKeyError(CommonboardError, ValueError):
    """A key, prefix or cursor is not one that every store can keep."""


class InvalidArgumentError(CommonboardError, ValueError):
    """A number or an option is out of its range; the message names it."""


class NameNotAllowedError(CommonboardError, ValueError):
    """An agent's name, or a reserved key, cannot be used for this."""


class InvalidWriteError(CommonboardError, TypeError):
    """A field of a write, or something in `reads`, is of the wrong kind. Nothing was written."""


class UnstorableValueError(CommonboardError, TypeError):
    """A value would not read back equal; the message names the path to the part at fault."""


class CorruptValueError(CommonboardError, ValueError):
    """A stored text does not decode to the value that its marker promises."""


class SchemaError(CommonboardError, ValueError):
    """A value does not fit the `schema=` it was given with; nothing was written."""


class SnapshotError(CommonboardError, ValueError):
    """What was offered as a snapshot is none; nothing was restored."""


class TurnError(CommonboardError, ValueError):
    """A turn or a time to live is not a whole number in range."""


class StoreShapeError(CommonboardError, TypeError):
    """An object offered as a store lacks a method, or a method does not behave as the protocol says."""


class CapabilityError(CommonboardError, TypeError):
    """The store cannot do atomically what the call or the policy needs, so nothing was tried."""


class StoreFileError(CommonboardError, ValueError):
    """A file is not a store that this version can open: corrupt, newer, or of another kind. It was left as it is."""


class StoreLockedError(CommonboardError, OSError):
    """Another process has the file open for writing."""


class StoreWriteError(CommonboardError, OSError):
    """A write did not reach the disk; memory and disk are as they were before it."""


class StoreReadOnlyError(CommonboardError, PermissionError):
    """The store was opened for reading only. Nothing was written."""


class StoreClosedError(CommonboardError, ValueError):
    """The store was closed, or a later opener in this process took its file over."""


class LogCompactedError(CommonboardError, LookupError):
    """A follower asked for events that the log has already dropped."""


class ConflictError(CommonboardError):
    """A write was refused: the entry is not what the writer expected. Nothing was written.

    Attributes:
        key: the key in question.
        expected: what the write expected: a version, a text, or `ABSENT`.
        found: the entry that was there instead (`None` if there was none).
        found_version: its version; the version of its absence where `found` is `None`.
        mine: the value that was refused, where it is known.
    """

    def __init__(
        self,
        message: str,
        *,
        key: str = "",
        expected: Any = None,
        found: Any = None,
        found_version: int | None = None,
        mine: Any = None,
    ) -> None:
        super().__init__(message)
        self.key = key
        self.expected = expected
        self.found = found
        self.found_version = found_version
        self.mine = mine


class TransactionError(CommonboardError, RuntimeError):
    """A transaction was used as it cannot be: inside another one, after its end, or outside what its snapshot shows."""


class NotAdmittedError(CommonboardError, PermissionError):
    """The policy does not let this actor make this change at all. Nothing was written."""


class PolicyError(CommonboardError, TypeError):
    """A policy gave an answer that is not one of the answers, or is no policy. Nothing was written."""


class ConformanceError(CommonboardError, AssertionError):
    """A store does not do what a store must; the message says which behaviour, and what it did instead."""


class AgentError(CommonboardError, TypeError):
    """Something given as an agent is not an async function of one argument, or names clash."""


class OutcomeUnknownError(CommonboardError, ConnectionError):
    """The answer to a write was lost on its way back: nobody knows whether it happened. Look before you write again.

    Attributes:
        key: the key, or the keys, that it was about.
    """

    def __init__(self, message: str, *, key: str = "") -> None:
        super().__init__(message)
        self.key = key


class SimulationError(CommonboardError, RuntimeError):
    """An agent did something that a simulation cannot repeat: a thread, a socket, a subprocess, another event loop."""


class SubjectError(CommonboardError, TypeError):
    """What a check was given is nothing that it judges, or its model is none. Nothing was judged."""


class HistoryFormatError(CommonboardError, ValueError):
    """A recorded history is not one: the message names the line. Nothing was judged."""


class ReplayError(CommonboardError, ValueError):
    """A replay token does not belong to this program."""


def kind_of(thing: Any) -> str:
    """What sort of thing somebody handed in, as a text to print.

    >>> kind_of(3), kind_of("x"), kind_of(None), kind_of(int)
    ('an int', 'a str', 'None', 'the class int')
    """
    if thing is None:
        return "None"
    if isinstance(thing, type):
        return f"the class {thing.__name__}"
    name = type(thing).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"

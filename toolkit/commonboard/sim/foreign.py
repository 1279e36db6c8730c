"""Stores of another make in a simulation: a decorator around the base store, or anybody's five methods."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from commonboard.entry import MemoryEntry, Write
from commonboard.errors import SimulationError, StoreShapeError
from commonboard.history import GIVEN, Kind, Operation
from commonboard.sim.asks import Turn
from commonboard.sim.store import Recorder, SimStore
from commonboard.stores.port import ForeignPort
from commonboard.stores.protocol import OPTIONAL, REQUIRED, check_store, is_built_in
from commonboard.values import ENCODING, TYPE

_KINDS: dict[str, Kind] = {
    "get": "read",
    "set": "write",
    "list": "list",
    "delete": "delete",
    "clear": "delete",
    "compare_and_set": "compare-and-set",
    "set_with_expiry": "write",
}


def made_store(factory: Callable[..., Any] | None, base: SimStore, recorder: Recorder) -> Any:
    """The store that the agents get.

    Raises:
        SimulationError: it is not a factory, or it made a store that reaches outside.
        StoreShapeError: what it made is no store.
    """
    if factory is None:
        return base
    if is_built_in(factory) and not isinstance(factory, type):
        raise _keeps_its_own(factory)
    if not callable(factory):
        raise SimulationError(
            f"store= takes a factory, so that each run begins with an empty store: store=lambda: {type(factory).__name__}(…)"
        )
    store = factory(base) if _takes_base(factory) else factory()
    check_store(store)
    if store is base or _holds(store, base):
        return store
    if is_built_in(store):
        raise _keeps_its_own(store)
    # Messages name the class of a store, and should name the one that the person knows.
    return type(type(store).__name__, (Gate,), {})(store, recorder)


def _keeps_its_own(store: Any) -> SimulationError:
    name = type(store).__name__
    return SimulationError(
        f"{name} cannot run under the simulator, which keeps its own board in memory; leave store= out, "
        f"or run these agents live: await cb.run_live(agents, store={name}(…))"
    )


def _takes_base(factory: Callable[..., Any]) -> bool:
    """Whether the factory needs an argument: then it is given the simulation's own store."""
    try:
        signature = inspect.signature(factory)
    except ValueError:
        return False  # a built-in without a signature
    for arguments in ((), (None,)):
        try:
            signature.bind(*arguments)
        except TypeError:
            continue
        return bool(arguments)
    raise SimulationError(f"store= takes a factory of no argument, or of one, the simulation's own store; {factory!r} takes more")


def _holds(store: Any, base: SimStore) -> bool:
    """Whether the store has the base store somewhere beneath it: then the choices are made there."""
    layer = [store]
    for _ in range(10):
        parts = [part for outer in layer for part in _parts(outer)]
        if any(part is base for part in parts):
            return True
        layer = [part for part in parts if all(callable(getattr(part, name, None)) for name in REQUIRED)]
    return False


def _parts(store: Any) -> list[Any]:
    slots = [name for kind in type(store).__mro__ for name in getattr(kind, "__slots__", ()) if isinstance(name, str)]
    return [*getattr(store, "__dict__", {}).values(), *(getattr(store, name, None) for name in slots)]


class Gate:
    """A store of another make, each of whose calls is one step. It keeps no versions, so checks may not be able to judge."""

    def __init__(self, inner: Any, recorder: Recorder) -> None:
        self._inner = inner
        self._recorder = recorder
        self._port = ForeignPort(inner)
        for name in (*REQUIRED, *OPTIONAL):
            if callable(getattr(inner, name, None)):
                setattr(self, name, self._gated(name))

    async def give(self, write: Write) -> None:
        """Put in what was there before the agents began; no step of theirs."""
        await self._port.commit(write)
        encoding, tag = (write.metadata or {}).get(ENCODING), (write.metadata or {}).get(TYPE)
        moment = (self._recorder.tick(), 0.0)
        op = self._recorder.record(moment, "write", write.key, agent=GIVEN, text=write.value, encoding=encoding, type_tag=tag)
        op.ended_at = 0.0

    async def entries(self) -> list[MemoryEntry]:
        """All entries, as stored, when the agents have come to their end."""
        return await self._port.list()

    def _gated(self, name: str) -> Callable[..., Any]:
        async def call(*args: Any, **options: Any) -> Any:
            key = str(args[0]) if args else ""
            called = (self._recorder.tick(), self._recorder.loop.now)
            await self._recorder.asked(Turn(f"{_KINDS[name]}s", key), None)
            made = getattr(self._inner, name)(*args, **options)
            if not inspect.isawaitable(made):
                raise StoreShapeError(
                    f"{type(self).__name__}.{name} is not async: it returned {type(made).__name__}; write `async def {name}`"
                )
            made = await made
            self._record(called, name, key, args, made)
            return made

        return call

    def _record(self, called: tuple[int, float], name: str, key: str, args: tuple[Any, ...], made: Any) -> Operation:
        text = getattr(made, "value", None) if name == "get" else None
        metadata = getattr(made, "metadata", None) or {}
        if name in ("set", "set_with_expiry", "compare_and_set"):
            text = args[2] if name == "compare_and_set" else args[1]
            metadata = next((arg for arg in args if isinstance(arg, dict)), {})
        refused = name == "compare_and_set" and not made
        return self._recorder.record(
            called, _KINDS[name], key, text=text, encoding=metadata.get(ENCODING), type_tag=metadata.get(TYPE), ok=not refused
        )

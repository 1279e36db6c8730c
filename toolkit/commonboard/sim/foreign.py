"""Stores of another make in a simulation: a decorator around the base store, or anybody's five methods."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from commonboard.errors import SimulationError
from commonboard.history import Kind, Operation
from commonboard.sim.store import Recorder, SimStore
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
    """
    if factory is None:
        return base
    if not callable(factory):
        raise SimulationError(
            f"store= takes a factory, so that each run begins with an empty store: store=lambda: {type(factory).__name__}(…)"
        )
    try:
        takes_base = bool(inspect.signature(factory).bind(base))
    except (TypeError, ValueError):
        takes_base = False
    store = factory(base) if takes_base else factory()
    check_store(store)
    if store is base or _holds(store, base):
        return store
    if is_built_in(store):
        raise SimulationError(
            f"{type(store).__name__} cannot run under the simulator, which keeps its own board in memory; leave store= out, "
            f"or run these agents live: cb.SharedMemory({type(store).__name__}(…)) works on your own event loop"
        )
    return Gate(store, recorder)


def _holds(store: Any, base: SimStore) -> bool:
    """Whether the store has the base store somewhere beneath it: then the choices are made there."""
    layer = [store]
    for _ in range(10):
        layer = [part for outer in layer for part in vars(outer).values() if hasattr(part, "__dict__")] if layer else []
        if any(part is base for part in layer):
            return True
        layer = [part for part in layer if all(callable(getattr(part, name, None)) for name in REQUIRED)]
    return False


class Gate:
    """A store of another make, each of whose calls is one step. It keeps no versions, so checks may not be able to judge."""

    def __init__(self, inner: Any, recorder: Recorder) -> None:
        self._inner = inner
        self._recorder = recorder
        for name in (*REQUIRED, *OPTIONAL):
            if callable(getattr(inner, name, None)):
                setattr(self, name, self._gated(name))

    def _gated(self, name: str) -> Callable[..., Any]:
        async def call(*args: Any, **options: Any) -> Any:
            key = str(args[0]) if args else ""
            called = await self._recorder.chosen(f"{_KINDS[name]}s", key)
            made = getattr(self._inner, name)(*args, **options)
            made = await made if inspect.isawaitable(made) else made
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

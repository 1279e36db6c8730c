"""Who takes part in a simulation: agents, given as a dict, a list or one by one, and what is refused as an agent."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from commonboard.errors import AgentError, kind_of
from commonboard.handle import AgentMemory, check_agent_name
from commonboard.history import GIVEN
from commonboard.sim.scenario import Scenario


def named_agents(agents: Any) -> dict[str, Callable[[Any], Any]]:
    """The agents by name.

    Raises:
        AgentError: there is none, one is not async, two have one name, or a name is not allowed.
    """
    if isinstance(agents, Mapping):
        crew = dict(agents)
    elif callable(agents) or isinstance(agents, (list, tuple)):
        crew = _numbered([agents] if callable(agents) else list(agents))
    else:
        raise AgentError(f"{kind_of(agents)} is no agent; give async functions, or a dict of name to async function")
    if not crew:
        raise AgentError("there are no agents; give async functions, or a dict of name to async function")
    for name, fn in crew.items():
        check_agent_name(name)
        if name == GIVEN:
            raise AgentError(f"{GIVEN!r} is what the simulation calls whoever wrote before the agents began; choose another name")
        _check_agent(name, fn)
    return crew


def _numbered(functions: list[Any]) -> dict[str, Any]:
    names = [getattr(fn, "__name__", type(fn).__name__) for fn in functions]
    crew: dict[str, Any] = {}
    for place, (name, fn) in enumerate(zip(names, functions, strict=True)):
        numbered = f"{name}-{names[: place + 1].count(name)}" if names.count(name) > 1 else name
        if numbered in crew:
            raise AgentError(f"two agents would be called {numbered!r}; give a dict of name to async function")
        crew[numbered] = fn
    return crew


def _check_agent(name: str, fn: Any) -> None:
    if not callable(fn):
        raise _no_agent(name, kind_of(fn))
    if inspect.isasyncgenfunction(fn):
        raise _no_agent(name, "an async generator (it holds a yield)")
    if isinstance(fn, Scenario):
        raise _no_agent(name, "a scenario, which is simulated alone")


def begun(name: str, fn: Callable[[Any], Any], handle: AgentMemory) -> Coroutine[Any, Any, Any]:
    """The agent's coroutine.

    Raises:
        AgentError: it cannot be called with its handle, or is not async.
    """
    try:
        made = fn(handle)
    except TypeError:
        with contextlib.suppress(ValueError):  # a built-in may have no signature
            try:
                inspect.signature(fn).bind(handle)
            except TypeError as error:
                raise _no_agent(name, f"a function that cannot be called with a handle ({error})") from None
        raise
    if not inspect.iscoroutine(made):
        raise _no_agent(name, f"not async (calling it gave {kind_of(made)})")
    return made


def _no_agent(name: str, what: str) -> AgentError:
    return AgentError(f"the agent {name!r} is {what}; an agent is an async function of its handle: async def {name}(me): …")

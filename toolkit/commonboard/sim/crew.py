"""Who takes part in a simulation: agents, given as a dict, a list or one by one, and what is refused as an agent."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from commonboard.errors import AgentError
from commonboard.handle import check_agent_name
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
        raise AgentError(f"a {type(agents).__name__} is no agent; give async functions, or a dict of name to async function")
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
    what = ""
    if not callable(fn):
        what = f"a {type(fn).__name__}"
    elif inspect.isasyncgenfunction(fn):
        what = "an async generator (it holds a yield)"
    elif isinstance(fn, Scenario):
        what = "a scenario, which is simulated alone"
    else:
        try:
            inspect.signature(fn).bind(None)
        except TypeError as error:
            what = f"a function that cannot be called with a handle ({error})"
        except ValueError:
            pass  # a built-in without a signature shows at the call
    if what:
        raise AgentError(f"the agent {name!r} is {what}; an agent is an async function of its handle: async def {name}(me): …")

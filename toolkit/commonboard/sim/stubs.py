"""A stub for what lies outside, such as a model that a policy asks: it answers in a simulation what it answered before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from commonboard.errors import InvalidArgumentError, SimulationError, kind_of
from commonboard.sim.loop import SimLoop
from commonboard.values import canonical_json, copy_json


class Stub:
    """An async function that remembers its answers. Live, it calls; in a simulation, it only repeats.

    Attributes:
        answers: what was answered, by the arguments as JSON text; plain data, to be saved beside a test.
    """

    def __init__(self, call: Callable[..., Any] | None, answers: Mapping[str, Any]) -> None:
        self._call = call
        self.answers = dict(answers)

    def __repr__(self) -> str:
        return f"Stub({len(self.answers)} answers)"

    async def __call__(self, *args: Any, **options: Any) -> Any:
        """The answer to these arguments.

        Raises:
            SimulationError: in a simulation, these arguments were never asked before.
            InvalidArgumentError: live, there is nobody to ask.
            UnstorableValueError: the arguments, or the answer, are no plain JSON data.
        """
        asked = canonical_json({"args": list(args), "options": options})
        if asked not in self.answers:
            if isinstance(asyncio.get_running_loop(), SimLoop):
                raise SimulationError(
                    f"no answer to {asked:.200} was recorded; ask it live once (await the stub on your own event loop), or give "
                    "stub(answers={…}) one"
                )
            if self._call is None:
                raise InvalidArgumentError(f"the stub has no answer to {asked:.200}, and nobody to ask: stub(call, …) takes one")
            answer = await self._call(*args, **options)
            canonical_json(answer)
            self.answers[asked] = answer
        return copy_json(self.answers[asked])


def stub(call: Callable[..., Any] | None = None, answers: Mapping[str, Any] | None = None) -> Stub:
    """Record what an outside call answers, so that a simulation can repeat it: for a policy, or an agent, that asks a model.

    Args:
        call: an async function of plain JSON data that gives plain JSON data; `None` if only recorded answers are wanted.
        answers: the `.answers` of an earlier stub.

    >>> import asyncio
    >>> import commonboard as cb
    >>> async def model(mine, theirs):
    ...     return sorted({*mine, *theirs})
    >>> ask = cb.stub(model)
    >>> asyncio.run(ask(["a"], ["b"]))
    ['a', 'b']
    >>> async def settles(base, mine, theirs):
    ...     return cb.Keep(await ask(mine.value, theirs.value))
    >>> async def agent(me):
    ...     await me.shared.update("x", lambda found: [me.name])
    >>> asyncio.run(ask(["b"], ["a"]))
    ['a', 'b']
    >>> cb.explore({"a": agent, "b": agent}, policy=settles, check=cb.at_the_end(lambda state: True, "anything")).holds
    True
    """
    if call is not None and not callable(call):
        raise InvalidArgumentError(f"stub takes an async function, not {kind_of(call)}")
    if answers is not None and not isinstance(answers, Mapping):
        raise InvalidArgumentError(f"answers= takes the .answers of an earlier stub, not {kind_of(answers)}")
    return Stub(call, answers or {})

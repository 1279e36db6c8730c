"""Several processes around one store: who runs which agents, how they travel, and how their records come back."""

from __future__ import annotations

import asyncio
import importlib
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from commonboard.errors import CapabilityError, CommonboardError
from commonboard.live.play import GRACE_S, Ends, UpdateNote
from commonboard.policies import ConflictPolicy
from commonboard.recording.facts import Recording
from commonboard.sim.trouble import Trouble

PROBE: Final = "__commonboard__/live"
"""A reserved key: what one process writes here, the others must see before anything begins."""
START_S = 60.0
"""How long a process may take until it is ready."""


class LiveRunError(CommonboardError, RuntimeError):
    """A live run could not be made in several processes: something cannot travel, or a process died."""


@dataclass(slots=True)
class Job:
    """What a process is to do.

    Attributes:
        store: opens the store.
        policy, turn, pace, timeout_s: as for `run_live`.
        name: what the recorder is called.
        agents: the agents by name, each pickled by itself.
        probe: what stands at `PROBE` while the run lasts.
    """

    store: Any
    policy: ConflictPolicy
    turn: int | str
    pace: float
    timeout_s: float
    name: str = ""
    agents: dict[str, bytes] = field(default_factory=dict)
    probe: str = ""


@dataclass(slots=True)
class Part:
    """What a process reports."""

    recording: Recording
    notes: list[UpdateNote] = field(default_factory=list)
    ends: Ends = field(default_factory=Ends)


@dataclass(slots=True)
class Refusal:
    """Why a process does not begin."""

    why: str
    unshared: bool = False


async def in_processes(pickled: Mapping[str, bytes], processes: int, job: Job, store: Any) -> list[Part]:
    """Run agents in several processes, which begin together, and collect what they report.

    Args:
        pickled: the agents by name, as `packed` gives them; the first goes to the first process, the second to the second,
            and so on in turn.
        processes: how many.
        job: what is the same for all.
        store: the store, as this process has it open.

    Raises:
        CapabilityError: the processes do not see the same store.
        LiveRunError: a process died before it could begin.
    """
    job.probe = os.urandom(8).hex()
    helpers: list[_Helper] = []
    finished = False
    try:
        await _ready(helpers, pickled, processes, job, store)
        for helper in helpers:
            helper.send(b"go\n")
        parts = [await helper.report(job.timeout_s + 2 * GRACE_S) for helper in helpers]
        finished = True
        return parts
    finally:
        for helper in helpers:
            await asyncio.to_thread(helper.end, kill=not finished)


async def _ready(helpers: list[_Helper], pickled: Mapping[str, bytes], processes: int, job: Job, store: Any) -> None:
    """Start the processes, and wait until all have the store open, and the same one."""
    names = list(pickled)
    await store.set(PROBE, job.probe)
    try:
        for number in range(processes):
            mine = {name: pickled[name] for name in names[number::processes]}
            helpers.append(_Helper(list(mine)))
            job.name, job.agents = f"{job.probe}.{number + 1}", mine
            helpers[-1].send(by_value().dumps(job))
        for helper in helpers:
            _check_ready(await helper.receive(START_S), helper)
    finally:
        await store.delete(PROBE)


def _check_ready(answer: Any, helper: _Helper) -> None:
    if answer == "ready":
        return
    if not isinstance(answer, Refusal):
        raise LiveRunError(f"the process of {helper.who} died before it could begin; it said: {helper.said() or 'nothing'}")
    raise CapabilityError(answer.why) if answer.unshared else LiveRunError(answer.why)


def by_value() -> Any:
    """The module that pickles functions by value.

    Raises:
        LiveRunError: it is not installed.
    """
    try:
        return importlib.import_module("cloudpickle")
    except ImportError:
        raise LiveRunError(
            "agents travel to other processes by cloudpickle, which is not installed: install cloudpickle"
        ) from None


def packed(crew: Mapping[str, Callable[[Any], Any]], job: Job) -> dict[str, bytes]:
    """The agents as they travel, each by itself.

    Raises:
        LiveRunError: one of them, the policy or what opens the store cannot; it names which, and why.
    """
    parts: dict[str, Any] = {f"the agent {name!r}": fn for name, fn in crew.items()}
    parts |= {f"the policy {job.policy.name!r}": job.policy, "what opens the store": job.store}
    found = []
    for what, part in parts.items():
        try:
            found.append(by_value().dumps(part))
        except LiveRunError:
            raise
        except Exception as error:  # whatever the objects that it holds may raise
            raise LiveRunError(
                f"{what} cannot travel to another process: {type(error).__name__}: {error}. Make what it needs (locks, "
                "connections, files) inside it, or give processes=1"
            ) from error
    return dict(zip(crew, found, strict=False))


class _Helper:
    """A process of ours, and the two pipes to it."""

    def __init__(self, agents: Sequence[str]) -> None:
        self.agents = list(agents)
        paths = [path or os.getcwd() for path in sys.path]
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `end`
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from commonboard.live.child import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        )

    @property
    def who(self) -> str:
        return ", ".join(map(repr, self.agents))

    def send(self, message: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(message)
            self._process.stdin.flush()
        except OSError:  # it died; what it said is told by whoever waits for its answer
            return

    async def receive(self, seconds: float) -> Any:
        """The next answer; `None` if the process died or took too long."""
        answer = asyncio.ensure_future(asyncio.to_thread(self._read))
        try:
            await asyncio.wait([answer], timeout=seconds)
        finally:
            if not answer.done():
                self._process.kill()  # so that the thread that reads comes to its end
        return await answer

    async def report(self, seconds: float) -> Part:
        """What it reports; of a process that died, only whose it was."""
        answer = await self.receive(seconds)
        if isinstance(answer, Part):
            return answer
        part = Part(Recording("lost"))
        part.ends.outcome = "endless"
        said = self.said()
        what = "was in a process that died, and its record with it" + (f"; it said: {said}" if said else "")
        part.ends.troubles = [Trouble(agent, what) for agent in self.agents]
        return part

    def said(self) -> str:
        """The last of what it printed."""
        self._said.seek(0)
        return self._said.read()[-2000:].decode(errors="replace").strip()

    def end(self, kill: bool) -> None:
        """Make sure that it has ended; what its agents printed is printed here."""
        if kill:
            self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._said.seek(0)
        sys.stdout.write(self._said.read().decode(errors="replace"))
        self._said.close()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        try:
            return pickle.load(self._process.stdout)
        except (EOFError, pickle.UnpicklingError, ValueError, OSError):
            return None

"""What a process of `run_live` does: take agents, open the store, say that it is ready, run, report."""

from __future__ import annotations

import asyncio
import inspect
import os
import pickle
from typing import IO, Any

from commonboard.live.play import LiveMemory, play
from commonboard.live.processes import PROBE, Job, LiveRunError, Part, Refusal, by_value
from commonboard.recording.stores import record
from commonboard.sim.trouble import died


def main() -> None:
    """Take a job from the standard input, and report to the standard output."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what agents print must not get into the report
    try:
        job: Job = pickle.load(source)
    except Exception as error:  # whatever an import may raise
        _send(sink, Refusal(f"what travelled to another process cannot be used there: {type(error).__name__}: {error}"))
        return
    with asyncio.Runner() as runner:  # this process is ours, so no other loop runs in it
        runner.run(_work(job, source, sink))


async def _work(job: Job, source: IO[bytes], sink: IO[bytes]) -> None:
    crew = {}
    for name, data in job.agents.items():
        try:
            crew[name] = pickle.loads(data)
        except Exception as error:
            why = f"the agent {name!r} cannot be used in another process: {type(error).__name__}: {error}"
            _send(sink, Refusal(f"{why}. Define it in a notebook, a script, or a module that other processes can import"))
            return
    try:
        store = job.store()
        store = await store if inspect.isawaitable(store) else store
        found = await store.get(PROBE)
    except Exception as error:
        _send(sink, Refusal(f"the store cannot be opened in another process: {type(error).__name__}: {error}"))
        return
    if getattr(found, "value", None) != job.probe:
        why = f"several processes cannot share {type(store).__name__}: one does not see what another wrote"
        _send(sink, Refusal(f"{why}; use a store made for many processes, or processes=1", unshared=True))
        return
    _send(sink, "ready")
    if source.readline():  # nothing comes if another process could not begin
        recorded = record(store, name=job.name)
        memory = LiveMemory(recorded, job.policy, job.turn, job.pace)
        part = Part(recorded.recording)
        try:
            part.ends = await play(crew, memory, job.timeout_s)
        except Exception as error:  # an agent that is none: nobody was started
            part.ends.outcome = "failed"
            part.ends.errors = dict.fromkeys(crew, error)
            part.ends.troubles = [died(name, error) for name in crew]
        part.recording, part.notes = recorded.recording, memory.calls
        _send(sink, _portable(part))
    close = getattr(store, "aclose", None) or getattr(store, "close", None)
    if close is not None and inspect.isawaitable(made := close()):
        await made


def _send(sink: IO[bytes], message: Any) -> None:
    sink.write(by_value().dumps(message))
    sink.flush()


def _portable(part: Part) -> Part:
    """The report with only such results and errors as can travel."""
    ends = part.ends
    for name, result in list(ends.results.items()):
        if why := _why_not(result):
            del ends.results[name]
            error = LiveRunError(f"what the agent {name!r} returned cannot travel back: {why}; return plain data")
            ends.errors[name] = error
            ends.troubles.append(died(name, error))
            ends.outcome = "failed" if ends.outcome == "finished" else ends.outcome
    for name, raised in list(ends.errors.items()):
        if _why_not(raised):
            ends.errors[name] = LiveRunError(f"the agent {name!r} raised {type(raised).__name__}: {raised}")
    return part


def _why_not(thing: Any) -> str:
    try:
        pickle.loads(by_value().dumps(thing))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""

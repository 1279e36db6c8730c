"""Merge on a store that can do nothing but get and set: one key for each agent, merged when read.

Each part has one writer, so last-writer-wins is safe for it. Reading merges all parts of the key.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from commonboard.entry import MemoryEntry, Write
from commonboard.errors import CapabilityError, NotAdmittedError
from commonboard.policies import Merge, Version, admitted
from commonboard.stores.port import Port
from commonboard.values import TYPE, decode, encode


async def merged_parts(port: Port, key: str) -> MemoryEntry | None:
    """The parts of a key, merged into one entry as a store would hold it; `None` if there are none."""
    entries = await parts_of(port, key)
    if not entries:
        return None
    state = _merged(entries)
    text, markers = encode(state)
    newest = max(entries, key=lambda entry: entry.created_at)
    return MemoryEntry(key, text, {**newest.metadata, **markers}, min(entry.created_at for entry in entries))


async def parts_of(port: Port, key: str) -> list[MemoryEntry]:
    """The parts of a key, as stored."""
    return [e for e in await port.list(key) if e.key.startswith(f"{key}/@") and TYPE in e.metadata]


async def update_part(port: Port, key: str, change: Callable[[Any], Any], policy: Merge, actor: str, replica: str) -> MemoryEntry:
    """Change the merged value, and write the result to this replica's own part.

    Raises:
        CapabilityError: the key holds a plain value, which would hide the parts.
        NotAdmittedError: the policy does not let this actor make this change.
    """
    if (await port.look(key)).entry is not None:
        raise CapabilityError(
            f"{key!r} holds a value that was written whole, and {port.name} cannot merge with that; "
            "delete the key first, or use a built-in store"
        )
    entries = await parts_of(port, key)
    base = policy.lift(_merged(entries) if entries else None, None)
    handed = policy.begin(base, replica)
    returned = change(handed)
    value = policy.finish(handed, await returned if inspect.isawaitable(returned) else returned)
    refusal = admitted(policy, Version(base), Version(value, None, actor, 1))
    if refusal is not None:
        raise NotAdmittedError(f"{actor!r} may not change {key!r}: {refusal.why}; nothing was written")
    text, markers = encode(value)
    await port.commit(Write(f"{key}/@{replica}", text, {**markers, "agent": actor}))
    return MemoryEntry(key, value, {**markers, "agent": actor})


def _merged(entries: list[MemoryEntry]) -> Any:
    first, *rest = [decode(entry.value, entry.metadata, entry.key) for entry in sorted(entries, key=lambda entry: entry.key)]
    for state in rest:
        first = first.merge(state)
    return first

"""`update`: read, change, commit under a policy, and ask the policy when the commit is refused.

This is the one loop in which a conflict on a store is settled. A refused commit says what it found, so the policy
judges exactly what refused it, and nobody reads a second time in between.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from commonboard.entry import ANY, MemoryEntry, Reading
from commonboard.errors import CapabilityError, ConflictError, NotAdmittedError
from commonboard.policies import RETRY, ConflictPolicy, Merge, Reject, Version, admitted, ask
from commonboard.stores.port import Port

Change = Callable[[Any], Any]
"""Takes the value that is there (`None` if there is none), gives the new one. Plain or async; run again for each retry."""


@dataclass(slots=True)
class Update:
    """One call of `update`, with all it needs to know.

    `look()` reads the key; `commit(value, expect, saw)` writes it and gives the entry; `visible(entry)` decodes an entry, or
    hides it.
    """

    port: Port
    key: str
    change: Change
    policy: ConflictPolicy
    actor: str
    replica: str
    look: Callable[[], Awaitable[Reading]]
    commit: Callable[[Any, Any, int | None], Awaitable[MemoryEntry]]
    visible: Callable[[MemoryEntry | None], MemoryEntry | None]

    async def run(self) -> MemoryEntry | None:
        """Settle it.

        Returns:
            The entry that stands afterwards: usually the new one, or theirs where the policy let theirs stand.

        Raises:
            ConflictError: the policy rejected the change, or the attempts ran out. Nothing was written.
            NotAdmittedError: the policy does not let this actor make this change.
        """
        attempt, reading = 1, await self.look()
        while True:
            base = self._version(reading)
            value = await self._changed(base)
            while True:
                mine = Version(value, None, self.actor, (reading.version or 0) + 1)
                self._admit(base, mine)
                expect = ANY if self.policy.expects == "nothing" else self.port.expectation(reading)
                try:
                    return await self.commit(value, expect, reading.version)
                except ConflictError as refused:
                    refusal = refused.with_traceback(None)  # it would keep this frame, which keeps it
                if attempt >= self.policy.attempts:
                    raise self._refused(refusal, f"{self.policy!r} gave up after {attempt} attempts")
                attempt += 1
                reading = Reading(refusal.found, refusal.found_version)
                theirs = self._version(reading) or Version(
                    self.policy.lift(None, None), reading.version, None, reading.version or 0
                )
                mine.stamp = theirs.stamp + 1  # on one store, whoever waits comes after whoever is there
                answer = await ask(self.policy, base, mine, theirs)
                if answer is theirs:
                    return self.visible(reading.entry)
                if isinstance(answer, Reject):
                    raise self._refused(refusal, answer.why)
                if (pause := self.policy.pause(attempt, self.actor)) > 0:
                    await asyncio.sleep(pause)
                    if answer is RETRY:  # what was found before the pause may be old by now
                        reading = await self.look()
                if answer is RETRY:
                    break
                value, base = answer.value, theirs  # type: ignore[union-attr]

    async def _changed(self, base: Version | None) -> Any:
        handed = self.policy.begin(base.value if base else self.policy.lift(None, None), self.replica)
        try:
            returned = self.change(handed)
            returned = await returned if inspect.isawaitable(returned) else returned
        except TypeError as error:
            if handed is None:
                error.add_note(f"there was no entry at {self.key!r}, so the change was given None; begin with `(found or …)`")
            raise
        return self.policy.finish(handed, returned)

    def _version(self, reading: Reading) -> Version | None:
        entry = self.visible(reading.entry)
        if entry is None or reading.entry is None:
            return None
        return Version(self.policy.lift(entry.value, reading.entry.value), reading.version, entry.actor, reading.version or 0)

    def _admit(self, base: Version | None, mine: Version) -> None:
        refusal = admitted(self.policy, base, mine)
        if refusal is not None:
            raise NotAdmittedError(f"{self.actor!r} may not change {self.key!r}: {refusal.why}; nothing was written")

    def _refused(self, refusal: ConflictError, why: str) -> ConflictError:
        return ConflictError(
            f"the update of {self.key!r} by {self.actor!r} was refused: {why}; nothing was written",
            key=self.key,
            expected=refusal.expected,
            found=self.visible(refusal.found),
            found_version=refusal.found_version,
            mine=refusal.mine,
        )


def check_capability(port: Port, policy: ConflictPolicy) -> None:
    """Refuse a policy that the store cannot carry.

    Raises:
        CapabilityError: saying what is missing and what would do.
    """
    if policy.expects == "nothing" or port.has_commit:
        return
    name = port.name
    if not port.has_compare_and_set:
        if isinstance(policy, Merge):
            return
        raise CapabilityError(
            f"{policy.name} needs compare_and_set, which {name} does not have; use LastWriterWins, Merge, or a built-in store"
        )
    if not policy.by_value:
        raise CapabilityError(
            f"{policy.name} needs versions, and {name} can only compare texts; "
            "use Optimistic, Merge, ThreeWay or FirstWriterWins, or a built-in store"
        )

"""Does a store do what a store must? Public: it runs against anybody's store.

Each check is a small async function whose name tells the behaviour. What a store does not offer is not checked, and said.

    report = await conformance.run(lambda: MyStore(...))      # a fresh, empty store each time
    print(report)

    @pytest.mark.parametrize("check", conformance.CHECKS, ids=str)
    def test_my_store(check):
        asyncio.run(check(make_store))                        # raises ConformanceError
"""

from __future__ import annotations

from collections.abc import Iterable

from commonboard.stores.conformance import basic, built_in, following, optional
from commonboard.stores.conformance.checking import Check, MakeStore, Outcome, Report, check

CHECKS: list[Check] = [*basic.CHECKS, *optional.CHECKS, *built_in.CHECKS, *following.CHECKS]
"""All checks: those of the five methods, then those of what a store may offer on top."""

__all__ = ["CHECKS", "Check", "MakeStore", "Outcome", "Report", "check", "run"]


async def run(
    make_store: MakeStore, *, built_in: bool | None = None, checks: Iterable[Check] = tuple(CHECKS), seconds: float = 60.0
) -> Report:
    """Run the checks against a store.

    Args:
        make_store: gives a fresh, empty store at each call; plain or async. A store that has `aclose` or `close` is closed.
        built_in: whether the store must offer what the built-in stores offer: `True` counts what it lacks as failed,
            `False` leaves those checks out, `None` checks what is there.
        checks: which checks.
        seconds: how long one check may take before the store counts as hanging.

    >>> import asyncio
    >>> from commonboard.stores import InMemoryStore
    >>> report = asyncio.run(run(InMemoryStore, built_in=True))
    >>> report.holds, report.failed, report.not_offered
    (True, [], [])
    """
    return Report([await one.outcome(make_store, built_in=built_in, seconds=seconds) for one in checks])

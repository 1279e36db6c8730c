"""Making a failing run easier to explain: the same kind of failure, with as few choices that are not boring as can be.

The list of choices is shortened, then its entries are set to 0, first in blocks, then one by one, then lowered; each pass
starts over until none gets on. So every step of it is a replay, and the order is fixed: shorter, then smaller, as in
Hypothesis (MacIver and Donaldson, "Test-case reduction via test-case generation", 2020).
"""

from __future__ import annotations

from collections.abc import Callable

Fails = Callable[[list[int]], bool]
"""Whether a run with these choices, and boring ones after them, fails in the same way."""


def shrink(numbers: list[int], fails: Fails, most: int = 2_000) -> list[int]:
    """The smallest list of choices that still fails.

    Args:
        numbers: choices with which a run fails.
        fails: whether other ones do so too. A list that fits no run does not.
        most: how many runs to try at the most.

    >>> shrink([0, 2, 1, 3, 0, 1], lambda tried: len(tried) > 3 and tried[3] > 1)
    [0, 0, 0, 2]
    """
    tried = 0

    def still(candidate: list[int]) -> bool:
        nonlocal tried
        tried += 1
        return tried <= most and fails(candidate)

    best = _trimmed(numbers)
    while True:
        before = best
        for candidate_of in (_shorter, _zeroed, _lowered):
            best = candidate_of(best, still)
        if best == before:
            return best


def _trimmed(numbers: list[int]) -> list[int]:
    end = len(numbers)
    while end and numbers[end - 1] == 0:
        end -= 1
    return numbers[:end]


def _shorter(best: list[int], still: Fails) -> list[int]:
    size = max(len(best) // 2, 1)
    while best and size:
        start = len(best) - size
        while start >= 0:
            candidate = _trimmed(best[:start] + best[start + size :])
            if len(candidate) < len(best) and still(candidate):
                best = candidate
            start -= size
        size //= 2
    return best


def _zeroed(best: list[int], still: Fails) -> list[int]:
    size = max(len(best) // 2, 1)
    while size:
        for start in range(0, len(best), size):
            block = best[start : start + size]
            if any(block):
                candidate = _trimmed([*best[:start], *[0] * len(block), *best[start + size :]])
                if still(candidate):
                    best = candidate
        size //= 2
    return best


def _lowered(best: list[int], still: Fails) -> list[int]:
    for place in range(len(best)):
        while place < len(best) and best[place] > 1:
            candidate = [*best[:place], best[place] - 1, *best[place + 1 :]]
            if not still(candidate):
                break
            best = candidate
    return best

"""Dots and version vectors: how a replica says which updates it has seen.

A *dot* `(replica, n)` is the unique name of one update: the n-th of that replica. A *version vector* is a dict from
replica to the highest n seen; since every replica counts 1, 2, 3 …, it stands for all dots up to there. (Parker et al.
1983 for version vectors; Almeida, Shoker and Baquero 2018 for dots and causal contexts.)
"""

from __future__ import annotations

from collections.abc import Mapping

Dot = tuple[str, int]
"""`(replica, n)`: the n-th update of that replica, counted from 1."""
Dots = tuple[Dot, ...]
"""Some dots, sorted."""
Clock = dict[str, int]
"""A version vector: replica -> highest n seen. A replica that is missing counts as 0."""


def join(mine: Mapping[str, int], theirs: Mapping[str, int]) -> Clock:
    """The version vector that has seen what either has seen: the maximum, replica by replica.

    >>> join({"a": 2, "b": 1}, {"b": 3})
    {'a': 2, 'b': 3}
    """
    joined = dict(mine)
    for replica, count in theirs.items():
        if count > joined.get(replica, 0):
            joined[replica] = count
    return joined


def covers(clock: Mapping[str, int], dot: Dot) -> bool:
    """Whether the version vector has seen the dot.

    >>> covers({"a": 2}, ("a", 1)), covers({"a": 2}, ("a", 3)), covers({"a": 2}, ("b", 1))
    (True, False, False)
    """
    return dot[1] <= clock.get(dot[0], 0)


def below(mine: Mapping[str, int], theirs: Mapping[str, int]) -> bool:
    """Whether `theirs` has seen all that `mine` has seen (equal counts too).

    >>> below({"a": 1}, {"a": 1, "b": 1}), below({"a": 2}, {"a": 1, "b": 1})
    (True, False)
    """
    return all(count <= theirs.get(replica, 0) for replica, count in mine.items())


def survivors(mine: Dots, my_clock: Mapping[str, int], theirs: Dots, their_clock: Mapping[str, int]) -> Dots:
    """The dots of one element that live on after a merge: the whole idea of the add-wins set, in one line.

    A dot that both hold, lives. A dot that only one side holds lives unless the other side has seen it: seen and not
    held means removed.

    >>> survivors((("a", 1),), {"a": 1}, (), {"a": 1})           # b saw a's add and removed it
    ()
    >>> survivors((("a", 2),), {"a": 2}, (), {"a": 1})           # b never saw the second add
    (('a', 2),)
    """
    kept = [dot for dot in mine if dot in theirs or not covers(their_clock, dot)]
    if theirs:
        kept += [dot for dot in theirs if dot not in mine and not covers(my_clock, dot)]
    return tuple(sorted(kept)) if len(kept) > 1 else tuple(kept)

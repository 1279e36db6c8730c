"""Histories in the shorthand of the literature, for tests: `r1x0 w2x1` is "1 reads x at version 0, then 2 writes version 1".

A word is a letter, an agent (one digit), a key (one letter, or more with a slash) and a version:

    r1x0    a read of version 0          w1x1    a write that makes version 1       w1x1<0   … whose writer had seen version 0
    d1x2    a delete that makes it       a1x1    a write that is rolled back        c1x1<0   a compare-and-set
    f1x<0   a refused compare-and-set    l1p     a list of the prefix p

A value is named after its version (`x1`) unless the word ends in `=value`. `@2` puts a word in the agent's second transaction.
A write replaces the version below it. Lists show what is there, by the writes before them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from commonboard.history import History, Kind, Operation

WORD = re.compile(r"([rwdacfl])(\d)([a-z]*(?:/[a-z]*)*)(\d*)(?:<(\d+))?(?:=([^@]*))?(?:@(\d+))?")
KINDS: dict[str, Kind] = {"r": "read", "l": "list", "d": "delete", "c": "compare-and-set", "f": "compare-and-set"}
NAMES = ("given", "web", "docs", "synth", "lead", "five", "six", "seven", "eight", "nine")


def told(words: str, in_transactions: bool = False) -> History:
    """The history that the words tell, one operation after the other."""
    operations: list[Operation] = []
    values: dict[tuple[str, int], str | None] = {}
    there: dict[str, None] = {}
    for place, word in enumerate(words.split()):
        match = WORD.fullmatch(word)
        assert match is not None, word
        letter, agent, key, version, saw, value, number = match.groups()
        op = Operation(place, NAMES[int(agent)], KINDS.get(letter, "write"), key, begin=2 * place, end=2 * place + 1)
        op.began_at = op.ended_at = float(place)
        op.saw = int(saw) if saw else None
        if in_transactions or number:
            op.transaction = number or "1"
        made = int(version or 0)
        if letter == "r":
            op.saw, op.text = made, value or values.get((key, made))
        elif letter == "l":
            op.text, op.encoding = json.dumps([name for name in there if name.startswith(f"{key}/")]), "json"
        else:
            op.text = None if letter == "d" else value or f"{key}{made}"
            op.ok = letter not in "fa"
            op.replaced, op.made = (made - 1, made) if letter != "f" else (None, None)
            if op.ok:
                there.pop(key, None) if op.text is None else there.setdefault(key)
            if letter != "f":
                values[key, made] = op.text
        operations.append(op)
    return History(operations)


def overlapping(history: History, spans: Iterable[tuple[int, int]]) -> History:
    """The same, with other begins and ends."""
    operations = list(history)
    for op, (begin, end) in zip(operations, spans, strict=True):
        op.begin, op.end = begin, end
        op.began_at, op.ended_at = float(begin), float(end)
    return History(operations)

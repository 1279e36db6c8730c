"""Histories made by hand, each with the operations to highlight and a caption."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from commonboard.history import History, Operation

KEY = "shared/open_questions"
Example = tuple[History, list[Operation], str]


class Maker:
    """Puts operations together, one after another, at a virtual time that `at` sets."""

    def __init__(self, replicas: tuple[str, ...] = ()) -> None:
        self.operations: list[Operation] = []
        self.replicas = replicas
        self.time = 0.0

    def at(self, time: float) -> Maker:
        self.time = time
        return self

    def add(self, agent: str, kind: Any, key: str = KEY, value: Any = None, **facts: Any) -> Operation:
        text, encoding = (value, None) if value is None or isinstance(value, str) else (json.dumps(value), "json")
        facts = {"text": text, "encoding": encoding, "began_at": self.time, "ended_at": self.time} | facts
        place = len(self.operations)
        self.operations.append(Operation(place, agent, kind, key, begin=2 * place, end=2 * place + 1, **facts))
        return self.operations[-1]

    def think(self, agent: str, seconds: float, tokens: int = 0) -> Operation:
        return self.add(agent, "think", "", ended_at=self.time + seconds, tokens=tokens)

    def history(self, *agents: str) -> History:
        return History(self.operations, agents, self.replicas)


def lost_update() -> Example:
    """The incident: docs reads before web writes, and writes over it."""
    make = Maker()
    make.add("given", "write", value=["A"], replaced=0, made=1)
    make.add("web", "read", value=["A"], saw=1)
    make.think("web", 30, 800)
    read = make.add("docs", "read", value=["A"], saw=1)
    make.think("docs", 31, 800)
    first = make.at(30).add("web", "write", value=["A", "B"], saw=1, replaced=1, made=2)
    second = make.at(31).add("docs", "write", value=["A", "C"], saw=1, replaced=2, made=3)
    return make.history("web", "docs"), [read, first, second], "docs wrote over what web had added: B is lost."


def refused() -> Example:
    """Optimistic: the second compare-and-set is refused, and tried again."""
    make = Maker()
    make.add("web", "read", value=["A"], saw=1)
    make.add("docs", "read", value=["A"], saw=1)
    make.at(30).add("web", "compare-and-set", value=["A", "B"], saw=1, replaced=1, made=2)
    no = make.at(31).add("docs", "compare-and-set", value=["A", "C"], saw=1, replaced=2, ok=False)
    make.think("docs", 31)
    yes = make.at(62).add("docs", "compare-and-set", value=["A", "B", "C"], saw=2, replaced=2, made=3)
    return make.history("web", "docs"), [no, yes], "docs was refused and tried again."


def many_keys() -> Example:
    """Every kind of operation on one store, on several keys, with awkward values."""
    make = Maker()
    make.add("lead", "list", "shared", value=["shared/brief"])
    make.at(0.5).add("lead", "write", "shared/brief", 'Why did churn <b>rise</b> & "fall"?\n' + "x" * 80, replaced=0, made=1)
    make.at(2).add("web", "append", "web/notes", value=["up"], replaced=0, made=1)
    make.at(3).add("web", "append", "web/notes", value=["up", "漢字 🎉"], replaced=1, made=2)
    make.at(4).add("synth", "delete", "web/notes", saw=2, replaced=2, made=3)
    make.at(5).add("synth", "read", "web/notes", saw=3)
    make.add("lead", "write", "shared/odd", "bell\x07 \u202eturned\x00", replaced=0, made=1)
    return make.history("lead", "web", "synth"), [], ""


def replicas() -> Example:
    """Two replicas that take the same decision: docs's write stays, web's is dropped."""
    make = Maker(("replica-1", "replica-2"))
    for name in make.replicas:
        make.add("given", "write", value=["A"], replaced=0, made=1, replica=name)
    first = make.at(5).add("web", "write", value=["A", "B"], saw=1, replaced=1, made=2, replica="replica-1", dot="replica-1:1")
    make.at(6).add("docs", "write", value=["A", "C"], saw=1, replaced=1, made=2, replica="replica-2", dot="replica-2:1")
    facts = {"dropped": ("replica-1:1",), "note": "kept docs's and dropped web's"}
    make.at(8).add(
        "replica-2", "merge", value=["A", "C"], made=3, replica="replica-2", source="replica-1", dot="replica-1:1", **facts
    )
    last = make.at(9).add(
        "replica-1", "merge", value=["A", "C"], made=3, replica="replica-1", source="replica-2", dot="replica-2:1", **facts
    )
    return make.history("web", "docs"), [first, last], "The replicas agree, and B is gone."


def long(operations: int = 300) -> Example:
    """Three agents take turns in reading and writing one list."""
    make, items = Maker(), list[str]()
    for place in range(operations):
        agent = ("web", "docs", "synth")[place % 3]
        make.at(float(place))
        if place % 2 == 0:
            make.add(agent, "read", value=items[-3:], saw=len(items))
        else:
            items.append(f"q{place}")
            make.add(agent, "write", value=items[-3:], saw=len(items) - 1, replaced=len(items) - 1, made=len(items))
    return make.history("web", "docs", "synth"), [make.operations[place] for place in (operations // 3, operations // 2)], "Long."


EXAMPLES: dict[str, Callable[[], Example]] = {
    "lost_update": lost_update,
    "refused": refused,
    "many_keys": many_keys,
    "replicas": replicas,
    "long": long,
}

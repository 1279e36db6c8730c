"""Constants that agents only read are no reason to distrust them, whatever kind of thing they are."""

from __future__ import annotations

import collections
import enum
import functools
import random
import types
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel

import commonboard as cb

RULES = {"limit": 3, "names": ["web", "docs"]}


class Colour(enum.Enum):
    RED = "red"


class Row(NamedTuple):
    number: int = 0


@dataclass
class Limits:
    most: int = 3
    names: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Slotted:
    most: int = 3


class Shape(ABC):
    @abstractmethod
    def area(self) -> int: ...


class Square(Shape):
    def area(self) -> int:
        return 4


class Cached:
    @functools.cached_property
    def answer(self) -> int:
        return 42


class Invoice(BaseModel):
    total: int


LIMITS, FROZEN, WINDOW = Limits(), types.MappingProxyType({"most": 3}), collections.deque([3])
USES: dict[str, Any] = {
    "a dict": lambda: RULES["limit"],
    "an object": lambda: LIMITS.most,
    "an enum": lambda: Colour.RED.value,
    "a dataclass": lambda: Limits().most,
    "a named tuple": lambda: Row(3).number,
    "a dataclass with slots": lambda: Slotted().most,
    "a class with abstract methods": lambda: Square().area(),
    "a class with a cached property": lambda: Cached().answer,
    "a pydantic model": lambda: Invoice(total=3).total,
    "a mapping that is only a view": lambda: FROZEN["most"],
    "a deque": lambda: WINDOW[0],
    "a module": lambda: random.Random(1).random(),
}
UNREAD = ("a named tuple", "a dataclass with slots", "a class with abstract methods", "a class with a cached property",
          "a pydantic model", "a mapping that is only a view", "a deque")  # fmt: skip


@pytest.mark.parametrize("name", list(USES))  # fmt: skip
def test_constants_that_are_only_read_keep_the_reduction(name: str) -> None:
    uses = USES[name]

    async def agent(me: cb.AgentMemory) -> None:
        await me.write("step", uses())

    explored = cb.explore(agent, agent).explored
    assert (explored.method, explored.why) == ("equal states merged", "")

"""The result of `compare`: the fates of many runs added up, one row a policy."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from commonboard.entry import Viewable
from commonboard.errors import CommonboardError
from commonboard.policies import ConflictPolicy
from commonboard.sim import Run, Scenario, World, simulate

Seed = int | str
Number = int | float


class NoRowError(CommonboardError, LookupError):
    """A comparison has no such row, or more than one, or nothing was lost in it; the message says what there is."""


@dataclass(frozen=True, slots=True)
class Row:
    """What a policy came to in all its runs.

    `kept`, `overwritten`, `discarded`, `rejected`, `unresolved` and `unknown` add up to `intended`; `commonboard.check.fates`
    says what each of them means.

    Attributes:
        policy: its label.
        world: `one store`, or how many replicas.
        at: the number that the knob stands at, where one is swept.
        runs: how many runs, one for each seed.
        intended: how many things the agents meant to get done.
        kept: how many of them are in the final state.
        overwritten: written, and written over by somebody who had not seen it.
        discarded: seen by the policy or an agent, and left out.
        rejected: refused, and the agent was told.
        unresolved: in a value that stands beside the one that is shown.
        unknown: missing, and the run and the scenario do not tell why.
        retries: writes that were refused because something had changed.
        virtual_s: virtual seconds, of all runs together.
        tokens: tokens spent on thinking, in all runs together.
        losses: the seeds of the runs in which something was lost.
    """

    policy: str
    world: str
    at: Number | None
    runs: int
    intended: int
    kept: int
    overwritten: int
    discarded: int
    rejected: int
    unresolved: int
    unknown: int
    retries: int
    virtual_s: float
    tokens: int
    losses: tuple[Seed, ...]

    @property
    def lost(self) -> int:
        """How many things are gone without their agent having been told: overwritten, discarded, or nobody knows."""
        return self.overwritten + self.discarded + self.unknown

    @property
    def lost_percent(self) -> float:
        """How many of what was intended are lost, in percent."""
        return 100 * self.lost / self.intended

    @property
    def runs_lost(self) -> int:
        """In how many runs anything was lost."""
        return len(self.losses)

    @property
    def virtual_s_per_run(self) -> float:
        """Virtual seconds of one run, on average."""
        return self.virtual_s / self.runs

    @property
    def tokens_per_kept(self) -> float | None:
        """What one thing that was kept cost in tokens, those of retries and of lost work included; `None` if nothing was kept."""
        return self.tokens / self.kept if self.kept else None


class Comparison(Viewable, list[Row]):
    """The rows, and what they were made of, so that any run can be had again.

    It shows itself as a table, `to_frame()` gives it to pandas, `chart()` draws it.

    Attributes:
        scenario: the scenario that was compared.
        knob: the knob that was swept (`agents`, `keys` or `think`); empty if none was.
        seeds: the seeds, the same for each row.
        policies: the policies by label.
        worlds: the worlds by label.
    """

    def __init__(
        self,
        rows: Iterable[Row],
        *,
        scenario: Scenario,
        policies: Mapping[str, ConflictPolicy],
        worlds: Mapping[str, World],
        seeds: Iterable[Seed],
        knob: str = "",
        variants: Mapping[Number | None, Scenario],
    ) -> None:
        super().__init__(rows)
        self.scenario = scenario
        self.policies = dict(policies)
        self.worlds = dict(worlds)
        self.seeds = tuple(seeds)
        self.knob = knob
        self._variants = dict(variants)

    __str__ = Viewable.__str__
    __repr__ = Viewable.__str__

    def row(self, policy: Any, *, at: Number | None = None, world: Any = None) -> Row:
        """The row of a policy.

        Args:
            policy: its label, or the policy itself.
            at: the number that the swept knob stands at; needed if there is more than one.
            world: a `World`, or its label; needed if there is more than one.

        Raises:
            NoRowError: there is no such row, or there are several.
        """
        found = self._rows(policy, at, world)
        if len(found) > 1:
            choices = dict.fromkeys(f"world={row.world!r}" for row in found) if len({row.world for row in found}) > 1 else {}
            choices |= dict.fromkeys(f"at={row.at!r}" for row in found) if len({row.at for row in found}) > 1 else {}
            raise NoRowError(f"{len(found)} rows are of {found[0].policy!r}; say which you mean by {', '.join(choices)}")
        return found[0]

    def run(self, policy: Any, seed: Seed, *, at: Number | None = None, world: Any = None) -> Run:
        """One of the runs again, with its picture and its history; any other seed will do too. As for `row`."""
        return self._again(self.row(policy, at=at, world=world), seed)

    def first_loss(self, policy: Any, *, at: Number | None = None, world: Any = None) -> Run:
        """The first run in which the policy lost something.

        Raises:
            NoRowError: there is no such row, or nothing was lost in any of its runs.
        """
        found = self._rows(policy, at, world)
        for row in found:
            if row.losses:
                return self._again(row, row.losses[0])
        runs = sum(row.runs for row in found)
        where = "the one run" if runs == 1 else f"any of the {runs:,} runs"
        raise NoRowError(f"nothing was lost in {where} under {found[0].policy!r}")

    def chart(self) -> Any:
        """Three charts in one picture: loss, price and delay, against the swept knob, or policy by policy if none was swept.

        Raises:
            ChartError: matplotlib is not installed, or there are more lines than can be told apart.
        """
        return importlib.import_module("commonboard.show").comparison_chart(self)

    def _again(self, row: Row, seed: Seed) -> Run:
        policy = copy.deepcopy(self.policies[row.policy])
        return simulate(self._variants[row.at], policy=policy, seed=seed, world=self.worlds[row.world])

    def _rows(self, policy: Any, at: Number | None, world: Any) -> list[Row]:
        names = [label for label, one in self.policies.items() if policy is one] or [policy]
        label = world_label(world) if isinstance(world, World) else world
        found = [
            row for row in self if row.policy in names and (at is None or row.at == at) and (label is None or row.world == label)
        ]
        if not found:
            asked = f"{names[0]!r}" + (f", at={at!r}" if at is not None else "") + (f", world={label!r}" if label else "")
            places = f"; at {', '.join(map(str, self._variants))}" if self.knob else ""
            worlds = f"; in {', '.join(map(repr, self.worlds))}" if len(self.worlds) > 1 else ""
            raise NoRowError(
                f"there is no row for {asked}; there are rows for {', '.join(map(repr, self.policies))}{places}{worlds}"
            )
        return found


def world_label(world: World) -> str:
    """What tables call a world: how many copies there are, and all that was set otherwise than usual.

    >>> world_label(World()), world_label(World(replicas=2))
    ('one store', '2 replicas')
    """
    usual = type(world)()
    copies = "one store" if world.replicas == 1 else f"{world.replicas} replicas"
    names = [each.name for each in fields(world) if each.name != "replicas"]
    return ", ".join([copies, *(f"{name}={getattr(world, name)!r}" for name in names if _differs(world, usual, name))])


def _differs(one: World, other: World, name: str) -> bool:
    return bool(getattr(one, name) != getattr(other, name))


__all__ = ["Comparison", "NoRowError", "Number", "Row", "Seed", "world_label"]

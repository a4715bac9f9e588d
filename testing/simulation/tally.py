"""The tally: how often each kind of group, act and plugin took part in runs, for users and as JSON.

`simulate` counts each seed, and `python -m muster.testing.simulation` adds the counts up. What never took part was not
tested, so a line of zeros is worth reading.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from muster.framework.metrics import Gauge, JointCounter, Labels, SchedulerMetrics

from .acts import Act

MOST_EXCUSED = 0.1
"""The share of groups at rest that may be excused, if there are many."""
_MANY = 100


@dataclass(frozen=True, slots=True)
class SeedTally:
    """The objects, faults and plugins that took part in a seed.

    Attributes:
        acts: what happened, by its name.
        groups: that came, by kind and by what they ask for.
        plugins: for how many pods each was asked, by name.
        refusals: how many pods each held back.
        events: reservations begun, groups judged at rest, and excused of those, crowds judged.
    """

    acts: Counter[str] = field(default_factory=Counter)
    groups: Counter[str] = field(default_factory=Counter)
    plugins: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, data: Mapping[str, Mapping[str, int]]) -> SeedTally:
        """The tally that `data` describes."""
        tally = cls()
        for what, counter in tally._counters().items():
            counter.update(data.get(what, {}))
        return tally

    def add(self, other: SeedTally) -> None:
        """Count what took part in another run as well."""
        for counter, more in zip(self._counters().values(), other._counters().values(), strict=True):
            counter.update(more)

    def follow(self, metrics: SchedulerMetrics) -> None:
        """Count the further metrics of one process's engine."""
        metrics.plugin_evaluations = _Asked(metrics.plugin_evaluations, self.plugins)
        metrics.unschedulable_pods = _Rises(metrics.unschedulable_pods, self._held_back)
        metrics.reservations = _Rises(metrics.reservations, self._reserved)

    def _held_back(self, labels: Labels, pods: int) -> None:
        plugin, _ = labels
        self.refusals[plugin] += pods

    def _reserved(self, _labels: Labels, reservations: int) -> None:
        self.events["reservations"] += reservations

    def count(self, history: Iterable[Act]) -> None:
        """Count the acts, and the groups that were created."""
        for act in history:
            self.acts[act.what] += 1
            if act.what == "group_comes":
                native, traits = act.given[2], act.given[3] if len(act.given) > 3 else ()
                self.groups["Kubernetes' own" if native else "by label"] += 1
                self.groups.update(name for name, _ in traits)

    def fault(self) -> str | None:
        """The problem with all runs: too many of many groups are excused."""
        judged, excused = self.events["groups judged"], self.events["groups excused"]
        if judged >= _MANY and excused > MOST_EXCUSED * judged:
            return f"{excused} of {judged} groups were excused, more than {MOST_EXCUSED:.0%}"
        return None

    def lines(self) -> Iterator[str]:
        """The tally as text."""
        for what, counter in self._counters().items():
            yield f"{what}: " + ", ".join(f"{name} {count}" for name, count in sorted(counter.items()))

    def data(self) -> dict[str, Any]:
        """The tally as JSON."""
        return {what: dict(sorted(counter.items())) for what, counter in self._counters().items()}

    def _counters(self) -> dict[str, Counter[str]]:
        return {
            "acts": self.acts,
            "groups": self.groups,
            "plugins asked": self.plugins,
            "pods held back": self.refusals,
            "events": self.events,
        }


class _Asked(JointCounter):
    """Counts as the family it replaces, and the plugins in a counter, too."""

    __slots__ = ("_plugins",)

    def __init__(self, family: JointCounter, plugins: Counter[str]) -> None:
        super().__init__(family.name, family.text, family.labels)
        self._plugins = plugins

    def add_each(self, firsts: tuple[str, ...], others: Labels) -> None:
        self._plugins.update(firsts)
        super().add_each(firsts, others)


class _Rises(Gauge):
    """Moves as the family it replaces, and reports each rise."""

    __slots__ = ("_report",)

    def __init__(self, family: Gauge, report: Callable[[Labels, int], None]) -> None:
        super().__init__(family.name, family.text, family.labels)
        self._report = report

    def add(self, labels: Labels, change: int) -> None:
        if change > 0:
            self._report(labels, change)
        super().add(labels, change)

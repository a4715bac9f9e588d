"""The tally: how often each kind of group, act and plugin took part in runs, for people and as JSON.

`simulate` makes one for each seed, and `python -m muster.testing.simulation` adds them up. What never took part was not
tested, so a line of zeros is worth reading.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from muster.operator.metrics.engine import EngineMetrics

from .acts import Act

MOST_EXCUSED = 0.1
"""The share of groups at rest that may be excused, of many."""
_MANY = 100


@dataclass(frozen=True, slots=True)
class Tally:
    """What took part.

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

    def add(self, other: Tally) -> None:
        """Count what took part in another run as well."""
        for counter, more in zip(self._counters().values(), other._counters().values(), strict=True):
            counter.update(more)

    def follow(self, metrics: EngineMetrics) -> None:
        """Count what the engine of one process tells from now on."""
        evaluated, held_back, reserved = metrics.plugins_evaluated, metrics.unschedulable_pods, metrics.reservations

        def plugins_evaluated(plugins: tuple[str, ...], *, point: str, profile: str) -> None:
            self.plugins.update(plugins)
            evaluated(plugins, point=point, profile=profile)

        def unschedulable_pods(plugin: str, *, profile: str, change: int) -> None:
            if change > 0:
                self.refusals[plugin] += change
            held_back(plugin, profile=profile, change=change)

        def reservations(change: int) -> None:
            if change > 0:
                self.events["reservations"] += change
            reserved(change)

        metrics.plugins_evaluated = plugins_evaluated  # type: ignore[method-assign]  # the engine asks this very object
        metrics.unschedulable_pods = unschedulable_pods  # type: ignore[method-assign]
        metrics.reservations = reservations  # type: ignore[method-assign]

    def count(self, history: Iterable[Act]) -> None:
        """Count what happened, and which groups came."""
        for act in history:
            self.acts[act.what] += 1
            if act.what == "group_comes":
                native, traits = act.given[2], act.given[3] if len(act.given) > 3 else ()
                self.groups["Kubernetes' own" if native else "by label"] += 1
                self.groups.update(name for name, _ in traits)

    def fault(self) -> str | None:
        """What is wrong with the runs together: many groups, and too many of them excused."""
        judged, excused = self.events["groups judged"], self.events["groups excused"]
        if judged >= _MANY and excused > MOST_EXCUSED * judged:
            return f"{excused} of {judged} groups were excused, more than {MOST_EXCUSED:.0%}"
        return None

    def lines(self) -> Iterator[str]:
        """For people."""
        for what, counter in self._counters().items():
            yield f"{what}: " + ", ".join(f"{name} {count}" for name, count in sorted(counter.items()))

    def data(self) -> dict[str, Any]:
        """As JSON."""
        return {what: dict(sorted(counter.items())) for what, counter in self._counters().items()}

    def _counters(self) -> dict[str, Counter[str]]:
        return {
            "acts": self.acts,
            "groups": self.groups,
            "plugins asked": self.plugins,
            "pods held back": self.refusals,
            "events": self.events,
        }

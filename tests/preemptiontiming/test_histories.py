"""Random histories: no victim goes before its minimum, and whoever may evict does so within a second.

Every pod takes a whole node, so that who may evict whom follows from priorities and times alone. Leaders change, nodes
come, kubelets are slow, gangs lack members for a while, and gangs evict and are evicted.
"""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from muster.framework.groups import MIN_RUN, PREEMPTION_DELAY
from muster.framework.model.times import parse_time
from tests.coscheduling.objects import GROUP_LABEL
from tests.preemptiontiming.world import TimingWorld, high, members

STEP = 0.25
PATIENCE = 1.0
"""The time within which a preemptor has to act."""
LEVELS = {"lowest": 0, "lower": 50, "higher": 100, "highest": 200}
DELAY, MIN = 5, 8
Pod = dict[str, Any]


class History(TimingWorld):
    """A cluster in which things happen at random, and what has gone wrong in it."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        super().__init__(delaySeconds=DELAY, minRunSeconds=MIN)
        self.wrong: list[str] = []
        self.waiting: dict[str, float] = {}
        self._starts: dict[str, float] = {}
        self._judged = 0
        self._numbers = iter(range(1000))
        self._to_shrink: list[tuple[float, str, str, str]] = []
        for level in LEVELS:
            self.priority_class(level, delay=self._some("", "0", "3", "12"), min_run=self._some("", "0", "6", "20"))
        self.nodes(*(f"node-{number}" for number in range(4)))

    def _some(self, *texts: str) -> str:
        return self.chance.choice(texts)

    async def play(self, seconds: float) -> None:
        """Let things happen for so long, and judge after each step."""
        steps = int(seconds / STEP)
        for _ in range(steps):
            if self.chance.random() < 0.08:
                self._come()
            if self.chance.random() < 0.01:
                self.nodes(f"node-{next(self._numbers)}")
            if self.chance.random() < 0.01:
                await self.kill()
                self.start()
            await self.run(STEP)
            self._shrink()
            self._start()
            self._judge()

    def _come(self) -> None:
        level, number = self.chance.choice([*LEVELS]), next(self._numbers)
        if self.chance.random() < 0.7:
            self.add(high(f"pod-{number}", priority=LEVELS[level]).priority_class(level))
            return
        name, delay, min_run = f"gang-{number}", self._some("", "2", "9"), self._some("", "4", "15")
        needed = self.chance.choice((2, 3))
        self.group(name, needed, delay=delay, min_run=min_run)
        if needed == 3:
            self._to_shrink.append((self.clock.now() + self.chance.random() * 15, name, delay, min_run))
        self.add(*(pod.priority_class(level) for pod in members(name, 2, priority=LEVELS[level])))

    def _shrink(self) -> None:
        """Gangs that asked for a member too many ask for the two that exist."""
        due = [each for each in self._to_shrink if each[0] <= self.clock.now()]
        self._to_shrink = [each for each in self._to_shrink if each not in due]
        for _, name, delay, min_run in due:
            self.group(name, 2, delay=delay, min_run=min_run)

    def _start(self) -> None:
        """Kubelets start bound pods after up to two seconds."""
        for key, pod in [*self.api.pods.items()]:
            if pod["spec"].get("nodeName") and "startTime" not in pod.get("status", {}):
                due = self._starts.setdefault(key, self.clock.now() + self.chance.random() * 2)
                if due <= self.clock.now():
                    self.started(key)

    # The judge.

    def terminate(self, key: str) -> None:
        """A pod is evicted: now is the time to judge."""
        wall = self.clock.wall()
        for pod in self._unit(key):
            if self._protected_until(pod) > wall:
                self.wrong.append(f"{key} was evicted at {wall}, though {pod['metadata']['name']} was protected")
        self._judged += 1
        super().terminate(key)

    def _judge(self) -> None:
        """Note preemptors that have let more time pass than they may."""
        now = self.clock.now()
        idle = {*self._idle()}
        self.waiting = {key: self.waiting.get(key, now) for key in idle}
        self.wrong += [f"{key} evicts nobody" for key, since in self.waiting.items() if now - since > PATIENCE]

    def _idle(self) -> Iterator[str]:
        """Preemptors that may evict as many as they need, and do not."""
        for key, pod in self.api.pods.items():
            if pod["spec"].get("nodeName") or self.engine.nominator.nominated_node(pod["metadata"]["uid"]):
                continue
            unit = self._unit(key)
            if self._lacks_members(pod) or any(self._delayed_until(each) > self.clock.wall() for each in unit):
                continue
            victims = [other for other in self.api.pods if self._may_go(other, pod["spec"]["priority"])]
            if len(victims) >= len(unit):
                yield key

    def _may_go(self, key: str, priority: int) -> bool:
        pod = self.api.pods[key]
        node, uid = pod["spec"].get("nodeName"), pod["metadata"]["uid"]
        if not node or "deletionTimestamp" in pod["metadata"] or self.engine.nominator.nominated_pods(node):
            return False
        bound = self.engine.cache.get(uid) is not None
        unit = self._unit(key)
        old = all(self._protected_until(each) <= self.clock.wall() for each in unit)
        return bound and pod["spec"]["priority"] < priority and old

    def _unit(self, key: str) -> list[Pod]:
        group = self.api.pods[key]["metadata"].get("labels", {}).get(GROUP_LABEL)
        if group is None:
            return [self.api.pods[key]]
        return [pod for pod in self.api.pods.values() if pod["metadata"].get("labels", {}).get(GROUP_LABEL) == group]

    def _protected_until(self, pod: Pod) -> float:
        seconds = self._seconds(pod, MIN_RUN, MIN)
        started = pod.get("status", {}).get("startTime")
        if not pod["spec"].get("nodeName") or not seconds:
            return 0.0
        return seconds + (parse_time(started) if started else self.clock.wall())

    def _delayed_until(self, pod: Pod) -> float:
        seconds = self._seconds(pod, PREEMPTION_DELAY, DELAY)
        conditions = pod.get("status", {}).get("conditions", ())
        since = [parse_time(each["lastTransitionTime"]) for each in conditions if each["reason"] == "Unschedulable"]
        return seconds + (since[0] if since else self.clock.wall())

    def _lacks_members(self, pod: Pod) -> bool:
        return any(f"{name}-" in pod["metadata"]["name"] for _, name, _, _ in self._to_shrink)

    def _seconds(self, pod: Pod, key: str, default: int) -> int:
        group = pod["metadata"].get("labels", {}).get(GROUP_LABEL)
        sources = [self.api.objects["priorityclasses"][pod["spec"]["priorityClassName"]]]
        if group is not None:
            sources.insert(0, self.api.objects["podgroups"][f"default/{group}"])
        texts = (each["metadata"].get("annotations", {}).get(key) for each in sources)
        return next((int(text) for text in texts if text is not None), default)

    @property
    def evictions(self) -> int:
        """How many were judged."""
        return self._judged


@pytest.mark.parametrize("seed", range(10))
async def test_no_victim_goes_before_its_minimum_and_whoever_may_evict_does_so_within_a_second(seed: int) -> None:
    world = History(seed)
    await world.play(100)
    assert world.wrong == []
    assert world.evictions > 0
    await world.kill()

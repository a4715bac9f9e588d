"""A cluster of gangs whose API takes evictions."""

from collections.abc import Sequence
from dataclasses import replace

from muster.framework.scheduler.engine import Engine
from muster.framework.scheduler.ports import Ports
from tests.builders import PodDict
from tests.coscheduling.objects import GROUP_LABEL, make_member
from tests.coscheduling.world import World
from tests.evicting import Evicting
from tests.scheduler.played_extender import PlayedExtender


class EvictingWorld(Evicting, World):
    """What a test fills it with."""

    def fill(self, node: str, count: int, *, priority: int = 0, group: str = "", cpu: str = "1") -> list[str]:
        """Pods that run on a node; members of a group if one is named."""
        name = f"{group or 'low'}-{node}-{priority}"
        made = [
            make_member(f"{name}-{n}", group, cpu=cpu) if group else PodDict(plain(f"{name}-{n}", cpu))
            for n in range(count)
        ]
        return self.add(*(pod.priority(priority).node(node) for pod in made))

    def gang(self, name: str, count: int, *, priority: int, cpu: str = "1", min_member: int | None = None) -> list[str]:
        """A gang that waits."""
        self.add_group(name, count if min_member is None else min_member)
        return self.add(*(make_member(f"{name}-{n}", name, cpu=cpu).priority(priority) for n in range(count)))

    def groups_of(self, keys: Sequence[str]) -> set[str]:
        """The groups of pods that may be gone: by the names that `fill` and `gang` give."""
        return {key.partition("/")[2].partition("-")[0] for key in keys}


class Extended(EvictingWorld):
    """A cluster with an extender."""

    def __init__(self, extender: PlayedExtender) -> None:
        self._extender = extender
        super().__init__()

    def build(self, ports: Ports) -> Engine:
        return super().build(replace(ports, extenders=[self._extender]))


def plain(name: str, cpu: str = "1") -> PodDict:
    """A pod of no group."""
    pod = make_member(name, "", cpu=cpu)
    del pod["metadata"]["labels"][GROUP_LABEL]
    return pod

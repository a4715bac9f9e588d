"""Clusters in which preemption takes its time: conditions and start times get into the objects, as from an API."""

from muster.framework.groups import MIN_RUN, PREEMPTION_DELAY
from muster.framework.model.times import rfc3339
from muster.plugins.capacityscheduling.api import ELASTIC_QUOTAS
from muster.testing import configuration_of
from tests.builders import PodDict, make_node, make_pod
from tests.capacityscheduling.objects import make_quota
from tests.coscheduling.objects import make_group, make_member
from tests.evicting import Evicting
from tests.stored_conditions import StoredConditions

PLUGINS = ("Coscheduling", "CapacityScheduling", "PreemptionTiming")


class TimingWorld(Evicting, StoredConditions):
    """A cluster whose API keeps the conditions that the scheduler reports. `timing` are the plugin's arguments."""

    def __init__(self, *, plugins: tuple[str, ...] = PLUGINS, **timing: int) -> None:
        args = {"PreemptionTiming": timing} if "PreemptionTiming" in plugins else {}
        super().__init__(configuration=configuration_of(plugins, args=args))

    # The cluster.

    def nodes(self, *names: str, cpu: str = "2") -> None:
        """Nodes come."""
        self.add_nodes(*(make_node(name, cpu=cpu) for name in names))

    def runs(self, pod: PodDict, node: str, *, since: float | None = None) -> str:
        """A pod is on the node, and has run for so many seconds; None for one that has not started."""
        key = self.api.put("pods", pod.node(node))
        if since is not None:
            self.started(key, ago=since)
        return key

    def started(self, key: str, *, ago: float = 0.0) -> None:
        """The kubelet started the pod so many seconds ago."""
        at = rfc3339(self.clock.wall() - ago)
        self.api.change("pods", key, lambda pod: pod.setdefault("status", {}).update(startTime=at))

    def priority_class(self, name: str, *, delay: str = "", min_run: str = "", **more: str) -> None:
        """A PriorityClass comes, or is replaced."""
        self.api.put("priorityclasses", {"metadata": {"name": name, "annotations": annotations(delay, min_run) | more}})

    def group(self, name: str, count: int, *, delay: str = "", min_run: str = "") -> None:
        """A PodGroup of so many pods comes."""
        self.api.put("podgroups", make_group(name, count, annotations=annotations(delay, min_run)))

    def quota(self, namespace: str, cpu: str, *, most: str | None = None) -> None:
        """A namespace is guaranteed so many cores, and may use so many; without `most`, no quota limits it."""
        limit = None if most is None else {"cpu": most}
        self.api.put(ELASTIC_QUOTAS.resource, make_quota(namespace, min={"cpu": cpu}, max=limit))

    # What came of it.

    def message(self, key: str) -> str:
        """The message of the condition last written to the pod."""
        return self.conditions[key][1]

    def date(self, seconds: float) -> str:
        """The time in so many seconds, as messages name it."""
        return rfc3339(self.clock.wall() + seconds)


def annotations(delay: str, min_run: str) -> dict[str, str]:
    """The annotations with these values; "" for none."""
    return {key: text for key, text in ((PREEMPTION_DELAY, delay), (MIN_RUN, min_run)) if text}


def low(name: str, *, cpu: str = "2", namespace: str = "default") -> PodDict:
    """A pod that any other may evict."""
    return make_pod(name, namespace=namespace).requests(cpu=cpu)


def high(name: str, *, cpu: str = "2", namespace: str = "default", priority: int = 100) -> PodDict:
    """A pod that may evict others."""
    return low(name, cpu=cpu, namespace=namespace).priority(priority)


def members(group: str, count: int, *, cpu: str = "2", priority: int = 0) -> list[PodDict]:
    """The pods of a group."""
    return [make_member(f"{group}-{number}", group, cpu=cpu).priority(priority) for number in range(count)]

"""The form of the situations: the nodes, quotas, groups and pods of each, in order, and what its test asserts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest

LOW, MIDDLE, HIGH = "low", "middle", "high"
PRIORITIES = {LOW: 0, MIDDLE: 100, HIGH: 1000}
"""The values of the priority classes."""

Amounts = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class PlayedPod:
    """A pod.

    Attributes:
        name: its name, which no other pod of the situation has.
        requests: what its container requests.
        priority: the name of its priority class.
        team: the namespace that it is in.
        group: its PodGroup; "" for none.
        node: the node that it is created on; "" if Muster has to find one.
        phase: what the kubelet says of it at once; "" for nothing.
    """

    name: str
    requests: Amounts
    priority: str = MIDDLE
    team: str = "one"
    group: str = ""
    node: str = ""
    phase: str = ""


@dataclass(frozen=True, kw_only=True)
class PlayedGroup:
    """A PodGroup: how many pods it needs, and what has to be free for them."""

    needs: int
    min_resources: Amounts | None = None


@dataclass(frozen=True, kw_only=True)
class PlayedQuota:
    """An ElasticQuota; a `max` that is None is absent."""

    min: Amounts
    max: Amounts | None = None


@dataclass(frozen=True, kw_only=True)
class PlacingSituation:
    """Pods that come, and those that have nodes in the end.

    Attributes:
        shows: the situation in a sentence.
        nodes: what each node has, by name.
        quotas: by namespace.
        groups: by name, all in the namespace of their pods.
        before: pods that are there before the others come.
        come: the pods that come, in this order.
        scheduled: the names of the pods for which the test waits.
        besides: the names of others that have nodes with Muster; all that are named nowhere have none.
        within: the seconds for which the test waits.
    """

    shows: str
    nodes: Mapping[str, Amounts]
    come: Sequence[PlayedPod]
    scheduled: frozenset[str]
    within: float
    quotas: Mapping[str, PlayedQuota] = field(default_factory=dict)
    groups: Mapping[str, PlayedGroup] = field(default_factory=dict)
    before: Sequence[PlayedPod] = ()
    besides: frozenset[str] = frozenset()


def members(group: str, count: int, requests: Amounts, priority: str = MIDDLE) -> list[PlayedPod]:
    """Pods `<group>-0` and so on of a group."""
    return [
        PlayedPod(name=f"{group}-{number}", requests=requests, priority=priority, group=group)
        for number in range(count)
    ]


def singles(name: str, count: int, requests: Amounts, priority: str = MIDDLE) -> list[PlayedPod]:
    """Pods `<name>-0` and so on of no group."""
    return [PlayedPod(name=f"{name}-{number}", requests=requests, priority=priority) for number in range(count)]


def in_turn(*series: Sequence[PlayedPod]) -> list[PlayedPod]:
    """The first pod of each series, then the second of each, and so on."""
    return [pod for pod in chain.from_iterable(zip_longest(*series)) if pod is not None]


def names(pods: Sequence[PlayedPod]) -> frozenset[str]:
    """The names of pods."""
    return frozenset(pod.name for pod in pods)

"""The situations of the two controllers: pods that start and end, and what the statuses of their group and quota say.

There the pods are bound by a scheduler without these plugins, or created on a node. What `scheduled` and `used` say
while no pod has started differs: see `GROUPS` and `QUOTAS`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.peers.situations import Amounts, PlayedPod, PlayedQuota

WITHIN_SECONDS = 10.0

Counts = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class GroupSituation:
    """Three pods on a node, and the status of a group of three.

    Attributes:
        shows: the situation in a sentence.
        before: the phase of all pods at first; "" for pods that have not started.
        status: the status then, as far as it is asserted.
        change: the phase that the kubelet reports, and of how many of the pods.
        becomes: the status then.
        labelled: whether the pods are members of the group.
    """

    shows: str
    before: str
    status: Counts
    change: tuple[str, int]
    becomes: Counts
    labelled: bool = True


def _status(phase: str, *, scheduled: int = 0, running: int = 0, succeeded: int = 0, failed: int = 0) -> Counts:
    counts = {"scheduled": scheduled, "running": running, "succeeded": succeeded, "failed": failed}
    return {"phase": phase, "occupiedBy": "", **counts}


_RUNNING = _status("Running", scheduled=3, running=3)
GROUPS = [
    GroupSituation(
        shows="all pods start to run",
        before="",
        status=_status("Scheduling", scheduled=3),
        change=("Running", 3),
        becomes=_RUNNING,
    ),
    GroupSituation(
        shows="all pods succeed",
        before="Running",
        status=_RUNNING,
        change=("Succeeded", 3),
        becomes=_status("Finished", scheduled=3, succeeded=3),
    ),
    GroupSituation(
        shows="one pod succeeds",
        before="Running",
        status=_RUNNING,
        change=("Succeeded", 1),
        becomes=_status("Running", scheduled=3, running=2, succeeded=1),
    ),
    GroupSituation(
        shows="one pod fails",
        before="Running",
        status=_RUNNING,
        change=("Failed", 1),
        becomes=_status("Failed", scheduled=2, running=2, failed=1),
    ),
    GroupSituation(
        shows="pods without the label start to run",
        before="",
        status=_status("Pending"),
        change=("Running", 3),
        becomes=_status("Pending"),
        labelled=False,
    ),
]
"""Their controller leaves `scheduled` to their scheduler, which does not run there: that test expects 0."""


@dataclass(frozen=True, kw_only=True)
class QuotaSituation:
    """Pods with nodes, and what their quotas have used.

    Attributes:
        shows: the situation in a sentence.
        quotas: by namespace.
        pods: the pods, in order.
        used: what the statuses say of the pods at first, by namespace.
        change: the phase that the kubelet reports, by pod.
        becomes: what the statuses say then.
    """

    shows: str
    quotas: Mapping[str, PlayedQuota]
    pods: Sequence[PlayedPod]
    used: Mapping[str, Amounts]
    change: Mapping[str, str]
    becomes: Mapping[str, Amounts]


def _pods(count: int, *, node: str = "", phase: str = "", other: bool = False) -> list[PlayedPod]:
    """Pods of one namespace, the first of them larger, and perhaps one of another."""
    sizes = {chr(ord("a") + at): "10" if at else "20" for at in range(count)}
    found = [
        PlayedPod(name=name, requests={"cpu": "10", "memory": memory}, node=node, phase=phase)
        for name, memory in sizes.items()
    ]
    requests = {"cpu": "10", "memory": "10"}
    return found + other * [PlayedPod(name="z", requests=requests, team="two", node=node, phase=phase)]


def _amounts(cpu: int, memory: int) -> Amounts:
    return {"cpu": str(cpu), "memory": str(memory)}


def _all_run(pods: Sequence[PlayedPod]) -> Mapping[str, str]:
    return {pod.name: "Running" for pod in pods}


_FULL = PlayedQuota(min=_amounts(100, 1000), max=_amounts(100, 1000))
_FOUR_PODS = {"one": _amounts(30, 40), "two": _amounts(10, 10)}
NODES = {"only": {"cpu": "300", "memory": "3000", "pods": "300"}}
QUOTAS = [
    QuotaSituation(
        shows="pods start to run",
        quotas={"one": _FULL, "two": _FULL},
        pods=_pods(3, other=True),
        used=_FOUR_PODS,
        change=_all_run(_pods(3, other=True)),
        becomes=_FOUR_PODS,
    ),
    QuotaSituation(
        shows="one pod succeeds and one fails",
        quotas={"one": _FULL, "two": _FULL},
        pods=_pods(3, node="only", phase="Running", other=True),
        used=_FOUR_PODS,
        change={"a": "Succeeded", "c": "Failed"},
        becomes={"one": _amounts(10, 10), "two": _amounts(10, 10)},
    ),
    QuotaSituation(
        shows="min and max name different resources",
        quotas={"one": PlayedQuota(min={"memory": "1000"}, max={"cpu": "100"})},
        pods=_pods(1),
        used={"one": _amounts(10, 20)},
        change=_all_run(_pods(1)),
        becomes={"one": _amounts(10, 20)},
    ),
    QuotaSituation(
        shows="pods that no quota was asked for use more than a min without max",
        quotas={"one": PlayedQuota(min=_amounts(10, 10))},
        pods=_pods(4, node="only"),
        used={"one": _amounts(40, 50)},
        change=_all_run(_pods(4)),
        becomes={"one": _amounts(40, 50)},
    ),
]
"""Their controller counts running pods alone, so that `used` is 0 until the pods run. Muster's `used` is what is held
against the quota: pods count from the moment that they have nodes."""

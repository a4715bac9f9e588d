"""Whether the minResources of a group are free at all, checked before its members are tried one by one.

The check compares sums, so it can only rule a group out: a group that passes may still not fit because of
fragmentation.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

import numpy as np
import numpy.typing as npt

from muster.framework.contract import NodeView, SnapshotReader
from muster.framework.contract.columns import admitted
from muster.framework.model.node import CORDON, Tolerations, kept_off, tolerated
from muster.framework.model.node_selector import required_of
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.quantity import QuantityError, nanos
from muster.framework.model.requests import PODS, amount, quantity

Mask = npt.NDArray[np.bool_]
MOST_RESOURCES = 1000
"""More than these in minResources are not looked at: each costs a few microseconds whenever the group is tried."""
_MOST_UNLIKE = 16
"""More kinds of members than this are not looked at one by one."""
_MOST_NAMED = 10
"""More missing resources than this are counted, not named."""


def wanted(min_resources: Mapping[str, str | int]) -> dict[str, int]:
    """minResources as the scheduler counts: milli-cores for cpu, whole units otherwise.

    Raises QuantityError for a quantity that cannot be parsed, and for more resources than any node has.
    """
    if len(min_resources) > MOST_RESOURCES:
        raise QuantityError(f"too many resources: {len(min_resources)}, at most {MOST_RESOURCES}")
    return {resource: amount(resource, nanos(str(text))) for resource, text in min_resources.items()}


def fault(min_resources: Mapping[str, str | int]) -> str:
    """The reason why minResources cannot be read; "" when they can."""
    try:
        wanted(min_resources)
    except QuantityError as error:
        return str(error)
    return ""


def requested(pods: Iterable[PodInfo]) -> dict[str, int]:
    """The sum of the pods' requests, their number under `pods`."""
    total: dict[str, int] = {PODS: 0}
    for pod in pods:
        total[PODS] += 1
        for resource, n in pod.signature.requests.items():
            total[resource] = total.get(resource, 0) + n
    return total


def usable_rows(snapshot: SnapshotReader, pods: Iterable[PodInfo] | None) -> Mask:
    """bool, shape (height,): nodes that one of `pods` may use at all; every schedulable node when None.

    Asked once for pods that ask the same of nodes. Of pods that ask too many different things all nodes count: the look
    at sums can only rule out, so it may be too kind, but it must not take long.
    """
    live = snapshot.live[: snapshot.height]
    if pods is None:
        return live & ~snapshot.unschedulable[: snapshot.height]
    unlike = {_asks_of_nodes(pod): pod for pod in {pod.signature: pod for pod in pods}.values()}
    if len(unlike) > _MOST_UNLIKE:
        return live
    usable = np.zeros(snapshot.height, np.bool_)
    for pod in unlike.values():
        usable |= _usable_by(snapshot, pod)
    return usable & live


def _asks_of_nodes(pod: PodInfo) -> Hashable:
    """The requirements on nodes: equal for pods that may use the same nodes."""
    spec = pod.pod.spec
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    return spec.tolerations, tuple(sorted(spec.node_selector.items())), required


def _usable_by(snapshot: SnapshotReader, pod: PodInfo) -> Mask:
    tolerations = Tolerations(pod.pod.spec.tolerations)
    everywhere = NodeView(snapshot, None)
    open_sets = np.array([not kept_off(taints, tolerations) for taints in snapshot.taints.sets])
    usable: Mask = open_sets[everywhere.of(snapshot.taints.ids)]
    if not tolerated(CORDON, tolerations):
        usable &= ~everywhere.of(snapshot.unschedulable)
    return usable & admitted(required_of(pod.pod.spec), everywhere)


def missing_amounts(
    snapshot: SnapshotReader,
    rows: Mask,
    need: Mapping[str, int],
    given_back: Mapping[str, int],
    *,
    kept: Mapping[str, int],
) -> dict[str, int]:
    """The missing amounts: `need` less what is free on `rows`, with `given_back` as free and `kept` as taken.

    Amounts as in `wanted`; resources of which enough is free are left out.
    """
    missing = {}
    for resource, amount_needed in need.items():
        left = max(0, free(snapshot, rows, resource) - kept.get(resource, 0)) + given_back.get(resource, 0)
        if left < amount_needed:
            missing[resource] = amount_needed - left
    return missing


def free(snapshot: SnapshotReader, rows: Mask, resource: str) -> int:
    """How much of a resource is free on `rows` together, `pods` among them; 0 of a resource that no node offers."""
    return snapshot.resources.free_in_all(resource, np.flatnonzero(rows))


def describe(amounts: Mapping[str, int]) -> str:
    """Amounts as Go prints a resource list's map: `map[cpu:1500m memory:2Gi]`. Of very many resources the first."""
    names = sorted(amounts)
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"map[{' '.join(f'{name}:{quantity(name, amounts[name])}' for name in names[:_MOST_NAMED])}]{more}"

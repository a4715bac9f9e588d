"""The groups of workloads in a rehearsal, created at once, as the controller of a running Muster creates them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from muster.framework.contract import WatchedKind
from muster.framework.groups.owners import pod_owner
from muster.framework.groups.workload_groups import WorkloadGroupPlugin
from muster.framework.model.meta import from_plain
from muster.framework.model.pod import Pod
from muster.framework.scheduler.engine import Engine
from muster.operator.podgroups.membership import GroupKinds
from muster.operator.podgroups.workload_groups import document_of


def groups_to_create(engine: Engine, kinds: GroupKinds, pods: Iterable[Pod]) -> Iterator[tuple[WatchedKind, Any]]:
    """The groups for which these pods wait in the engine, with their kinds; none without a plugin that plans groups."""
    planner = next(iter(engine.plugins(WorkloadGroupPlugin)), None)
    served = [kind for kind in kinds if kind.spec_for(1) is not None and kind.objects in engine.object_handlers]
    if planner is None or not served:
        return
    groups = planner.workload_groups
    kind = min(served, key=lambda each: groups.preference(each.objects.group))
    for owner in dict.fromkeys(map(pod_owner, pods)):
        wanted = None if owner is None else groups.to_create(owner.group)
        if owner is not None and wanted is not None:
            plain = msgspec.to_builtins(document_of(kind, owner.group, wanted))
            metadata = plain["metadata"] | {"namespace": owner.namespace, "uid": owner.group}
            yield kind.objects, from_plain(plain | {"metadata": metadata}, kind.objects.type)

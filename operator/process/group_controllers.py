"""The controllers of groups: they write statuses and Events, heal groups that lost a pod, and create workloads' groups.

`muster run` runs them inside its kopf operator; a simulation runs them directly.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from muster.framework.groups.plugin import GroupBookPlugin
from muster.framework.groups.workload_groups import WorkloadGroupPlugin
from muster.operator.podgroups.annotation_faults import AnnotationFaults
from muster.operator.podgroups.healing import Healer
from muster.operator.podgroups.status_controller import StatusController
from muster.operator.podgroups.worker import GroupWorker, WorkerPorts
from muster.operator.podgroups.workload_groups import WorkloadGroupController

if TYPE_CHECKING:
    from muster.framework.contract import GroupKind
    from muster.framework.groups.book import GroupBook

    from .process import Process


def group_controllers(process: Process) -> list[GroupWorker]:
    """The controllers of each kind of groups for which a plugin has a book; they start and stop with the process."""
    controllers: list[GroupWorker] = []
    owned: list[tuple[GroupKind[Any], GroupBook[Any, Any]]] = []
    ports = WorkerPorts(
        process.writers.client,
        process.writers.recorder,
        process.clock,
        leading=process.leadership.may_write,
        synced=[process.informers.pods.synced],
        reporter=next(iter(process.engine.algorithms)),
        standstill=process.engine.standstill,
        timing=process.timing,
    )
    plugins = {each.name: each for each in process.engine.plugins(GroupBookPlugin)}
    for kind in process.groups:
        plugin = plugins.get(kind.plugin)
        if plugin is not None:
            book = plugin.book
            ended_handler = process.engine.ended_handlers[plugin.name]
            synced = [*ports.synced, *process.informers.synced(kind.objects)]
            own = replace(ports, synced=synced)
            keeper = StatusController(book, kind, plugin.reporter(), own, ended_handler=ended_handler)
            controllers += keeper, Healer(book, kind, own, keeper.ended), AnnotationFaults(book, kind, own)
            if kind.spec_for(1) is not None:
                owned.append((kind, book))
    for planner in process.engine.plugins(WorkloadGroupPlugin)[:1]:
        controllers.append(WorkloadGroupController(planner.workload_groups, owned, ports))
    return controllers

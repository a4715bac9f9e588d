"""The controllers of groups: they write statuses and Events, and heal groups that lost a pod.

`muster run` runs them beside the process, inside its kopf operator; a simulation runs them directly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from muster.framework.groups.plugin import GroupBookPlugin
from muster.operator.podgroups.annotation_faults import AnnotationFaults
from muster.operator.podgroups.healing import Healer
from muster.operator.podgroups.status_controller import StatusController
from muster.operator.podgroups.worker import GroupWorker, WorkerPorts

if TYPE_CHECKING:
    from .process import Process


def group_controllers(process: Process) -> list[GroupWorker]:
    """A controller for each kind of groups of which a plugin keeps a book; they start and stop with the process."""
    controllers: list[GroupWorker] = []
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
            keeper = StatusController(book, kind, plugin.reporter(), ports, ended_handler=ended_handler)
            controllers += keeper, Healer(book, kind, ports, keeper.ended), AnnotationFaults(book, kind, ports)
    return controllers

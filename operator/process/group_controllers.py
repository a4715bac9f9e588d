"""The controllers of groups: they keep what people read of them, statuses and Events, and heal those that lost a pod.

`muster run` runs them beside the process, inside its kopf operator; a simulation runs them as they are.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from muster.framework.groups.book import GroupBook
from muster.framework.groups.healing import HEALING_POLICY
from muster.operator.podgroups.annotation_faults import AnnotationFaults
from muster.operator.podgroups.controller import PodGroupController
from muster.operator.podgroups.healing import Healer
from muster.operator.podgroups.native import NativeGroupController
from muster.operator.podgroups.worker import GroupWorker, WorkerPorts
from muster.plugins.coscheduling.api import API_VERSION as LABELLED
from muster.plugins.coscheduling.api import KNOWN_ANNOTATIONS
from muster.plugins.coscheduling.groups import PodGroups
from muster.plugins.coscheduling.plugin import SHARED as COSCHEDULING
from muster.plugins.gangscheduling.api import API_VERSION as NATIVE
from muster.plugins.gangscheduling.groups import Groups
from muster.plugins.gangscheduling.plugin import SHARED as GANG_SCHEDULING

if TYPE_CHECKING:
    from muster.operator.kube.informer import Informer

    from .process import Process


def group_controllers(process: Process) -> list[GroupWorker]:
    """One for each sort of group that a plugin of the process knows. To be started and stopped with it."""
    controllers: list[GroupWorker] = []
    labelled, native = process.engine.shared.get(COSCHEDULING), process.engine.shared.get(GANG_SCHEDULING)
    leading = process.leadership.may_write
    ports = WorkerPorts(
        process.writers.client,
        process.writers.recorder,
        process.clock,
        leading=leading,
        synced=[process.watches.pods.synced],
        reporter=next(iter(process.engine.algorithms)),
        standstill=process.engine.standstill,
        timing=process.timing,
    )

    def may_tell() -> bool:
        return leading() and process.watches.missing() is None

    if isinstance(labelled, PodGroups):
        labelled.may_tell = may_tell
        keeper = PodGroupController(labelled, ports)
        controllers += keeper, *_followers(labelled, ports, LABELLED, keeper.ended, known=KNOWN_ANNOTATIONS)
    if isinstance(native, Groups):
        native.may_tell = may_tell
        writer = NativeGroupController(native, ports)
        controllers += writer, *_followers(native, ports, NATIVE, writer.ended, known={HEALING_POLICY})
    return controllers


def _followers(
    groups: GroupBook[Any], ports: WorkerPorts, api_version: str, ended: Informer[Any], *, known: Collection[str]
) -> tuple[GroupWorker, ...]:
    return Healer(groups, ports, api_version, ended), AnnotationFaults(groups, ports, api_version, known)

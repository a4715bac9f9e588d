"""PodGroups of scheduling.x-k8s.io as users see them, and how pods join one. See `GroupKind`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from muster.framework.contract import GroupKind, GroupStatus, JoiningPod
from muster.framework.groups import GROUP_LABELS
from muster.framework.model.pod import Pod

from .api import (
    KNOWN_ANNOTATIONS,
    NAME,
    POD_GROUPS,
    SCHEDULED,
    SHORT_NAMES,
    PodGroup,
    PodGroupCondition,
    PodGroupSpec,
    PodGroupStatus,
    group_named,
    problems,
)
from .disruption import fault as disruption_fault

_NOTHING_SAID = PodGroupCondition(type=SCHEDULED, status="Unknown")


class PodGroupKind(GroupKind[PodGroup]):
    """The kind; its status has all that is shown."""

    plugin = NAME
    objects = POD_GROUPS
    short_names = SHORT_NAMES
    annotations = KNOWN_ANNOTATIONS
    fields: Mapping[str, type[Any]] = {"spec": PodGroupSpec, "status": PodGroupStatus}
    counts_members = True
    validates = True

    def named_by(self, pod: JoiningPod) -> str | None:
        """The group that the pod's labels name."""
        own = pod.spec.scheduling_group
        return None if own is not None else group_named(pod.metadata.namespace, pod.metadata.labels)

    def selectors(self, name: str) -> Sequence[str]:
        """A label selector for each label that may name the group."""
        return [f"{label}={name}" for label in GROUP_LABELS]

    def needed(self, group: PodGroup) -> int:
        """The group's minMember."""
        return group.spec.min_member

    def spec_for(self, size: int, priority_class_name: str = "") -> Mapping[str, Any]:
        """A group with this minMember; its priority is that of its pods."""
        return {"minMember": size}

    def status(self, group: PodGroup, members: Sequence[Pod]) -> GroupStatus:
        """The group's status, as the object has it."""
        status = group.read_status()
        said = status.condition(SCHEDULED) or _NOTHING_SAID
        return GroupStatus(
            phase=status.phase or "",
            scheduled=status.scheduled or 0,
            running=status.running or 0,
            succeeded=status.succeeded or 0,
            failed=status.failed or 0,
            placed=said.status,
            reason=said.reason or "",
            message=said.message or "",
            waits_since=status.schedule_start_time,
            owners=status.occupied_by or "",
        )

    def annotation_faults(self, annotations: Mapping[str, str]) -> Sequence[str]:
        """The fault of the disruption mode, if it has one: the default applies then."""
        fault = disruption_fault(annotations)
        return (fault,) if fault else ()

    def problems(self, document: Mapping[str, Any]) -> Sequence[str]:
        """See `api.problems`."""
        return problems(document)


POD_GROUP_KIND = PodGroupKind()

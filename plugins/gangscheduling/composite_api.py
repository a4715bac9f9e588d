"""CompositePodGroup, `compositepodgroups.scheduling.k8s.io/v1alpha3`, a group of groups: the fields that are read.

Its parts name it in `spec.parentCompositePodGroupName`. The informer decodes CompositePodGroups with these structs; the
API server has validated them. Their specs are immutable, except `schedulingPolicy.gang.minGroupCount` from 1.38 on.
Kubernetes 1.37 defines a status and writes none.
"""

from __future__ import annotations

import msgspec

from muster.framework.contract import WatchedKind
from muster.framework.groups import GroupMeta
from muster.framework.model.integers import Int32
from muster.framework.model.meta import Wire

from .api import GROUP, GroupSpec

API_VERSION = f"{GROUP}/v1alpha3"
PLURAL = "compositepodgroups"
KIND = "CompositePodGroup"


class CompositeGangPolicy(Wire):
    """`spec.schedulingPolicy.gang`: the least number of parts to schedule at once."""

    min_group_count: Int32 = 1


class CompositeSchedulingPolicy(Wire):
    """`spec.schedulingPolicy`: `basic`, which requires one part, if `gang` is None."""

    gang: CompositeGangPolicy | None = None


class CompositePodGroupSpec(GroupSpec):
    """`spec`."""

    scheduling_policy: CompositeSchedulingPolicy = CompositeSchedulingPolicy()

    @property
    def min_group_count(self) -> int:
        """The number of parts to schedule at once."""
        gang = self.scheduling_policy.gang
        return 1 if gang is None else gang.min_group_count


class CompositePodGroup(Wire):
    """A CompositePodGroup."""

    metadata: GroupMeta
    spec: CompositePodGroupSpec = msgspec.field(default_factory=CompositePodGroupSpec)

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations with Muster's prefix."""
        return self.metadata.annotations


COMPOSITE_POD_GROUPS = WatchedKind(
    f"{PLURAL}.v1alpha3.{GROUP}", f"/apis/{API_VERSION}/{PLURAL}", CompositePodGroup, optional=True, kind=KIND
)
"""The CompositePodGroups, which the plugin watches if the cluster serves them."""

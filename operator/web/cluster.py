"""The source of the pages: the cluster as it is followed, and the explainer of objects in it.

`following` fills it for `muster web`, through a user's kubeconfig; `leading` for the process that schedules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from muster.framework.contract import GroupId, WatchedKind
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.snapshot.snapshot import Snapshot
from muster.operator.explain.group_trial import TriedGroup
from muster.operator.explain.group_views import GroupObjects
from muster.operator.explain.live import Explained
from muster.operator.podgroups.membership import GroupKinds


@dataclass(frozen=True, slots=True)
class Told:
    """The latest report of another process on why a pod is where it is; `wall` in seconds since the epoch."""

    message: str
    node: str
    wall: float


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The reason why nothing can be explained, in a sentence for users."""

    reason: str


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The state of the cluster at one moment, immutable, so that another thread may read it."""

    nodes: Sequence[Node]
    pods: Sequence[Pod]
    kinds: GroupKinds
    groups: GroupObjects
    quotas: Sequence[Any] = ()

    @classmethod
    def of(cls, cluster: FollowedCluster) -> ClusterState:
        """A cluster now."""
        groups = {kind: [*cluster.group_objects(kind)] for kind in cluster.kinds.watched}
        return cls(
            [node for node in cluster.snapshot.nodes if node is not None],
            [*cluster.pods()],
            cluster.kinds.among(groups),
            groups,
            [*cluster.quotas()],
        )


class FollowedCluster(Protocol):
    """A cluster that is being followed. What it gives is as of now and not to be kept over an await."""

    @property
    def snapshot(self) -> Snapshot:
        """Nodes as rows, with the pods counted on them."""
        ...

    def pods(self) -> Iterable[Pod]:
        """The pods that have not ended."""
        ...

    def pod(self, key: str) -> Pod | None:
        """The pod `namespace/name`."""
        ...

    @property
    def kinds(self) -> GroupKinds:
        """The kinds of groups that are followed."""
        ...

    def group_objects(self, kind: WatchedKind) -> Iterable[Any]:
        """The groups of one of these kinds, or the groups of those."""
        ...

    def quotas(self) -> Iterable[Any]:
        """The quotas."""
        ...

    @property
    def reads_all(self) -> bool:
        """Whether all namespaces are read."""
        ...

    @property
    def asks_extenders(self) -> bool:
        """Whether explaining calls extenders; pages that refresh again and again must not keep them busy."""
        ...

    def missing(self) -> Sequence[str]:
        """The unknown parts, and why: a sentence each."""
        ...

    async def explain(self, pod: Pod) -> Explained | Told | Unanswered:
        """Why the pod goes where it goes, or nowhere. Raises nothing."""
        ...

    async def try_group(self, group: GroupId) -> TriedGroup | Unanswered | None:
        """The result of trying a waiting group now; None where no member of it waits. Raises nothing."""
        ...

"""The source of the pages: a cluster that is followed, and explanations of the objects in it.

`remote_cluster` implements it for `muster web`, through a user's kubeconfig; `process_cluster` for the process that
schedules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from muster.framework.contract import GroupId, WatchedKind
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.snapshot.snapshot import Snapshot
from muster.operator.defrag.proposal import DefragReport
from muster.operator.defrag.question import DefragQuestion
from muster.operator.explain.group_trial import TriedGroup
from muster.operator.explain.group_views import GroupObjects
from muster.operator.explain.live import Explained
from muster.operator.podgroups.membership import GroupKinds


@dataclass(frozen=True, slots=True)
class LeaderDecision:
    """The leader's last decision on a pod: its message and node; `wall` is in seconds since the epoch."""

    message: str
    node: str
    wall: float


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Instead of an explanation or a page: the reason why there is none, as a sentence for users."""

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
        """The state of a cluster now."""
        groups = {kind: [*cluster.group_objects(kind)] for kind in cluster.kinds.watched}
        return cls(
            [node for node in cluster.snapshot.nodes if node is not None],
            [*cluster.pods()],
            cluster.kinds.among(groups),
            groups,
            [*cluster.quotas()],
        )


class FollowedCluster(Protocol):
    """A cluster that is being followed. Results are live: do not keep them across an await."""

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
        """The groups, or the composites of groups, of one of the kinds that `kinds` watches."""
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
        """Whether an explanation calls extenders; pages that refresh periodically must not keep them busy."""
        ...

    def missing(self) -> Sequence[str]:
        """The parts of the cluster that are unknown, and why: one sentence for each."""
        ...

    async def explain(self, pod: Pod) -> Explained | LeaderDecision | Unavailable:
        """Explain why the pod is, or would be, on its node, or why it finds none. Raises no error."""
        ...

    async def try_group(self, group: GroupId) -> TriedGroup | Unavailable | None:
        """The result of trying a waiting group now; None if none of its members waits. Raises no error."""
        ...

    @property
    def proposes_moves(self) -> bool:
        """Whether `propose_moves` may be called; the search takes too long for the process that schedules."""
        ...

    async def propose_moves(self, question: DefragQuestion) -> DefragReport | Unavailable:
        """The pods to move, see `defrag.planner`. Raises no error."""
        ...

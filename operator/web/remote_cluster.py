"""A cluster followed through a user's kubeconfig, for `muster web` on the user's machine.

Nodes, pods and groups are watched with that user's rights; kinds that cannot be read are named, and the rest is shown.
An explanation is decided on a snapshot of all known objects, in a separate thread, so that pages keep loading.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from muster.framework.cache.cache import Cache
from muster.framework.config import ConfigurationError
from muster.framework.contract import ApiError, GroupId, WatchedKind
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.quantity import QuantityError
from muster.framework.snapshot.snapshot import Snapshot
from muster.operator.defrag.planner import propose
from muster.operator.defrag.proposal import DefragReport
from muster.operator.defrag.question import ClusterPicture, DefragQuestion
from muster.operator.explain.group_trial import TriedGroup, try_group
from muster.operator.explain.live import Explained, explain_among
from muster.operator.explain.served import Leader, ask_leader
from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import Connection
from muster.operator.kube.errors import Forbidden, NotFound
from muster.operator.kube.informer import Informer, Listed
from muster.operator.kube.whole import NoopHandler
from muster.operator.podgroups.membership import GroupKinds
from muster.operator.process.informers import NODES, PODS
from muster.operator.process.settings import Assembly
from muster.operator.simulate.extenders import ExtenderSession, TrialExtenders
from muster.operator.simulate.live import read_kinds
from muster.operator.simulate.manifests import Objects
from muster.operator.simulate.whole import TrialObjects
from muster.plugins.catalog import POD_DISRUPTION_BUDGETS, QUOTAS

from .cluster import LeaderDecision, Unavailable

T = TypeVar("T")

_START_SECONDS = 10.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """The cluster that the pages show, and how they read it.

    Attributes:
        assembly: the configuration by which pods are decided.
        namespace: the namespace whose pods and groups are read; "" for all.
        leader: the leader that answers questions about pods if the cluster may not be read.
    """

    connection: Connection
    assembly: Assembly
    namespace: str = ""
    leader: Leader | None = None


class RemoteCluster:
    """Implements `FollowedCluster`. Call `start` before the first use, and `stop` after the last."""

    proposes_moves = True

    def __init__(self, options: ClusterOptions, client: ApiClient) -> None:
        self._options = options
        self._client = client
        self._cache = Cache(Snapshot(), time.monotonic)
        self._nodes = Informer(client, NODES, _Nodes(self._cache))
        self._pods = Informer(client, _within(PODS, "/api/v1", options.namespace), _Pods(self._cache))
        self.kinds = options.assembly.groups
        self._groups = {kind: self._informer(kind) for kind in self.kinds.watched}
        self._quotas = self._informer(QUOTAS.objects)
        self._informers: dict[str, Informer[Any]] = {"nodes": self._nodes, "pods": self._pods}
        self._optional = {_title(self.kinds, kind): each for kind, each in self._groups.items()}
        self._optional[QUOTAS.objects.plural] = self._quotas
        self._informers |= self._optional
        self._extenders = TrialExtenders(options.assembly.configuration, TrialObjects(client))
        self._tasks: list[asyncio.Task[None]] = []

    def _informer(self, kind: WatchedKind) -> Informer[Any]:
        prefix, _, _ = kind.path.rpartition("/")
        listed = _within(Listed(kind.path, kind.type), prefix, self._options.namespace)
        return Informer(self._client, listed, NoopHandler(), optional=True)

    async def start(self) -> None:
        """Start the informers; return when all have synced or failed, after ten seconds at most.

        Raises ConfigurationError for extenders that cannot be used.
        """
        await self._extenders.__aenter__()
        self._tasks = [asyncio.create_task(informer.run()) for informer in self._informers.values()]
        with suppress(TimeoutError):
            async with asyncio.timeout(_START_SECONDS):
                await asyncio.gather(*(_settled(each) for each in self._informers.values()))

    async def stop(self) -> None:
        """Stop the informers and close the extenders."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._extenders.__aexit__()

    @property
    def asks_extenders(self) -> bool:
        """See `FollowedCluster`."""
        return bool(self._extenders)

    @property
    def snapshot(self) -> Snapshot:
        """See `FollowedCluster`."""
        return self._cache.snapshot

    def pods(self) -> Iterable[Pod]:
        """See `FollowedCluster`."""
        return self._pods.list()

    def pod(self, key: str) -> Pod | None:
        """See `FollowedCluster`."""
        return self._pods.get(key)

    def group_objects(self, kind: WatchedKind) -> Iterable[Any]:
        """See `FollowedCluster`."""
        return self._groups[kind].list()

    def quotas(self) -> Iterable[Any]:
        """See `FollowedCluster`."""
        return self._quotas.list()

    @property
    def reads_all(self) -> bool:
        """See `FollowedCluster`."""
        return not self._options.namespace

    def missing(self) -> Sequence[str]:
        """See `FollowedCluster`."""
        notices = [
            f"{name} cannot be read: {error}" if error is not None else f"{name} are still being read"
            for name, informer in self._informers.items()
            if ((error := informer.status.error) is not None or not informer.synced.is_set())
            and not (informer in self._optional.values() and isinstance(error, (NotFound, Forbidden)))
        ]
        if self._options.namespace:
            notices.append(f"only pods of {self._options.namespace} are read: nodes have less capacity free than shown")
        return notices

    async def explain(self, pod: Pod) -> Explained | LeaderDecision | Unavailable:
        """See `FollowedCluster`."""
        if not self._is_complete():
            return await self._ask_leader(pod)
        return await self._decide(partial(_explain, self._options.assembly, pod))

    async def try_group(self, group: GroupId) -> TriedGroup | Unavailable | None:
        """See `FollowedCluster`."""
        if not self._is_complete():
            return Unavailable("The group cannot be tried, because not all of the cluster is readable.")
        return await self._decide(partial(_try_group, self._options.assembly, group))

    async def propose_moves(self, question: DefragQuestion) -> DefragReport | Unavailable:
        """See `FollowedCluster`."""
        if not self._is_complete():
            return Unavailable("Moves cannot be proposed, because not all of the cluster is readable.")
        return await self._decide(partial(_propose, self._options.assembly, question), POD_DISRUPTION_BUDGETS)

    def _is_complete(self) -> bool:
        """Whether all nodes and pods are known, which every decision needs."""
        return not self._options.namespace and self._nodes.synced.is_set() and self._pods.synced.is_set()

    async def _decide(
        self, ask: Callable[[Objects, ExtenderSession], Awaitable[T]], *kinds: WatchedKind
    ) -> T | Unavailable:
        """The decision on a snapshot of all known objects, and of those of further kinds."""
        try:
            others = await read_kinds(self._client, (*self._options.assembly.kinds_to_read(), *kinds))
            cluster = Objects(list(self._nodes.list()), list(self._pods.list()), others)
            session = await self._extenders.session(cluster.nodes)
            return await asyncio.to_thread(_run, partial(ask, cluster, session))
        except (ApiError, ConfigurationError, QuantityError) as error:
            return Unavailable(f"No decision is possible: {error}")

    async def _ask_leader(self, pod: Pod) -> LeaderDecision | Unavailable:
        leader = self._options.leader
        if leader is None:
            return Unavailable("Not all of the cluster is readable; give --muster-url to ask the leader.")
        meta = pod.metadata
        try:
            decision = await ask_leader(leader, self._options.connection, meta.namespace, meta.name)
        except (ApiError, OSError) as error:
            return Unavailable(f"The leader did not answer: {error}")
        return LeaderDecision(decision.message, decision.node, decision.wall)


def _run(ask: Callable[[], Awaitable[T]]) -> T:
    async def answered() -> T:
        return await ask()

    return asyncio.run(answered())


async def _explain(assembly: Assembly, pod: Pod, cluster: Objects, session: ExtenderSession) -> Explained:
    return await explain_among(assembly, cluster, PodInfo(pod), now=time.time(), session=session)


async def _try_group(
    assembly: Assembly, group: GroupId, cluster: Objects, session: ExtenderSession
) -> TriedGroup | None:
    return await try_group(assembly, cluster, group, now=time.time(), session=session)


async def _propose(
    assembly: Assembly, question: DefragQuestion, cluster: Objects, session: ExtenderSession
) -> DefragReport:
    return await propose(ClusterPicture(assembly, cluster, time.time(), session), question)


def _title(kinds: GroupKinds, watched: WatchedKind) -> str:
    """The name, for users, of a kind that cannot be read."""
    kind = kinds.kind_of(watched)
    if kind is not None:
        return f"{kind.tag} {watched.plural}".strip()
    return f"composite {watched.plural.removeprefix('composite')}"


def _within(listed: Listed[Any], prefix: str, namespace: str) -> Listed[Any]:
    """The list in one namespace, or in all."""
    if not namespace:
        return listed
    path = f"{prefix}/namespaces/{namespace}/{listed.path.rpartition('/')[2]}"
    return Listed(path, listed.type, field_selector=listed.field_selector)


async def _settled(informer: Informer[Any]) -> None:
    """Return when the informer has synced or failed."""
    while not informer.synced.is_set() and informer.status.error is None:
        with suppress(TimeoutError):
            await asyncio.wait_for(informer.synced.wait(), _POLL_SECONDS)


class _Nodes:
    """The handler of nodes: adds them to the cache."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def on_add(self, node: Node) -> None:
        self._cache.set_node(node)

    def on_update(self, old: Node, new: Node) -> None:
        self._cache.set_node(new)

    def on_delete(self, node: Node) -> None:
        self._cache.remove_node(node.metadata.name)


class _Pods:
    """The handler of pods: adds those with a node to the cache."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def on_add(self, pod: Pod) -> None:
        if pod.spec.node_name:
            self._cache.add_pod(PodInfo(pod))

    def on_update(self, old: Pod, new: Pod) -> None:
        if not old.spec.node_name:
            self.on_add(new)
        else:
            self._cache.update_pod(PodInfo(new))

    def on_delete(self, pod: Pod) -> None:
        if pod.spec.node_name:
            self._cache.remove_pod(PodInfo(pod))

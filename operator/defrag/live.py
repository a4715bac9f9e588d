"""The live cluster in which pods are moved, read and written with the caller's rights."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import quote

import msgspec

from muster.framework.model.pod import Pod
from muster.operator.kube.client import ApiClient, PatchType
from muster.operator.kube.credentials import Connection
from muster.operator.kube.evictions import evict
from muster.operator.kube.informer import Listed
from muster.operator.kube.listing import list_all
from muster.operator.kube.transport import Transport
from muster.operator.process.settings import Assembly
from muster.operator.simulate.extenders import ExtenderSession
from muster.operator.simulate.live import read_cluster
from muster.plugins.catalog import POD_DISRUPTION_BUDGETS

from .question import ClusterPicture


class LiveCluster:
    """Implements `carrying.ChangingCluster`."""

    def __init__(self, connection: Connection, client: ApiClient, assembly: Assembly, session: ExtenderSession) -> None:
        self._connection = connection
        self._client = client
        self._assembly = assembly
        self._session = session

    async def picture(self) -> ClusterPicture:
        """See `ChangingCluster`."""
        kinds = (*self._assembly.kinds_to_read(), POD_DISRUPTION_BUDGETS)
        cluster = await read_cluster(self._connection, kinds)
        return ClusterPicture(self._assembly, cluster, time.time(), self._session)

    async def pods(self, namespace: str) -> list[Pod]:
        """See `ChangingCluster`."""
        return await list_all(self._client, Listed(f"/api/v1/namespaces/{quote(namespace, safe='')}/pods", Pod))

    async def evict(self, pod: Pod) -> None:
        """See `ChangingCluster`."""
        await evict(self._client, pod.metadata)

    async def cordon(self, node: str, closed: bool) -> None:
        """See `ChangingCluster`."""
        patch = msgspec.json.encode({"spec": {"unschedulable": True if closed else None}})
        await self._client.patch(f"/api/v1/nodes/{quote(node, safe='')}", patch, kind=PatchType.MERGE)

    async def pause(self, seconds: float) -> None:
        """See `ChangingCluster`."""
        await asyncio.sleep(seconds)


@asynccontextmanager
async def live_cluster(
    connection: Connection, assembly: Assembly, session: ExtenderSession
) -> AsyncIterator[LiveCluster]:
    """The cluster of a connection, for as long as the block lasts."""
    async with Transport(connection) as transport:
        yield LiveCluster(connection, ApiClient(transport), assembly, session)

"""The live cluster as the rehearsal needs it, read with the caller's own rights."""

from __future__ import annotations

import asyncio

from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import Connection
from muster.operator.kube.errors import NotFound
from muster.operator.kube.informer import Listed
from muster.operator.kube.listing import list_all
from muster.operator.kube.transport import Transport
from muster.operator.process.watches import NODES, PODS
from muster.plugins.coscheduling.api import POD_GROUPS, PodGroup

from .manifests import Objects


async def read_cluster(connection: Connection) -> Objects:
    """Nodes, pods that have not ended, and PodGroups if the cluster has them. Raises ApiError."""
    async with Transport(connection) as transport:
        client = ApiClient(transport)
        nodes, pods, groups = await asyncio.gather(list_all(client, NODES), list_all(client, PODS), _groups(client))
    return Objects(nodes, pods, groups)


async def _groups(client: ApiClient) -> list[PodGroup]:
    """Asks first whether the API has such a kind: a list of what it has not is Forbidden to those without a role."""
    try:
        await client.get(POD_GROUPS.path.rpartition("/")[0])
    except NotFound:
        return []
    return await list_all(client, Listed(POD_GROUPS.path, PodGroup))

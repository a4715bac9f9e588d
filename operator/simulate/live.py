"""The live cluster for a rehearsal, read with the caller's rights."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import msgspec

from muster.framework.config import KubeSchedulerConfiguration
from muster.framework.contract import WatchedKind
from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import Connection
from muster.operator.kube.errors import Forbidden, NotFound
from muster.operator.kube.informer import Listed
from muster.operator.kube.listing import list_all, list_raw
from muster.operator.kube.transport import Transport
from muster.operator.process.informers import NODES, PODS

from .admission import KINDS, AdmissionObjects
from .extenders import ExtenderSession, TrialExtenders
from .manifests import Objects
from .whole import TrialObjects, Written


async def read_cluster(connection: Connection, watched: Iterable[WatchedKind]) -> Objects:
    """Read the nodes, the pods that have not ended, and the objects of the `watched` kinds that the cluster has.

    Raises ApiError.
    """
    async with Transport(connection) as transport:
        client = ApiClient(transport)
        nodes, pods, found = await asyncio.gather(
            list_all(client, NODES), list_all(client, PODS), read_kinds(client, watched)
        )
    return Objects(nodes, pods, found)


@asynccontextmanager
async def extender_session(
    cluster: Objects, configuration: KubeSchedulerConfiguration, source: Connection | Objects, *wanted: Objects
) -> AsyncIterator[ExtenderSession]:
    """A session with the extenders of a configuration, for one trial on a cluster that was read from `source`.

    `wanted` has the pods that do not exist yet. Raises ApiError, and ConfigurationError for unusable extenders.
    """
    written = Written()
    for files in (*wanted, source):
        if isinstance(files, Objects) and files.written is not None:
            written.extend(files.written)
    async with AsyncExitStack() as stack:
        client = None
        if isinstance(source, Connection):
            client = ApiClient(await stack.enter_async_context(Transport(source)))
        extenders = TrialExtenders(configuration, TrialObjects(client, written))
        yield await (await stack.enter_async_context(extenders)).session(cluster.nodes)


async def read_kinds(client: ApiClient, kinds: Iterable[WatchedKind]) -> dict[WatchedKind, list[Any]]:
    """Read the objects of each of these kinds; an optional kind that the cluster does not have has no objects.

    Raises ApiError.
    """
    wanted = tuple(dict.fromkeys(kinds))
    found = await asyncio.gather(*(_list_if_served(client, kind) for kind in wanted))
    return dict(zip(wanted, found, strict=True))


async def read_admission(connection: Connection) -> AdmissionObjects:
    """Read the objects that admission uses, as far as the caller may; `unread` has the reasons for the others.

    Raises ApiError.
    """
    found = AdmissionObjects()
    async with Transport(connection) as transport:
        client = ApiClient(transport)
        for kind, path in KINDS.items():
            try:
                items = await list_raw(client, path)
            except Forbidden as error:
                found.unread[kind] = str(error)
                continue
            except NotFound:
                continue
            found.objects[kind] = [msgspec.json.decode(item) for item in items]
    return found


async def _list_if_served(client: ApiClient, kind: WatchedKind) -> list[Any]:
    """The objects of a kind; none if the API server does not serve an optional kind.

    Discovery is asked first: to list a kind that is not served is Forbidden, not NotFound, for users without a role.
    The server may serve the group and version, but not this kind.
    """
    listed = Listed(kind.path, kind.type)
    if not kind.optional:
        return await list_all(client, listed)
    try:
        await client.require(kind.path)
        return await list_all(client, listed)
    except NotFound:
        return []

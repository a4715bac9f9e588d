"""The live cluster for a rehearsal, read with the caller's own rights."""

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
from .extenders import Hearing, TrialExtenders
from .manifests import Objects
from .whole import TrialObjects, Written


async def read_cluster(connection: Connection, watched: Iterable[WatchedKind]) -> Objects:
    """Nodes, pods that have not ended, and the objects of `watched`, if the cluster has them.

    Raises ApiError.
    """
    async with Transport(connection) as transport:
        client = ApiClient(transport)
        nodes, pods, found = await asyncio.gather(
            list_all(client, NODES), list_all(client, PODS), read_kinds(client, watched)
        )
    return Objects(nodes, pods, found)


@asynccontextmanager
async def hearing_about(
    cluster: Objects, configuration: KubeSchedulerConfiguration, source: Connection | Objects, *wanted: Objects
) -> AsyncIterator[Hearing]:
    """The extenders of a configuration, to be asked in one trial on a cluster that was read of `source`.

    `wanted` holds pods that are not there yet. Raises ApiError, and ConfigurationError for what cannot be used.
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
        yield await (await stack.enter_async_context(extenders)).hearing(cluster.nodes)


async def read_kinds(client: ApiClient, kinds: Iterable[WatchedKind]) -> dict[WatchedKind, list[Any]]:
    """The objects of each of these kinds; none of one that the cluster has not, if that is optional.

    Raises ApiError.
    """
    asked = tuple(dict.fromkeys(kinds))
    found = await asyncio.gather(*(_served(client, kind) for kind in asked))
    return dict(zip(asked, found, strict=True))


async def read_admission(connection: Connection) -> AdmissionObjects:
    """The objects that admission reads, as far as the caller may read them; why not is kept with what is not known.

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


async def _served(client: ApiClient, kind: WatchedKind) -> list[Any]:
    """Asks first whether the API has such a kind: a list of what it has not is Forbidden to those without a role.

    An API may have the group and version, yet not this kind of it.
    """
    listed = Listed(kind.path, kind.type)
    if not kind.optional:
        return await list_all(client, listed)
    try:
        await client.get(kind.path.rpartition("/")[0])
        return await list_all(client, listed)
    except NotFound:
        return []

"""Questions to the leader: why a pod waits, for users who may read the pod but not the cluster; and its configuration.

The leader answers with its last decision on the pod, and asks the API server whether the caller may `get` that pod, or
`/configz` for the configuration. The kubeconfig's bearer token identifies the caller; the leader does not accept client
certificates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import msgspec

from muster.framework.config import ConfigurationError, KubeSchedulerConfiguration, Problem, load
from muster.framework.model.times import human_duration
from muster.framework.queue.contents import QueuePosition
from muster.operator.kube.client import ApiClient
from muster.operator.kube.credentials import Connection
from muster.operator.kube.errors import ServerError
from muster.operator.kube.listing import read_object
from muster.operator.kube.tls import ClientTls
from muster.operator.kube.transport import Transport

from .layout import printable

_TRIES = 8
"""A Service sends each connection to any replica, and one of them leads."""
_NOT_LEADING = 503
_CONFIGURATION = "/configz"
_GROUP = "kubescheduler.config.k8s.io"
"""The key of the configuration on that page."""


@dataclass(frozen=True, slots=True)
class Leader:
    """The address of Muster's leader; `authority` is the PEM file that its certificate is checked against.

    Without `authority`, the system's authorities count.
    """

    url: str
    authority: Path | None = None


class ServedDecision(msgspec.Struct):
    """The leader's last decision on a pod; `node` is "" if it found none, `wall` is in seconds since the epoch.

    `queue` is the pod's position in the queue; None if it is not in the queue.
    """

    pod: str
    node: str
    code: str
    message: str
    plugin: str
    wall: float
    queue: QueuePosition | None = None


async def ask_leader(leader: Leader, connection: Connection, namespace: str, name: str) -> ServedDecision:
    """Read the leader's last decision about the pod. Raises ApiError; OSError for a file that cannot be read."""
    path = f"/namespaces/{quote(namespace, safe='')}/pods/{quote(name, safe='')}/why"
    there = _there(leader, connection)
    for left in reversed(range(_TRIES)):
        async with Transport(there) as transport:  # a new one for each try: a connection stays with its replica
            try:
                return await read_object(ApiClient(transport), path, ServedDecision)
            except ServerError as error:
                if error.status != _NOT_LEADING or not left:
                    raise
    raise AssertionError("the last try returns or raises")


async def ask_configuration(leader: Leader, connection: Connection) -> KubeSchedulerConfiguration:
    """Read the configuration that Muster runs with. Standbys have the same one, so any replica may answer.

    Raises ApiError; ConfigurationError for an invalid answer; OSError for a file that cannot be read.
    """
    async with Transport(_there(leader, connection)) as transport:
        body = (await ApiClient(transport).get(_CONFIGURATION)).body
    origin = f"{leader.url.rstrip('/')}{_CONFIGURATION}"
    try:
        found = msgspec.json.decode(body, type=dict[str, msgspec.Raw])[_GROUP]
    except (msgspec.MsgspecError, KeyError) as error:
        raise ConfigurationError([Problem(origin, f"{origin} is not Muster's")]) from error
    return load(bytes(found), origin)


def _there(leader: Leader, connection: Connection) -> Connection:
    tls = None
    if leader.url.startswith("https://"):
        pem = leader.authority.read_bytes() if leader.authority is not None else None
        tls = ClientTls(authority=pem, insecure=False, origin=str(leader.authority))
    return Connection(leader.url.rstrip("/"), auth=connection.auth, tls=tls)


def render_served(decision: ServedDecision, *, now: float) -> Iterator[str]:
    """The lines for users; `now` is in seconds since the epoch."""
    where = f"on {decision.node}" if decision.node else "not on a node"
    yield printable(f"{decision.pod} ({where}), decided by the leader {human_duration(now - decision.wall)} ago")
    if decision.message:
        yield printable(decision.message)
    if decision.queue is not None:
        yield from map(printable, _position(decision.queue))


def _position(position: QueuePosition) -> Iterator[str]:
    times = "once" if position.attempts == 1 else f"{position.attempts} times"
    yield f"It has waited for {human_duration(position.waited_seconds)} and was tried {times}."
    if position.ahead == 0:
        yield "It is first in the queue."
    elif position.ahead is not None:
        ahead = "1 pod or group is" if position.ahead == 1 else f"{position.ahead} pods and groups are"
        yield f"{ahead} ahead of it in the queue."
    if position.next_try_seconds is None:
        return
    if not position.next_try_seconds:
        yield "It is ready to be tried."
        return
    soon = f", or when something happens that {' or '.join(position.waits_for)} waits for" if position.waits_for else ""
    yield f"It is tried again within {human_duration(position.next_try_seconds)}{soon}."

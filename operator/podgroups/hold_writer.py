"""Holding and resuming groups: the annotations that `muster hold` and `muster resume` write.

Both act on the API with the rights of the user who calls them; the scheduler follows the annotations, see
`framework.groups.holds`. A group that is held already keeps its hold unless a new reason is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import msgspec

from muster.framework.contract import WatchedKind
from muster.framework.groups.holds import HELD_BY, HELD_SINCE, HOLD, HOLD_ANNOTATIONS, RESUMED_BY, GroupHold, hold_in
from muster.framework.model.times import rfc3339
from muster.operator.kube.client import ApiClient, PatchType
from muster.operator.kube.errors import ApiError, Forbidden, NotFound
from muster.operator.kube.listing import read_object

_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


class _User(msgspec.Struct):
    username: str = ""


class _ReviewStatus(msgspec.Struct, rename="camel"):
    user_info: _User = msgspec.field(default_factory=_User)


class _Review(msgspec.Struct):
    status: _ReviewStatus = msgspec.field(default_factory=_ReviewStatus)


@dataclass(frozen=True, slots=True)
class NamedGroup:
    """A group by its name. If several kinds have a group of this name, the first of `kinds` counts."""

    namespace: str
    name: str
    kinds: Sequence[WatchedKind]


async def hold(
    client: ApiClient, named: NamedGroup, *, reason: str | None, now: float
) -> tuple[WatchedKind, GroupHold | None]:
    """Hold the group; returns its kind, and its previous hold. `now` is in seconds since the epoch.

    A group that is held already keeps its hold unless a new `reason` is given. Raises ApiError; if no kind has the
    group, the error of the first kind.
    """
    kind, path, found = await _find(client, named)
    before = hold_in(found.annotations)
    if before is None or reason is not None:
        held = {HOLD: reason or "", HELD_BY: await _user(client) or None, HELD_SINCE: rfc3339(now), RESUMED_BY: None}
        await _annotate(client, path, held)
    return kind, before


async def resume(client: ApiClient, named: NamedGroup) -> tuple[WatchedKind, bool]:
    """Resume the group; returns its kind, and whether the group itself was held. Raises ApiError as `hold` does."""
    kind, path, found = await _find(client, named)
    was_held = hold_in(found.annotations) is not None
    if was_held:
        resumed = {**dict.fromkeys(sorted(HOLD_ANNOTATIONS)), RESUMED_BY: await _user(client) or None}
        await _annotate(client, path, resumed)
    return kind, was_held


async def _find(client: ApiClient, named: NamedGroup) -> tuple[WatchedKind, str, Any]:
    """The group's kind, path and object."""
    first, *others = named.kinds
    path = _path(first, named)
    try:
        return first, path, await read_object(client, path, first.type)
    except NotFound as error:
        for kind in others:
            path = _path(kind, named)
            with suppress(Forbidden, NotFound):
                return kind, path, await read_object(client, path, kind.type)
        raise error from None


def _path(kind: WatchedKind, named: NamedGroup) -> str:
    space, name = quote(named.namespace, safe=""), quote(named.name, safe="")
    return f"/apis/{kind.api_version}/namespaces/{space}/{kind.plural}/{name}"


async def _annotate(client: ApiClient, path: str, annotations: Mapping[str, str | None]) -> None:
    """Set these annotations; remove those that are None."""
    patch = msgspec.json.encode({"metadata": {"annotations": annotations}})
    await client.patch(path, patch, kind=PatchType.MERGE)


async def _user(client: ApiClient) -> str:
    """The name under which the API server knows the client's user; "" if it is unknown."""
    body = msgspec.json.encode({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
    try:
        reply = await client.post(_REVIEWS, body)
        return msgspec.json.decode(reply.body, type=_Review).status.user_info.username
    except (ApiError, msgspec.MsgspecError):
        return ""

"""Promises that end: a pod for which room was made on a node is not to get it any more.

Its nomination is taken back on the API; when the watch tells of it the room is free, and whoever waits for it is tried.
"""

from __future__ import annotations

import logging

import msgspec

from muster.framework.contract import STRATEGIC_MERGE_PATCH, ApiError, Handle, PodInfo

log = logging.getLogger(__name__)


async def promise_ended(handle: Handle, pod: PodInfo) -> None:
    """Take the nomination back. If the API cannot be told, it ends in this process alone."""
    patch = msgspec.json.encode({"metadata": {"uid": pod.uid}, "status": {"nominatedNodeName": None}})
    path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/status"
    try:
        await handle.api.patch(path, patch, content_type=STRATEGIC_MERGE_PATCH)
    except ApiError as error:
        handle.nominator.clear(pod.uid)
        log.warning("A nomination was not taken back", extra={"pairs": {"pod": pod.key, "error": str(error)}})

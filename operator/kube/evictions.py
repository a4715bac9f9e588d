"""Evictions through the API's eviction subresource, which asks PodDisruptionBudgets, unlike a deletion.

Healing and `muster defrag` evict pods with it.
"""

from __future__ import annotations

import msgspec

from muster.framework.contract.api import pod_path
from muster.framework.model.meta import Identity

from .client import ApiClient


async def evict(client: ApiClient, pod: Identity) -> None:
    """Evict the pod with this UID.

    Raises ApiError: TooManyRequests if a budget refuses, NotFound if the pod is gone, and Conflict if another pod has
    its name.
    """
    name = {"name": pod.name, "namespace": pod.namespace}
    options = {"preconditions": {"uid": pod.uid}}
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": name, "deleteOptions": options}
    await client.post(pod_path(pod, "eviction"), msgspec.json.encode(body))

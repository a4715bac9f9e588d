"""Bind a pod to a node: one small POST, the hottest write there is.

The binding cycle awaits `BindingWriter.bind` for each pod. The pod's UID goes along, so a pod that was deleted and
made again under the same name is never bound by mistake.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .errors import ApiError
from .outcome import DONE, Outcome, outcome_of
from .references import ObjectReference, pod_path

if TYPE_CHECKING:
    from muster.framework.model.meta import ObjectMeta

    from .client import ApiClient
    from .retry import Retrier


class _Metadata(msgspec.Struct, gc=False):
    namespace: str
    name: str
    uid: str


class _Binding(msgspec.Struct, rename="camel", gc=False):
    metadata: _Metadata
    target: ObjectReference
    kind: str = "Binding"
    api_version: str = "v1"


_encode = msgspec.json.Encoder().encode


class BindingWriter:
    """Posts Bindings."""

    def __init__(self, client: ApiClient, retrier: Retrier) -> None:
        self._client = client
        self._retrier = retrier

    async def bind(self, pod: ObjectMeta, node_name: str) -> Outcome:
        """Bind the pod; tried again as kube-scheduler would. Never raises ApiError."""
        path = pod_path(pod, "binding")
        target = ObjectReference(kind="Node", name=node_name)
        body = _encode(_Binding(_Metadata(pod.namespace, pod.name, pod.uid), target))
        try:
            await self._retrier.run(lambda: self._client.post(path, body))
        except ApiError as error:
            return outcome_of(error)
        return DONE

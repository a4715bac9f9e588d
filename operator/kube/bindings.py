"""Binds a pod to a node: one small POST, the most frequent write.

The binding cycle awaits `BindingWriter.bind` for each pod. The request carries the pod's UID, so a pod that was deleted
and recreated under the same name is never bound by mistake.

If the answer is lost, the pod may or may not be bound. Until that is known, its capacity must not be given to another
pod, and the pod must not be reported as waiting; so the pod is read, and bound once more if it has no node.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from muster.framework.contract.api import pod_path
from muster.framework.model.meta import ObjectMeta
from muster.framework.model.pod import Pod

from .errors import ApiError, ConnectionRefused, Fenced, ServerError, Unreachable
from .listing import list_one
from .outcome import DONE, Outcome, Result, outcome_of
from .references import ObjectReference

if TYPE_CHECKING:
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


class _Pods(msgspec.Struct, gc=False):
    items: list[Pod]


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Pods).decode
_PATIENCE_SECONDS = 30.0
"""The time for which the pod is read if the API does not answer. A leader has lost its lease by then."""
_LOOKS = 4


class BindingWriter:
    """Posts Bindings."""

    def __init__(self, client: ApiClient, retrier: Retrier) -> None:
        self._client = client
        self._retrier = retrier

    async def bind(self, pod: ObjectMeta, node_name: str) -> Outcome:
        """Bind the pod, with kube-scheduler's retries. Never raises ApiError."""
        path = pod_path(pod, "binding")
        target = ObjectReference(kind="Node", name=node_name)
        body = _encode(_Binding(_Metadata(pod.namespace, pod.name, pod.uid), target))
        unsure = False

        async def post() -> None:
            nonlocal unsure
            try:
                await self._client.post(path, body)
            except ApiError as error:
                # Kept across tries: the refusal of a later Binding may be due to an earlier one that arrived without an
                # answer.
                unsure |= _may_be_done(error)
                raise

        for _ in range(_LOOKS):
            try:
                await self._retrier.run(post)
            except ApiError as error:
                outcome = outcome_of(error)
                if unsure and not isinstance(error, Fenced):
                    outcome = await self._found(pod, node_name, outcome)
                if outcome.result is not Result.FAILED or not _may_be_done(error):
                    return outcome
            else:
                return DONE
        return outcome

    async def _found(self, pod: ObjectMeta, node_name: str, outcome: Outcome) -> Outcome:
        """The outcome for the pod: `outcome` if it has no node, or if that is unknown."""
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                body = await self._retrier.answered(lambda: list_one(self._client, pod))
            found = next(iter(_decode(body).items), None)
        except (TimeoutError, ApiError, msgspec.MsgspecError):
            return outcome
        if found is None or found.metadata.uid != pod.uid:
            return Outcome(Result.GONE, outcome.message)
        if found.spec.node_name == node_name:
            return DONE
        return Outcome(Result.CONFLICT, outcome.message) if found.spec.node_name else outcome


def _may_be_done(error: ApiError) -> bool:
    """Whether the server may have executed a write that ended with this error."""
    if isinstance(error, Unreachable):
        return not isinstance(error, ConnectionRefused)
    return isinstance(error, ServerError) and error.status in (500, 504)

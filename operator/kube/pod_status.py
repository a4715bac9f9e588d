"""Writes the reason why a pod waits to its status: the PodScheduled condition and the nominated node.

`plan_patch` makes the patch, if one is necessary; `StatusWriter` writes it. `PodConditionWriter` calls both for a pod
that could not be placed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from muster.framework.contract.api import pod_path
from muster.framework.model.pod import begins_to_wait
from muster.framework.model.times import rfc3339

from .client import PatchType
from .errors import ApiError
from .outcome import DONE, Outcome, outcome_of

if TYPE_CHECKING:
    import asyncio

    from muster.framework.model.meta import ObjectMeta
    from muster.framework.model.pod import Pod, PodCondition

    from .client import ApiClient
    from .retry import Retrier

_encode = msgspec.json.Encoder().encode


def plan_patch(
    pod: Pod,
    *,
    now: float,
    condition: PodCondition | None = None,
    nominated_node: str | None = None,
    written_node: str | None = None,
) -> bytes | None:
    """The strategic-merge patch that sets the condition and nomination of `pod`; None if it has them already.

    `nominated_node` None keeps the nomination, "" clears it; `written_node` is the last written nomination, which `pod`
    may not have yet. `now` is in seconds since the epoch. It becomes the transition time if the condition's status
    changes, if there is no time, as in the condition that the API server sets for a pod with gates, or if another wait
    begins (`begins_to_wait`). kube-scheduler keeps the time as long as the status is False. Here it is the beginning of
    the present wait, from which preemption delays and reservations are counted; autoscalers see a pod from the
    beginning of its wait for nodes. The wait of a pod that was never gated and never lacked members or quota begins
    with the status, as in kube-scheduler. The patch has the pod's UID, so the API rejects it for another pod of the
    same name.
    """
    status: dict[str, Any] = {}
    if condition is not None and (changed := _changed_condition(pod, condition, now)) is not None:
        status["conditions"] = [changed]
    seen = pod.status.nominated_node_name
    known = {seen, seen if written_node is None else written_node}
    if nominated_node is not None and known != {nominated_node}:
        status["nominatedNodeName"] = nominated_node or None
    return _encode({"metadata": {"uid": pod.metadata.uid}, "status": status}) if status else None


def _changed_condition(pod: Pod, wanted: PodCondition, now: float) -> dict[str, Any] | None:
    old = pod.status.condition(wanted.type)
    if old is not None and (old.status, old.reason, old.message) == (wanted.status, wanted.reason, wanted.message):
        return None
    patch: dict[str, Any] = {
        "type": wanted.type,
        "status": wanted.status,
        "reason": wanted.reason,
        "message": wanted.message,
    }
    if pod.metadata.generation:
        patch["observedGeneration"] = pod.metadata.generation
    if old is None or old.status != wanted.status or old.last_transition_time is None or begins_to_wait(old, wanted):
        patch["lastTransitionTime"] = rfc3339(now)
    return patch


class StatusWriter:
    """Patches the status of pods."""

    def __init__(self, client: ApiClient, retrier: Retrier) -> None:
        self._client = client
        self._retrier = retrier

    async def patch(self, pod: ObjectMeta, patch: bytes, *, given_up: asyncio.Event | None = None) -> Outcome:
        """Write a patch of `plan_patch`, with kube-scheduler's retries, also after a conflict. Never raises ApiError.

        There is no further try once `given_up` is set.
        """
        path = pod_path(pod, "status")
        try:
            await self._retrier.run(lambda: self._send(path, patch), conflicts=True, given_up=given_up)
        except ApiError as error:
            return outcome_of(error)
        return DONE

    async def _send(self, path: str, patch: bytes) -> None:
        await self._client.patch(path, patch, kind=PatchType.STRATEGIC)

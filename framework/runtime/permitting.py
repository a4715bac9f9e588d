"""Permit: whether a pod that has a node may be bound, and the wait of pods whose plugins answer `Wait`.

Upstream: RunPermitPlugins and WaitOnPermit. The scheduling cycle asks and never waits; the binding cycle waits.
Pods that wait are in `waiting_pods`, where plugins allow and reject them.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..contract.group import GroupPlugin
from ..contract.handle import Clock
from ..contract.plugin import Wait
from ..contract.status import Code, Status
from ..metrics import SchedulerMetrics
from ..model.pod_info import PodInfo
from .answers import error_in
from .attempt_state import AttemptState
from .concerned import ConcernedPlugins
from .plugin_calls import PluginCalls
from .plugin_set import ProfilePlugins
from .points import PERMIT
from .waiting_pods import PermitWait, PodAtPermit, PodsAtPermit

ASKED_TO_WAIT = "one or more plugins asked to wait and no plugin rejected pod"


class Permitting:
    """Runs the Permit plugins of one profile, and lets pods wait for them."""

    def __init__(
        self,
        plugins: ProfilePlugins,
        calls: PluginCalls,
        concerned: ConcernedPlugins,
        waiting_pods: PodsAtPermit,
        *,
        clock: Clock,
        metrics: SchedulerMetrics,
    ) -> None:
        self._plugins = plugins.permit
        self._calls = calls
        self._concerned = concerned
        self._waiting_pods = waiting_pods
        self._clock = clock
        self._metrics = metrics

    def run(self, state: AttemptState, pod: PodInfo, node_name: str) -> Status | None:
        """None when the pod may be bound, WAIT when it has to wait (`wait_on_permit` waits), else why it may not."""
        since = self._calls.now()
        waits: dict[str, PermitWait] = {}
        status: Status | None = None
        others = self._concerned.others(pod)
        for plugin in self._plugins:
            if plugin.name in others:
                continue
            answer = self._calls.call(PERMIT, plugin, pod, plugin.permit, state, pod, node_name, sampled=state.sampled)
            if isinstance(answer, Wait):
                waits[plugin.name] = PermitWait(answer.seconds, ", ".join(answer.reasons))
            elif answer is not None:
                status = answer
                break
        if status is None and waits:
            self._waiting_pods.add(PodAtPermit(pod, node_name, waits, self._clock))
            status = Status.wait(ASKED_TO_WAIT)
        self._calls.point_ended(PERMIT, status, since)
        return status

    def has_permit_plugin(self, pod: PodInfo) -> bool:
        """Whether a Permit plugin may let the pod itself wait; group plugins let only members of their groups wait."""
        others = self._concerned.others(pod)
        return any(plugin.name not in others and not isinstance(plugin, GroupPlugin) for plugin in self._plugins)

    def waits_of(self, pod: PodInfo) -> Mapping[str, str]:
        """The plugins for which the pod waits, each with its message."""
        waiting = self._waiting_pods.get(pod.uid)
        return {} if waiting is None else waiting.messages

    def stop_waiting(self, pod: PodInfo) -> None:
        """End the pod's wait without a result."""
        self._waiting_pods.discard(pod.uid)

    async def wait_on_permit(self, pod: PodInfo) -> Status | None:
        """Wait until the plugins for which the pod waits allow it (None) or one of them rejects it."""
        waiting = self._waiting_pods.get(pod.uid)
        if waiting is None:
            return None
        since = self._clock.now()
        try:
            status = await waiting.wait()
        finally:
            self._waiting_pods.discard(pod.uid)
        code = Code.SUCCESS if status is None else status.code
        self._metrics.permit_wait_duration.observe((code.wire_name,), self._clock.now() - since)
        return status if status is None or status.rejected else error_in("waiting on permit for pod", status)

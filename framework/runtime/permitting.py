"""Permit: whether a pod that has a node may be bound, and the wait of pods that plugins hold.

Upstream: RunPermitPlugins and WaitOnPermit. The scheduling cycle asks and never waits; the binding cycle waits. Held
pods are in `waiting`, where plugins allow and reject them.
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
from .held_pods import HeldPod, HeldPods, PermitWait
from .plugin_calls import PluginCalls
from .plugin_set import ProfilePlugins
from .points import PERMIT

ASKED_TO_WAIT = "one or more plugins asked to wait and no plugin rejected pod"


class Permitting:
    """Runs the Permit plugins of one profile, and waits for what they hold."""

    def __init__(
        self,
        plugins: ProfilePlugins,
        calls: PluginCalls,
        concerned: ConcernedPlugins,
        held_pods: HeldPods,
        *,
        clock: Clock,
        metrics: SchedulerMetrics,
    ) -> None:
        self._plugins = plugins.permit
        self._calls = calls
        self._concerned = concerned
        self._held_pods = held_pods
        self._clock = clock
        self._metrics = metrics

    def run(self, state: AttemptState, pod: PodInfo, node_name: str) -> Status | None:
        """None when the pod may be bound, WAIT when it is held (`wait_on_permit` waits), else why it may not."""
        since = self._calls.now()
        holds: dict[str, PermitWait] = {}
        status: Status | None = None
        others = self._concerned.others(pod)
        for plugin in self._plugins:
            if plugin.name in others:
                continue
            answer = self._calls.call(PERMIT, plugin, pod, plugin.permit, state, pod, node_name, sampled=state.sampled)
            if isinstance(answer, Wait):
                holds[plugin.name] = PermitWait(answer.seconds, ", ".join(answer.reasons))
            elif answer is not None:
                status = answer
                break
        if status is None and holds:
            self._held_pods.add(HeldPod(pod, node_name, holds, self._clock))
            status = Status.wait(ASKED_TO_WAIT)
        self._calls.point_ended(PERMIT, status, since)
        return status

    def may_be_held(self, pod: PodInfo) -> bool:
        """Whether a Permit plugin has a say about the pod by itself; those that know groups hold members of these."""
        others = self._concerned.others(pod)
        return any(plugin.name not in others and not isinstance(plugin, GroupPlugin) for plugin in self._plugins)

    def held_by(self, pod: PodInfo) -> Mapping[str, str]:
        """The plugins whose Permit holds the pod, each with what it says."""
        held = self._held_pods.get(pod.uid)
        return {} if held is None else held.messages

    def stop_waiting(self, pod: PodInfo) -> None:
        """Permit holds the pod no more."""
        self._held_pods.discard(pod.uid)

    async def wait_on_permit(self, pod: PodInfo) -> Status | None:
        """Wait until the plugins that hold the pod allow it (None) or one of them rejects it."""
        held = self._held_pods.get(pod.uid)
        if held is None:
            return None
        since = self._clock.now()
        try:
            status = await held.wait()
        finally:
            self._held_pods.discard(pod.uid)
        code = Code.SUCCESS if status is None else status.code
        self._metrics.permit_wait_duration.observe((code.wire_name,), self._clock.now() - since)
        return status if status is None or status.rejected else error_in("waiting on permit for pod", status)

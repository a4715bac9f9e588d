"""PreBind, Bind and PostBind: how plugins write a pod's node to the API.

Upstream: RunPreBindPreFlights, RunPreBindPlugins, RunBindPlugins and RunPostBindPlugins. The binding cycle of each pod
runs them in this order. A pod can be preempted during PreBind, but not once Bind has begun.
"""

from __future__ import annotations

from ..contract.plugin import PreBindPlugin
from ..contract.status import SKIP, Code, Status
from ..model.pod_info import PodInfo
from .answers import not_cleared
from .attempt_state import AttemptState
from .concerned import ConcernedPlugins
from .plugin_calls import PluginCalls
from .plugin_set import ProfilePlugins
from .points import BIND, POST_BIND, PRE_BIND, PRE_BIND_PRE_FLIGHT
from .waiting_pods import PodsAtPermit


class BindingPlugins:
    """Runs the plugins of one profile that take part in binding."""

    def __init__(
        self, plugins: ProfilePlugins, calls: PluginCalls, concerned: ConcernedPlugins, waiting_pods: PodsAtPermit
    ) -> None:
        self._plugins = plugins
        self._calls = calls
        self._concerned = concerned
        self._waiting_pods = waiting_pods

    def pre_flight(self, state: AttemptState, pod: PodInfo, node_name: str) -> Status | None:
        """None when a plugin has something to do before the pod is bound, SKIP when none has, or an ERROR."""
        todo: list[PreBindPlugin] = []
        others = self._concerned.others(pod)
        for plugin in self._plugins.pre_bind:
            if plugin.name in others:
                continue
            status: Status | None = self._calls.call(
                PRE_BIND_PRE_FLIGHT, plugin, pod, plugin.pre_bind_pre_flight, state, pod, node_name
            )
            if status is None:
                todo.append(plugin)
            elif status.code is not Code.SKIP:
                return not_cleared(status)
        state.pre_bind_plugins = frozenset(plugin.name for plugin in todo)
        return None if todo else SKIP

    async def pre_bind(self, state: AttemptState, pod: PodInfo, node_name: str) -> Status | None:
        """Let the plugins that `pre_flight` found work for do it. The first failure ends it."""
        since = self._calls.now()
        status: Status | None = None
        if state.pre_bind_plugins:
            status = await self._waiting_pods.unless_preempted(pod, self._pre_bind(state, pod, node_name))
        self._calls.point_ended(PRE_BIND, status, since)
        return status

    async def _pre_bind(self, state: AttemptState, pod: PodInfo, node_name: str) -> Status | None:
        for plugin in self._plugins.pre_bind:
            if plugin.name in state.pre_bind_plugins:
                status: Status | None = await self._calls.call_async(
                    PRE_BIND, plugin, pod, plugin.pre_bind, state, pod, node_name, sampled=state.sampled
                )
                if status is not None:
                    return status
        return None

    async def bind(self, state: AttemptState, pod: PodInfo, node_name: str) -> Status | None:
        """Bind the pod by the first plugin that does not answer SKIP."""
        since = self._calls.now()
        for plugin in self._plugins.bind:
            status = await self._calls.call_async(
                BIND, plugin, pod, plugin.bind, state, pod, node_name, sampled=state.sampled
            )
            if status is None or status.code is not Code.SKIP:
                break
        else:
            status = Status.failure("no Bind plugin took the pod")
        self._calls.point_ended(BIND, status, since)
        return status

    def post_bind(self, state: AttemptState, pod: PodInfo, node_name: str) -> None:
        """Notify the plugins that the pod is bound. A failure of a plugin is logged, and the pod stays bound."""
        since = self._calls.now()
        for plugin in self._plugins.post_bind:
            self._calls.undo(POST_BIND, plugin, pod, plugin.post_bind, state, pod, node_name)
        self._calls.point_ended(POST_BIND, None, since)

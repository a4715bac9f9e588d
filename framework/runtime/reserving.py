"""Reserve and Unreserve: what plugins reserve for a pod on its node, and how they release it.

Upstream: RunReservePluginsReserve and RunReservePluginsUnreserve. The cycles reserve for real and in trials of groups;
`explain` asks what would be written for a pod.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..contract.plugin import PreBindPlugin, ReservePlugin
from ..contract.status import Code, Status
from ..model.pod_info import PodInfo
from .answers import Failed, by_topic
from .attempt_state import AttemptState
from .concerned import ConcernedPlugins
from .plugin_calls import PluginCalls
from .plugin_set import ProfilePlugins
from .points import PLANNED, RESERVE, UNRESERVE


class Reserving:
    """Runs the Reserve plugins of one profile."""

    def __init__(self, plugins: ProfilePlugins, calls: PluginCalls, concerned: ConcernedPlugins) -> None:
        self._plugins = plugins.reserve
        self._calls = calls
        self._concerned = concerned

    def reserve(self, state: AttemptState, pod: PodInfo, node_name: str) -> Status | None:
        """Call Reserve until a plugin rejects the pod. After a rejection, the caller has to call `unreserve`."""
        since = self._calls.now()
        status: Status | None = None
        others = self._concerned.others(pod)
        for plugin in self._plugins:
            if plugin.name in others:
                continue
            status = self._calls.call(
                RESERVE, plugin, pod, plugin.reserve, state, pod, node_name, sampled=state.sampled
            )
            if status is not None:
                break
        self._calls.point_ended(RESERVE, status, since)
        return status

    def unreserve(self, state: AttemptState, pod: PodInfo, node_name: str) -> None:
        """Call Unreserve in reverse order, even after a failure."""
        since = self._calls.now()
        others = self._concerned.others(pod)
        for plugin in reversed(self._plugins):
            if plugin.name not in others:
                self._calls.undo(UNRESERVE, plugin, pod, plugin.unreserve, state, pod, node_name, sampled=state.sampled)
        self._calls.point_ended(UNRESERVE, None, since)

    def planned(self, plugin: PreBindPlugin, state: AttemptState, pod: PodInfo, node_name: str) -> Mapping[str, Any]:
        """The writes that the plugin would make before the pod is bound. Reserve runs before the call, Unreserve after.

        Empty if Reserve rejects the pod; the ERROR by the plugin's name if the plugin fails.
        """
        calls = self._calls
        status: Status | None = None
        planned: Mapping[str, Any] = {}
        if isinstance(plugin, ReservePlugin):
            status = calls.call(RESERVE, plugin, pod, plugin.reserve, state, pod, node_name)
        if status is None:
            try:
                planned = calls.ask(PLANNED, plugin, pod, plugin.planned, state, pod, node_name, sound=by_topic)
            except Failed as failed:
                status = failed.status
        if isinstance(plugin, ReservePlugin):
            calls.undo(UNRESERVE, plugin, pod, plugin.unreserve, state, pod, node_name)
        return {plugin.name: status.message} if status is not None and status.code is Code.ERROR else planned

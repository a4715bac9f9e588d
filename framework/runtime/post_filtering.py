"""PostFilter: how plugins help a pod that no node can take (upstream: RunPostFilterPlugins)."""

from __future__ import annotations

from ..contract.group import GroupPlugin
from ..contract.status import Code, Status
from ..contract.verdicts import Diagnosis
from ..model.pod_info import PodInfo
from .attempt_state import AttemptState
from .plugin_calls import PluginCalls
from .plugin_set import ProfilePlugins
from .points import POST_FILTER


class PostFiltering:
    """Runs the PostFilter plugins of one profile."""

    def __init__(self, plugins: ProfilePlugins, calls: PluginCalls) -> None:
        self._plugins = plugins
        self._calls = calls

    def run(self, state: AttemptState, pod: PodInfo, diagnosis: Diagnosis) -> tuple[str | None, Status | None]:
        """`(nominated node or None, status)` of the first plugin whose answer is not UNSCHEDULABLE, else of all."""
        since = self._calls.now()
        nominated, status = self._ask(state, pod, diagnosis)
        self._calls.point_ended(POST_FILTER, status, since)
        return nominated, status

    def _ask(self, state: AttemptState, pod: PodInfo, diagnosis: Diagnosis) -> tuple[str | None, Status | None]:
        reasons: list[str] = []
        nominated: str | None = None
        rejector = ""
        rejectors = diagnosis.unschedulable_plugins
        kept_back = bool(diagnosis.prefilter_message) and any(each.name in rejectors for each in self._plugins.groups)
        for plugin in self._plugins.post_filter:
            if kept_back and not isinstance(plugin, GroupPlugin):
                continue  # capacity for one member is of no use to a group that waits
            node_name, status = self._calls.post_filter_pod(plugin, state, pod, diagnosis)
            if node_name is not None:
                nominated = node_name
            if status is None or status.code is not Code.UNSCHEDULABLE:
                return nominated, status
            reasons.extend(status.reasons)
            rejector = rejector or plugin.name
        return nominated, Status(Code.UNSCHEDULABLE, tuple(reasons), rejector)

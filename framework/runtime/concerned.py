"""Which plugins have nothing to do for a pod, asked once per signature, so that they cost a plain pod nothing.

The parts of `Framework` ask at the points that `Plugin.concerns` names, and skip these plugins there.
"""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

from ..contract.plugin import Plugin
from ..model.pod_info import PodInfo, PodSignature
from .plugin_calls import PluginCalls
from .points import CONCERNS

Names = frozenset[str]


class ConcernedPlugins:
    """The answers of one profile's plugins, by signature; those of a signature that no pod has are dropped."""

    def __init__(self, plugins: Iterable[Plugin], calls: PluginCalls) -> None:
        self._calls = calls
        self._choosy = [plugin for plugin in plugins if type(plugin).concerns is not Plugin.concerns]
        self._without_volumes: WeakKeyDictionary[PodSignature, Names] = WeakKeyDictionary()
        self._with_volumes: WeakKeyDictionary[PodSignature, Names] = WeakKeyDictionary()

    def others(self, pod: PodInfo) -> Names:
        """Names of the plugins that the pod does not concern."""
        known = self._with_volumes if pod.pod.spec.volumes else self._without_volumes
        found = known.get(pod.signature)
        if found is None:
            found = frozenset(plugin.name for plugin in self._choosy if not self._is_concerned(plugin, pod))
            known[pod.signature] = found
        return found

    def _is_concerned(self, plugin: Plugin, pod: PodInfo) -> bool:
        """A plugin that fails here counts as concerned: it is asked at its points, where its failure is reported."""
        answer = self._calls.call(CONCERNS, plugin, pod, plugin.concerns, pod)
        self._calls.log_failure(CONCERNS, plugin, pod, answer)
        return answer is not False

"""Which running pods need one another, asked of every profile's plugins: a victim may be another profile's.

Handles give it to plugins that look for victims.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from ..contract.group import Disruption, DisruptionPlugin
from ..contract.pod_group import DisruptionUnit, Placed
from ..model.pod_info import PodInfo

log = logging.getLogger(__name__)


class DisruptionUnits:
    """Asks `plugins`, which are set once all profiles are built. `node_of` gives a pod's node by its UID."""

    def __init__(self, node_of: Callable[[str], str | None]) -> None:
        self.plugins: Sequence[DisruptionPlugin] = ()
        self._node_of = node_of

    def of(self, pod: PodInfo) -> DisruptionUnit | None:
        """The pod's unit, by the first plugin that knows one."""
        for plugin in self.plugins:
            found = self._ask(plugin, pod)
            if found is not None:
                placed = [
                    Placed(each, node) for each in found.pods if (node := self._node_of(each.uid) or each.node_name)
                ]
                key = f"{plugin.name}/{found.group}"
                return DisruptionUnit(key, placed, found.priority, found.spare, found.composite)
        return None

    def _ask(self, plugin: DisruptionPlugin, pod: PodInfo) -> Disruption | None:
        try:
            return plugin.disruption(pod)
        except Exception:  # a plugin's bug must not stop others from scheduling
            log.exception("A plugin failed to tell who needs a pod", extra={"pairs": {"plugin": plugin.name}})
            return None

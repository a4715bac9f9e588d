"""A cluster whose API stores the conditions that the scheduler reports, with times as Muster writes them.

Tests of times that are read back from conditions, also by later leaders, extend it.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from muster.framework.contract import Pod, PodInfo
from muster.framework.model.pod import POD_SCHEDULED, PodCondition
from muster.operator.kube.pod_status import plan_patch
from muster.testing import VirtualScheduler


class StoredConditions(VirtualScheduler):
    """Writes each reported condition into the pod's object, if the pod still exists and has no node."""

    def unscheduled(self, pod: PodInfo, *, reason: str, message: str, nominated_node: str | None) -> None:
        """The condition gets into the pod's object, with the time of its transition."""
        super().unscheduled(pod, reason=reason, message=message, nominated_node=nominated_node)
        known = self.api.pods.get(pod.key)
        if known is None or known["metadata"]["uid"] != pod.uid or known["spec"].get("nodeName"):
            return
        patch = plan_patch(
            msgspec.convert(known, Pod),
            now=self.clock.wall(),
            condition=PodCondition(POD_SCHEDULED, "False", reason, message),
        )
        if patch is not None:
            self.api.change("pods", pod.key, lambda pod: _merge(pod, msgspec.json.decode(patch)))


def _merge(pod: dict[str, Any], patch: Mapping[str, Any]) -> None:
    """Apply the patch of a condition."""
    status = pod.setdefault("status", {})
    for condition in patch["status"]["conditions"]:
        others = [each for each in status.get("conditions", ()) if each["type"] != condition["type"]]
        known = [each for each in status.get("conditions", ()) if each["type"] == condition["type"]]
        status["conditions"] = [*others, {**(known[0] if known else {}), **condition}]

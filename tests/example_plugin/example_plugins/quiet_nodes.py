"""QuietNodes: nodes with the label `example.com/quiet` get no pods."""

from muster.framework.authoring import PerNodeFilter
from muster.framework.contract import CycleState, DependsOn, NodeInfo, Status
from muster.framework.model.pod_info import PodInfo


class QuietNodes(PerNodeFilter):
    name = "QuietNodes"
    filter_depends_on = DependsOn.NODE

    def filter_node(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return Status.unresolvable("node(s) wanted to be left alone") if "example.com/quiet" in node.labels else None

"""The nominator: pods that are promised a node while room is made for them there.

The event handlers feed it from `status.nominatedNodeName`, failure handling from what PostFilter found, and a pod that
is assumed or gone leaves it. Filters read it. kube-scheduler's nominator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ..model.pod_info import PodInfo


class PodNominator:
    """Implements `contract.Nominator`."""

    def __init__(self, priority_of: Callable[[PodInfo], int] = lambda pod: pod.priority) -> None:
        """`priority_of` as `contract.Nominator` has it."""
        self.priority_of = priority_of
        self._node_of: dict[str, str] = {}
        self._by_node: dict[str, dict[str, PodInfo]] = {}

    def __len__(self) -> int:
        return len(self._node_of)

    def nominated_pods(self, node_name: str) -> Sequence[PodInfo]:
        """The pods nominated to the node, in the order they were."""
        return tuple(self._by_node.get(node_name, {}).values())

    def nominated_node(self, uid: str) -> str:
        """The node that the pod is nominated to; "" for none."""
        return self._node_of.get(uid, "")

    def nominate(self, pod: PodInfo, node_name: str) -> None:
        """From now on the pod is nominated to this node and to no other."""
        if self._node_of.get(pod.uid) != node_name:
            self.clear(pod.uid)
        self._node_of[pod.uid] = node_name
        self._by_node.setdefault(node_name, {})[pod.uid] = pod

    def clear(self, uid: str) -> bool:
        """The pod is nominated no more: whether it was. If so, there may be room for others."""
        node_name = self._node_of.pop(uid, None)
        if node_name is None:
            return False
        pods = self._by_node[node_name]
        del pods[uid]
        if not pods:
            del self._by_node[node_name]
        return True

    def in_the_way_of(
        self, pod: PodInfo, node_names: Iterable[str] | None = None
    ) -> Iterator[tuple[str, Sequence[PodInfo]]]:
        """Each node with the pods nominated to it that `pod` has to yield to: of its priority or a higher one.

        Of `node_names`, where they are given. Members of a group count with the group's priority.
        """
        priority = self.priority_of(pod) if self._by_node else 0
        for node_name in self._by_node if node_names is None else node_names:
            nominated = self._by_node.get(node_name, {})
            ahead = [
                each
                for each in nominated.values()
                if each.uid != pod.uid and (each.priority >= priority or self.priority_of(each) >= priority)
            ]
            if ahead:
                yield node_name, ahead

"""The nominator: pods that have a node reserved by nomination while capacity is freed for them there.

The event handlers add pods from `status.nominatedNodeName`, failure handling adds what PostFilter found, and a pod that
is assumed or deleted is removed. Filters read it. It is kube-scheduler's nominator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ..model.pod_info import PodInfo


class _Nominees:
    """The pods nominated to one node.

    Attributes:
        by_uid: in the order in which they were nominated.
        listed: the same pods as a tuple, which is replaced only when they change.
        least: the lowest of their own priorities.
    """

    __slots__ = ("by_uid", "least", "listed")

    def __init__(self) -> None:
        self.by_uid: dict[str, PodInfo] = {}

    def changed(self) -> None:
        self.listed: Sequence[PodInfo] = tuple(self.by_uid.values())
        self.least = min(pod.priority for pod in self.listed)


class PodNominator:
    """Implements `contract.Nominator`."""

    def __init__(self, priority_of: Callable[[PodInfo], int] = lambda pod: pod.priority) -> None:
        """`priority_of` as `contract.Nominator` has it."""
        self.priority_of = priority_of
        self._learned: dict[str, bool] = {}  # whether PreEnqueue has kept the pod out of the queue ever since
        self._node_of: dict[str, str] = {}
        self._by_node: dict[str, _Nominees] = {}

    def __len__(self) -> int:
        return len(self._node_of)

    def nominated_pods(self, node_name: str) -> Sequence[PodInfo]:
        """The pods nominated to the node, in the order in which they were nominated."""
        nominees = self._by_node.get(node_name)
        return () if nominees is None else nominees.listed

    def nominated_node(self, uid: str) -> str:
        """The node that the pod is nominated to; "" for none."""
        return self._node_of.get(uid, "")

    def any_nominated(self, uids: Iterable[str]) -> bool:
        """Whether any of these pods is nominated to a node."""
        return not self._node_of.keys().isdisjoint(uids)

    def nominations(self) -> Iterator[tuple[PodInfo, str]]:
        """Each nominated pod with its node; see `contract.Nominator`."""
        for node_name, nominees in self._by_node.items():
            for pod in nominees.listed:
                if not self._learned.get(pod.uid):
                    yield pod, node_name

    def learn(self, pod: PodInfo, node_name: str, *, gated: bool) -> None:
        """The API says that the pod, which has not been in the queue yet, is nominated to this node.

        The nomination does not count while the pod is `gated`, which `gate` and `ungate` change later. As in
        kube-scheduler: a gang that has lost a pod when a process begins may never be tried, and keeps no capacity
        reserved.
        """
        is_own = pod.uid in self._node_of and pod.uid not in self._learned
        self.nominate(pod, node_name)
        if not is_own:
            self._learned[pod.uid] = gated

    def gate(self, uid: str) -> None:
        """PreEnqueue rejects the pod: a nomination that was learned does not count."""
        if uid in self._learned:
            self._learned[uid] = True

    def ungate(self, uid: str) -> None:
        """The pod gets into the queue: its nomination counts from now on, whatever follows."""
        self._learned.pop(uid, None)

    def nominate(self, pod: PodInfo, node_name: str) -> None:
        """Nominate the pod to this node, in place of any other."""
        self._learned.pop(pod.uid, None)
        if self._node_of.get(pod.uid) != node_name:
            self.clear(pod.uid)
        self._node_of[pod.uid] = node_name
        nominees = self._by_node.get(node_name)
        if nominees is None:
            nominees = self._by_node[node_name] = _Nominees()
        nominees.by_uid[pod.uid] = pod
        nominees.changed()

    def clear(self, uid: str) -> bool:
        """End the pod's nomination; whether it had one. If so, capacity has come free for other pods."""
        node_name = self._node_of.pop(uid, None)
        if node_name is None:
            return False
        self._learned.pop(uid, None)
        nominees = self._by_node[node_name]
        del nominees.by_uid[uid]
        if nominees.by_uid:
            nominees.changed()
        else:
            del self._by_node[node_name]
        return True

    def in_the_way_of(
        self, pod: PodInfo, node_names: Iterable[str] | None = None
    ) -> Iterator[tuple[str, Sequence[PodInfo]]]:
        """Each node with the pods nominated to it that `pod` has to yield to; see `contract.Nominator`."""
        priority = self.priority_of(pod) if self._by_node else 0
        for node_name in self._by_node if node_names is None else node_names:
            nominees = self._by_node.get(node_name)
            if nominees is None:
                continue
            ahead = nominees.listed
            if nominees.least < priority or pod.uid in nominees.by_uid:
                ahead = tuple(each for each in ahead if each.uid != pod.uid and self._comes_before(each, priority))
            if self._learned:
                ahead = tuple(each for each in ahead if not self._learned.get(each.uid))
            if ahead:
                yield node_name, ahead

    def _comes_before(self, nominee: PodInfo, priority: int) -> bool:
        return nominee.priority >= priority or self.priority_of(nominee) >= priority

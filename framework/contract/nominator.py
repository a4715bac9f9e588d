"""Nominations and trials: what PostFilter needs to look for capacity that is not free yet.

A pod is nominated to a node while capacity is made for it there. Pods of lower priority must not take it, so every
filter run counts the nominated pods of equal or higher priority as if they were on their nodes. The runtime implements
both protocols; the handle gives them to plugins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from ..model.pod_info import PodInfo
from .cycle_state import CycleState
from .status import Status


class Nominator(Protocol):
    """Pods without a node that are nominated to one, by the API's `status.nominatedNodeName` or by this process.

    kube-scheduler's PodNominator. Deciding only reads it.
    """

    def nominated_pods(self, node_name: str) -> Sequence[PodInfo]:
        """The pods nominated to the node, in the order they were."""
        ...

    def nominated_node(self, uid: str) -> str:
        """The node that the pod is nominated to; "" for none."""
        ...

    def any_nominated(self, uids: Iterable[str]) -> bool:
        """Whether any of these pods is nominated to a node."""
        ...

    def nominations(self) -> Iterator[tuple[PodInfo, str]]:
        """Each nominated pod with its node, in no order; those whose nomination does not count yet are left out."""
        ...

    def priority_of(self, pod: PodInfo) -> int:
        """The priority that the pod counts with: its own, or that of the group whose quorum needs it."""
        ...

    def in_the_way_of(
        self, pod: PodInfo, node_names: Iterable[str] | None = None
    ) -> Iterator[tuple[str, Sequence[PodInfo]]]:
        """Each node with the pods nominated to it that `pod` has to yield to: of its priority or a higher one.

        Of `node_names`, where they are given. Members of a group count with the group's priority.
        """
        ...

    def nominate(self, pod: PodInfo, node_name: str) -> None:
        """From now on the pod is nominated to this node and to no other."""
        ...

    def clear(self, uid: str) -> bool:
        """The pod is nominated no more: whether it was."""
        ...


class Trial(Protocol):
    """Pods put on nodes and taken off them for as long as a `with handle.trial()` lasts; then all is as before.

    Each change is reported to the PreFilterExtensions of the profile, which keep `state` true. The state is the
    caller's: one that is used afterwards should be a clone.
    """

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node_name: str) -> Status | None:
        """Count `added` on the node while `pod` is being decided. An ERROR when a plugin failed, else None."""
        ...

    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node_name: str) -> Status | None:
        """Take `removed` off the node while `pod` is being decided. An ERROR when a plugin failed, else None.

        Raises KeyError when it is not counted there.
        """
        ...

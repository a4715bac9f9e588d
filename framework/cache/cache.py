"""The cache: nodes, bound pods, and pods that are about to be bound.

Informer handlers report what the API shows, and the cycles what they decided; the cache keeps the snapshot consistent
with both. Every pod is counted exactly once, on one node. `pod_states` describes the states of a pod and the
assumptions behind them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec

from ..contract.events import Action
from ..model.node import Node
from ..model.pod_info import PodInfo
from ..model.requests import amounts
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import NodeInfo
from .pod_states import PodEvent, PodState, next_state


def changes(old: Node, new: Node) -> Action:
    """The parts of a node that changed, as `Action` bits; none if no pod can profit from the change.

    As in kube-scheduler, uncordoning a node counts as a change of taints, and cordoning it as no change.
    Raises QuantityError when an allocatable amount of `new` cannot be parsed.
    """
    changed = Action(0)
    if old.status.allocatable != new.status.allocatable and amounts(old.status.allocatable) != amounts(
        new.status.allocatable
    ):
        changed |= Action.UPDATE_NODE_ALLOCATABLE
    if old.metadata.labels != new.metadata.labels:
        changed |= Action.UPDATE_NODE_LABEL
    if old.spec.taints != new.spec.taints or (old.spec.unschedulable and not new.spec.unschedulable):
        changed |= Action.UPDATE_NODE_TAINT
    if old.status.images != new.status.images:
        changed |= Action.UPDATE_NODE_IMAGE
    if old.status.declared_features != new.status.declared_features:
        changed |= Action.UPDATE_NODE_DECLARED_FEATURE
    return changed


def same(old: Node, new: Node) -> bool:
    """Whether two nodes differ in their resource version at most, as after a heartbeat."""
    return (
        old.spec == new.spec
        and old.status == new.status
        and old.metadata == msgspec.structs.replace(new.metadata, resource_version=old.metadata.resource_version)
    )


log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Known:
    """A pod that the snapshot counts."""

    info: PodInfo
    node_name: str
    state: PodState
    deadline: float | None = None


class Cache:
    """The latest known nodes and pods, counted in `snapshot`. Nothing else adds or removes any there.

    `clock` gives seconds on a monotonic clock. `assumed_ttl` is how many seconds an assumed pod is kept after its
    binding was finished; None keeps it until it is reported, forgotten or removed.
    """

    def __init__(self, snapshot: Snapshot, clock: Callable[[], float], assumed_ttl: float | None = None) -> None:
        self.snapshot = snapshot
        self._clock = clock
        self._ttl = assumed_ttl
        self._pods: dict[str, _Known] = {}
        self._assumed: dict[str, _Known] = {}
        self.generation = 0
        """Grows with every change of a node, or of the pods on it, by another client. Assumed pods do not count."""
        self._generations: dict[str, int] = {}

    def set_node(self, node: Node) -> Action:
        """Store a node that was added or changed, and return which parts changed, as `Action` bits.

        ADD for a node not known before. A report that changes nothing leaves the snapshot's journals alone.
        Raises QuantityError when an allocatable amount cannot be parsed; nothing is changed then.
        """
        row = self.snapshot.live_row_of(node.metadata.name)
        old = None if row is None else self.snapshot.nodes[row]
        if old is None:
            self.snapshot.set_node(node)
            self._changed(node.metadata.name)
            return Action.ADD
        if same(old, node):
            self.snapshot.refresh_node(node)
            return Action(0)
        changed = changes(old, node)
        self.snapshot.set_node(node)
        if changed or old.spec != node.spec:
            self._changed(node.metadata.name)
        return changed

    def remove_node(self, name: str) -> None:
        """Remove a deleted node. Its pods stay counted, hidden from plugins, until they are removed too."""
        self.snapshot.remove_node(name)
        self._generations.pop(name, None)

    def changed_since(self, node_name: str, generation: int) -> bool:
        """Whether the node was removed, or another client changed it or the pods on it, after `generation`."""
        if self.snapshot.live_row_of(node_name) is None:
            return True
        return self._generations.get(node_name, 0) > generation

    def assume(self, info: PodInfo, node_name: str) -> None:
        """Count a pod on the node that was chosen for it, ahead of its binding.

        Raises IllegalTransition when the pod is assumed or bound already.
        """
        state = next_state(info, self._state_of(info.uid), PodEvent.ASSUME)
        self.snapshot.add_pod(info, node_name)
        self._pods[info.uid] = self._assumed[info.uid] = _Known(info, node_name, state)

    def forget(self, info: PodInfo) -> bool:
        """Undo `assume`. False, and nothing changes, if the pod is bound after all, or gone."""
        before = self._state_of(info.uid)
        # The caller believes that binding failed. If the answer was lost, the watch knows better: assumption 5 of
        # `pod_states`.
        if next_state(info, before, PodEvent.FORGET) is before:
            if before is PodState.BOUND:
                log.warning("pod %s is bound to %s after all and stays counted", info.key, self.node_of(info.uid))
            return False
        self._drop(info.uid)
        return True

    def finish_binding(self, info: PodInfo) -> None:
        """Start the time to live of an assumed pod, whose binding the API has accepted."""
        # The answer and the watch race: the pod may be BOUND or gone by now, and then nothing changes.
        after = next_state(info, self._state_of(info.uid), PodEvent.FINISH_BINDING)
        if after is PodState.ASSUMED and self._ttl is not None:
            self._assumed[info.uid].deadline = self._clock() + self._ttl

    def add_pod(self, info: PodInfo) -> None:
        """Count a pod that an informer reported on a node for the first time; an assumed pod is confirmed.

        Raises IllegalTransition when the pod was added before.
        """
        self._report(info, PodEvent.CONFIRM)

    def update_pod(self, info: PodInfo) -> None:
        """Follow a change of a pod that is on a node. Cheap if its signature and node stay the same."""
        self._report(info, PodEvent.UPDATE)

    def remove_pod(self, info: PodInfo) -> bool:
        """Remove a pod that is gone or has ended, if it is known. Returns whether it was only assumed."""
        before = self._state_of(info.uid)
        if next_state(info, before, PodEvent.REMOVE) is before:
            return False
        self._changed(self._pods[info.uid].node_name)
        self._drop(info.uid)
        return before is PodState.ASSUMED

    def expire(self, now: float) -> list[PodInfo]:
        """Forget and return the assumed pods whose time to live is over at `now`, seconds on the cache's clock."""
        late = [known for known in self._assumed.values() if known.deadline is not None and known.deadline <= now]
        for known in late:
            next_state(known.info, known.state, PodEvent.EXPIRE)
            log.warning(
                "pod %s was bound to %s but never reported there, and is no longer counted",
                known.info.key,
                known.node_name,
            )
            self._drop(known.info.uid)
        return [known.info for known in late]

    def is_assumed(self, uid: str) -> bool:
        """Whether the pod is counted on a node, and no informer has reported it there yet."""
        return uid in self._assumed

    def node_of(self, uid: str) -> str | None:
        """The node that the pod is counted on."""
        known = self._pods.get(uid)
        return None if known is None else known.node_name

    def get(self, uid: str) -> PodInfo | None:
        """The pod in its latest version; None if it is not counted on a node."""
        known = self._pods.get(uid)
        return None if known is None else known.info

    @property
    def node_count(self) -> int:
        """The number of known nodes."""
        return self.snapshot.node_count

    @property
    def pod_count(self) -> int:
        """The number of pods counted on nodes, including assumed pods."""
        return len(self._pods)

    @property
    def assumed_count(self) -> int:
        """The number of assumed pods."""
        return len(self._assumed)

    def placements(self) -> Iterator[tuple[PodInfo, str]]:
        """Every counted pod with its node, in no particular order."""
        return ((known.info, known.node_name) for known in self._pods.values())

    def dump(self) -> Iterator[str]:
        """Lines for a debug log: each node with its amounts and pods, including nodes known only from their pods."""
        snapshot, resources = self.snapshot, self.snapshot.resources
        for row, name in enumerate(snapshot.names[: snapshot.height]):
            if snapshot.row_of(name) != row:
                continue
            node = NodeInfo(snapshot, row)
            amounts = ", ".join(f"{r} {node.requested(r)} of {node.allocatable(r)}" for r in resources.names if r)
            allowed = f"pods {resources.pod_count[row]} of {resources.allowed_pods[row]}"
            yield f"node {name}{'' if snapshot.live[row] else ' (not known itself)'}: {allowed}, {amounts}"
            for uid, info in node.pods.items():
                yield f"  {self._state_of(uid).name.lower()} pod {info.key} (UID {uid})"

    def _state_of(self, uid: str) -> PodState:
        known = self._pods.get(uid)
        return PodState.ABSENT if known is None else known.state

    def _report(self, info: PodInfo, event: PodEvent) -> None:
        if not info.node_name:
            raise ValueError(f"pod {info.key} has no node, so it does not belong in the cache")
        known = self._pods.get(info.uid)
        state = next_state(info, PodState.ABSENT if known is None else known.state, event)
        if known is None:
            self.snapshot.add_pod(info, info.node_name)
            self._pods[info.uid] = _Known(info, info.node_name, state)
            self._changed(info.node_name)
            return
        if known.node_name != info.node_name:
            log.warning("pod %s was counted on node %s but is bound to %s", info.key, known.node_name, info.node_name)
        # A pod confirmed where it was assumed is no change by another client: with a new generation, every binding
        # would make the others in flight check their node again.
        if known.node_name == info.node_name and known.info.signature is info.signature:
            self.snapshot.refresh_pod(info, info.node_name)
        else:
            self.snapshot.remove_pod(known.info, known.node_name)
            self.snapshot.add_pod(info, info.node_name)
            self._changed(info.node_name)
        self._assumed.pop(info.uid, None)
        known.info, known.node_name, known.state, known.deadline = info, info.node_name, state, None

    def _changed(self, node_name: str) -> None:
        self.generation += 1
        if self.snapshot.live_row_of(node_name) is not None:
            self._generations[node_name] = self.generation

    def _drop(self, uid: str) -> None:
        known = self._pods.pop(uid)
        self._assumed.pop(uid, None)
        self.snapshot.remove_pod(known.info, known.node_name)

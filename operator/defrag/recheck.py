"""Whether the rest of a proposal still holds, asked before each step of carrying it out.

`carrying` calls it with a new picture of the cluster. What the proposal was made from has to be as it was: the pods
that are still to be moved, and the nodes that they leave, that they go to, or that are to be kept free. Then the engine
tries the moves that are left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from muster.framework.model.node import Node
from muster.operator.simulate.manifests import Objects

from .planner import targets_in
from .proposal import MoveProposal, PodMove
from .question import ClusterPicture
from .waiting import WaitingTarget

_CORDON_TAINT = "node.kubernetes.io/unschedulable"


@dataclass(frozen=True, slots=True)
class ProposedMoves:
    """A proposal with what it was made from.

    Attributes:
        proposal: the moves.
        picture: the cluster as it was.
        cordoned: the nodes that are cordoned only to carry it out.
    """

    proposal: MoveProposal
    picture: ClusterPicture
    cordoned: Collection[str] = ()

    async def fault(self, now: ClusterPicture, left: Sequence[PodMove]) -> str:
        """Why the moves that are left would not reach the aim any more; "" if they would."""
        now = replace(now, cluster=_opened(now.cluster, self.cordoned))
        changed = next(self._changes(now.cluster, left), "")
        if changed:
            return changed
        targets = targets_in(now)
        place = next((at for at, each in enumerate(targets) if self._is_target(each)), None)
        if self.proposal.starts and place is None:
            return f"{self.proposal.starts} does not wait for a node any more"
        target = None if place is None else targets[place]
        async with now.trial(target, targets[: place or 0]) as trial:
            survey = now.survey(trial, target)
            movable = {placed.pod.uid for unit in survey.units for placed in unit.pods}
            for move in left:
                if move.uid not in movable:
                    return f"pod {move.pod} may not be moved now: {survey.staying.get(move.pod, 'it has ended')}"
            uids = {move.uid for move in left}
            units = [unit for unit in survey.units if any(placed.pod.uid in uids for placed in unit.pods)]
            if not survey.permits(units):
                return "PodDisruptionBudgets do not let all of the pods go that are still to be moved"
            pods = [pod for pod in trial.running if pod.metadata.uid in uids]
            if await trial.outcome(pods, self.proposal.keep) is None:
                return f"with the moves that are left, {self.proposal.failed_aim}"
        return ""

    def _is_target(self, target: WaitingTarget) -> bool:
        return target.name == self.proposal.starts and bool(target.groups) == self.proposal.group

    def _changes(self, now: Objects, left: Sequence[PodMove]) -> Iterator[str]:
        """The changes of the pods and nodes that matter."""
        pods = {pod.metadata.uid: pod for pod in now.pods}
        for move in left:
            pod = pods.get(move.uid)
            if pod is None:
                yield f"pod {move.pod} is gone"
            elif pod.metadata.deletion_timestamp is not None:
                yield f"pod {move.pod} is being deleted"
            elif pod.spec.node_name != move.node:
                yield f"pod {move.pod} is on node {pod.spec.node_name}"
        before, after = _by_name(self.picture.cluster), _by_name(now)
        concerned = {*self.proposal.keep, *(name for move in left for name in (move.node, move.to))}
        for name in sorted(concerned):
            if name not in after:
                yield f"node {name} is gone"
            elif name in before and _essence(before[name]) != _essence(after[name]):
                yield f"node {name} has changed"


def _by_name(cluster: Objects) -> Mapping[str, Node]:
    return {node.metadata.name: node for node in cluster.nodes}


def _essence(node: Node) -> tuple[object, ...]:
    """The parts of a node on which decisions depend."""
    return node.metadata.labels, node.spec, node.status.allocatable


def _opened(cluster: Objects, names: Collection[str]) -> Objects:
    """The cluster as if these nodes were not cordoned."""
    return replace(cluster, nodes=[_open(node) if node.metadata.name in names else node for node in cluster.nodes])


def _open(node: Node) -> Node:
    taints = tuple(taint for taint in node.spec.taints if taint.key != _CORDON_TAINT)
    return msgspec.structs.replace(node, spec=msgspec.structs.replace(node.spec, unschedulable=False, taints=taints))

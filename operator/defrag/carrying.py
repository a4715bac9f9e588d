"""Carrying out a proposal: pods are evicted unit by unit, and each step begins with another look at the cluster.

`muster defrag --apply` calls it. The nodes that are to be kept free are cordoned first and uncordoned at the end, so
that no replacement lands where the capacity is wanted. Everything stops, with the reason, as soon as the cluster is not
as the proposal needs it, a budget refuses an eviction, or a replacement finds no node. Pods that were moved until then
stay where they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

from muster.framework.model.pod import Pod
from muster.operator.kube.errors import ApiError, Conflict, NotFound, TooManyRequests
from muster.operator.simulate.wording import counted

from .proposal import PodMove
from .question import ClusterPicture
from .recheck import ProposedMoves

_POLL_SECONDS = 1.0


class ChangingCluster(Protocol):
    """The cluster in which pods are moved; `live` implements it."""

    async def picture(self) -> ClusterPicture:
        """Read the cluster. Raises ApiError."""
        ...

    async def pods(self, namespace: str) -> list[Pod]:
        """Read the pods of a namespace. Raises ApiError."""
        ...

    async def evict(self, pod: Pod) -> None:
        """Evict a pod. Raises ApiError."""
        ...

    async def cordon(self, node: str, closed: bool) -> None:
        """Cordon or uncordon a node. Raises ApiError."""
        ...

    async def pause(self, seconds: float) -> None:
        """Return when so much time has passed."""
        ...


@dataclass(frozen=True, slots=True)
class CarriedOut:
    """How carrying out a proposal ended.

    Attributes:
        moved: the number of pods that were evicted and replaced.
        stopped: why it ended before its aim was reached; "" if it was reached.
    """

    moved: int
    stopped: str


class MoveCarrier:
    """Carries out one proposal. `tell` gets a sentence about each step; `patience` is how long a step may take."""

    def __init__(
        self, cluster: ChangingCluster, proposed: ProposedMoves, *, tell: Callable[[str], None], patience: float
    ) -> None:
        self._cluster = cluster
        self._proposed = proposed
        self._tell = tell
        self._patience = patience
        self._cordoned: list[str] = []

    async def run(self) -> CarriedOut:
        """Carry it out. Raises ApiError if the cluster cannot be read, or a node not be cordoned."""
        moves = self._proposed.proposal.moves
        steps = [[*step] for _, step in groupby(moves, key=lambda move: move.group or move.uid)]
        moved, stopped = 0, ""
        try:
            await self._cordon()
            for step in steps:
                stopped = await self._fault(moves[moved:]) or await self._move(step)
                if stopped:
                    break
                moved += len(step)
        finally:
            await self._uncordon()
        return CarriedOut(moved, stopped or await self._missed_start())

    async def _cordon(self) -> None:
        nodes = {node.metadata.name: node for node in self._proposed.picture.cluster.nodes}
        for name in self._proposed.proposal.keep:
            if not nodes[name].spec.unschedulable:
                await self._cluster.cordon(name, True)
                self._cordoned.append(name)
        if self._cordoned:
            self._tell(f"cordoned {', '.join(self._cordoned)}")

    async def _uncordon(self) -> None:
        opened = []
        for name in self._cordoned:
            try:
                await self._cluster.cordon(name, False)
            except NotFound:
                continue
            except ApiError as error:
                self._tell(f"node {name} is still cordoned: {error}; use kubectl uncordon {name}")
                continue
            opened.append(name)
        if opened:
            self._tell(f"uncordoned {', '.join(opened)}")

    async def _fault(self, left: Sequence[PodMove]) -> str:
        """Why the moves that are left must not be made; "" if they may."""
        proposed = ProposedMoves(self._proposed.proposal, self._proposed.picture, self._cordoned)
        return await proposed.fault(await self._cluster.picture(), left)

    async def _move(self, step: Sequence[PodMove]) -> str:
        """Evict the pods of one unit and wait for their replacements; returns what went wrong."""
        namespaces = sorted({move.pod.partition("/")[0] for move in step})
        before = [pod for namespace in namespaces for pod in await self._cluster.pods(namespace)]
        known = {pod.metadata.uid: pod for pod in before}
        for move in step:
            if move.uid not in known:
                return f"pod {move.pod} is gone"
            try:
                await self._cluster.evict(known[move.uid])
            except TooManyRequests as error:
                return f"pod {move.pod} may not be evicted: {error}"
            except (NotFound, Conflict):
                return f"pod {move.pod} is gone"
            except ApiError as error:
                return f"pod {move.pod} cannot be evicted: {error}"
            self._tell(f"evicted {move.pod} from {move.node}")
        waited = 0.0
        while True:
            pods = [pod for namespace in namespaces for pod in await self._cluster.pods(namespace)]
            state = _Replacements.of(step, known, pods)
            stray = next((pod for pod in state.placed if pod.spec.node_name in self._proposed.proposal.keep), None)
            if stray is not None:
                return f"pod {stray.metadata.key} came to node {stray.spec.node_name}, which is to be kept free"
            if state.complete:
                for pod in state.placed:
                    self._tell(f"{pod.metadata.key} is on {pod.spec.node_name}")
                return ""
            if waited >= self._patience:
                return f"{state.lack} after {waited:g} seconds"
            await self._cluster.pause(_POLL_SECONDS)
            waited += _POLL_SECONDS

    async def _missed_start(self) -> str:
        """Wait until what waits has started; returns why it has not."""
        started = self._proposed.proposal.started
        if not started:
            return ""
        namespace, waited = next(iter(started)).partition("/")[0], 0.0
        while True:
            nodes = {pod.metadata.key: pod.spec.node_name for pod in await self._cluster.pods(namespace)}
            waiting = [key for key in started if not nodes.get(key)]
            if not waiting:
                self._tell(f"{self._proposed.proposal.starts} has started")
                return ""
            if waited >= self._patience:
                return f"{counted(len(waiting), 'pod')} of {self._proposed.proposal.starts} still wait for a node"
            await self._cluster.pause(_POLL_SECONDS)
            waited += _POLL_SECONDS


@dataclass(frozen=True, slots=True)
class _Replacements:
    """The fate of evicted pods.

    Attributes:
        placed: the new pods of their controllers that have nodes.
        complete: whether the evicted pods are gone, and as many new ones have nodes.
        lack: what is missing otherwise.
    """

    placed: Sequence[Pod]
    complete: bool
    lack: str

    @classmethod
    def of(cls, step: Sequence[PodMove], known: Mapping[str, Pod], pods: Collection[Pod]) -> _Replacements:
        """The fate of the pods of a step; `known` are the pods before it, by UID."""
        wanted = Counter(_controller(known[move.uid]) for move in step)
        new = [pod for pod in pods if pod.metadata.uid not in known and _controller(pod) in wanted]
        placed = [pod for pod in new if pod.spec.node_name]
        there = {pod.metadata.uid for pod in pods}
        ending = [move.pod for move in step if move.uid in there]
        missing = wanted - Counter(map(_controller, placed))
        lack = f"pod {ending[0]} is still there" if ending else f"no replacement of {step[0].pod} has a node"
        return cls(placed, not ending and not missing, lack)


def _controller(pod: Pod) -> str:
    controller = pod.metadata.controller
    return "" if controller is None else controller.uid

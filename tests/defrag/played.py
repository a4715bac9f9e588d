"""A played cluster in which pods are moved: controllers replace evicted pods at once, and a test may interfere."""

from collections.abc import Callable

import msgspec

from muster.framework.contract import ApiError
from muster.framework.model.pod import Pod
from muster.operator.defrag.carrying import CarriedOut, MoveCarrier
from muster.operator.defrag.planner import propose
from muster.operator.defrag.question import ClusterPicture, DefragQuestion
from muster.operator.defrag.recheck import ProposedMoves
from muster.operator.simulate.manifests import Objects
from tests.simulate.rehearsing import muster

from .world import NOW, Manifest, cluster


class PlayedCluster:
    """Implements `ChangingCluster`.

    Attributes:
        objects: what there is.
        goes_to: the node of the replacement of each pod, by name; "" for one that waits.
        refuse: the error with which evictions of a pod are refused, by its name.
        evicted: the names of the pods that were evicted, in order.
        cordons: the nodes that were cordoned and uncordoned, in order.
        before: called before each picture, with the number of evictions so far.
        on_uncordon: called after a node was uncordoned.
    """

    def __init__(self, *found: Manifest) -> None:
        self.objects: Objects = cluster(*found)
        self.goes_to: dict[str, str] = {}
        self.refuse: dict[str, ApiError] = {}
        self.evicted: list[str] = []
        self.cordons: list[tuple[str, bool]] = []
        self.before: Callable[[int], None] = lambda evicted: None
        self.on_uncordon: Callable[[], None] = lambda: None

    async def picture(self) -> ClusterPicture:
        """See `ChangingCluster`."""
        self.before(len(self.evicted))
        copy = Objects([*self.objects.nodes], [*self.objects.pods], self.objects.watched)
        return ClusterPicture(muster(), copy, NOW)

    async def pods(self, namespace: str) -> list[Pod]:
        """See `ChangingCluster`."""
        return [pod for pod in self.objects.pods if pod.metadata.namespace == namespace]

    async def evict(self, pod: Pod) -> None:
        """See `ChangingCluster`."""
        name = pod.metadata.name
        if name in self.refuse:
            raise self.refuse[name]
        self.evicted.append(name)
        self.remove(name)
        meta = msgspec.structs.replace(pod.metadata, name=f"{name}-new", uid=f"{pod.metadata.uid}-new")
        spec = msgspec.structs.replace(pod.spec, node_name=self.goes_to.get(name, ""))
        self.objects.pods.append(Pod(meta, spec))

    async def cordon(self, node: str, closed: bool) -> None:
        """See `ChangingCluster`."""
        self.cordons.append((node, closed))
        self.change_node(node, unschedulable=closed)
        if not closed:
            self.on_uncordon()

    async def pause(self, seconds: float) -> None:
        """See `ChangingCluster`."""

    # What a test does.

    def pod(self, name: str) -> Pod:
        """The pod of this name."""
        return next(pod for pod in self.objects.pods if pod.metadata.name == name)

    def remove(self, name: str) -> None:
        """A pod goes."""
        self.objects.pods.remove(self.pod(name))

    def bind(self, name: str, node: str) -> None:
        """A pod gets a node."""
        pod = self.pod(name)
        self.remove(name)
        self.objects.pods.append(replace_spec(pod, node))

    def change_node(self, name: str, **spec: object) -> None:
        """A node's spec changes."""
        for at, node in enumerate(self.objects.nodes):
            if node.metadata.name == name:
                changed = msgspec.structs.replace(node.spec, **spec)
                self.objects.nodes[at] = msgspec.structs.replace(node, spec=changed)


def replace_spec(pod: Pod, node: str) -> Pod:
    """The pod on another node."""
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node))


async def carried_out(played: PlayedCluster, *, told: list[str], free: str = "") -> CarriedOut:
    """Propose moves for the played cluster and carry them out; the steps that are told are appended to `told`."""
    picture = await played.picture()
    report = await propose(picture, DefragQuestion(free=free))
    assert report.proposal is not None, report
    for move in report.proposal.moves:
        played.goes_to.setdefault(move.pod.partition("/")[2], move.to)
    proposed = ProposedMoves(report.proposal, picture)
    return await MoveCarrier(played, proposed, tell=told.append, patience=3).run()

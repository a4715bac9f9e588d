"""A cluster to which manifests are applied, with a played Kueue in front."""

from collections.abc import Iterable

from muster.sandbox.objects import Object
from tests import applied
from tests.applied import PLAIN, AppliedCluster
from tests.builders import NodeDict
from tests.kueue.names import ClusterQueue
from tests.kueue.played import PlayedKueue
from tests.kueue.workloads import submitted


def on_the_page(containing: str) -> list[Object]:
    """The objects of the one manifest of the page on Kueue that contains a text."""
    return applied.on_the_page("kueue.md", containing)


class KueueCluster(AppliedCluster):
    """A cluster with these nodes and one ClusterQueue.

    Attributes:
        kueue: what stands in front.
    """

    def __init__(self, queue: ClusterQueue, nodes: Iterable[NodeDict], *, configuration: bytes = PLAIN) -> None:
        super().__init__(nodes, configuration=configuration)
        self.kueue = PlayedKueue(self._store, queue, self._stage.loop.time)

    def step(self) -> None:
        super().step()
        self.kueue.step()

    def admit(self, obj: Object) -> Object:
        return submitted(obj)

"""Prices: prefers cheap nodes. The price of a node is in the NodePrice object of the same name."""

from collections.abc import Hashable, Sequence

from muster.framework.authoring import PerNodeScore, normalize_to_highest
from muster.framework.contract import (
    CycleState,
    DependsOn,
    EnqueueExtensions,
    EventRegistration,
    Handle,
    NodeInfo,
    ObjectFollower,
    ObjectMeta,
    PodInfo,
    Scores,
    SnapshotReader,
    WatchedKind,
    Wire,
)


class NodePriceSpec(Wire):
    cents_per_hour: int = 0


class NodePrice(Wire):
    metadata: ObjectMeta
    spec: NodePriceSpec = NodePriceSpec()


PRICES = WatchedKind(
    "nodeprices.v1.example.com", "/apis/example.com/v1/nodeprices", NodePrice, optional=True, kind="NodePrice"
)


class Prices(PerNodeScore, ObjectFollower, EnqueueExtensions):
    """Scores nodes by price: the most expensive node gets 0, a node without a price 100."""

    name = "Prices"
    watches = (PRICES,)
    score_depends_on = DependsOn.NODE  # a score is cached until the node or the epoch changes

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._changes = 0

    def on_object(self, resource: str, old: object | None, new: object | None) -> None:
        """A NodePrice was added, changed or deleted: cached scores are stale."""
        self._changes += 1

    def score_epoch(self, snapshot: SnapshotReader) -> Hashable:
        return self._changes

    def score_node(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        price = self.handle.lister(PRICES).get(node.name)
        return 0 if price is None else price.spec.cents_per_hour

    def normalize_score(self, state: CycleState, pod: PodInfo, scores: Scores) -> Scores:
        return normalize_to_highest(scores, reverse=True)

    def events_to_register(self) -> Sequence[EventRegistration]:
        """No event: a price makes no node feasible."""
        return []

"""Nodes with the fields that scheduling itself does not read: annotations, conditions and capacity.

A plugin that needs them declares `watches = (WHOLE_NODES,)` and reads `handle.lister(WHOLE_NODES)`. Nodes are then
listed and watched a second time, with these fields; if no plugin declares it, none of the fields are kept or decoded.
The second watch may be a moment ahead of or behind the first one, so a node that was just added may be missing here.
"""

from __future__ import annotations

import msgspec

from ..model.meta import ObjectMeta, Wire
from ..model.quantity import Quantity
from ..model.times import Time
from .handle import WatchedKind


class AnnotatedMeta(ObjectMeta):
    """`metadata` with annotations."""

    annotations: dict[str, str] = msgspec.field(default_factory=dict)


class NodeCondition(Wire):
    """`status.conditions[]`, without its heartbeat."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None


class WholeNodeStatus(Wire):
    """`status`: what the node has and offers, by resource name, and how it is."""

    capacity: dict[str, Quantity] = msgspec.field(default_factory=dict)
    allocatable: dict[str, Quantity] = msgspec.field(default_factory=dict)
    conditions: tuple[NodeCondition, ...] = ()


class WholeNode(Wire):
    """A node with what plugins alone may want to know."""

    metadata: AnnotatedMeta
    status: WholeNodeStatus = WholeNodeStatus()

    def condition(self, kind: str) -> NodeCondition | None:
        """The condition of this type."""
        return next((each for each in self.status.conditions if each.type == kind), None)


WHOLE_NODES = WatchedKind("WholeNode", "/api/v1/nodes", WholeNode, kind="Node")
"""What to declare in `watches`, and in `events_to_register` to be asked again when one changes."""

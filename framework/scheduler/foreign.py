"""Changes of nodes that others made, so that a node is looked at again before binding only when it has to be.

The intake records them, the binding cycle asks. Muster's own assumed pods are no foreign changes.
"""

from __future__ import annotations

from collections import OrderedDict


class ForeignChanges:
    """The last foreign change of each node, numbered; of nodes that changed long ago only that it was long ago."""

    __slots__ = ("_last", "_limit", "_long_ago", "sequence")

    def __init__(self, *, limit: int = 50_000) -> None:
        """At most `limit` nodes are remembered one by one."""
        self.sequence = 0
        """The number of the latest change."""
        self._last: OrderedDict[str, int] = OrderedDict()
        self._limit = limit
        self._long_ago = 0

    def record(self, node_name: str) -> None:
        """Somebody else changed the node, or what runs on it."""
        self.sequence += 1
        self._last[node_name] = self.sequence
        self._last.move_to_end(node_name)
        if len(self._last) > self._limit:
            _, self._long_ago = self._last.popitem(last=False)

    def since(self, node_name: str, sequence: int) -> bool:
        """Whether the node has changed after `sequence`."""
        return self._last.get(node_name, self._long_ago) > sequence

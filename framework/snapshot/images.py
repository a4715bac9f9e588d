"""Container images on nodes, by name: which rows have it, and its size. ImageLocality asks it."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from ..model.node import ContainerImage


class ImageTable:
    """Images by name.

    Attributes:
        version: changes whenever any image appears on or leaves a node.
    """

    __slots__ = ("_of_row", "_rows", "_size", "version")

    def __init__(self) -> None:
        self._rows: dict[str, set[int]] = {}
        self._size: dict[str, int] = {}
        self._of_row: dict[int, dict[str, int]] = {}
        self.version = 0

    def set(self, row: int, images: Iterable[ContainerImage]) -> None:
        """The node in `row` now has exactly these images."""
        current: dict[str, int] = {}
        for image in images:
            for name in image.names or ():
                current.setdefault(name, image.size_bytes)
        previous = self._of_row.get(row, {})
        if current == previous:
            return
        self.version += 1
        for name in previous:
            rows = self._rows[name]
            rows.discard(row)
            if not rows:
                del self._rows[name], self._size[name]
        for name, size in current.items():
            self._rows.setdefault(name, set()).add(row)
            self._size.setdefault(name, size)
        if current:
            self._of_row[row] = current
        else:
            self._of_row.pop(row, None)

    def names(self) -> Iterable[str]:
        """Every image that a node has."""
        return self._rows.keys()

    def holders(self, name: str) -> AbstractSet[int]:
        """Rows that have the image."""
        return self._rows.get(name, set())

    def size(self, name: str) -> int:
        """Bytes of the image as the first of its holders reported it, as in kube-scheduler; 0 when no node has it."""
        return self._size.get(name, 0)

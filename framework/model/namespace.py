"""Namespaces, as far as scheduling reads them: their labels."""

from __future__ import annotations

from .meta import ObjectMeta, Wire


class Namespace(Wire):
    """A namespace."""

    metadata: ObjectMeta

"""Quotas as tools read them: from their objects, or from what a running engine knows of them.

`muster quotas`, the web pages, `why`, `simulate` and metrics know quotas by this module alone. The catalog names the
kind of quotas that there is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from .handle import WatchedKind

Q = TypeVar("Q")


@dataclass(frozen=True, slots=True)
class QuotaUse:
    """A resource of a quota.

    Attributes:
        namespace, name: of the quota's object.
        resource: the resource.
        used, min, borrowed: in the API's quantities.
        max: the most that may be used; None for no limit.
        share: the part that it uses of what all quotas are guaranteed together; None where they are guaranteed none.
        weight: its weight among those that borrow.
        parent: `namespace/name` of the quota above; "" for none.
    """

    namespace: str
    name: str
    resource: str
    used: str
    min: str
    borrowed: str
    max: str | None
    share: float | None
    weight: int
    parent: str


@dataclass(frozen=True, slots=True)
class QuotaReport:
    """The quotas of a cluster.

    Attributes:
        uses: by namespace, quota and resource.
        problems: by quota, a sentence for each setting that is ignored.
    """

    uses: Sequence[QuotaUse]
    problems: Mapping[str, Sequence[str]]


class QuotaKind(ABC, Generic[Q]):
    """A kind of quota objects. Methods with `shared`, the objects that plugins share, are about the plugins' engine.

    Attributes:
        plugin: the name of the plugin that enforces its quotas.
        objects: the quotas, as they are read.
    """

    plugin: str
    objects: WatchedKind

    @abstractmethod
    def report(self, quotas: Sequence[Q], namespace: str | None = None) -> QuotaReport:
        """The report on these quotas, which are all of the cluster; on those of a namespace if one is given."""

    @abstractmethod
    def standing(self, shared: Mapping[str, object], namespace: str) -> Sequence[str]:
        """The usage of the namespace's quota, a sentence for each resource; none without a quota."""

    @abstractmethod
    def amounts(self, shared: Mapping[str, object]) -> Mapping[tuple[str, str, str], float]:
        """By quota, resource and type (`used`, `min`, `max`, `borrowed`), in cores for cpu, else in whole units."""

    @abstractmethod
    def unmet(self, shared: Mapping[str, object]) -> Mapping[str, float]:
        """By quota, the pods that are within its `min` and have no node, because too little capacity is free."""

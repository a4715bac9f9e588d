"""The tree of quotas: which object counts for a namespace, what is above it, and which amounts follow.

`QuotaTree.of` reads the objects; it is pure, and total: whatever is wrong with them, there is a tree, and `problems`
says what was not followed. All quotas without a parent are under one root, whose `min` is the sum of theirs. A parent's
`min` is at least the sum of its children's, so guaranteed amounts are never promised twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from .api import ElasticQuota, amounts_of, faults, parent_of, weight_of

Amounts = Mapping[str, int]
"""By resource: milli-cores for cpu, whole units otherwise."""

MOST_LEVELS = 8
"""The most quotas on a path, without the root."""


@dataclass(slots=True, eq=False)
class Quota:
    """A quota of the tree.

    Attributes:
        key: `namespace/name` of its object; "" for the root.
        namespace: the namespace whose pods it counts; "" for the root.
        min: what it is guaranteed, and at least the sum of what its children are.
        max: the most that may be used; resources that are not named are not limited.
        weight: its weight among those that borrow.
        path: the quota, its parent and so on, up to the root.
        children: the quotas directly under it.
        together: the namespaces of all quotas under the same one right below the root, its own included.
    """

    key: str
    namespace: str
    min: dict[str, int]
    max: Amounts
    weight: int = 1
    path: tuple[Quota, ...] = ()
    children: list[Quota] = field(default_factory=list)
    together: tuple[str, ...] = ()

    def subtree(self) -> Iterator[Quota]:
        """The quota and all that are under it."""
        yield self
        for child in self.children:
            yield from child.subtree()


def branch(quota: Quota, other: Quota) -> Quota | None:
    """The quota on the path of `quota` right below the first one that is also on the path of `other`.

    None if `quota` itself is on that path.
    """
    above, found = set(other.path), None
    for each in quota.path:
        if each in above:
            break
        found = each
    return found


class QuotaTree:
    """All quotas.

    Attributes:
        root: above all others.
        by_namespace: the quota that counts for each namespace.
        lent: the resources that some `min` names. Only these are guaranteed and borrowed.
        problems: by key of an object, a sentence for each setting that is ignored.
    """

    def __init__(self) -> None:
        self.root = Quota("", "", {}, {})
        self.root.path = (self.root,)
        self.by_namespace: dict[str, Quota] = {}
        self.lent: frozenset[str] = frozenset()
        self.problems: dict[str, list[str]] = {}

    def __bool__(self) -> bool:
        """Whether there is any quota."""
        return bool(self.by_namespace)

    @classmethod
    def of(cls, objects: Iterable[ElasticQuota]) -> QuotaTree:
        """The tree of these objects. Of several in a namespace the oldest counts."""
        tree = cls()
        counting: dict[str, ElasticQuota] = {}
        for each in sorted(objects, key=_age):
            tree.problems[each.key] = faults(each)
            first = counting.setdefault(each.metadata.namespace, each)
            if first is not each:
                tree.problems[each.key].append(f"not used: {first.key} is older, and a namespace has one quota")
        for each in counting.values():
            spec, namespace = each.spec, each.metadata.namespace
            tree.by_namespace[namespace] = Quota(
                each.key, namespace, amounts_of(spec.min), amounts_of(spec.max), weight_of(each)
            )
        tree._connect(counting)
        tree._guarantee(tree.root)
        tree.lent = frozenset(tree.root.min)
        tree.problems = {key: found for key, found in tree.problems.items() if found}
        return tree

    def _connect(self, objects: Mapping[str, ElasticQuota]) -> None:
        """Put each quota under its parent, or under the root if that is not possible."""
        by_key = {quota.key: quota for quota in self.by_namespace.values()}
        parents: dict[str, Quota] = {}
        for namespace, quota in self.by_namespace.items():
            wanted = parent_of(objects[namespace])
            parent = by_key.get(wanted)
            if wanted and parent is None:
                self.problems[quota.key].append(f"its parent {wanted} does not exist, or is not used")
            elif parent is not None and self._is_above(quota, parent, parents):
                self.problems[quota.key].append(f"its parent {wanted} is under it")
                parent = None
            parents[quota.key] = parent or self.root
        self._cut(parents)
        for quota in self.by_namespace.values():
            path = [quota]
            while path[-1] is not self.root:
                path.append(parents[path[-1].key])
            quota.path = tuple(path)
            path[1].children.append(quota)
        for top in self.root.children:
            below = [*top.subtree()]
            together = tuple(quota.namespace for quota in below)
            for quota in below:
                quota.together = together

    def _cut(self, parents: dict[str, Quota]) -> None:
        """Put quotas that are too far from the root directly under it."""
        for quota in self.by_namespace.values():
            above = parents[quota.key]
            for _ in range(MOST_LEVELS):
                if above is self.root:
                    break
                above = parents[above.key]
            else:
                self.problems[quota.key].append(f"it is more than {MOST_LEVELS} levels below the top")
                parents[quota.key] = self.root

    def _is_above(self, quota: Quota, other: Quota, parents: Mapping[str, Quota]) -> bool:
        """Whether `quota` is `other`, or above it by the parents found so far."""
        above: Quota | None = other
        while above is not None and above is not quota:
            above = parents.get(above.key)
        return above is quota

    def _guarantee(self, quota: Quota) -> None:
        """Raise each `min` to the sum of its children's."""
        total: dict[str, int] = {}
        for child in quota.children:
            self._guarantee(child)
            for resource, amount in child.min.items():
                total[resource] = total.get(resource, 0) + amount
        for resource, amount in total.items():
            if quota is not self.root and quota.min.get(resource, 0) < amount:
                self.problems[quota.key].append(
                    f"spec.min[{resource}] is less than its children are guaranteed together"
                )
            quota.min[resource] = max(quota.min.get(resource, 0), amount)


def _age(quota: ElasticQuota) -> tuple[str, str]:
    return quota.metadata.creation_timestamp or "", quota.key

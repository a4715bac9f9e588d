"""The recount: computes every column again from the objects alone, and reports the values that differ.

Tests call it after every step, operators on demand. Its cost is proportional to the size of the cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..model.affinity_terms import TermKind
from ..snapshot.namespaces import NamespaceUsage
from ..snapshot.snapshot import Snapshot
from .cache import Cache


def differences(cache: Cache) -> list[str]:
    """A sentence for each value of the cache's snapshot that does not follow from its nodes and pods."""
    kept = cache.snapshot
    fresh = Snapshot()
    for node in kept.nodes[: kept.height]:
        if node is not None:
            fresh.set_node(node)
    for info, node_name in cache.placements():
        fresh.add_pod(info, node_name)
    if kept.namespaces.counting:
        fresh.usage()
    label_keys = list(kept.labels.keys)
    found, expected = dict(_facts(kept, label_keys)), dict(_facts(fresh, label_keys))
    if found == expected:
        return []
    return [
        f"{place}: {what} is {found.get((place, what))!r} but should be {expected.get((place, what))!r}"
        for place, what in sorted(found.keys() | expected.keys())
        if found.get((place, what)) != expected.get((place, what))
    ]


def _facts(snapshot: Snapshot, label_keys: Iterable[str]) -> Iterator[tuple[tuple[str, str], object]]:
    """All values that are not zero or empty, by place and kind, without row numbers, which may differ."""
    places = [_place(snapshot, row) for row in range(snapshot.height)]
    yield ("the snapshot", "number of nodes"), snapshot.node_count
    for row, place in enumerate(places):
        for what, value in (*_node(snapshot, row), *_amounts(snapshot, row), *_labels(snapshot, label_keys, row)):
            if value:
                yield (place, what), value
        for uid, info in snapshot.pods[row].items():
            yield (place, f"pod {uid}"), info
    for name in snapshot.images.names():
        for row in snapshot.images.holders(name):
            yield (places[row], f"image {name}"), "present"
    yield from _relations(snapshot, places)
    yield from _usage(snapshot.namespaces)
    for (protocol, port), rows in snapshot.ports.claims().items():
        for row, addresses in rows.items():
            for address, count in addresses.items():
                yield (places[row], f"number of claims on {address}:{port}/{protocol}"), count
    for claim, count in snapshot.volumes.claims().items():
        yield ("the snapshot", f"volumes of claim {claim}"), count
    for disk, users in snapshot.volumes.disks().items():
        for row, count in users.items():
            yield (places[row], f"pods with {disk}"), count


def _usage(namespaces: NamespaceUsage) -> Iterator[tuple[tuple[str, str], object]]:
    """Outside of trials both sums are the same."""
    for namespace in namespaces.namespaces():
        yield (f"namespace {namespace}", "UIDs of pods"), sorted(pod.uid for pod in namespaces.pods(namespace))
    for what, sums in (("used", namespaces.used), ("settled", namespaces.settled)):
        for namespace in namespaces.namespaces():
            for resource, amount in sums(namespace).items():
                yield (f"namespace {namespace}", f"{what} {resource}"), amount


def _relations(snapshot: Snapshot, places: Sequence[str]) -> Iterator[tuple[tuple[str, str], object]]:
    relations = snapshot.relations
    for tallies in (relations.labels, relations.terms):
        for trait, rows in tallies.traits().items():
            for row, count in rows.items():
                yield (places[row], f"number of pods with {trait}"), count
        for question in tallies.wrong():
            yield ("the snapshot", f"tally of {question}"), "wrong"
    for kind in TermKind:
        yield ("the snapshot", f"topology keys of {kind.value}"), sorted(relations.topology_keys(kind))


def _place(snapshot: Snapshot, row: int) -> str:
    name = snapshot.names[row]
    return f"node {name}" if snapshot.row_of(name) == row else f"free row {row}"


def _node(snapshot: Snapshot, row: int) -> Iterator[tuple[str, object]]:
    yield "known", bool(snapshot.live[row])
    yield "object", snapshot.nodes[row]
    yield "unschedulable", bool(snapshot.unschedulable[row])
    yield "taints", snapshot.taints.sets[snapshot.taints.ids[row]]


def _amounts(snapshot: Snapshot, row: int) -> Iterator[tuple[str, object]]:
    resources = snapshot.resources
    columns = resources.allocatable, resources.offered, resources.requested
    amounts = zip(*(column[:, row].tolist() for column in columns), strict=True)
    for resource, (allocatable, offered, requested) in zip(resources.names, amounts, strict=False):
        yield f"allocatable {resource}", allocatable
        yield f"offer of {resource}", offered
        yield f"requested {resource}", requested
    for resource, claims in resources.unoffered().items():
        if row in claims:
            yield f"claimed {resource}, which no node offers", claims[row]
    yield "cpu for scoring", int(resources.nonzero[0, row])
    yield "memory for scoring", int(resources.nonzero[1, row])
    yield "allowed number of pods", int(resources.allowed_pods[row])
    yield "number of pods", int(resources.pod_count[row])


def _labels(snapshot: Snapshot, label_keys: Iterable[str], row: int) -> Iterator[tuple[str, object]]:
    for key in label_keys:
        column = snapshot.labels.column(key)
        number = int(column.ids[row])
        if number:
            yield f"label {key}", (column.values[number],)

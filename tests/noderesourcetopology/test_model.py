"""Filter against brute force: every way in which a kubelet may spread pods over zones, on random small nodes."""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product

import msgspec
import numpy as np

from muster.plugins.noderesourcetopology.alignment import fewest_zones
from muster.plugins.noderesourcetopology.api import NodeResourceTopology, ZonePolicy, ZoneScope
from muster.plugins.noderesourcetopology.demand import demand_of
from muster.plugins.noderesourcetopology.freed import freed
from muster.plugins.noderesourcetopology.plugin import NodeResourceTopologyMatch
from muster.plugins.noderesourcetopology.reports import NodeReport, NodeReports
from muster.testing import Cluster, make_node
from muster.testing.cluster import info
from tests.builders import PodDict
from tests.noderesourcetopology.objects import RESTRICTED, guaranteed, make_topology

GPU = "example.com/gpu"
Amounts = Mapping[str, int]


def test_a_pod_that_passes_finds_a_zone_wherever_pending_pods_get_theirs() -> None:
    drawn, passed, certain = random.Random(5), 0, 0
    for number in range(500):
        zones = [_amounts(drawn, 6) for _ in range(drawn.randint(1, 3))]
        pending = [_amounts(drawn, 3) for _ in range(drawn.randint(0, 4))]
        wanted = _amounts(drawn, 4)
        passes = _passes(zones, pending, wanted, scope=drawn.choice(("container", "pod")))
        always = all(any(_fits(zone, wanted) for zone in world) for world in _worlds(zones, pending))
        assert not passes or always, (number, zones, pending, wanted)
        passed += passes
        certain += passes and not any(_fits(zone, _sum([wanted, *pending])) for zone in zones)
    assert passed > 80
    assert certain > 20


def test_equal_pods_are_placed_until_a_kubelet_might_have_no_zone_for_the_next() -> None:
    drawn = random.Random(6)
    for _ in range(60):
        zones = [{"cpu": drawn.randint(0, 7), "memory": 20} for _ in range(drawn.randint(1, 3))]
        wanted = {"cpu": drawn.randint(1, 3), "memory": 1}
        room = sum(zone["cpu"] // wanted["cpu"] for zone in zones)
        assert [_passes(zones, [wanted] * placed, wanted) for placed in range(8)] == [n < room for n in range(8)]


def test_a_restricted_node_takes_what_its_kubelet_admits() -> None:
    drawn, admitted, several = random.Random(7), 0, 0
    for number in range(600):
        totals = [_amounts(drawn, 6) for _ in range(drawn.randint(1, 4))]
        free = [{name: n - drawn.randint(0, n // 2) for name, n in total.items()} for total in totals]
        wanted = _amounts(drawn, 7)
        cluster, plugin = _node(totals, free, RESTRICTED, "pod")
        passes = not cluster.rejected(plugin, _pod("pod", wanted))
        mask = _preferred(totals, free, wanted)
        assert passes is (mask is not None), (number, totals, free, wanted)
        admitted += passes
        several += mask is not None and len(mask) > 1
        if mask is not None:
            columns = plugin.columns
            zones = columns.of(cluster.view().indices(), columns.resources)
            found = fewest_zones(
                zones, demand_of(info(_pod("pod", wanted))).together, True, lambda name: np.array([True])
            )
            assert np.flatnonzero(found.chosen[:, 0]).tolist() == list(mask)
    assert admitted > 80
    assert several > 5


def test_no_zone_gets_back_more_than_departed_pods_have_had_there() -> None:
    drawn, known = random.Random(8), 0
    for number in range(1500):
        policy = drawn.choice((ZonePolicy.SINGLE_NUMA_NODE, ZonePolicy.RESTRICTED))
        pods = [_pod(f"p{index}", _amounts(drawn, 3)) for index in range(drawn.randint(1, 5))]
        held: list[dict[str, dict[str, int]]] = [{} for _ in range(drawn.randint(1, 3))]
        for pod in pods:
            for name, n in demand_of(info(pod)).exclusive.items():
                for share, zone in _shares(drawn, n, len(held), alone=policy is ZonePolicy.SINGLE_NUMA_NODE):
                    held[zone].setdefault(pod.name, {})[name] = share
        taken = [_sum(list(zone.values())) for zone in held]
        report = _report(taken, policy)
        gone = [pod for pod in pods if drawn.random() < 0.5]
        found = freed(report, [demand_of(info(pod)) for pod in gone])
        for zone, amounts in found.items():
            had = _sum([held[zone].get(pod.name, {}) for pod in gone])
            assert all(n <= had.get(name, 0) for name, n in amounts.items()), (number, held, gone, found)
        known += bool(found)
    assert known > 500


def _shares(drawn: random.Random, n: int, zones: int, *, alone: bool) -> Iterator[tuple[int, int]]:
    first, second = drawn.randrange(zones), drawn.randrange(zones)
    part = n if alone or first == second else drawn.randint(0, n)
    yield part, first
    if part < n:
        yield n - part, second


def _amounts(drawn: random.Random, most: int) -> dict[str, int]:
    amounts = {"cpu": drawn.randint(1, most), "memory": drawn.randint(1, most)}
    return amounts | ({GPU: drawn.randint(1, most)} if drawn.random() < 0.4 else {})


def _passes(zones: Sequence[Amounts], pending: Sequence[Amounts], wanted: Amounts, *, scope: str = "container") -> bool:
    totals = [{name: n + 100 for name, n in zone.items()} for zone in zones]
    cluster, plugin = _node(totals, zones, "single-numa-node", scope)
    cluster.place("n", *(_pod(f"pending-{number}", amounts) for number, amounts in enumerate(pending)))
    return not cluster.rejected(plugin, _pod("pod", wanted))


def _node(
    totals: Sequence[Amounts], free: Sequence[Amounts], policy: str, scope: str
) -> tuple[Cluster, NodeResourceTopologyMatch]:
    node = make_node("n", cpu="1000", memory="1000").resources({GPU: "1000"})
    cluster = Cluster(node)
    plugin = cluster.plugin(NodeResourceTopologyMatch)
    taken = [{name: str(n - zone[name]) for name, n in total.items()} for total, zone in zip(totals, free, strict=True)]
    cluster.keep(make_topology("n", *map(_texts, free), taken=taken, policy=policy, scope=scope))
    return cluster, plugin


def _report(taken: Sequence[Amounts], policy: ZonePolicy) -> NodeReport:
    names = sorted({name for zone in taken for name in zone})
    topology = make_topology(
        "n", *({name: "9" for name in names} for _ in taken), taken=[_texts(each) for each in taken]
    )
    reports = NodeReports(lambda: 0.0)
    reports.topology_changed(None, msgspec.convert(topology, NodeResourceTopology))
    report = reports.of("n")
    assert report is not None
    report.management = report.management._replace(policy=policy, scope=ZoneScope.CONTAINER)
    return report


def _pod(name: str, amounts: Amounts) -> PodDict:
    return guaranteed(name, _texts(amounts))


def _texts(amounts: Amounts) -> dict[str, str]:
    return {name: str(n) for name, n in amounts.items()}


def _sum(parts: Sequence[Amounts]) -> dict[str, int]:
    return {
        name: sum(part.get(name, 0) for part in parts) for name in sorted({name for part in parts for name in part})
    }


def _fits(zone: Amounts, wanted: Amounts) -> bool:
    """A device of which no zone has any is never lacking in a zone; see `_worlds`."""
    return all(n <= zone.get(name, 0) for name, n in wanted.items())


def _worlds(zones: Sequence[Amounts], pending: Sequence[Amounts]) -> Iterator[list[Amounts]]:
    """What is left in the zones for every choice of zones of the pending pods that a kubelet may make."""
    nowhere = {GPU: 10_000} if not any(GPU in zone for zone in zones) else {}
    for choice in product(range(len(zones)), repeat=len(pending)):
        left: list[Amounts] = [{**zone, **nowhere} for zone in zones]
        for amounts, zone in zip(pending, choice, strict=True):
            if _fits(left[zone], amounts):
                left[zone] = {name: n - amounts.get(name, 0) for name, n in left[zone].items()}
            elif any(_fits(each, amounts) for each in left):
                break  # it would have got another zone
        else:
            yield left


def _preferred(totals: Sequence[Amounts], free: Sequence[Amounts], wanted: Amounts) -> tuple[int, ...] | None:
    """The lowest set of zones that is a preferred hint of every resource, as a topology manager merges them."""
    masks = [mask for size in range(1, len(totals) + 1) for mask in combinations(range(len(totals)), size)]
    hints: list[set[tuple[int, ...]]] = []
    for name, n in wanted.items():
        if not any(name in total for total in totals):
            continue
        sizes = [len(mask) for mask in masks if sum(totals[zone].get(name, 0) for zone in mask) >= n]
        hints.append(
            {
                mask
                for mask in masks
                if sizes and len(mask) == min(sizes) and sum(free[zone].get(name, 0) for zone in mask) >= n
            }
        )
    agreed = set.intersection(*hints)
    return min(agreed, key=lambda mask: sum(1 << zone for zone in mask), default=None)

"""Where a volume plugin says that it accepts a pod with fewer pods on the node, it does, whichever of them are gone.

Dry runs of preemption are reused there, so an answer that is wrong once would change which pods are evicted.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from random import Random

import pytest

from muster.framework.contract import Code, FilterPlugin
from muster.plugins.volumes.binding import VolumeBinding
from muster.plugins.volumes.limits import NodeVolumeLimits
from muster.plugins.volumes.zone import VolumeZone
from tests.builders import PodDict, make_node, make_pod, require
from tests.plugins.cluster import Cluster, info
from tests.storage import ZONE, make_attachment, make_claim, make_class, make_csi_driver, make_csi_node, make_volume

_DRIVER = "csi.example.com"
_CLAIMS = 4
_OF_THE_POD = (("claim-0",), ("claim-1",), ("claim-0", "claim-1"), ("delayed",), ("claim-3", "delayed"))


def _crowded(random: Random) -> tuple[Cluster, list[PodDict]]:
    """A node with a few pods, some of which share volumes, and more volumes on it than it may have, or fewer."""
    cluster = Cluster(make_node("one").zone(random.choice("xy")))
    cluster.keep(make_class("late"), make_claim("delayed", storage_class="late"), make_csi_node("one", {_DRIVER: 3}))
    for number in range(_CLAIMS):
        volume = make_volume(f"volume-{number}")
        if random.random() < 0.3:
            volume["metadata"]["labels"] = {ZONE: "x"}
        if random.random() < 0.3:
            volume.at(require(ZONE, "In", "y"))
        cluster.keep(volume, make_claim(f"claim-{number}", volume=f"volume-{number}"))
        if random.random() < 0.3:
            cluster.keep(make_attachment(f"attached-{number}", "one", f"volume-{number}"))
    if random.random() < 0.5:
        cluster.keep(make_csi_node("one", {_DRIVER: random.choice([0, 1, 2, 4, None])}))
    if random.random() < 0.2:
        cluster.keep(make_csi_driver(random.choice([_DRIVER, "late"]), preventPodSchedulingIfMissing=True))
    there = []
    for number in range(random.randrange(4)):
        pod = make_pod(f"there-{number}")
        for claim in random.sample(range(_CLAIMS), random.randrange(3)):
            pod.claim(f"claim-{claim}")
        there.append(pod)
    cluster.place("one", *there)
    return cluster, there


def _parts(pods: Sequence[PodDict]) -> Iterator[Sequence[PodDict]]:
    for count in range(len(pods) + 1):
        yield from combinations(pods, count)


def _accepts(cluster: Cluster, plugin: FilterPlugin, pod: PodDict, *, with_fewer_pods: bool) -> bool:
    nodes = cluster.view()
    state, status = cluster.prefiltered(plugin, pod, nodes)
    if status is not None:
        return status.code is Code.SKIP
    if with_fewer_pods:
        return bool(plugin.accepts_with_fewer_pods(state, info(pod), nodes).all())
    return not plugin.filter(state, info(pod), nodes).codes.any()


@pytest.mark.parametrize("kind", [VolumeBinding, NodeVolumeLimits, VolumeZone])
def test_a_node_accepted_with_fewer_pods_is_accepted_without_any_of_them(kind: type[FilterPlugin]) -> None:
    accepted = rejected = 0
    for seed in range(150):
        cluster, there = _crowded(Random(seed))
        plugin = cluster.plugin(kind)
        for claims in _OF_THE_POD:
            pod = make_pod("web")
            for claim in claims:
                pod.claim(claim)
            if not _accepts(cluster, plugin, pod, with_fewer_pods=True):
                rejected += 1
                continue
            accepted += 1
            for gone in _parts(there):
                with cluster.snapshot.trial():
                    for other in gone:
                        cluster.snapshot.remove_pod(info(other), "one")
                    assert _accepts(cluster, plugin, pod, with_fewer_pods=False), (seed, claims)
    assert min(accepted, rejected) > 50

"""Pods with volumes preempt as if each node were tried alone, though nodes are tried together."""

from random import Random

import pytest

from muster.framework.contract import DependsOn, FilterPlugin
from muster.plugins.volumes.binding import VolumeBinding
from muster.plugins.volumes.limits import NodeVolumeLimits
from muster.plugins.volumes.zone import VolumeZone
from tests.builders import PodDict, make_node
from tests.preemption.world import EvictingStage, urgent, victim
from tests.storage import ZONE, make_claim, make_class, make_csi_node, make_volume

_NODES = 8
_CLAIMS = 30
_DELAYED = 8
"""Claims that get a volume with their first consumer."""
_DRIVER = "csi.example.com"
_OF_VOLUMES: tuple[type[FilterPlugin], ...] = (VolumeBinding, NodeVolumeLimits, VolumeZone)


async def history(seed: int) -> tuple[list[tuple[str, str]], dict[str, int]]:
    """The bindings and the evictions on a full cluster, most of whose pods have volumes."""
    random = Random(seed)
    stage = EvictingStage(*_OF_VOLUMES)
    stage.random = Random(seed).random
    stage.api.put("storageclasses", make_class("slow", topologies=[{ZONE: ["a"]}]))
    for number in range(_CLAIMS):
        if number < _DELAYED:
            stage.api.put("persistentvolumeclaims", make_claim(f"claim-{number}", storage_class="slow"))
            continue
        zone = random.choice([{}, {"labels": {ZONE: random.choice("ab")}}])
        volume = make_volume(f"volume-{number}")
        volume["metadata"].update(zone)
        stage.api.put("persistentvolumes", volume)
        stage.api.put("persistentvolumeclaims", make_claim(f"claim-{number}", volume=f"volume-{number}"))
    for number in range(_NODES):
        name = f"node-{number}"
        stage.put_node(make_node(name, cpu="2").labels({ZONE: "ab"[number % 2]}))
        stage.api.put("csinodes", make_csi_node(name, {_DRIVER: random.choice([1, 2, 3])}))
        stage.put_pod(*(_with_claim(victim(f"{name}-{place}", "1").node(name), random) for place in range(2)))
    for number in range(12):
        pod = urgent(f"urgent-{number}", random.choice(["500m", "1", "2"])).priority(random.choice([50, 100]))
        stage.put_pod(_with_claim(pod, random))
        await stage.wait(random.choice([0.0, 1.0]))
        for key in [key for key, pod in stage.api.pods.items() if "deletionTimestamp" in pod["metadata"]]:
            stage.drop_pod(key)
        await stage.wait(15.0)
    await stage.close()
    return stage.binds, dict(stage.deletions)


def _with_claim(pod: PodDict, random: Random) -> PodDict:
    return pod if random.random() < 0.3 else pod.claim(f"claim-{random.randrange(_CLAIMS)}")


@pytest.mark.parametrize("seed", range(6))
async def test_the_same_pods_are_evicted_as_when_each_node_is_tried_alone(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = await history(seed)
    for plugin in _OF_VOLUMES:
        monkeypatch.setattr(plugin, "filter_depends_on", DependsOn.CLUSTER)
    alone = await history(seed)

    assert together == alone
    assert together[1]

"""Pods with volumes preempt as if each node were tried alone, though nodes are tried together."""

from random import Random

import pytest

from muster.framework.contract import DependsOn, FilterPlugin
from muster.plugins.defaultpreemption.memory import Outcome, Recollection
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


async def history(seed: int) -> tuple[list[tuple[str, str]], dict[str, int], dict[str, tuple[str, str, str | None]]]:
    """The bindings, evictions and conditions on a full cluster, most of whose pods have volumes."""
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
    for number in range(24):
        pod = urgent(f"urgent-{number}", random.choice(["500m", "1", "2"])).priority(random.choice([50, 100]))
        stage.put_pod(_with_claim(pod, random))
        await stage.wait(random.choice([0.0, 1.0]))
        for key in [key for key, pod in stage.api.pods.items() if "deletionTimestamp" in pod["metadata"]]:
            stage.drop_pod(key)
        await stage.wait(15.0)
    await stage.close()
    return stage.binds, dict(stage.deletions), dict(stage.conditions)


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


@pytest.fixture
def recalled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The nodes whose outcome was recalled, each time."""
    recalled: list[str] = []
    get = Recollection.get

    def noted(self: Recollection, node_name: str) -> Outcome | None:
        outcome = get(self, node_name)
        if outcome is not None:
            recalled.append(node_name)
        return outcome

    monkeypatch.setattr(Recollection, "get", noted)
    return recalled


async def _next(stage: EvictingStage, name: str, claim: str) -> str:
    """The node to which another pod with a claim is nominated."""
    stage.put_pod(urgent(name, "1").claim(claim))
    await stage.wait(1.0)
    return stage.engine.nominator.nominated_node(stage.uid(f"default/{name}"))


def _full_of_pods(*nodes: str, zones: str, limit: int) -> EvictingStage:
    """Nodes in these zones, full of pods without volumes, and claims with a volume each."""
    stage = EvictingStage(*_OF_VOLUMES)
    stage.random = lambda: 0.0
    for number in range(3):
        stage.api.put("persistentvolumes", make_volume(f"volume-{number}"))
        stage.api.put("persistentvolumeclaims", make_claim(f"claim-{number}", volume=f"volume-{number}"))
    for name, zone in zip(nodes, zones, strict=True):
        stage.put_node(make_node(name, cpu="2").labels({ZONE: zone}))
        stage.api.put("csinodes", make_csi_node(name, {_DRIVER: limit}))
        stage.put_pod(*(victim(f"{name}-{place}", "1").node(name) for place in range(2)))
    return stage


async def test_the_next_of_equal_pods_with_other_volumes_tries_only_nodes_that_have_changed(
    recalled: list[str],
) -> None:
    stage = _full_of_pods("one", "two", "three", zones="aaa", limit=4)
    first = await _next(stage, "first", "claim-0")
    assert recalled == []
    await _next(stage, "second", "claim-1")

    assert set(recalled) == {"one", "two", "three"} - {first}
    await stage.close()


async def test_an_outcome_for_another_volume_does_not_count_in_a_zone_that_this_one_is_not_in(
    recalled: list[str],
) -> None:
    stage = _full_of_pods("one", "two", "three", zones="aab", limit=4)
    elsewhere = make_volume("volume-1")
    elsewhere["metadata"]["labels"] = {ZONE: "b"}
    stage.api.put("persistentvolumes", elsewhere)
    assert await _next(stage, "first", "claim-0") == "one"

    assert await _next(stage, "second", "claim-1") == "three"
    assert recalled == ["three"]
    await stage.close()


async def test_volumes_of_pods_nominated_to_a_node_leave_no_room_for_others(recalled: list[str]) -> None:
    """Each node may have two volumes, and the pods nominated to `one` have two."""
    stage = _full_of_pods("one", "two", "three", zones="aaa", limit=2)
    for number, cpu in enumerate(["250m", "250m"]):
        nominee = urgent(f"nominee-{number}", cpu).claim(f"claim-{number}").scheduler("somebody-else")
        nominee["status"] = {"phase": "Pending", "nominatedNodeName": "one"}
        stage.put_pod(nominee)
    stage.put_pod(urgent("without", "1"))
    await stage.wait(1.0)
    assert stage.engine.nominator.nominated_node(stage.uid("default/without")) == "two"

    assert await _next(stage, "with", "claim-2") == "three"
    assert recalled == ["three"]
    await stage.close()

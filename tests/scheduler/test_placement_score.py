"""A group that favours the placement score gets the domain that kube-scheduler's plugins rank first."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster.framework.contract import (
    Favour,
    GroupPlugin,
    NoDomain,
    PlacementScorePlugin,
    PodInfo,
    ReservePlugin,
    Status,
    Topology,
)
from muster.framework.contract.cycle_state import CycleState
from muster.plugins.gangscheduling.placements import PodGroupPodsCount, TopologyPlacementGenerator
from muster.plugins.resources.fit import NodeResourcesFit
from tests.builders import make_node, make_pod
from tests.scheduler.conftest import SetStage
from tests.scheduler.stage import Stage
from tests.security.test_broken_plugins import KINDS

SIZE = 4
NODES = 2
RACKS = 4


class Racked(GroupPlugin, ReservePlugin):
    """Pods with the label `gang` are placed in one rack, at least `quorum` of them."""

    name = "Racked"
    quorum: ClassVar[int] = SIZE
    placed: ClassVar[dict[str, PodInfo]] = {}

    def group_of(self, pod: PodInfo) -> str | None:
        return pod.labels.get("gang")

    def missing(self, group: str) -> int:
        return self.quorum - len(self.placed)

    def topology(self, group: str) -> Topology:
        return Topology(("rack",), 1, Favour.PLACEMENT_SCORE)

    def placed_members(self, group: str) -> Iterable[PodInfo]:
        return self.placed.values()

    def reject_group(
        self, group: str, cause: Status, *, placed: int, missing: int, no_domain: NoDomain | None = None
    ) -> Status:
        return Status.unschedulable(f"{placed} of {missing}: {no_domain}")

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        if "gang" in pod.labels:
            self.placed[pod.uid] = pod
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        self.placed.pop(pod.uid, None)


async def set_racks(stage: Stage, used: Sequence[Sequence[int]]) -> None:
    """Racks of nodes with 4 cores and 8Gi, on which so many cores (and as many Gi) are used."""
    Racked.placed.clear()
    for rack, nodes in enumerate(used):
        for number, cores in enumerate(nodes):
            name = f"r{rack}n{number}"
            stage.put_node(make_node(name, cpu="4", memory="8Gi").labels(rack=f"r{rack}"))
            if cores:
                pod = make_pod(f"on-{name}").requests(cpu=str(cores), memory=f"{cores}Gi").node(name)
                stage.put_pod(pod)
    await stage.settle()


def add_gang(stage: Stage) -> None:
    for number in range(SIZE):
        stage.put_pod(make_pod(f"g{number}").requests(cpu="1", memory="1Gi").labels(gang="g"))


def oracle(used: Sequence[Sequence[int]], quorum: int, weights: Mapping[str, int]) -> set[int]:
    """kube-scheduler's rule in the plainest way: every rack is tried, and those with the highest total may win."""
    fit = {rack: min(SIZE, sum(4 - cores for cores in nodes)) for rack, nodes in enumerate(used)}
    candidates = {rack: count for rack, count in fit.items() if count >= quorum}
    most = max(candidates.values(), default=0)
    totals = {}
    for rack, count in candidates.items():
        cores = sum(used[rack]) + count
        cpu, memory = cores * 100 // (4 * NODES), cores * 100 // (8 * NODES)
        full, share = (cpu + memory) // 2, count * 100 // most
        totals[rack] = full * weights["NodeResourcesFit"] + share * weights["PodGroupPodsCount"]
    return {rack for rack, total in totals.items() if total == max(totals.values())}


@pytest.mark.parametrize("quorum", [SIZE, 2])
@pytest.mark.parametrize(("of_fullness", "of_count"), [(1, 1), (1, 0), (3, 1), (1, 3), (1, -1), (-1, 1)])
@given(used=st.lists(st.lists(st.integers(0, 4), min_size=NODES, max_size=NODES), min_size=RACKS, max_size=RACKS))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_the_rack_with_the_highest_total_is_taken(
    set_stage: SetStage, used: list[list[int]], of_fullness: int, of_count: int, quorum: int
) -> None:
    Racked.quorum = quorum
    weights = {"NodeResourcesFit": of_fullness, "PodGroupPodsCount": of_count}
    counting = [PodGroupPodsCount] if of_count else []
    stage = set_stage(Racked, NodeResourcesFit, TopologyPlacementGenerator, *counting, weights=weights)
    await set_racks(stage, used)
    add_gang(stage)
    await stage.settle()

    racks = {stage.engine.cache.node_of(uid) for uid in Racked.placed}
    found = {int(name[1]) for name in racks if name}
    best = oracle(used, quorum, weights)
    assert len(found) == min(1, len(best))
    assert found <= best


@pytest.mark.parametrize("kind", KINDS)
async def test_a_plugin_that_fails_at_placement_score_is_named_to_the_gang_and_affects_no_other_pod(
    kind: str, set_stage: SetStage
) -> None:
    def answer(*_: Any) -> Any:
        return KINDS[kind]()

    Racked.quorum = SIZE
    rogue = type("Rogue", (PlacementScorePlugin,), {"name": "Rogue", "score_placements": answer})
    stage = set_stage(Racked, NodeResourcesFit, TopologyPlacementGenerator, rogue)
    await set_racks(stage, [[0, 0], [1, 1]])
    add_gang(stage)
    stage.put_pod(make_pod("other"))
    await stage.settle()

    assert "default/other" in {key for key, _ in stage.binds}
    assert not Racked.placed
    for number in range(SIZE):
        assert 'running PlacementScore plugins: plugin "Rogue" failed with' in stage.conditions[f"default/g{number}"][1]
    stage.check()

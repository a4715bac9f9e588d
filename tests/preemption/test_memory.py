"""The memory of dry runs and of crowded nodes changes nothing but the time that a decision takes."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import NamedTuple

import pytest

from muster.framework.runtime.nominated_cache import NominatedResults
from muster.plugins.defaultpreemption.dry_run import DryRun, VictimSearch
from muster.plugins.defaultpreemption.memory import Recollection
from muster.plugins.defaultpreemption.victims import Victim
from muster.plugins.gangscheduling.plugin import GangScheduling
from tests.builders import PodDict, make_node, make_pod
from tests.gangscheduling.world import KIND, make_group
from tests.preemption.world import EvictingStage, urgent, victim

pytestmark = pytest.mark.slow

_ROUNDS = 120
_GROUPS = 4


class Reported(NamedTuple):
    """What the scheduler has done so far: each of it by the pod's key."""

    binds: list[tuple[str, str]]
    deletions: dict[str, int]
    nominated: dict[str, str]
    conditions: dict[str, tuple[str, str, str | None]]


async def history(seed: int, *, in_groups: bool) -> list[Reported]:
    """Random things that happen to a full cluster, and what the scheduler did after each.

    If asked for, most victims are in groups: pods of one group on several nodes that are evicted together, or alone.
    """
    reported: list[Reported] = []
    stage, random = EvictingStage(GangScheduling), Random(seed)
    stage.random = Random(seed).random
    for group in range(_GROUPS if in_groups else 0):
        _put_group(stage, group, random)
    stage.put_node(*(make_node(f"node-{number}", cpu="2") for number in range(6)))
    stage.put_pod(
        *(
            _perhaps_member(_begun(victim(f"old-{number}", "1").node(f"node-{number % 6}"), _ROUNDS + number), random)
            for number in range(12)
        )
    )
    for number in range(_ROUNDS):
        node = f"node-{random.randrange(6)}"
        going = sorted(key for key, pod in stage.api.pods.items() if "deletionTimestamp" in pod["metadata"])
        match random.randrange(6 if in_groups else 5):
            case 0 | 1:
                cpu = random.choice(["500m", "1", "2"])
                stage.put_pod(_begun(urgent(f"urgent-{number}", cpu).priority(random.choice([50, 100, 150])), number))
            case 2:
                filler = _begun(victim(f"filler-{number}", "500m").node(node), number)
                stage.put_pod(_perhaps_member(filler, random))
            case 3:
                stage.put_node(make_node(node, cpu=random.choice(["2", "3"])))
            case 5:
                _put_group(stage, random.randrange(_GROUPS), random)
            case _:
                stage.drop_pod(random.choice(going) if going else random.choice(sorted(stage.api.pods)))
        await stage.wait(random.choice([0.0, 1.0, 15.0]))
        nominated = {key: stage.engine.nominator.nominated_node(stage.uid(key)) for key in stage.api.pods}
        reported.append(Reported(list(stage.binds), dict(stage.deletions), nominated, dict(stage.conditions)))
    await stage.close()
    return reported


def _put_group(stage: EvictingStage, number: int, random: Random) -> None:
    mode, priority = random.choice(["all", "all", "single"]), random.choice([0, 10, 120])
    stage.api.put(KIND, make_group(f"group-{number}", priority=priority, disruptionMode={mode: {}}))


def _perhaps_member(pod: PodDict, random: Random) -> PodDict:
    """Mostly a member of a group, which may not exist."""
    return _member(pod, f"group-{random.randrange(_GROUPS)}") if random.random() < 0.8 else pod


def _begun(pod: PodDict, second: int) -> PodDict:
    """Of two pods that are equal otherwise, which one goes is open: so no two began at once."""
    pod["status"] = {"startTime": f"2025-01-01T00:{second // 60:02}:{second % 60:02}Z"}
    return pod


@pytest.mark.parametrize("in_groups", [False, True], ids=["alone", "in groups"])
@pytest.mark.parametrize("seed", range(5))
async def test_the_same_pods_are_evicted_as_when_nothing_is_remembered(
    seed: int, in_groups: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_memory = await history(seed, in_groups=in_groups)
    monkeypatch.setattr(Recollection, "get", lambda self, node_name: None)
    monkeypatch.setattr(NominatedResults, "holds", lambda self, snapshot, row, nominated: False)
    without = await history(seed, in_groups=in_groups)

    assert with_memory == without
    assert with_memory[-1].deletions


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """The nodes that were tried together, each time."""
    tried: list[set[str]] = []
    run = VictimSearch._run_together

    def noted(self: VictimSearch, victims_of: Mapping[str, Sequence[Victim]], found: DryRun) -> None:
        tried.append({*victims_of})
        return run(self, victims_of, found)

    monkeypatch.setattr(VictimSearch, "_run_together", noted)
    return tried


async def test_the_next_of_equal_pods_tries_only_nodes_that_have_changed(tried: list[set[str]]) -> None:
    stage = EvictingStage()
    stage.fill("one", "two", "three", each=2)
    stage.put_pod(urgent("first", "1"))
    await stage.wait(1.0)
    chosen = stage.engine.nominator.nominated_node(stage.uid("default/first"))
    stage.put_pod(urgent("second", "1"))
    await stage.wait(1.0)

    assert tried == [{"one", "two", "three"}, {chosen}]
    await stage.close()


@pytest.mark.parametrize(
    ("helpful", "expected"),
    [
        (range(10, 150), [100, 12]),  # 90 candidates on 100 nodes, so 12 nodes are likely to have 10
        (range(1, 100), [100, 2, 4, 8, 16, 32, 38]),
    ],
)
async def test_about_as_many_more_nodes_are_tried_as_candidates_are_lacking(
    helpful: range, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    run = VictimSearch.run

    def noted(self: VictimSearch, names: Sequence[str], victims_on: Callable[[str], Sequence[Victim]]) -> DryRun:
        sizes.append(len(names))
        return run(self, names, victims_on)

    monkeypatch.setattr(VictimSearch, "run", noted)
    stage = EvictingStage()
    stage.random = lambda: 0.0
    nodes = [f"node-{number}" for number in range(200)]
    stage.put_node(*(make_node(node, cpu="2") for node in nodes))
    for number, node in enumerate(nodes):
        running = victim if number in helpful else urgent
        stage.put_pod(running(f"on-{node}", "2").node(node))
    stage.put_pod(urgent("first", "2"))
    await stage.wait(1.0)

    assert sizes == expected
    await stage.close()


async def test_pods_of_groups_that_are_evicted_alone_are_tried_again_when_their_group_has_another_priority(
    tried: list[set[str]],
) -> None:
    stage = EvictingStage(GangScheduling)
    nodes = ("one", "two", "three")
    stage.put_node(*(make_node(node, cpu="2") for node in nodes))
    for priority, node in enumerate(nodes):
        stage.api.put(KIND, make_group(f"on-{node}", priority=priority))
        stage.put_pod(_member(victim(f"{node}-0", "2"), f"on-{node}").node(node))
    chosen = []
    for name in ("first", "second"):
        stage.put_pod(urgent(name, "2"))
        await stage.wait(1.0)
        chosen.append(stage.engine.nominator.nominated_node(stage.uid(f"default/{name}")))
    assert (chosen, tried) == (["one", "two"], [{"one", "two", "three"}, {"one"}])

    stage.api.put(KIND, make_group("on-three", priority=200))
    stage.put_pod(urgent("third", "2"))
    await stage.wait(1.0)

    assert stage.engine.nominator.nominated_node(stage.uid("default/third")) == ""
    await stage.close()


async def test_the_next_preemptor_tries_only_nodes_that_have_changed_though_groups_are_evicted_whole(
    tried: list[set[str]],
) -> None:
    stage = EvictingStage(GangScheduling)
    nodes = [f"node-{number}" for number in range(6)]
    stage.put_node(*(make_node(node, cpu="2") for node in nodes))
    for number, node in enumerate(nodes):
        group = f"group-{number // 2}"
        stage.api.put(KIND, make_group(group, disruptionMode={"all": {}}))
        stage.put_pod(_member(_begun(victim(f"on-{node}", "2"), number), group).node(node))
    for name in ("first", "second"):
        stage.put_pod(urgent(name, "2"))
        await stage.wait(1.0)

    chosen = stage.engine.nominator.nominated_node(stage.uid("default/first"))
    of_group = {node for node in nodes if nodes.index(node) // 2 == nodes.index(chosen) // 2}
    assert tried == [{*nodes}, of_group]
    await stage.close()


async def test_a_node_is_tried_again_when_a_pod_elsewhere_joins_the_group_that_would_be_evicted(
    tried: list[set[str]],
) -> None:
    stage = EvictingStage(GangScheduling)
    stage.random = lambda: 0.0
    nodes = ("one", "two", "three")
    stage.put_node(*(make_node(node, cpu="2") for node in nodes))
    for node in nodes:
        stage.api.put(KIND, make_group(f"on-{node}", disruptionMode={"all": {}}))
        stage.put_pod(_member(victim(f"{node}-0", "2"), f"on-{node}").node(node))
    stage.put_pod(urgent("first", "2"))
    await stage.wait(1.0)
    stage.put_node(make_node("other", cpu="1"))
    stage.put_pod(_member(victim("two-1", "1"), "on-two").node("other"), urgent("second", "2"))
    await stage.wait(1.0)

    assert tried == [{"one", "two", "three"}, {"one", "two"}]
    assert stage.engine.nominator.nominated_node(stage.uid("default/second")) == "three"
    await stage.close()


async def test_a_node_that_was_crowded_is_asked_about_again_when_another_pod_is_nominated_to_it() -> None:
    stage = EvictingStage()
    stage.put_node(make_node("one", cpu="2"))
    stage.put_pod(_nominated("large", "2"), make_pod("web").requests(cpu="1"))
    await stage.wait(10.0)
    assert stage.place("default/web") == "unschedulable"

    stage.drop_pod("default/large")
    stage.put_pod(_nominated("small", "1"))
    await stage.wait(10.0)

    assert stage.binds == [("default/web", "one")]
    await stage.close()


async def test_a_node_that_was_crowded_is_asked_about_again_when_a_pod_leaves_it() -> None:
    stage = EvictingStage()
    stage.put_node(make_node("one", cpu="2"))
    stage.put_pod(_nominated("small", "1"), urgent("running", "1").node("one"), make_pod("web").requests(cpu="1"))
    await stage.wait(10.0)
    assert stage.place("default/web") == "unschedulable"

    stage.drop_pod("default/running")
    await stage.wait(10.0)

    assert stage.binds == [("default/web", "one")]
    await stage.close()


def _member(pod: PodDict, group: str) -> PodDict:
    pod["spec"]["schedulingGroup"] = {"podGroupName": group}
    return pod


def _nominated(name: str, cpu: str) -> PodDict:
    """A pod of another scheduler, which has promised it the node."""
    pod = urgent(name, cpu).scheduler("somebody-else")
    pod["status"] = {"phase": "Pending", "nominatedNodeName": "one"}
    return pod

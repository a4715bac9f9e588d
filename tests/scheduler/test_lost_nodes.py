"""A pod that lost its node between decision and binding, or was refused there, and the events that wake it."""

import pytest

from muster.framework.contract import (
    Action,
    ClusterEvent,
    EnqueueExtensions,
    EventRegistration,
    EventResource,
    PermitPlugin,
    Status,
    Wait,
)
from muster.framework.contract.cycle_state import CycleState
from muster.framework.model.pod_info import PodInfo
from muster.plugins.nodes.node_unschedulable import NodeUnschedulable
from tests.builders import make_node, make_pod
from tests.scheduler.conftest import SetStage
from tests.scheduler.scripted import filtering

WEB = "default/web"


class Refusing(PermitPlugin, EnqueueExtensions):
    """Refuses what waited for five seconds, and wants it tried again when a pod goes."""

    name = "Refusing"

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | Wait | None:
        return Wait(5.0)

    def events_to_register(self) -> list[EventRegistration]:
        return [EventRegistration(ClusterEvent(EventResource.ASSIGNED_POD, Action.DELETE))]


async def test_a_pod_whose_node_is_cordoned_before_its_binding_goes_to_another_at_once(set_stage: SetStage) -> None:
    stage = set_stage(NodeUnschedulable)
    stage.put_node(make_node("two"))
    stage.put_pod(make_pod("web"))
    assert stage.step()
    [taken] = {node for _, node in stage.engine.cache.placements()}
    stage.put_node(make_node(taken).unschedulable())
    await stage.breathe()
    await stage.settle()

    assert stage.binds == [(WEB, "two" if taken == "one" else "one")]
    assert stage.notes(WEB) == ["0/1 nodes are available: 1 node(s) were unschedulable."]


async def test_a_pod_whose_node_goes_before_its_binding_goes_to_another_at_once(set_stage: SetStage) -> None:
    stage = set_stage(NodeUnschedulable)
    stage.put_node(make_node("two"))
    stage.put_pod(make_pod("web"))
    assert stage.step()
    [taken] = {node for _, node in stage.engine.cache.placements()}
    stage.drop_node(taken)
    await stage.breathe()
    await stage.settle()

    assert [node for _, node in stage.binds] == ["two" if taken == "one" else "one"]


async def test_a_pod_that_permit_rejects_is_not_woken_by_its_own_released_capacity(set_stage: SetStage) -> None:
    stage = set_stage(Refusing)
    stage.put_pod(make_pod("web"), make_pod("bound").node("one"))
    await stage.settle()
    await stage.wait(6)
    assert stage.place(WEB) == "unschedulable"

    stage.drop_pod("default/bound")
    assert stage.place(WEB) == "backoff"


@pytest.mark.parametrize(
    "changed",
    [
        make_pod("bound").node("one").annotations({"note": "new"}),
        make_pod("bound").node("one").tolerate("key"),
        make_pod("bound").node("one").labels(tier="new"),
        make_pod("bound").node("one").requests(cpu="1"),
    ],
    ids=["annotation", "toleration", "label", "requests"],
)
async def test_a_plugin_that_registers_for_nothing_hears_of_every_change_of_a_bound_pod(
    set_stage: SetStage, changed: dict[str, object]
) -> None:
    stage = set_stage(filtering("Full", {"one": Status.unschedulable("full")}))
    stage.put_pod(make_pod("bound").node("one"), make_pod("web"))
    await stage.settle()
    assert stage.place(WEB) == "unschedulable"

    stage.put_pod(changed)  # type: ignore[arg-type]
    assert stage.place(WEB) == "backoff"

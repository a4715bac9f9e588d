"""The reports of a plugin about pods that it gates, and their end with the gate."""

from collections.abc import AsyncIterator

import pytest

from muster.framework.contract import DecisionFollower, PodInfo, PreEnqueuePlugin, Status
from muster.testing import VirtualScheduler, make_node, make_pod

BLOCKED = "Scheduling is blocked due to non-empty scheduling gates"


class Keeper(PreEnqueuePlugin, DecisionFollower):
    """Gates pods as their label `gate` says, reports those with `closed`, and fails at those with `broken`."""

    name = "Keeper"

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        match pod.labels.get("gate"):
            case "closed" | "silent" as gate:
                return Status.unresolvable(f"the gate is {gate}")
            case "broken":
                raise RuntimeError("the gate is broken")
        return None

    def on_pre_enqueue(self, pod: PodInfo, status: Status | None) -> None:
        if status is not None and status.plugin == self.name and "closed" in status.message:
            self.handle.report_gate(pod, status.message)


@pytest.fixture
async def world() -> AsyncIterator[VirtualScheduler]:
    made = VirtualScheduler(Keeper)
    made.add_nodes(make_node("one"))
    yield made
    await made.kill()


def turn(world: VirtualScheduler, key: str, gate: str) -> None:
    world.api.change("pods", key, lambda pod: pod["metadata"].update(labels={"gate": gate}))


async def test_a_gate_that_is_not_reported_leaves_the_pod_without_a_condition(world: VirtualScheduler) -> None:
    [key] = world.add(make_pod("web").labels(gate="silent"))
    await world.run(60)
    assert (world.places(), world.notes(key), world.conditions) == ({"gated": 1}, [], {})


async def test_a_reported_gate_is_named_until_it_ends_also_when_another_reason_follows(world: VirtualScheduler) -> None:
    [key] = world.add(make_pod("web").labels(gate="closed"))
    await world.run(60)
    assert world.conditions[key] == ("SchedulingGated", "the gate is closed", None)
    turn(world, key, "silent")
    await world.settle()
    assert world.conditions[key] == ("SchedulingGated", "the gate is silent", None)
    assert world.notes(key) == ["the gate is closed", "the gate is silent"]
    turn(world, key, "open")
    await world.settle()
    assert world.node_of(key) == "one"


async def test_a_plugin_that_fails_at_a_gated_pod_is_reported(world: VirtualScheduler) -> None:
    [key] = world.add(make_pod("web").labels(gate="closed"))
    await world.settle()
    turn(world, key, "broken")
    await world.run(5)
    reason, message, _ = world.conditions[key]
    assert (reason, "the gate is broken" in message) == ("SchedulerError", True)


@pytest.mark.parametrize(("message", "reported"), [(BLOCKED, False), ("the gate is closed", True)])
async def test_the_report_of_an_earlier_process_is_brought_up_to_date_but_not_that_of_the_api_server(
    world: VirtualScheduler, message: str, reported: bool
) -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": message}
    pod = make_pod("web").labels(gate="silent")
    pod["status"] = {"conditions": [condition]}
    world.add(pod)
    await world.settle()
    assert bool(world.conditions) is reported

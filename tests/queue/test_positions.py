"""A pod in the queue, as people see it: how long it waits, who is before it, when it is tried next."""

from muster.framework.queue.contents import QueuePosition
from muster.testing import VirtualScheduler, make_node, make_pod


def _uid(cluster: VirtualScheduler, name: str) -> str:
    uid: str = cluster.api.pods[f"default/{name}"]["metadata"]["uid"]
    return uid


async def test_a_pod_that_no_node_can_run_shows_whose_event_it_waits_for_and_until_when() -> None:
    cluster = VirtualScheduler()
    cluster.add_nodes(make_node("node", cpu="4"))
    cluster.add(make_pod("huge").requests(cpu="64"))
    await cluster.run(10)
    pending = cluster.engine.queue.position_of(_uid(cluster, "huge"))
    assert pending is not None
    assert (pending.place, pending.waited_seconds, pending.attempts) == ("unschedulable", 10.0, 1)
    assert pending.waits_for == ("NodeResourcesFit",)
    assert pending.next_try_seconds is not None
    until = cluster.clock.now() + pending.next_try_seconds
    await cluster.run(pending.next_try_seconds + 31)  # the next sweep
    assert cluster.engine.queue.position_of(_uid(cluster, "huge")) is not None
    [again] = [cluster.engine.queue.contents.get(_uid(cluster, "huge"))]
    assert again is not None
    assert (again.attempts, cluster.clock.now() >= until) == (2, True)


async def test_pods_of_higher_priority_and_earlier_pods_are_ahead() -> None:
    cluster = VirtualScheduler()
    cluster.add_nodes(make_node("node", cpu="4"))
    for name, priority in (("first", 0), ("second", 0), ("urgent", 100)):
        pod = make_pod(name).requests(cpu=f"{60 + len(name)}")
        pod["spec"]["priority"] = priority
        cluster.add(pod)
        await cluster.run(1)
    ahead = {}
    for name in ("first", "second", "urgent"):
        pending = cluster.engine.queue.position_of(_uid(cluster, name))
        assert pending is not None
        ahead[name] = pending.ahead
    assert ahead == {"first": 1, "second": 2, "urgent": 0}


async def test_a_gated_pod_has_no_rank_and_a_running_pod_no_position() -> None:
    cluster = VirtualScheduler()
    cluster.add_nodes(make_node("node"))
    gated = make_pod("gated")
    gated["spec"]["schedulingGates"] = [{"name": "example.com/budget"}]
    cluster.add(gated, make_pod("runs"))
    await cluster.run(3)
    assert cluster.engine.queue.position_of(_uid(cluster, "gated")) == QueuePosition(
        "gated", 3.0, 0, None, None, ("SchedulingGates",)
    )
    assert cluster.engine.queue.position_of(_uid(cluster, "runs")) is None

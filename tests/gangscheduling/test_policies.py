"""The policies of a group, followed by the whole engine in virtual time."""

import json
from random import Random

import pytest

from muster.framework.groups.record import EndedMember
from muster.plugins.gangscheduling.record import NativePodGroupReason
from tests.builders import make_node, make_pod
from tests.gangscheduling.world import NO_VICTIMS, World, make_group, make_members

TOO_FEW = "waiting for minCount pods from a gang to appear in scheduling queue"


async def test_a_gang_waits_for_as_many_pods_as_it_needs_and_starts_whole() -> None:
    world = World()
    world.add_nodes(make_node("one", cpu="8"))
    world.add(*make_members("train", 2))
    await world.settle()
    assert world.places() == {"gated": 2}
    train = world.add_group("train", 3)
    await world.settle()
    assert (world.places(), world.said(train)) == ({"gated": 2}, None)
    world.add(*make_members("train", 1, first=2))
    await world.settle()
    assert world.bound("train") == ["train-0", "train-1", "train-2"]
    said = world.said(train)
    assert said is not None
    assert (said.reason, said.message) == (NativePodGroupReason.SCHEDULED, "")
    world.check()


async def test_a_gang_without_room_holds_nothing_and_each_pod_has_a_reason() -> None:
    world = World()
    world.add_nodes(make_node("one", cpu="2"))
    train = world.add_group("train", 3)
    world.add(*make_members("train", 4))
    await world.settle()
    unsatisfied = "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining"
    assert world.bound("train") == []
    said = world.said(train)
    assert said is not None
    assert (said.reason, said.message) == (NativePodGroupReason.UNSCHEDULABLE, unsatisfied + NO_VICTIMS)
    assert {key: message for key, (_, message, _) in world.conditions.items()} == {
        "default/train-0": f"pod group is unschedulable, {unsatisfied}{NO_VICTIMS}",
        "default/train-1": f"pod group is unschedulable, {unsatisfied}{NO_VICTIMS}",
        "default/train-2": "0/1 nodes are available: 1 Insufficient cpu.",
        "default/train-3": "0/1 nodes are available: 1 Insufficient cpu.",
    }
    world.add(make_pod("small").requests(cpu="2"))
    await world.settle()
    assert world.node_of("default/small") == "one"
    world.add_nodes(make_node("two", cpu="3"))
    await world.until(lambda: len(world.bound("train")) == 3, within=15)
    world.check()


async def test_a_pod_of_a_gang_that_was_not_tried_any_more_has_the_gangs_reason() -> None:
    world = World()
    world.add_nodes(make_node("one", cpu="2"))
    train = world.add_group("train", 4)
    world.add(*make_members("train", 4))
    await world.settle()
    unsatisfied = "minCount (4) cannot be satisfied: 2 scheduled, 1 remaining"
    assert world.reported(train) == (NativePodGroupReason.UNSCHEDULABLE, unsatisfied + NO_VICTIMS)
    assert {key: message for key, (_, message, _) in world.conditions.items()} == {
        "default/train-0": f"pod group is unschedulable, {unsatisfied}{NO_VICTIMS}",
        "default/train-1": f"pod group is unschedulable, {unsatisfied}{NO_VICTIMS}",
        "default/train-2": "0/1 nodes are available: 1 Insufficient cpu.",
        "default/train-3": unsatisfied,
    }


@pytest.mark.parametrize("seed", range(20))
async def test_pods_that_differ_are_counted_in_the_order_in_which_they_are_tried(seed: int) -> None:
    """The node has too little capacity for five of them in any order."""
    drawn = Random(seed)
    sizes = [drawn.choice((1, 2, 3)) for _ in range(6)]
    offered = free = drawn.randint(1, sum(sorted(sizes)[:5]) - 1)
    scheduled, remaining = 0, len(sizes)
    while scheduled + remaining >= 5:
        size = sizes[len(sizes) - remaining]
        remaining -= 1
        if size <= free:
            free, scheduled = free - size, scheduled + 1
    world = World()
    world.add_nodes(make_node("one", cpu=str(offered)))
    train = world.add_group("train", 5)
    members = make_members("train", len(sizes))
    world.add(*(member.requests(cpu=str(size)) for member, size in zip(members, sizes, strict=True)))
    await world.settle()
    text = f"minCount (5) cannot be satisfied: {scheduled} scheduled, {remaining} remaining"
    assert world.reported(train) == (NativePodGroupReason.UNSCHEDULABLE, text + NO_VICTIMS)
    untried = [key for key, (_, message, _) in world.conditions.items() if message == text]
    assert untried == [f"default/train-{number}" for number in range(len(sizes) - remaining, len(sizes))]


@pytest.mark.parametrize("kept_apart_by", ["host ports", "anti-affinity"])
async def test_equal_pods_that_keep_each_other_off_a_node_are_not_counted_as_scheduled_there(
    kept_apart_by: str,
) -> None:
    world = World()
    world.add_nodes(make_node("one", cpu="2"))
    train = world.add_group("train", 4)
    term = {"labelSelector": {"matchLabels": {"app": "train"}}, "topologyKey": "kubernetes.io/hostname"}
    anti_affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    members = make_members("train", 4)
    for member in members:
        if kept_apart_by == "host ports":
            member["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]
        else:
            member.labels(app="train")["spec"]["affinity"] = anti_affinity
    world.add(*members)
    await world.settle()
    text = "minCount (4) cannot be satisfied: 1 scheduled, 2 remaining"
    assert world.reported(train) == (NativePodGroupReason.UNSCHEDULABLE, text + NO_VICTIMS)


async def test_pods_of_a_basic_group_are_placed_as_far_as_they_fit() -> None:
    world = World()
    world.add_nodes(make_node("one", cpu="2"))
    web = world.add_group("web")
    world.add(*make_members("web", 3))
    await world.settle()
    assert len(world.bound("web")) == 2
    said = world.said(web)
    assert said is not None
    assert said.reason is NativePodGroupReason.SCHEDULED
    world.add_nodes(make_node("two", cpu="1"))
    await world.until(lambda: len(world.bound("web")) == 3, within=15)


async def test_a_gang_that_needs_fewer_is_tried_at_once() -> None:
    world = World()
    world.add_nodes(make_node("one", cpu="2"))
    train = world.add_group("train", 3)
    world.add(*make_members("train", 3))
    await world.run(60)
    assert world.bound("train") == []
    world.change_min_count(train, 2)
    await world.settle()
    assert len(world.bound("train")) == 2
    said = world.said(train)
    assert said is not None
    assert (said.reason, said.generation) == (NativePodGroupReason.SCHEDULED, 2)


async def test_a_gang_that_asks_for_more_pods_than_there_are_says_so() -> None:
    world = World()
    world.add_nodes(make_node("one", cpu="2"))
    train = world.add_group("train", 3)
    world.add(*make_members("train", 3))
    await world.settle()
    world.change_min_count(train, 4)
    await world.settle()
    said = world.said(train)
    assert said is not None
    assert said.message == "pod group is unschedulable, minCount (4) cannot be satisfied: 0 scheduled, 3 remaining"


async def test_a_gang_that_needs_more_than_it_has_takes_the_others_together_or_not_at_all() -> None:
    world = World()
    world.add_nodes(make_node("one", cpu="3"))
    train = world.add_group("train", 2)
    world.add(*make_members("train", 2))
    await world.settle()
    assert len(world.bound("train")) == 2
    world.change_min_count(train, 4)
    world.add(*make_members("train", 2, first=2))
    await world.settle()
    assert len(world.bound("train")) == 2
    said = world.said(train)
    assert said is not None
    assert said.reason is NativePodGroupReason.SCHEDULED, "it has been scheduled once"
    world.add_nodes(make_node("two", cpu="1"))
    await world.until(lambda: len(world.bound("train")) == 4, within=15)


async def test_members_that_have_succeeded_count_so_a_successor_of_one_that_failed_starts() -> None:
    world = World()
    world.add_nodes(make_node("one", cpu="8"))
    world.add_group("train", 3)
    world.add(*make_members("train", 3))
    await world.settle()
    for number in (0, 1):
        uid = world.api.pods[f"default/train-{number}"]["metadata"]["uid"]
        world.set_phase(f"default/train-{number}", "Succeeded")
        world.groups.follow_ended(uid, None, EndedMember("default/train", succeeded=True))
    world.delete("default/train-2")
    await world.run(1)
    world.add(*make_members("train", 1, first=3))
    await world.settle()
    assert world.node_of("default/train-3") == "one"


async def test_a_pod_behind_a_gate_is_waited_for() -> None:
    world = World()
    world.add_nodes(make_node("one", cpu="8"))
    train = world.add_group("train", 3)
    first, second, third = make_members("train", 3)
    world.add(first, second, third.gate("example.com/quota"))
    await world.settle()
    said = world.said(train)
    assert said is not None
    assert said.message == ("pod group is unschedulable, minCount (3) cannot be satisfied: 0 scheduled, 2 remaining")
    world.api.change("pods", "default/train-2", lambda pod: pod["spec"].pop("schedulingGates"))
    await world.until(lambda: len(world.bound("train")) == 3, within=2)


@pytest.mark.parametrize(
    ("group", "member", "message"),
    [
        (
            {"priority": 10},
            {"priority": 5},
            "all pods in a single pod group should have the same priority as the pod group's priority, got 5 and 10",
        ),
        (
            {},
            {"priority": 7},
            "all pods in a single pod group should have the same priority as the pod group's priority, got 7 and 0",
        ),
        (
            {},
            {"preemptionPolicy": "Never"},
            "all pods in a single pod group should have the same preemption policy, got Never and PreemptLowerPriority",
        ),
        (
            {"preemptionPolicy": "PreemptLowerPriority"},
            {"preemptionPolicy": "Never"},
            "all pods in a single pod group should have the same preemption policy as the pod group's preemption "
            "policy, got Never and PreemptLowerPriority",
        ),
    ],
)
async def test_pods_that_do_not_go_with_their_group_are_an_error_of_all(
    group: dict[str, object], member: dict[str, object], message: str
) -> None:
    world = World()
    world.add_nodes(make_node("one", cpu="8"))
    train = world.add_group("train", 2, **group)
    first, second = make_members("train", 2)
    first["spec"]["priority"] = group.get("priority", 0)
    second["spec"].update({"priority": group.get("priority", 0)} | member)
    world.add(first, second)
    await world.settle()
    said = world.said(train)
    assert said is not None
    assert (said.reason, said.message) == (NativePodGroupReason.SCHEDULER_ERROR, message)
    assert {reason for reason, _, _ in world.conditions.values()} == {"SchedulerError"}
    assert {text for _, text, _ in world.conditions.values()} == {message}


@pytest.mark.parametrize("first", [0, 1])
async def test_the_member_that_arrived_first_decides_which_scheduler_the_group_has(first: int) -> None:
    profiles = [{"schedulerName": name} for name in ("muster", "other")]
    document = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    world = World(configuration=json.dumps({**document, "profiles": profiles}).encode())
    world.add_nodes(make_node("one", cpu="8"))
    train = world.add_group("train", 2)
    members = make_members("train", 2)
    members[0]["spec"]["schedulerName"] = "other"
    world.add(members[first])
    await world.run(3)
    world.add(members[1 - first])
    await world.settle()
    names = '"muster" and "other"' if first == 0 else '"other" and "muster"'
    text = f"all pods in a single pod group should have the same .spec.schedulerName set, got: {names}"
    assert world.reported(train) == (NativePodGroupReason.SCHEDULER_ERROR, text)
    assert {text for _, text, _ in world.conditions.values()} == {text}


async def test_a_part_is_validated_before_the_next_whatever_the_priority_of_its_pods() -> None:
    """The part that was created first has the first pods."""
    profiles = [{"schedulerName": name} for name in ("muster", "other")]
    document = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    world = World(configuration=json.dumps({**document, "profiles": profiles}).encode())
    world.add_nodes(make_node("one", cpu="8"))
    world.add_composite("job", 2, priority=10)
    left, right = (
        world.add_group(name, 1, parentCompositePodGroupName="job", priority=10) for name in ("left", "right")
    )
    [same] = make_members("left", 1, priority=10)
    [lower] = make_members("left", 1, first=1, priority=5)
    [other] = make_members("right", 1, priority=10)
    other["spec"]["schedulerName"] = "other"
    world.add(same, lower, other)
    await world.settle()
    text = "all pods in a single pod group should have the same priority as the pod group's priority, got 5 and 10"
    assert world.reported(left) == world.reported(right) == (NativePodGroupReason.SCHEDULER_ERROR, text)


@pytest.mark.parametrize(
    ("racks", "cause"),
    [
        (("a", "b"), "more than 1 domain found for pod group: a, b"),
        (("a", "b", "c"), "more than 1 domain found for pod group: a, b"),
        (("a", None), "no topology domain found for pod default/train-1"),
        ((None, None), "no topology domain found for pod default/train-0"),
    ],
)
async def test_a_gang_whose_pods_run_in_no_one_domain_says_so_until_they_do(
    racks: tuple[str | None, ...], cause: str
) -> None:
    world = World()
    train = world.add_group("train", len(racks) + 2, schedulingConstraints={"topology": [{"key": "rack"}]})
    members = make_members("train", len(racks) + 2)
    for number, rack in enumerate(racks):
        world.add_nodes(make_node(f"node-{number}", cpu="8").labels({"rack": rack} if rack else {}))
        members[number].node(f"node-{number}")
    world.add(*members)
    await world.settle()
    text = f"cannot determine domain for already scheduled pods: {cause}"
    assert world.reported(train) == (NativePodGroupReason.SCHEDULER_ERROR, text)
    waiting = {key: reported[:2] for key, reported in world.conditions.items()}
    assert waiting == {f"default/train-{len(racks) + number}": ("SchedulerError", text) for number in range(2)}

    world.delete(*(f"default/train-{number}" for number in range(len(racks))))
    world.add_nodes(make_node("roomy", cpu="8").labels({"rack": "d"}))
    world.add(*make_members("train", len(racks), first=len(members)))
    await world.until(lambda: world.reported(train) == (NativePodGroupReason.SCHEDULED, ""), within=30)


async def test_a_label_that_no_node_has_is_named_on_the_group_on_its_pods_and_in_its_event_once() -> None:
    world = World()
    world.add_nodes(make_node("one", cpu="8"))
    train = world.add_group("train", 2, schedulingConstraints={"topology": [{"key": "rack"}]})
    world.add(*make_members("train", 2))
    await world.settle()

    text = "no feasible placements found: no node has the label rack"
    assert world.reported(train) == (NativePodGroupReason.UNSCHEDULABLE, f"{text}{NO_VICTIMS}")
    assert [reported[:2] for reported in world.conditions.values()] == [("Unschedulable", text)] * 2
    said = world.said(train)
    assert said is not None
    assert not said.note


@pytest.mark.parametrize(
    ("racks", "text"),
    [
        (
            ("a", "b"),
            "pod group is unschedulable, 0/2 placements are available, first placement status: "
            "pod group is unschedulable",
        ),
        ((), "no feasible placements found: no node has the label rack"),
    ],
)
async def test_a_gang_that_needs_a_domain_and_lacks_a_gated_pod_reports_its_domains(
    racks: tuple[str, ...], text: str
) -> None:
    world = World()
    world.add_nodes(make_node("plain", cpu="8"), *(make_node(rack, cpu="8").labels(rack=rack) for rack in racks))
    train = world.add_group("train", 3, schedulingConstraints={"topology": [{"key": "rack"}]})
    first, second, third = make_members("train", 3)
    world.add(first, second, third.gate("example.com/quota"))
    await world.run(5)
    assert world.reported(train) == (NativePodGroupReason.UNSCHEDULABLE, text)
    assert {key: message for key, (_, message, _) in world.conditions.items()} == {
        "default/train-0": text,
        "default/train-1": text,
    }


@pytest.mark.parametrize("kept_by", ["a taint", "too little capacity"])
async def test_a_gang_is_tried_again_by_what_helps_it_in_a_domain_other_than_the_closest(kept_by: str) -> None:
    """One rack keeps the gang off by a taint, the other lacks capacity; whichever comes closest, either may change."""
    world = World()
    tainted, full = make_node("tainted", cpu="2").labels(rack="a").taint("dedicated"), make_node("full", cpu="2")
    world.add_nodes(tainted, full.labels(rack="b"))
    world.add(make_pod("large").requests(cpu="2").node("full"))
    train = world.add_group("train", 2, schedulingConstraints={"topology": [{"key": "rack"}]})
    world.add(*make_members("train", 2))
    await world.settle()
    said = world.reported(train)
    assert said is not None
    assert (said[0], world.bound("train")) == (NativePodGroupReason.UNSCHEDULABLE, [])
    if kept_by == "a taint":
        world.api.change("nodes", "tainted", lambda node: node["spec"].pop("taints"))
    else:
        world.delete("default/large")
    await world.until(lambda: len(world.bound("train")) == 2, within=15)
    world.check()


async def test_the_group_of_higher_priority_is_tried_first_whatever_came_first() -> None:
    world = World()
    low = world.add_group("low", 2, priority=1)
    high = world.add_group("high", 2, priority=2)
    world.add(*make_members("low", 2, priority=1), *make_members("high", 2, priority=2))
    world.add_nodes(make_node("one", cpu="2"))
    await world.settle()
    assert (len(world.bound("low")), len(world.bound("high"))) == (0, 2)
    assert world.said(low) is not None
    assert world.said(high) is not None


async def test_the_typed_field_goes_before_a_label_and_both_kinds_of_groups_stand_side_by_side() -> None:
    world = World()
    world.add_nodes(make_node("one", cpu="8"))
    label = {"scheduling.x-k8s.io/pod-group": "train"}
    world.add_group("train", 2)
    labelled = [make_pod(f"labelled-{number}").requests(cpu="1").labels(label) for number in range(2)]
    both = [pod.labels(label) for pod in make_members("train", 2)]
    world.api.put(
        "podgroups",
        {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"name": "train", "namespace": "default"},
            "spec": {"minMember": 3},
        },
    )
    world.add(*both, *labelled)
    await world.settle()
    assert world.bound("train") == ["train-0", "train-1"]
    assert not world.node_of("default/labelled-0"), "its group has two members, and needs three"
    world.add(make_pod("labelled-2").requests(cpu="1").labels(label))
    await world.until(lambda: bool(world.node_of("default/labelled-2")), within=2)
    assert all(world.node_of(f"default/labelled-{number}") for number in range(3))


async def test_groups_of_another_scheduler_are_never_spoken_of() -> None:
    world = World()
    world.add_nodes(make_node("one", cpu="8"))
    train = world.add_group("train", 1)
    [pod] = make_members("train", 1)
    pod["spec"].update(schedulerName="default-scheduler", nodeName="one")
    world.add(pod)
    await world.settle()
    assert world.said(train) is None


async def test_a_gang_that_loses_its_quorum_during_binding_binds_no_member() -> None:
    world = World()
    world.binder.latency = lambda: 1.0
    world.add_nodes(make_node("one", cpu="8"))
    world.api.put("podgroups.v1beta1.scheduling.k8s.io", make_group("train", 3))
    world.add(*make_members("train", 3))
    world.step()
    world.delete("default/train-2")
    await world.run(5)
    assert world.bound("train") == []
    world.add(*make_members("train", 1, first=3))
    await world.until(lambda: len(world.bound("train")) == 3, within=15)


async def test_how_long_the_oldest_gang_has_waited_is_known() -> None:
    world = World()
    world.add_nodes(make_node("one", cpu="2"))
    world.add_group("late", 3)
    world.add_group("early", 3)
    assert world.groups.waits() == []
    world.add(*make_members("early", 2))
    await world.run(20)
    world.add(*make_members("late", 1))
    await world.run(10)
    assert (len(world.groups.waits()), round(max(world.groups.waits()))) == (2, 30)
    world.delete("default/early-0")
    world.delete("default/early-1")
    assert [round(seconds) for seconds in world.groups.waits()] == [10]


async def test_a_pod_that_came_before_it_was_known_that_others_succeeded_waits_no_longer_than_that() -> None:
    world = World()
    world.add_nodes(make_node("one", cpu="8"))
    world.add_group("train", 3)
    world.add(*make_members("train", 3))
    await world.settle()
    uids = [world.api.pods[f"default/train-{number}"]["metadata"]["uid"] for number in (0, 1)]
    world.delete("default/train-0")
    world.delete("default/train-1")
    [late] = world.add(*make_members("train", 1, first=3))
    await world.settle()
    assert world.places() == {"gated": 1}
    for uid in uids:
        world.groups.follow_ended(uid, None, EndedMember("default/train", succeeded=True))
    await world.settle()
    assert world.node_of(late) == "one"
    world.check()


@pytest.mark.parametrize("scheduler", ["first", "last"])
async def test_with_two_profiles_members_that_succeed_complete_a_gang_of_either(scheduler: str) -> None:
    profiles = [{"schedulerName": name} for name in ("first", "last")]
    document = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    world = World(configuration=json.dumps({**document, "profiles": profiles}).encode())
    world.add_nodes(make_node("one", cpu="8"))
    world.add_group("train", 2)
    [member] = make_members("train", 1)
    member["spec"]["schedulerName"] = scheduler
    [late] = world.add(member)
    await world.settle()
    assert world.places() == {"gated": 1}
    world.groups.follow_ended("uid-of-the-first", None, EndedMember("default/train", succeeded=True))
    await world.settle()
    assert world.node_of(late) == "one"


def refused_in_part(members: int = 3) -> tuple[World, str, set[str]]:
    """A gang that needs three of its members, who fill a node; the API refuses to bind one of them."""
    world, refused = World(), {"default/train-1"}
    world.api.fail_binding = lambda pod, node: "the policy denies it" if pod.key in refused else None
    world.add_nodes(make_node("one", cpu=str(members)))
    train = world.add_group("train", 3)
    world.add(*make_members("train", members))
    return world, train, refused


async def test_a_pod_that_the_api_refuses_to_bind_keeps_its_node_as_long_as_its_gang_needs_it() -> None:
    world, _, refused = refused_in_part()
    await world.settle()
    [rival] = world.add(make_pod("rival").requests(cpu="1"))
    await world.run(8)
    assert (world.bound("train"), world.node_of(rival)) == (["train-0", "train-2"], "")

    refused.clear()
    await world.until(lambda: len(world.bound("train")) == 3, within=15)
    world.check()


async def test_members_that_the_api_refuses_to_bind_keep_their_nodes_until_the_quorum_is_bound() -> None:
    """Beyond the quorum as well: when the first is refused, the Bindings of the others are still in flight."""
    world, _, refused = refused_in_part(members=4)
    refused.add("default/train-2")
    await world.settle()
    [rival] = world.add(make_pod("rival").requests(cpu="1"))
    await world.run(8)
    assert (world.bound("train"), world.node_of(rival)) == (["train-0", "train-3"], "")

    refused.clear()
    await world.until(lambda: len(world.bound("train")) == 4, within=15)
    world.check()


@pytest.mark.parametrize("goes", ["default/train", "default/train-0"])
async def test_the_node_is_kept_no_longer_than_there_is_a_gang(goes: str) -> None:
    world, train, _ = refused_in_part()
    await world.settle()
    [rival] = world.add(make_pod("rival").requests(cpu="1"))
    await world.run(8)
    assert (len(world.engine.nominator), world.node_of(rival)) == (1, "")
    if goes == train:
        world.delete_group(goes)
    else:
        world.delete(goes)
    await world.settle()
    assert (len(world.engine.nominator), world.node_of(rival)) == (0, "one")
    world.check()


async def test_a_pod_that_cannot_be_tried_keeps_no_node_that_another_process_promised_to_it() -> None:
    """Its gang lost a pod before this process knew of it."""
    world = World()
    world.add_nodes(make_node("one", cpu="3"))
    world.add_group("train", 3)
    promised, other, _ = make_members("train", 3)
    world.add(promised.nominated("one"), other)
    [rival] = world.add(make_pod("rival").requests(cpu="3"))
    await world.settle()
    assert (len(world.engine.nominator), world.node_of(rival)) == (1, "one")
    world.check()

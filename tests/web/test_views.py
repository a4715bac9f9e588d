"""The contents of pages before they are drawn: changes, bands of capacity, and the order of groups."""

import msgspec
import pytest

from muster.framework.contract import GroupId
from muster.framework.groups.annotations import GroupMeta
from muster.framework.groups.holds import HOLD
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.snapshot.snapshot import Snapshot
from muster.operator.podgroups.membership import GroupKinds
from muster.operator.web.capacity import ZONE, Band, NodeAmounts, amount, capacities, domains, labels, resources
from muster.operator.web.census import take_census
from muster.operator.web.change_log import KEPT_SECONDS, ChangeLog, StateIndex, compare
from muster.operator.web.cluster import ClusterState
from muster.operator.web.templating import Templates
from muster.operator.web.views.group import group_page
from muster.operator.web.views.nodes import map_page, node_page
from muster.operator.web.views.queue import queue_page
from muster.plugins.catalog import group_kinds
from muster.plugins.coscheduling.api import POD_GROUPS, PodGroup, PodGroupSpec
from muster.plugins.gangscheduling.api import POD_GROUPS as NATIVE_GROUPS
from muster.plugins.gangscheduling.api import NativePodGroup
from tests.builders import NodeDict, PodDict, make_node, make_pod
from tests.gangscheduling.world import make_group, make_members
from tests.web.served import member

KINDS = GroupKinds(group_kinds())
NOTHING = StateIndex({}, {}, {}, KINDS)


def pod(given: PodDict) -> Pod:
    return msgspec.convert(given, Pod)


def index(*pods: PodDict, nodes: tuple[NodeDict, ...] = ()) -> StateIndex:
    read = [msgspec.convert(each, Node) for each in nodes]
    return StateIndex(
        {each["metadata"]["name"]: pod(each) for each in pods}, {}, {each.metadata.name: each for each in read}, KINDS
    )


def reported(before: StateIndex, after: StateIndex) -> list[str]:
    return [f"{change.kind} {change.subject} {change.text}" for change in compare(before, after, 0.0)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (NOTHING, index(make_pod("one")), ["waits default/one waits for a node"]),
        (index(make_pod("one")), index(make_pod("one").node("n1")), ["placed default/one was placed on n1"]),
        (index(make_pod("one").node("n1")), index(make_pod("one").node("n1").phase("Running")), []),
        (index(make_pod("one")), NOTHING, ["gone default/one has ended or was deleted"]),
        (
            index(*(member("gang", number) for number in range(5))),
            index(*(member("gang", number).node(f"n{number}") for number in range(5))),
            ["placed  5 pods of default/gang were placed on 5 nodes"],
        ),
        (NOTHING, index(*(make_pod(f"p{number}") for number in range(4))), ["waits  4 pods wait for nodes"]),
        (index(nodes=(make_node("n1"),)), index(nodes=(make_node("n1").unschedulable(),)), ["node n1 cordoned"]),
        (index(nodes=(make_node("n1"),)), index(nodes=(make_node("n2"),)), ["node n2 joined", "node n1 left"]),
        (NOTHING, index(nodes=tuple(make_node(f"n{number}") for number in range(4))), ["node  4 nodes joined"]),
    ],
)
def test_two_looks_are_compared(before: StateIndex, after: StateIndex, expected: list[str]) -> None:
    assert reported(before, after) == expected


def is_recorded_as_change(log: ChangeLog, index: StateIndex, now: float) -> bool:
    """Let the log compare and record this state; whether anything has changed."""
    found = log.differences(index, now)
    if found is not None:
        log.record(index, found)
    return found is not None


def test_the_log_shows_the_last_minutes_and_nothing_that_was_there_before() -> None:
    log = ChangeLog()
    first = index(make_pod("old"))
    assert is_recorded_as_change(log, first, 0.0)
    assert not is_recorded_as_change(log, first, 1.0)
    assert is_recorded_as_change(log, StateIndex({**first.pods, **index(make_pod("new")).pods}, {}, {}, KINDS), 2.0)
    assert log.version == 2
    assert [change.subject for change in log.latest(3.0)] == ["default/new"]
    assert log.latest(3.0 + KEPT_SECONDS) == []


def filled(*nodes: tuple[NodeDict, str]) -> Snapshot:
    """A snapshot of nodes, with one pod on each that takes so much cpu."""
    snapshot = Snapshot()
    for node, taken in nodes:
        read = msgspec.convert(node, Node)
        snapshot.set_node(read)
        name = read.metadata.name
        snapshot.add_pod(PodInfo(pod(make_pod(f"on-{name}").requests(cpu=taken).node(name))), name)
    return snapshot


def test_nodes_are_put_into_bands_by_what_is_free() -> None:
    snapshot = filled(
        (make_node("full"), "4"),
        (make_node("over"), "5"),
        (make_node("quarter"), "3"),
        (make_node("half"), "2"),
        (make_node("three"), "1"),
        (make_node("empty"), "0"),
        (make_node("closed").unschedulable(), "0"),
        (make_node("lost").taint("node.kubernetes.io/unreachable"), "0"),
    )
    assert {each.name: each.band for each in capacities(NodeAmounts.of(snapshot, "cpu"))} == {
        "full": Band.FULL,
        "over": Band.FULL,
        "quarter": Band.LITTLE,
        "half": Band.SOME,
        "three": Band.MUCH,
        "empty": Band.MOST,
        "closed": Band.CLOSED,
        "lost": Band.CLOSED,
    }
    assert {each.band for each in capacities(NodeAmounts.of(snapshot, "example.com/gpu"))} == {Band.NONE, Band.CLOSED}
    assert resources(snapshot) == ["cpu", "memory", "pods"]


@pytest.mark.parametrize(
    ("requests", "percent"), [("0", "0 %"), ("10m", "< 1 %"), ("40m", "1 %"), ("3999m", "99 %"), ("4", "100 %")]
)
async def test_a_node_of_which_anything_is_taken_is_not_said_to_be_empty(requests: str, percent: str) -> None:
    snapshot = filled((make_node("a"), requests))
    [listed] = map_page(NodeAmounts.of(snapshot, "cpu"), resource="cpu", label="", listed="").rows
    assert listed.percent == percent
    page = node_page(snapshot, "a", 0.0)
    assert page is not None
    assert {row.name: row.percent for row in page.resources} == {"cpu": percent, "memory": "0 %", "pods": "< 1 %"}
    drawn = await Templates().render("node", view=page, page="Nodes", base="", about="", version=0, missing=[])
    assert f"<span>{percent.replace('<', '&lt;')}</span>" in drawn


def test_domains_are_those_of_the_label_and_the_rest_is_last() -> None:
    snapshot = filled((make_node("a").zone("z2"), "1"), (make_node("b"), "1"), (make_node("c").zone("z1"), "4"))
    assert [(part.value, part.free, part.offered) for part in domains(NodeAmounts.of(snapshot, "cpu"), ZONE)] == [
        ("z1", 0, 4000),
        ("z2", 3000, 4000),
        ("", 3000, 4000),
    ]
    assert len(domains(NodeAmounts.of(snapshot, "cpu"), "")) == 1


def test_only_labels_shared_by_several_nodes_are_offered() -> None:
    nodes = [make_node(f"n{number}").zone(f"z{number % 2}").labels({"own": str(number)}) for number in range(4)]
    assert labels(msgspec.convert(node, Node) for node in nodes) == [ZONE]


def test_a_map_of_no_nodes_is_drawn() -> None:
    view = map_page(NodeAmounts.of(Snapshot(), "cpu"), resource="cpu", label=None, listed="zone-1")
    assert (view.plots, view.rows, view.free) == ([], [], "0")


@pytest.mark.parametrize(
    ("resource", "count", "text"),
    [
        ("cpu", 4000, "4"),
        ("cpu", 3250, "3.25"),
        ("cpu", -500, "-0.5"),
        ("memory", 32 << 30, "32Gi"),
        ("memory", 3 << 29, "1.5Gi"),
        ("memory", 100, "100"),
        ("example.com/gpu", 8, "8"),
    ],
)
def test_amounts_are_written_as_people_write_them(resource: str, count: int, text: str) -> None:
    assert amount(resource, count) == text


def group(name: str, *, needs: int, created: str) -> PodGroup:
    meta = GroupMeta(name=name, namespace="default", creation_timestamp=created)
    return PodGroup(meta, PodGroupSpec(min_member=needs))


def test_groups_wait_in_the_order_in_which_they_are_tried() -> None:
    groups = [
        group("older", needs=2, created="2026-01-01T00:00:00Z"),
        group("begun", needs=2, created="2026-01-03T00:00:00Z"),
        group("important", needs=1, created="2026-01-02T00:00:00Z"),
        group("complete", needs=1, created="2026-01-01T00:00:00Z"),
        group("empty", needs=1, created="2026-01-01T00:00:00Z"),
    ]
    pods = [
        member("older", 0),
        member("begun", 0).node("n1"),
        member("begun", 1),
        member("important", 0).priority(10),
        member("complete", 0).node("n1"),
        make_pod("alone"),
    ]
    census = take_census(ClusterState([], [pod(each) for each in pods], KINDS, {POD_GROUPS: groups}))
    view = queue_page(census, [], nodes=1, find="", now=0.0)
    assert [(row.place, row.name.text) for row in view.waiting] == [
        (1, "default/begun"),
        (2, "default/important"),
        (3, "default/older"),
    ]
    assert {row.name.text for row in view.settled} == {"default/complete", "default/empty"}
    assert (view.waiting_pods, view.placed_pods) == (4, 2)
    assert [(reason.count, [link.text for link in reason.pods]) for reason in view.single_pods] == [
        (1, ["default/alone"])
    ]
    found = queue_page(census, [], nodes=1, find="old", now=0.0)
    assert [row.name.text for row in (*found.waiting, *found.settled)] == ["default/older"]


async def test_native_groups_wait_in_the_same_queue_and_parts_name_their_parent() -> None:
    native = [
        msgspec.convert(make_group("part", 2, parentCompositePodGroupName="job"), NativePodGroup),
        msgspec.convert(make_group("late", 2), NativePodGroup),
    ]
    pods = [*make_members("part", 2, priority=5), *make_members("late", 2), member("labelled", 0).priority(3)]
    groups = [group("labelled", needs=2, created="2026-01-01T00:00:00Z")]
    census = take_census(
        ClusterState([], [pod(each) for each in pods], KINDS, {POD_GROUPS: groups, NATIVE_GROUPS: native})
    )
    view = queue_page(census, [], nodes=1, find="", now=0.0)
    assert [(row.place, row.name.text, row.tag, row.parent) for row in view.waiting] == [
        (1, "default/part", "native", "job"),
        (2, "default/labelled", "", ""),
        (3, "default/late", "native", ""),
    ]
    drawn = await Templates().render("queue", view=view, page="Queue", base="", about="", version=0, missing=[])
    assert drawn.count("part of job") == 1


async def test_held_groups_have_a_table_of_their_own_and_no_place() -> None:
    held = group("calm", needs=2, created="2026-01-01T00:00:00Z")
    held.metadata.annotations[HOLD] = "rack 4 <moves>"
    running = group("runs", needs=1, created="2026-01-01T00:00:00Z")
    running.metadata.annotations[HOLD] = ""
    groups = [held, running, group("waits", needs=2, created="2026-01-02T00:00:00Z")]
    pods = [member("calm", 0), member("waits", 0), member("runs", 0).node("n1")]
    census = take_census(ClusterState([], [pod(each) for each in pods], KINDS, {POD_GROUPS: groups}))
    view = queue_page(census, [], nodes=1, find="", now=0.0)
    assert [(row.place, row.name.text) for row in view.waiting] == [(1, "default/waits")]
    [row] = view.held
    assert (row.place, row.reason, row.message) == (0, "Held", "pod group default/calm is held: rack 4 <moves>")
    assert [(row.name.text, row.reason) for row in view.settled] == [("default/runs", "Held")]
    drawn = await Templates().render("queue", view=view, page="Queue", base="", about="", version=0, missing=[])
    assert "Held groups" in drawn
    assert "pod group default/calm is held: rack 4 &lt;moves&gt;" in drawn

    page = group_page(census.groups[GroupId("Coscheduling", "default/calm")], None, Snapshot(), 0.0)
    drawn = await Templates().render("group", view=page, page="Queue", base="", about="", version=0, missing=[])
    assert drawn.count("pod group default/calm is held: rack 4 &lt;moves&gt;") == 1

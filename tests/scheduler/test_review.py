"""The messages of waiting pods stay true, though nothing helps them and only one of many like pods is tried."""

from collections import defaultdict
from collections.abc import Sequence

import pytest

from muster.framework.authoring import PerNodeFilter
from muster.framework.contract import (
    CycleState,
    DependsOn,
    EnqueueExtensions,
    EventRegistration,
    NodeInfo,
    PodInfo,
    Status,
)
from muster.framework.scheduler.renewals import SPREAD_SECONDS
from muster.framework.scheduler.review import REVIEW_SECONDS
from muster.testing import VirtualScheduler, make_node, make_pod

HALF_A_MINUTE = 30.0
CPU, TAINT = "Insufficient cpu", "node(s) had untolerated taint(s)"
HOSTNAME = "kubernetes.io/hostname"
GROUP = "scheduling.x-k8s.io/pod-group"


class Reviewed(VirtualScheduler):
    """Keeps all that was written.

    Attributes:
        writes: by pod, each message that was written to its condition, with the time.
    """

    def start(self) -> None:
        self.writes: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
        super().start()

    def unscheduled(self, pod: PodInfo, *, reason: str, message: str, nominated_node: str | None) -> None:
        self.writes[pod.key].append((self.clock.now(), message))
        super().unscheduled(pod, reason=reason, message=message, nominated_node=nominated_node)

    def taint(self, *taints: str) -> None:
        """These are the taints of the node from now on."""
        self.api.change("nodes", "node", lambda node: node["spec"].update(taints=_taints(taints)))

    def messages(self, key: str) -> list[str]:
        """What was written to the condition of a pod, in order."""
        return [message for _, message in self.writes[key]]

    def waiting_for(self, text: str) -> list[str]:
        """The names of the pods whose condition names this reason."""
        return sorted(key.partition("/")[2] for key, (_, said, _) in self.conditions.items() if text in said)


def _taints(keys: tuple[str, ...]) -> list[dict[str, str]]:
    return [{"key": key, "effect": "NoSchedule"} for key in keys]


@pytest.fixture
def full() -> Reviewed:
    """A cluster of one node without any cpu left."""
    cluster = Reviewed()
    cluster.add_nodes(make_node("node", cpu="1"))
    cluster.add(make_pod("first").requests(cpu="1").node("node"))
    return cluster


async def test_all_of_a_signature_get_the_reason_that_one_would_be_refused_for_now(full: Reviewed) -> None:
    full.add(*(make_pod(name).requests(cpu="1") for name in ("a", "b", "c")))
    await full.settle()
    assert full.waiting_for(CPU) == ["a", "b", "c"]

    full.taint("broken")
    await full.run(HALF_A_MINUTE)

    assert full.waiting_for(TAINT) == ["a", "b", "c"]
    assert [len(full.messages(f"default/{name}")) for name in "abc"] == [2, 2, 2]


async def test_one_of_them_is_tried_and_gets_an_event(full: Reviewed) -> None:
    full.add(*(make_pod(name).requests(cpu="1") for name in ("a", "b", "c")))
    await full.settle()
    full.taint("broken")
    await full.run(HALF_A_MINUTE)

    assert sum(len(full.notes(f"default/{name}")) for name in "abc") == 4


async def test_a_reason_that_has_gone_again_is_not_written(full: Reviewed) -> None:
    full.add(*(make_pod(f"pod-{number:04}").requests(cpu="1") for number in range(2000)))
    await full.settle()
    full.taint("broken")
    await full.run(REVIEW_SECONDS + SPREAD_SECONDS / 2)
    half = len(full.waiting_for(TAINT))
    full.taint()
    await full.run(HALF_A_MINUTE)

    assert 0 < half < 2000
    assert full.waiting_for(TAINT) == []
    writes = sorted(len(full.messages(f"default/pod-{number:04}")) for number in range(2000))
    assert writes.count(1) > 0
    assert set(writes) == {1, 3}


async def test_a_change_for_ten_thousand_is_spread_over_half_a_minute(full: Reviewed) -> None:
    full.add(*(make_pod(f"pod-{number:05}").requests(cpu="1") for number in range(10_000)))
    await full.settle()
    began = full.clock.now()
    full.taint("broken")
    await full.run(HALF_A_MINUTE)

    assert len(full.waiting_for(TAINT)) == 10_000
    assert sum(map(len, full.writes.values())) == 20_000
    seconds = [int(at) for written in full.writes.values() for at, _ in written if at > began]
    assert max(map(seconds.count, set(seconds))) < 1_000


async def test_a_condition_that_is_not_written_yet_is_replaced_by_the_reason_that_holds_then(full: Reviewed) -> None:
    full.add(*(make_pod(f"pod-{number:04}").requests(cpu="1") for number in range(2000)))
    await full.settle()
    full.taint("broken")
    await full.run(REVIEW_SECONDS + SPREAD_SECONDS / 3)
    full.api.change("nodes", "node", lambda node: node["spec"].update(unschedulable=True))
    await full.run(HALF_A_MINUTE)

    assert len(full.waiting_for("node(s) were unschedulable")) == 2000
    assert {len(full.messages(f"default/pod-{number:04}")) for number in range(2000)} == {2, 3}  # with the first reason


async def test_pods_that_share_labels_and_controller_are_reported_together(full: Reviewed) -> None:
    full.api.change("nodes", "node", lambda node: node["status"]["allocatable"].update(cpu="9"))
    full.add(make_pod("loner").labels(app="db").node("node"))
    full.add(*(make_pod(name).labels(app="web").apart(HOSTNAME, {"app": "db"}) for name in "abc"))
    await full.settle()
    assert full.waiting_for("anti-affinity rules") == ["a", "b", "c"]

    full.taint("broken")
    await full.run(HALF_A_MINUTE)

    assert full.waiting_for(TAINT) == ["a", "b", "c"]


async def test_members_of_a_group_get_the_new_reason(full: Reviewed) -> None:
    full.api.put("podgroups", {"metadata": {"namespace": "default", "name": "gang"}, "spec": {"minMember": 3}})
    full.add(*(make_pod(name).labels({GROUP: "gang"}).requests(cpu="1") for name in ("a", "b", "c")))
    await full.run(1.0)
    assert full.waiting_for(CPU) == ["a", "b", "c"]

    full.taint("broken")
    await full.run(HALF_A_MINUTE)

    assert full.waiting_for(TAINT) == ["a", "b", "c"]


async def test_a_gang_is_not_tried_while_what_stops_its_members_is_the_same(full: Reviewed) -> None:
    full.api.put("podgroups", {"metadata": {"namespace": "default", "name": "gang"}, "spec": {"minMember": 3}})
    full.add(*(make_pod(name).labels({GROUP: "gang"}).requests(cpu="1") for name in ("a", "b", "c")))
    await full.run(1.0)
    [before] = {line.attempts for line in full.engine.queue.contents.dump()}
    for number in range(12):
        full.add(make_pod(f"other-{number}").requests(cpu="0").node("node"))
        await full.run(REVIEW_SECONDS)

    assert {line.attempts for line in full.engine.queue.contents.dump()} == {before}


DEAF_FIRST = b"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
  - schedulerName: muster
    plugins: {multiPoint: {enabled: [{name: Deaf}]}, filter: {enabled: [{name: Deaf}]}}
"""


class Deaf(PerNodeFilter, EnqueueExtensions):
    """Keeps pods off nodes without a label, and asks to hear of nothing."""

    name = "Deaf"
    filter_depends_on = DependsOn.NODE

    def filter_node(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status | None:
        return None if "open" in node.labels else Status.unschedulable("node(s) were not open")

    def events_to_register(self) -> Sequence[EventRegistration]:
        return []


async def test_pods_that_fit_at_a_review_are_tried() -> None:
    cluster = Reviewed(Deaf)
    cluster.add_nodes(make_node("node"))
    cluster.add(make_pod("a"), make_pod("b"))
    await cluster.settle()
    assert cluster.waiting_for("not open") == ["a", "b"]

    cluster.api.change("nodes", "node", lambda node: node["metadata"]["labels"].update(open="yes"))
    await cluster.run(2 * REVIEW_SECONDS)

    assert [cluster.node_of("default/a"), cluster.node_of("default/b")] == ["node", "node"]


async def test_where_others_of_a_batch_may_fare_differently_each_is_tried() -> None:
    cluster = Reviewed(Deaf, configuration=DEAF_FIRST)
    cluster.add_nodes(make_node("node").labels({HOSTNAME: "node"}))
    cluster.add(make_pod("db", namespace="one").labels(app="db").node("node"))
    for name in ("one", "two"):
        cluster.add(make_pod("web", namespace=name).apart(HOSTNAME, {"app": "db"}))
    await cluster.settle()
    assert [said for _, said, _ in cluster.conditions.values() if "not open" not in said] == []

    cluster.api.change("nodes", "node", lambda node: node["metadata"]["labels"].update(open="yes"))
    await cluster.run(2 * REVIEW_SECONDS)

    assert "anti-affinity rules" in cluster.messages("one/web")[-1]
    assert cluster.node_of("two/web") == "node"
    assert len(cluster.messages("two/web")) == 1


async def test_no_review_is_scheduled_without_waiting_pods(full: Reviewed) -> None:
    full.add(make_pod("a").requests(cpu="1"))
    await full.run(HALF_A_MINUTE)
    full.delete("default/a")
    await full.run(HALF_A_MINUTE)

    assert full.clock.next_due() is None

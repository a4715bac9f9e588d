"""Which pods a report includes: by its fingerprint, and by the time where no fingerprint says so."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from muster.framework.contract import PodInfo
from muster.framework.model.times import rfc3339
from muster.plugins.noderesourcetopology.api import NodeResourceTopology
from muster.plugins.noderesourcetopology.args import NodeResourceTopologyMatchArgs
from muster.plugins.noderesourcetopology.fingerprint import fingerprint
from muster.plugins.noderesourcetopology.plugin import NodeResourceTopologyMatch
from muster.plugins.noderesourcetopology.reports import NodeReports
from muster.testing import Cluster, make_node, make_pod
from muster.testing.cluster import info
from tests.builders import PodDict
from tests.noderesourcetopology.objects import guaranteed, make_topology

NOW = 1_800_000_000.0
AMOUNTS = {"cpu": "1", "memory": "1Gi"}


class Reported:
    """The reports of a cluster with one node, n."""

    def __init__(self, method: str = "Autodetect") -> None:
        self.now = NOW
        self.reports = NodeReports(lambda: self.now, method)
        self._pods: dict[str, PodInfo] = {}

    def come(self, *pods: PodDict) -> None:
        """Pods are bound to the node, or change."""
        for pod in pods:
            new = info(pod.node("n"))
            self.reports.pod_changed(self._pods.get(new.name), new)
            self._pods[new.name] = new

    def go(self, *names: str) -> None:
        """Pods are deleted."""
        for name in names:
            self.reports.pod_changed(self._pods.pop(name), None)

    def report(self, *names: str, **more: Any) -> None:
        """A report arrives whose fingerprint stands for these pods."""
        self.arrive(make_topology("n", {"cpu": "4"}, pods=[("default", name) for name in names], **more))

    def arrive(self, topology: dict[str, Any]) -> None:
        """A report arrives."""
        self.reports.topology_changed(None, msgspec.convert(topology, NodeResourceTopology))

    @property
    def included(self) -> Sequence[str]:
        """The names of the pods that the report includes, sorted."""
        self.reports.take_moved()
        report = self.reports.of("n")
        assert report is not None
        return sorted(pod.name for pod in report.included.values())


def pod(name: str, *, started: float | None = None, phase: str = "Pending") -> PodDict:
    """A pod that takes cpus for itself; `started` are the seconds since its kubelet has started it."""
    made = guaranteed(name, AMOUNTS).phase(phase)
    if started is not None:
        made["status"]["startTime"] = rfc3339(NOW - started)
    return made


def test_a_report_includes_the_pods_of_its_fingerprint() -> None:
    reported = Reported()
    reported.come(pod("a"), pod("b"))
    reported.report("a", "b")
    reported.come(pod("c"))
    assert reported.included == ["a", "b"]


def test_a_late_report_includes_the_pods_that_the_node_had_a_moment_ago() -> None:
    reported = Reported()
    reported.report()
    reported.come(pod("a"), pod("b"), pod("c"))
    reported.go("c")
    reported.report("a")
    assert reported.included == ["a"]


def test_a_report_of_running_pods_alone_includes_them() -> None:
    reported = Reported()
    reported.come(pod("a", phase="Running"), pod("b"))
    reported.report("a")
    assert reported.included == ["a"]


def test_a_report_that_is_ahead_of_the_pods_includes_them_when_they_come() -> None:
    reported = Reported()
    reported.come(pod("a"))
    reported.report("a", "b")
    assert reported.included == []
    reported.come(pod("b"))
    assert reported.included == ["a", "b"]


def test_pods_that_are_gone_stay_included_until_the_next_report() -> None:
    reported = Reported()
    reported.come(pod("a"), pod("b"))
    reported.report("a", "b")
    reported.go("a")
    assert reported.included == ["a", "b"]
    reported.report("b")
    assert reported.included == ["b"]


@pytest.mark.parametrize("method", ["Autodetect", "OnlyExclusiveResources"])
def test_a_fingerprint_of_exclusive_resources_includes_the_other_pods_besides(method: str) -> None:
    reported = Reported(method)
    reported.come(pod("a"), make_pod("shares").requests(cpu="1"))
    named = {"nodeTopologyPodsFingerprintMethod": "with-exclusive-resources"} if method == "Autodetect" else {}
    reported.report("a", attributes=named)
    assert reported.included == ["a", "shares"]


def test_a_fingerprint_of_all_pods_is_none_of_exclusive_resources() -> None:
    reported = Reported("All")
    reported.come(pod("a"), make_pod("shares").requests(cpu="1"))
    reported.report("a", attributes={"nodeTopologyPodsFingerprintMethod": "with-exclusive-resources"})
    assert reported.included == []


def test_the_fingerprint_may_be_an_annotation() -> None:
    reported = Reported()
    reported.come(pod("a"))
    topology = make_topology("n", {"cpu": "4"})
    topology["metadata"]["annotations"] = {"topology.node.k8s.io/fingerprint": fingerprint([("default", "a")])}
    reported.arrive(topology)
    assert reported.included == ["a"]


def test_without_a_fingerprint_a_report_includes_pods_that_were_started_two_minutes_before() -> None:
    reported = Reported()
    reported.come(pod("old", started=120), pod("young", started=119), pod("waits"))
    reported.arrive(make_topology("n", {"cpu": "4"}))
    reported.now += 600
    assert reported.included == ["old"]
    reported.arrive(make_topology("n", {"cpu": "4"}))
    assert reported.included == ["old", "young"]


def test_a_report_that_fits_no_pods_includes_what_the_one_before_it_did() -> None:
    reported = Reported()
    reported.come(pod("a"), pod("b"))
    reported.report("a", "b")
    assert reported.included == ["a", "b"]
    reported.come(pod("c"))
    reported.go("b")
    reported.report("somebody", "else")
    assert reported.included == ["a"]


def test_a_deleted_object_is_forgotten() -> None:
    reported = Reported()
    topology = msgspec.convert(make_topology("n", {"cpu": "4"}), NodeResourceTopology)
    reported.reports.topology_changed(None, topology)
    reported.reports.topology_changed(topology, None)
    assert (bool(reported.reports), [*reported.reports.take_moved()]) == (False, ["n"])


@pytest.mark.parametrize(
    ("detect", "shares", "holds"),
    [("All", True, True), ("OnlyExclusiveResources", False, True), ("None", False, False)],
)
def test_pods_of_other_schedulers_count_as_arguments_say(detect: str, shares: bool, holds: bool) -> None:
    """With four cpus in one zone, a pod that wants them all is rejected if another one counts."""
    wants = guaranteed("p", {"cpu": "4", "memory": "1Gi"})
    found = []
    for other in (make_pod("shares").requests(cpu="500m"), guaranteed("holds", AMOUNTS)):
        cluster = Cluster(make_node("n", cpu="16"))
        args = NodeResourceTopologyMatchArgs.model_validate({"cache": {"foreignPodsDetect": detect}})
        plugin = cluster.plugin(NodeResourceTopologyMatch, args)
        cluster.keep(make_topology("n", {"cpu": "4", "memory": "8Gi"}))
        cluster.place("n", other.scheduler("another"))
        found.append(bool(cluster.rejected(plugin, wants)))
    assert found == [shares, holds]

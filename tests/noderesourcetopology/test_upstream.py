"""Verdicts, scores, reservations and fingerprints against recorded answers of scheduler-plugins; see `record`."""

from collections.abc import Iterator
from typing import Any

import msgspec

from muster.framework.model.quantity import nanos
from muster.framework.model.requests import amount
from muster.plugins.noderesourcetopology.api import NodeResourceTopology, ZonePolicy, managed_as
from muster.plugins.noderesourcetopology.args import NodeResourceTopologyMatchArgs
from muster.plugins.noderesourcetopology.fingerprint import fingerprint
from muster.plugins.noderesourcetopology.plugin import NodeResourceTopologyMatch
from muster.testing import Cluster, make_node
from muster.testing.cluster import info
from tests.builders import NodeDict, PodDict
from tests.noderesourcetopology.record import recorded
from tests.noderesourcetopology.situations import Situation

RECORDED = [*recorded()]


def test_verdicts_and_scores_are_those_of_scheduler_plugins() -> None:
    differ = {}
    for number, situation, answer in asked_about("pod"):
        cluster = Cluster(*map(NodeDict, situation["nodes"]))
        args = NodeResourceTopologyMatchArgs.model_validate({"scoringStrategy": situation["strategy"]})
        plugin = cluster.plugin(NodeResourceTopologyMatch, args)
        cluster.keep(*situation["topologies"])
        pod = PodDict(situation["pod"])
        rejected = {
            name: f"{status.code.wire_name}: {status.message}"
            for name, status in cluster.rejected(plugin, pod).items()
            if name not in _restricted(situation)
        }
        ours, theirs = (rejected, cluster.scores(plugin, pod)), (answer.get("rejected", {}), answer["scores"])
        if ours != theirs:
            differ[number] = ours, theirs
    assert differ == {}


def test_fingerprints_are_those_of_podfingerprint() -> None:
    for _, situation, answer in asked_about("names"):
        assert fingerprint((namespace, name) for namespace, name in situation["names"]) == answer["fingerprint"]


def test_available_amounts_after_placements_and_reports_equal_those_of_scheduler_plugins() -> None:
    for _, situation, answer in asked_about("steps"):
        cluster = Cluster(make_node("n0"))
        plugin = cluster.plugin(NodeResourceTopologyMatch)
        cluster.keep(*situation["topologies"])
        for step, theirs in zip(situation["steps"], answer["available"], strict=True):
            _play(cluster, plugin, step)
            if step["do"] != "report":  # which scheduler-plugins takes over at its next comparison
                assert _available(cluster, plugin) == _amounts(theirs["n0"])


def asked_about(field: str) -> Iterator[tuple[int, Situation, dict[str, Any]]]:
    """The recorded situations that have this field, each with its number and answer."""
    for number, (situation, answer) in enumerate(RECORDED):
        if field in situation:
            yield number, situation, answer


def _restricted(situation: Situation) -> set[str]:
    """The nodes whose policy scheduler-plugins leaves to the kubelet."""
    typed = [msgspec.convert(each, NodeResourceTopology) for each in situation["topologies"]]
    return {each.metadata.name for each in typed if managed_as(each).policy is ZonePolicy.RESTRICTED}


def _play(cluster: Cluster, plugin: NodeResourceTopologyMatch, step: Situation) -> None:
    match step["do"]:
        case "reserve":
            cluster.place("n0", PodDict(step["pod"]))
        case "unreserve":
            cluster.snapshot.remove_pod(info(PodDict(step["pod"])), "n0")
        case "report":
            plugin.on_object("", None, msgspec.convert(step["topology"], NodeResourceTopology))
        case "resync":
            for pod in step["pods"]:
                plugin.on_pod(None, info(PodDict(pod)))


def _available(cluster: Cluster, plugin: NodeResourceTopologyMatch) -> dict[tuple[str, str], int]:
    columns = plugin.columns
    columns.refresh()
    zones = columns.of(cluster.view(["n0"]).indices(), columns.resources)
    return {
        (f"node-{number}", name): int(zones.free[name][number, 0])
        for name, has in zones.has.items()
        for number in range(zones.height)
        if has[number, 0]
    }


def _amounts(zones: dict[str, dict[str, str]]) -> dict[tuple[str, str], int]:
    return {(zone, name): amount(name, nanos(text)) for zone, found in zones.items() for name, text in found.items()}

"""Small clusters for questions about moves: manifests in, the answer out."""

import json
from collections.abc import Mapping
from typing import Any

from muster.operator.defrag.planner import propose
from muster.operator.defrag.proposal import DefragReport, MoveProposal
from muster.operator.defrag.question import ClusterPicture, DefragQuestion
from muster.operator.process.settings import Assembly
from muster.operator.simulate.manifests import Objects, read
from muster.plugins.catalog import POD_DISRUPTION_BUDGETS
from tests.builders import PodDict, make_pod
from tests.simulate.rehearsing import KINDS, member, muster, pod_group

NOW = 1_767_225_600.0
"""2026-01-01T00:00:00Z."""
RACK = "example.com/rack"

Manifest = dict[str, Any]


def runs(name: str, node: str, cpu: str, **more: str) -> PodDict:
    """A pod that a ReplicaSet replaces."""
    return make_pod(name).requests(cpu=cpu, **more).node(node).owned_by("ReplicaSet", "web")


def waits(name: str, cpu: str) -> PodDict:
    """A pod without a node."""
    return make_pod(name).requests(cpu=cpu)


def gang(size: int, cpu: str, name: str = "gang") -> list[Manifest]:
    """A gang that waits."""
    return [pod_group(name, size), *(member(f"{name}-{n}", name).requests(cpu=cpu) for n in range(size))]


def running_gang(name: str, nodes: Mapping[str, str], cpu: str) -> list[Manifest]:
    """A gang of a Job, with its pods' nodes by name."""
    pods = [member(pod, name).requests(cpu=cpu).node(node).owned_by("Job", name) for pod, node in nodes.items()]
    return [pod_group(name, len(nodes)), *pods]


def budget(allowed: int, **labels: str) -> Manifest:
    """A PodDisruptionBudget that allows so many disruptions of pods with these labels."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {"selector": {"matchLabels": labels}},
        "status": {"disruptionsAllowed": allowed},
    }


def cluster(*found: Manifest, assembly: Assembly | None = None) -> Objects:
    """These objects, as if read from a dump."""
    kinds = [*(assembly or muster()).kinds_to_read(), POD_DISRUPTION_BUDGETS]
    return read(json.dumps({"kind": "List", "items": found}), "test", kinds, kinds=KINDS)


async def answer(*found: Manifest, assembly: Assembly | None = None, **question: Any) -> DefragReport:
    """The answer for a cluster of these objects."""
    used = assembly or muster()
    picture = ClusterPicture(used, cluster(*found, assembly=used), NOW)
    return await propose(picture, DefragQuestion(**question))


async def proposed(*found: Manifest, assembly: Assembly | None = None, **question: Any) -> MoveProposal:
    """The moves that are proposed."""
    report = await answer(*found, assembly=assembly, **question)
    assert report.proposal is not None, report
    return report.proposal


def moved(proposal: MoveProposal) -> dict[str, str]:
    """The new node of each moved pod, by its name."""
    return {each.pod.partition("/")[2]: each.to for each in proposal.moves}

"""Commands and pages know the members of a group by their owner, and simulate creates the groups of new workloads."""

import json
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from muster.framework.config import load
from muster.framework.contract import GroupId
from muster.framework.model.pod_info import PodInfo
from muster.operator.explain.group_trial import try_group
from muster.operator.explain.group_views import group_views
from muster.operator.explain.live import explain_among
from muster.operator.podgroups.membership import GroupKinds
from muster.operator.process.settings import Assembly, assemble
from muster.operator.simulate.manifests import Objects, read
from muster.operator.web.cluster import ClusterState, FollowedCluster
from muster.plugins.catalog import group_kinds
from muster.plugins.coscheduling.api import POD_GROUPS
from muster.plugins.coscheduling.definition import definition
from muster.sandbox import NodeShape, Sandbox
from muster.testing import configuration_of
from tests.autopodgroups.objects import Object, job, job_set, owned, stateful_set
from tests.autopodgroups.world import LABEL
from tests.builders import make_node
from tests.commands.asking import ask
from tests.sandboxes import served
from tests.simulate.rehearsing import simulate

KINDS = GroupKinds(group_kinds())
TRAIN = GroupId("Coscheduling", "default/job-train")
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": {LABEL: "true"}}}


@cache
def muster() -> Assembly:
    return assemble(load(configuration_of(["Coscheduling", "AutoPodGroups"]), "configuration.yaml"))


def objects(*found: Any) -> Objects:
    return read(json.dumps({"kind": "List", "items": found}), "test", muster().kinds_to_read(), kinds=KINDS)


def group(size: int) -> Object:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u", "controller": True}
    metadata = {"name": "job-train", "namespace": "default", "ownerReferences": [owner]}
    kind = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}
    return {**kind, "metadata": metadata, "spec": {"minMember": size}}


def cluster(*workloads: Object) -> Objects:
    """Two cores for these workloads, and the group of a Job of three pods."""
    return objects(make_node("one", cpu="2"), NAMESPACE, group(3), *workloads)


def test_a_group_is_shown_with_the_pods_of_its_controller() -> None:
    known = cluster(job("train", 3))
    [shown] = group_views(KINDS, known.watched, known.pods)
    assert [pod.metadata.name for pod in shown.members] == ["train-0", "train-1", "train-2"]


def test_without_its_group_a_pod_belongs_to_none() -> None:
    [pod] = objects(owned("train-0", "Job", "train")).pods
    assert KINDS.among({POD_GROUPS: ()}).named_by(pod) is None


def test_why_a_group_counts_the_pods_of_its_controller(tmp_path: Path) -> None:
    sandbox = Sandbox([definition()], stand_ins=False)
    sandbox.nodes(1, shape=NodeShape(cpu="2"))
    sandbox.load([group(3), *(owned(f"train-{number}", "Job", "train") for number in range(2))])
    with served(sandbox, [], tmp_path) as kubeconfig:
        shown = ask("why", "podgroup/job-train", "--kubeconfig", str(kubeconfig)).stdout
    assert shown.startswith("default/job-train needs 3 pods, 2 exist, 0 have nodes\n")


def test_pages_know_the_group_of_a_pod() -> None:
    known = cluster(job("train", 3))
    followed = SimpleNamespace(
        snapshot=SimpleNamespace(nodes=()),
        pods=lambda: known.pods,
        kinds=KINDS,
        group_objects=lambda kind: known.watched.get(kind, ()),
        quotas=lambda: (),
    )
    state = ClusterState.of(cast("FollowedCluster", followed))
    assert {state.kinds.named_by(pod) for pod in state.pods} == {TRAIN}


async def test_why_a_pod_names_what_its_group_lacks() -> None:
    known = cluster(job("train", 3))
    explained = await explain_among(muster(), known, PodInfo(known.pods[0]))
    assert explained.group.startswith("pod group default/job-train is unschedulable, 2 of the 3 members")


async def test_why_a_group_tries_the_pods_of_its_controller() -> None:
    tried = await try_group(muster(), cluster(job("train", 3)), TRAIN)
    assert tried is not None
    assert tried.reason.startswith("pod group default/job-train is unschedulable, 2 of the 3 members")
    assert await try_group(muster(), cluster(), TRAIN) is None


@pytest.mark.parametrize(
    ("workload", "name"),
    [
        (job("train", 3), "job-train"),
        (job_set("train", ("a", 1, 1), ("b", 2, 1)), "jobset-train"),
        (stateful_set("train", 3), "statefulset-train"),
    ],
    ids=["Job", "JobSet", "StatefulSet"],
)
async def test_simulate_starts_a_workload_whole_or_not_at_all(workload: Object, name: str) -> None:
    placements, _ = await simulate(objects(make_node("one", cpu="2"), NAMESPACE), objects(workload), muster())
    assert {each.group for each in placements.values()} == {f"default/{name}"}
    assert [each.node for each in placements.values()] == ["", "", ""]
    assert {each.reason.partition(", ")[0] for each in placements.values()} == {
        f"pod group default/{name} is unschedulable"
    }
    placements, _ = await simulate(objects(make_node("one", cpu="3"), NAMESPACE), objects(workload), muster())
    assert [each.node for each in placements.values()] == ["one", "one", "one"]


async def test_simulate_creates_no_group_where_the_namespace_does_not_ask() -> None:
    plain = {**NAMESPACE, "metadata": {"name": "default"}}
    placements, _ = await simulate(objects(make_node("one", cpu="2"), plain), objects(job("train", 3)), muster())
    assert sorted(each.node for each in placements.values()) == ["", "one", "one"]
    assert {each.group for each in placements.values()} == {""}

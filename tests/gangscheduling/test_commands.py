"""Native groups in the words of the commands: what is read of manifests, and what is shown."""

import json
from pathlib import Path

import msgspec
import pytest
import yaml

from muster.framework.contract import GroupId
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.times import parse_time
from muster.operator.explain.group_trial import sentences, try_group, try_tree
from muster.operator.explain.group_views import GroupObjects, group_views, view_of
from muster.operator.explain.groups import as_json, render_group
from muster.operator.explain.live import explain_among
from muster.operator.podgroups.membership import GroupKinds
from muster.operator.process.settings import Assembly, assemble, muster_configuration
from muster.operator.simulate.manifests import Objects, read
from muster.operator.simulate.rehearsal import Rehearsal
from muster.plugins.catalog import group_kinds
from muster.plugins.coscheduling.api import POD_GROUPS as LABELLED
from muster.plugins.gangscheduling.api import NAME, POD_GROUPS, NativePodGroup
from muster.plugins.gangscheduling.composite_api import COMPOSITE_POD_GROUPS, CompositePodGroup
from muster.plugins.gangscheduling.kind import NATIVE_POD_GROUP_KIND
from muster.sandbox import Sandbox
from muster.sandbox.contents import NodeShape
from tests.builders import make_node, make_pod
from tests.commands.asking import ask
from tests.gangscheduling.world import make_composite, make_group, make_members
from tests.sandboxes import served


def read_by(assembly: Assembly, text: str, source: str) -> Objects:
    """What commands read of a file with this configuration."""
    return read(text, source, assembly.kinds_to_read(), kinds=assembly.groups)


JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train"},
    "spec": {
        "parallelism": 3,
        "scheduling": {"schedulingPolicy": {"gang": {}}},
        "template": {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}},
    },
}


@pytest.mark.parametrize(("cpu", "placed"), [("2", 0), ("3", 3)])
async def test_a_job_with_a_gang_is_rehearsed_whole(cpu: str, placed: int) -> None:
    assembly = assemble(muster_configuration())
    wanted = read_by(assembly, json.dumps(JOB), "job.yaml")
    [group] = wanted.watched[POD_GROUPS]
    assert (group.key, group.spec.min_count) == ("default/train", 3)
    cluster = read_by(assembly, json.dumps(make_node("one", cpu=cpu)), "nodes.yaml")
    async with Rehearsal(assembly, cluster, wanted) as rehearsal:
        placements = await rehearsal.place(rehearsal.pods)
    assert {placement.group for placement in placements} == {"default/train"}
    assert sum(1 for placement in placements if placement.node) == placed


def test_the_two_kinds_of_one_name_are_distinguished() -> None:
    assembly = assemble(muster_configuration())
    native = make_group("train", 3)
    labelled = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "train"}}
    unsaid = {"kind": "PodGroup", "metadata": {"name": "other"}, "spec": {"minMember": 2}}
    text = yaml.safe_dump_all([native, labelled | {"spec": {"minMember": 2}}, unsaid])
    found = read_by(assembly, text, "groups.yaml")
    assert [group.key for group in found.watched[LABELLED]] == ["default/train", "default/other"]
    assert [group.key for group in found.watched[POD_GROUPS]] == ["default/train"]


def test_a_native_group_is_shown_as_any_other() -> None:
    condition = {"type": "PodGroupInitiallyScheduled", "status": "False", "reason": "Unschedulable"}
    message = "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining"
    plain = {**make_group("train", 3), "status": {"conditions": [{**condition, "message": message}]}}
    members = [msgspec.convert(pod, Pod) for pod in make_members("train", 3)]
    assert {NATIVE_POD_GROUP_KIND.named_by(pod) for pod in members} == {"default/train"}
    group = view_of(NATIVE_POD_GROUP_KIND, msgspec.convert(plain, NativePodGroup), members)
    assert as_json(group)["message"] == message
    lines = [*render_group(group, now=0.0)]
    assert lines[0] == "default/train needs 3 pods, 3 exist, 0 have nodes"
    assert f"Unschedulable: {message}" in lines


@pytest.mark.parametrize(("cpu", "placed"), [("3", 0), ("4", 4)])
async def test_a_composite_is_rehearsed_whole(cpu: str, placed: int) -> None:
    assembly = assemble(muster_configuration())
    parts = [make_group(name, 2, parentCompositePodGroupName="job") for name in ("left", "right")]
    pods = [*make_members("left", 2), *make_members("right", 2)]
    text = yaml.safe_dump_all([make_composite("job", 2), *parts, *(dict(pod) for pod in pods)])
    wanted = read_by(assembly, text, "job.yaml")
    cluster = read_by(assembly, json.dumps(make_node("one", cpu=cpu)), "nodes.yaml")
    async with Rehearsal(assembly, cluster, wanted) as rehearsal:
        placements = await rehearsal.place(rehearsal.pods)
    assert sum(1 for placement in placements if placement.node) == placed


async def test_a_part_is_tried_with_the_others_of_its_composite() -> None:
    assembly = assemble(muster_configuration())
    parts = [make_group(name, 2, parentCompositePodGroupName="job") for name in ("left", "right")]
    pods = [*make_members("left", 2), *make_members("right", 2)]
    objects = [make_node("one", cpu="3"), make_composite("job", 2), *parts, *pods]
    cluster = read(
        yaml.safe_dump_all([dict(each) for each in objects]),
        "cluster.yaml",
        assembly.kinds_to_read(),
        kinds=assembly.groups,
    )
    trial = await try_group(assembly, cluster, GroupId(NAME, "default/left"))
    assert trial is not None
    assert trial.reason == "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining"
    cluster.pods.pop()
    trial = await try_group(assembly, cluster, GroupId(NAME, "default/left"))
    assert trial is not None
    assert trial.reason == (
        'waiting for composite pod group "job" tree to meet quorum: 1 of the 2 groups that "job" needs has its '
        'pods; 1 of the 2 pods that "right" needs exists'
    )


def test_a_tree_waits_as_one_with_the_best_of_its_parts() -> None:
    inner = make_composite("inner", 1, parentCompositePodGroupName="job")
    composites = [msgspec.convert(each, CompositePodGroup) for each in (make_composite("job", 2), inner)]
    plain = [
        make_group("deep", 2, parentCompositePodGroupName="inner"),
        make_group("flat", 2, parentCompositePodGroupName="job"),
        make_group("done", 1, parentCompositePodGroupName="job"),
        make_group("first", 2),
        make_group("middle", 2),
        make_group("other", 2, namespace="elsewhere", parentCompositePodGroupName="job"),
    ]
    done = make_members("done", 1)
    done[0].node("one")
    elsewhere = make_members("other", 2)
    for pod in elsewhere:
        pod["metadata"]["namespace"] = "elsewhere"
    pods = [
        *make_members("deep", 2, priority=1),
        *make_members("flat", 2, priority=7),
        *done,
        *make_members("first", 2, priority=9),
        *make_members("middle", 2, priority=5),
        *elsewhere,
    ]
    groups = [msgspec.convert(each, NativePodGroup) for each in plain]
    objects: GroupObjects = {POD_GROUPS: groups, COMPOSITE_POD_GROUPS: composites}
    found = group_views(GroupKinds(group_kinds()), objects, [msgspec.convert(each, Pod) for each in pods])
    assert [(each.place, each.key, each.parent) for each in found] == [
        (1, "default/first", ""),
        (2, "default/flat", "job"),
        (2, "default/deep", "inner"),
        (4, "default/middle", ""),
        (5, "elsewhere/other", "job"),
        (0, "default/done", "job"),
    ]


NOW = parse_time("2026-01-05T14:00:00Z")
_WORKLOAD = {"workloadName": "job", "templateName": "part"}
JOB_OF_TWO = [
    make_composite("job", 2, workloadRef=_WORKLOAD),
    *(make_group(name, 2, parentCompositePodGroupName="job", workloadRef=_WORKLOAD) for name in ("left", "right")),
    *make_members("left", 2),
    *make_members("right", 2),
]
BUSY = [
    make_node("one", cpu="4"),
    make_pod("old").requests(cpu="3").annotations({"muster-scheduler.io/run-seconds": "600"}).node("one"),
]


async def test_changes_that_would_help_a_tree_are_shown_for_it_and_for_each_of_its_parts() -> None:
    assembly = assemble(muster_configuration())
    cluster = read(
        yaml.safe_dump_all([dict(each) for each in (*BUSY, *JOB_OF_TWO)]),
        "job.yaml",
        assembly.kinds_to_read(),
        kinds=assembly.groups,
    )
    of_part = await try_group(assembly, cluster, GroupId(NAME, "default/left"), now=NOW)
    of_tree = await try_tree(assembly, cluster, NATIVE_POD_GROUP_KIND, ["default/left", "default/right"], now=NOW)
    for trial in (of_part, of_tree):
        assert trial is not None
        reason, start, lack, nodes, ending, place = sentences(trial)
        assert "minCount (2) cannot be satisfied: " in reason
        assert start == (
            "With capacity reserved for it composite pod group default/job would start by 2026-01-05T14:10:00Z at the "
            "latest, when default/old has ended."
        )
        assert lack == "Capacity for 3 more members is lacking: 1 cpu on one node for each."
        assert nodes.startswith("1 more node like one ")
        assert ending == "The group would fit if pod default/old ended."
        assert place == "Place 1 of 2 waiting groups."


async def test_a_part_that_is_left_behind_reports_what_it_lacks_beside_the_others() -> None:
    assembly = assemble(muster_configuration())
    parts = [make_group(name, 2, parentCompositePodGroupName="job") for name in ("left", "right")]
    running = [pod.node("one") for pod in make_members("left", 2)]
    old = make_pod("old").requests(cpu="1").node("one")
    found = [make_node("one", cpu="4"), make_composite("job", 1), *parts, *running, old, *make_members("right", 2)]
    cluster = read(
        yaml.safe_dump_all([dict(each) for each in found]), "job.yaml", assembly.kinds_to_read(), kinds=assembly.groups
    )
    trial = await try_group(assembly, cluster, GroupId(NAME, "default/right"), now=NOW)
    assert trial is not None
    assert "Capacity for 1 more member is lacking: 1 cpu on one node." in sentences(trial)
    assert "The group would fit if pod default/old ended." in sentences(trial)


@pytest.mark.parametrize("composite", [False, True], ids=["a gang", "a part of a tree"])
async def test_why_names_the_label_that_no_node_has_for(composite: bool) -> None:
    assembly = assemble(muster_configuration())
    parent = {"parentCompositePodGroupName": "job"} if composite else {}
    group = make_group("train", 2, schedulingConstraints={"topology": [{"key": "example.com/rack"}]}, **parent)
    found = [make_node("one", cpu="4"), make_composite("job", 1), group, *make_members("train", 2)]
    cluster = read(
        yaml.safe_dump_all([dict(each) for each in found]), "job.yaml", assembly.kinds_to_read(), kinds=assembly.groups
    )
    trial = await try_group(assembly, cluster, GroupId(NAME, "default/train"), now=NOW)
    assert trial is not None
    assert trial.reason.startswith("no feasible placements found: no node has the label example.com/rack")


async def test_a_pod_of_a_tree_is_explained_with_the_others_of_its_tree() -> None:
    assembly = assemble(muster_configuration())
    cluster = read(
        yaml.safe_dump_all([dict(each) for each in (*BUSY, *JOB_OF_TWO)]),
        "job.yaml",
        assembly.kinds_to_read(),
        kinds=assembly.groups,
    )
    pod = next(PodInfo(each) for each in cluster.pods if each.metadata.name == "left-0")
    explained = await explain_among(assembly, cluster, pod, now=NOW)
    assert explained.group == "0/1 nodes are available: 1 Insufficient cpu."
    assert [each.by for each in explained.starts] == ["2026-01-05T14:10:00Z"]


def test_why_shows_a_tree_with_its_groups(tmp_path: Path) -> None:
    sandbox = Sandbox(stand_ins=False, native_groups=True)
    sandbox.nodes(1, shape=NodeShape(cpu="4"))
    old = make_pod("old").requests(cpu="3").node("node-1")
    with served(sandbox, [old, *JOB_OF_TWO], tmp_path) as kubeconfig:
        asked = ["compositepodgroup/job", "--kubeconfig", str(kubeconfig)]
        lines = ask("why", *asked).stdout.splitlines()
        assert lines[0] == "default/job needs 2 of its 2 groups, 0 of the 2 PodGroups in it have their pods on nodes"
        assert "The group would fit if pod default/old ended." in lines
        titles, left, right = (line.split()[:5] for line in lines[-3:])
        assert titles == ["PODGROUP", "PARENT", "NEEDS", "EXIST", "NODES"]
        assert (left, right) == (["left", "job", "2", "2", "0"], ["right", "job", "2", "2", "0"])
        found = json.loads(ask("why", *asked, "-o", "json").stdout)
        assert (found["compositePodGroup"], found["minGroupCount"]) == ("default/job", 2)
        assert [each["podGroup"] for each in found["groups"]] == ["default/left", "default/right"]
        assert [each["name"] for each in found["now"]["ending"]] == ["default/old"]
        missing = ask("why", "compositepodgroup/other", "--kubeconfig", str(kubeconfig))
        assert (missing.exit_code, "not found" in missing.output) == (1, True)

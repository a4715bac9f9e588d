"""Which pods start together because of their owner, and which group is theirs."""

from typing import Any

import msgspec
import pytest

from muster.framework.groups import GroupMeta, GroupOwner, GroupRecord, Members, OwnerKind, owner_of_group, pod_owner
from muster.framework.groups.owners import group_owner
from muster.framework.model.meta import ObjectMeta
from tests.autopodgroups.objects import GROUP_LABEL, JOB_SET_NAME, SET_NAME, owned, typed
from tests.builders import PodDict, make_pod

REPLICA = {SET_NAME: "vllm", "leaderworkerset.sigs.k8s.io/group-index": "0"}


def in_native_group(pod: PodDict) -> PodDict:
    pod["spec"]["schedulingGroup"] = {"podGroupName": "own"}
    return pod


@pytest.mark.parametrize(
    ("pod", "owner"),
    [
        (owned("a", "Job", "train"), (OwnerKind.JOB, "train")),
        (owned("a", "Job", "train-workers-0", labels={JOB_SET_NAME: "train"}), (OwnerKind.JOB_SET, "train")),
        (owned("a", "StatefulSet", "web"), (OwnerKind.STATEFUL_SET, "web")),
        (owned("vllm-0", "StatefulSet", "vllm", labels=REPLICA), (OwnerKind.LEADER, "vllm-0")),
        (owned("vllm-0-1", "StatefulSet", "vllm-0", labels=REPLICA), (OwnerKind.LEADER, "vllm-0")),
        (make_pod("bare"), None),
        (make_pod("bare").labels({JOB_SET_NAME: "train", **REPLICA}), None),
        (owned("a", "ReplicaSet", "web-7f"), None),
        (owned("executor", "Pod", "driver"), None),
        (owned("a", "Job", "train", api="batch.volcano.sh/v1alpha1"), None),
        (owned("a", "Job", "train", labels={GROUP_LABEL: "own"}), None),
        (owned("a", "Job", "train", labels={"pod-group.scheduling.sigs.k8s.io": "own"}), None),
        (in_native_group(owned("a", "Job", "train")), None),
    ],
    ids=[
        "of a Job",
        "of a JobSet",
        "of a StatefulSet",
        "a leader",
        "a worker",
        "without a controller",
        "with nothing but labels",
        "of a Deployment",
        "of another pod, as in Spark",
        "of another project's Job",
        "that names a group",
        "that names one by an older label",
        "that names a native group",
    ],
)
def test_the_owner_of_a_pod(pod: PodDict, owner: tuple[OwnerKind, str] | None) -> None:
    assert pod_owner(typed(pod).pod) == (None if owner is None else GroupOwner("default", *owner))


def meta(**more: Any) -> GroupMeta:
    return msgspec.convert({"name": "job-train", "namespace": "default", **more}, GroupMeta)


def reference(kind: str, api_version: str, *, controller: bool = True) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "name": "train", "uid": "u", "controller": controller}


@pytest.mark.parametrize(
    ("references", "kind"),
    [
        ([reference("Job", "batch/v1")], OwnerKind.JOB),
        ([reference("StatefulSet", "apps/v1")], OwnerKind.STATEFUL_SET),
        ([reference("JobSet", "jobset.x-k8s.io/v1alpha2")], OwnerKind.JOB_SET),
        ([reference("JobSet", "jobset.x-k8s.io/v1")], OwnerKind.JOB_SET),
        ([reference("Pod", "v1")], OwnerKind.LEADER),
        ([reference("Job", "batch/v1", controller=False)], None),
        ([reference("TrainJob", "trainer.kubeflow.org/v1alpha1")], None),
        ([], None),
    ],
    ids=str,
)
def test_the_owner_of_a_group_is_its_controller(references: list[dict[str, Any]], kind: OwnerKind | None) -> None:
    owner = group_owner(meta(ownerReferences=references))
    assert owner == (None if kind is None else GroupOwner("default", kind, "train"))


def test_a_group_whose_struct_has_no_owners_has_none() -> None:
    assert group_owner(ObjectMeta(name="team", namespace="default")) is None


@pytest.mark.parametrize("kind", OwnerKind)
@pytest.mark.parametrize("name", ["train", "set-train", "job-train", "0"])
def test_the_name_of_a_group_tells_its_owner(kind: OwnerKind, name: str) -> None:
    owner = GroupOwner("team", kind, name)
    assert owner_of_group(owner.group) == owner


def test_another_name_tells_no_owner() -> None:
    assert owner_of_group("team/training") is None


def test_of_two_groups_of_an_owner_the_one_that_is_left_keeps_the_pods() -> None:
    members: Members[GroupRecord[Any]] = Members(lambda pod: None, GroupRecord)
    owner, pod = GroupOwner("default", OwnerKind.JOB, "train"), typed(owned("a", "Job", "train"))
    members.own(owner, "default/first")
    members.own(owner, "default/second")
    members.disown(owner, "default/first")
    assert members.named_by(pod) == "default/second"
    members.disown(owner, "default/second")
    assert members.named_by(pod) is None

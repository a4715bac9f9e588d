"""`muster groups` and `muster why GROUP` where the API serves groups of both kinds and trees of them."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.plugins.coscheduling.definition import definition
from muster.sandbox import Sandbox
from muster.sandbox.contents import NodeShape
from tests.builders import PodDict, make_pod
from tests.gangscheduling.world import make_composite, make_group, make_members
from tests.sandboxes import served

from .asking import ask, kubectl, watching

WHY = "0/1 nodes are available: 1 Insufficient cpu."
_REFERENCE = {"workloadName": "job", "templateName": "any"}


def _labelled(name: str, min_member: int, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": {"minMember": min_member},
    }


def _members(group: str, count: int) -> list[PodDict]:
    labels = {"scheduling.x-k8s.io/pod-group": group}
    return [make_pod(f"{group}-{number}").labels(labels).requests(cpu="8") for number in range(count)]


def _native(name: str, min_count: int, *, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    group = make_group(name, min_count, **spec)
    return group | {"metadata": {"name": name, "namespace": "default", "labels": labels or {}}}


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """Begun waits bound in part, of the others the oldest first; a tree of two waits as one."""
    sandbox = Sandbox([definition()], native_groups=True, stand_ins=False)
    sandbox.nodes(1, shape=NodeShape(cpu="2"))
    begun = make_members("begun", 2)
    begun[0].node("node-1")
    objects = [
        _labelled("alike", 2),
        _native("alike", 2, labels={"team": "blue"}),
        _native("begun", 2),
        make_composite("job", 2, workloadRef=_REFERENCE),
        *(_native(part, 1, parentCompositePodGroupName="job") for part in ("left", "right")),
        *_members("alike", 2),
        *begun,
        *(pod for group in ("alike", "left", "right") for pod in _renamed(group)),
    ]
    with served(sandbox, objects, tmp_path) as found:
        yield found


def _renamed(group: str) -> list[PodDict]:
    """Members of a native group, which may have the name of another's."""
    pods = make_members(group, 2, cpu="8")
    for pod in pods:
        pod["metadata"]["name"] = f"native-{pod['metadata']['name']}"
    return pods


def _wide(kubeconfig: Path, *words: str) -> list[dict[str, str]]:
    head, *lines = ask("groups", "-o", "wide", *words, "--kubeconfig", str(kubeconfig)).stdout.splitlines()
    starts = [found.start() for found in re.finditer(r"\S+", head)]
    cuts = [slice(start, end) for start, end in zip(starts, [*starts[1:], None], strict=True)]
    return [{head[cut].strip(): line[cut].strip() for cut in cuts} for line in lines]


def _cells(rows: Sequence[dict[str, str]], *titles: str) -> list[tuple[str, ...]]:
    return [tuple(row[title] for title in titles) for row in rows]


def test_groups_of_both_kinds_wait_in_one_queue_and_parts_name_their_parent(kubeconfig: Path) -> None:
    titles = ("NAME", "MINMEMBER", "SCHEDULED", "PARENT", "PLACE")
    expected = {
        ("begun", "2", "1", "<none>", "1"),
        ("left", "1", "0", "job", "4"),
        ("right", "1", "0", "job", "4"),
    }
    rows = _cells(_wide(kubeconfig), *titles)
    assert expected <= set(rows)
    assert sorted(row[-1] for row in rows if row[0] == "alike") == ["2", "3"]
    assert _cells(_wide(kubeconfig, "-A", "-l", "team=blue"), "NAME", "PLACE") == [("alike", "3")]


def test_why_says_the_same_place_as_groups(kubeconfig: Path) -> None:
    def place(*words: str) -> Any:
        shown = json.loads(ask("why", *words, "-o", "json", "--kubeconfig", str(kubeconfig)).stdout)["now"]
        return shown["place"], shown["ahead"], shown["waiting"]

    assert place("podgroup.scheduling.x-k8s.io", "alike") == (2, ["default/begun"], 5)
    assert place("podgroup.scheduling.k8s.io/alike") == (3, ["default/begun", "default/alike"], 5)
    assert place("pg/right") == (4, ["default/begun", "default/alike", "default/alike"], 5)


def test_programs_get_each_kind_as_the_api_has_it_with_its_parent(kubeconfig: Path) -> None:
    shown = json.loads(ask("groups", "-A", "-o", "json", "--kubeconfig", str(kubeconfig)).stdout)
    found = [
        (each["apiVersion"], each["kind"], each["metadata"]["name"], each["spec"].get("parentCompositePodGroupName"))
        for each in shown["items"]
    ]
    assert found == [
        ("scheduling.x-k8s.io/v1alpha1", "PodGroup", "alike", None),
        ("scheduling.k8s.io/v1beta1", "PodGroup", "alike", None),
        ("scheduling.k8s.io/v1beta1", "PodGroup", "begun", None),
        ("scheduling.k8s.io/v1beta1", "PodGroup", "left", "job"),
        ("scheduling.k8s.io/v1beta1", "PodGroup", "right", "job"),
    ]
    assert shown["items"][1]["spec"]["schedulingPolicy"] == {"gang": {"minCount": 2}}
    assert yaml.safe_load(ask("groups", "-A", "-o", "yaml", "--kubeconfig", str(kubeconfig)).stdout) == shown


def test_groups_are_named_as_kubectl_names_their_kind(kubeconfig: Path) -> None:
    both = ask("groups", "begun", "alike", "-o", "name", "--kubeconfig", str(kubeconfig)).stdout.split()
    assert both == [
        "podgroup.scheduling.k8s.io/begun",
        "podgroup.scheduling.x-k8s.io/alike",
        "podgroup.scheduling.k8s.io/alike",
    ]
    for name in both:
        assert ask("why", name, "-o", "name", "--kubeconfig", str(kubeconfig)).stdout.split() == [name]


@pytest.mark.parametrize("form", [(), ("-o", "wide")])
def test_a_watch_prints_native_groups_when_they_or_their_members_change(kubeconfig: Path, form: Sequence[str]) -> None:
    def patch(kind: str, name: str, document: object) -> None:
        kubectl(kubeconfig, "patch", kind, name, "--type=merge", "-p", json.dumps(document))

    command = ("groups", "left", "late", *form, "-w", "--kubeconfig", str(kubeconfig))
    kubectl(kubeconfig, "create", "-f", str(_file(kubeconfig, _native("late", 3))))
    with watching(*command) as printed:
        assert printed.readline().startswith("NAME")
        assert printed.readline().split()[:4] == ["left", "Pending", "1", "0"]
        assert printed.readline().split()[:3] == ["late", "Pending", "3"]
        patch("podgroup.scheduling.k8s.io", "late", {"spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}})
        assert printed.readline().split()[:3] == ["late", "Pending", "2"]
        patch("pod", "native-left-0", {"metadata": {"labels": {"counts": "not"}}})
        kubectl(
            kubeconfig, "create", "--raw", _binding("native-left-0"), "-f", str(_bound(kubeconfig, "native-left-0"))
        )
        assert printed.readline().split()[:4] == ["left", "Pending", "1", "1"]
        kubectl(kubeconfig, "delete", "podgroup.scheduling.k8s.io", "late")
        assert printed.readline().split()[:3] == ["late", "Pending", "2"]


def _file(kubeconfig: Path, document: object) -> Path:
    path = kubeconfig.with_name("document.json")
    path.write_text(json.dumps(document))
    return path


def _binding(pod: str) -> str:
    return f"/api/v1/namespaces/default/pods/{pod}/binding"


def _bound(kubeconfig: Path, pod: str) -> Path:
    target = {"kind": "Node", "name": "node-1"}
    return _file(kubeconfig, {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": target})


def test_a_watch_prints_a_group_whose_place_another_one_changes(kubeconfig: Path) -> None:
    command = ("groups", "right", "-o", "wide", "-w", "--kubeconfig", str(kubeconfig))
    with watching(*command) as printed:
        title = printed.readline().split().index("PLACE")
        assert printed.readline().split()[title] == "4"
        kubectl(kubeconfig, "delete", "podgroup.scheduling.k8s.io", "begun", "--wait=false")
        assert printed.readline().split()[title] == "3"


def test_counts_that_are_zero_are_not_left_out(kubeconfig: Path) -> None:
    status = {"phase": "Pending", "scheduled": 0, "running": 0, "succeeded": 0, "failed": 0}
    _patch_status(kubeconfig, "podgroup.scheduling.x-k8s.io", "alike", status)
    shown = json.loads(ask("groups", "alike", "-o", "json", "--kubeconfig", str(kubeconfig)).stdout)
    assert shown["items"][0]["status"] == status


def test_why_gives_programs_the_phase_and_the_message_of_each_member(kubeconfig: Path) -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": WHY}
    _patch_status(kubeconfig, "pod", "alike-0", {"phase": "Pending", "conditions": [condition]})
    _patch_status(kubeconfig, "pod", "alike-1", {"phase": "Failed"})
    shown = json.loads(ask("why", "podgroup", "alike", "-o", "json", "--kubeconfig", str(kubeconfig)).stdout)
    assert shown["members"] == [
        {"pod": "alike-0", "phase": "Pending", "node": "", "message": WHY},
        {"pod": "alike-1", "phase": "Failed", "node": "", "message": ""},
    ]


def test_why_counts_no_pod_that_carries_a_groups_label_and_is_in_another(tmp_path: Path) -> None:
    [stray] = make_members("native", 1)
    stray.labels({"scheduling.x-k8s.io/pod-group": "alike"})
    objects = [_labelled("alike", 3), _native("native", 1), *_members("alike", 2), stray]
    with served(Sandbox([definition()], native_groups=True, stand_ins=False), objects, tmp_path) as kubeconfig:
        shown = [
            json.loads(ask("why", f"podgroup.{group}", "-o", "json", "--kubeconfig", str(kubeconfig)).stdout)["members"]
            for group in ("scheduling.x-k8s.io/alike", "scheduling.k8s.io/native")
        ]
    assert [[member["pod"] for member in members] for members in shown] == [["alike-0", "alike-1"], ["native-0"]]


def _patch_status(kubeconfig: Path, kind: str, name: str, status: object) -> None:
    patch = json.dumps({"status": status})
    kubectl(kubeconfig, "patch", kind, name, "--subresource=status", "--type=merge", "-p", patch)

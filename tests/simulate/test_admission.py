"""A simulation counts with what admission sets on a new pod, and says what it did not know."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from muster.operator.cli import main
from muster.operator.simulate.manifests import ManifestError, read
from muster.plugins.coscheduling.api import POD_GROUPS
from tests.builders import PodDict, make_node, make_pod
from tests.commands.asking import BY_DEFAULT
from tests.controlplane.api import Api
from tests.simulate.rehearsing import KINDS

HIGH = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 100}
SANDBOXED = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "sandboxed"},
    "handler": "runsc",
    "overhead": {"podFixed": {"cpu": "500m"}},
    "scheduling": {"nodeSelector": {"runtime": "runsc"}, "tolerations": [{"key": "runsc", "operator": "Exists"}]},
}
LIMITS = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "limits", "namespace": "default"},
    "spec": {"limits": [{"type": "Container", "default": {"cpu": "3"}, "defaultRequest": {"cpu": "2"}}]},
}


def of_class(name: str, **spec: Any) -> PodDict:
    """A pod as people write it: not stored yet, so without a UID."""
    pod = make_pod(name).requests(cpu="1")
    return PodDict(pod, metadata={"name": name}, spec={**pod["spec"], **spec})


def listed(*items: Mapping[str, Any]) -> str:
    return json.dumps({"kind": "List", "items": items})


def simulate(tmp_path: Path, cluster: str, wanted: str, *more: str) -> Result:
    dump, file = tmp_path / "dump.json", tmp_path / "wanted.json"
    dump.write_text(cluster)
    file.write_text(wanted)
    return CliRunner().invoke(main, ["simulate", "-f", str(file), "--from", str(dump), "-o", "json", *more])


def test_a_pod_evicts_by_the_priority_of_its_class_wherever_the_class_stands(tmp_path: Path) -> None:
    filler = make_pod("filler").requests(cpu="1").node("one")
    node, pod = make_node("one", cpu="1"), of_class("urgent", priorityClassName="high")
    for cluster, wanted in ((listed(node, filler, HIGH), listed(pod)), (listed(node, filler), listed(pod, HIGH))):
        answer = json.loads(simulate(tmp_path, cluster, wanted).stdout)
        assert (answer["fits"], [each["pod"] for each in answer["evicted"]]) == (True, ["default/filler"])


def test_a_class_of_which_nothing_is_known_is_said_not_to_be(tmp_path: Path) -> None:
    pods = listed(of_class("a", priorityClassName="high"), of_class("b", runtimeClassName="sandboxed"))
    told = simulate(tmp_path, listed(make_node("one", cpu="4")), pods)
    assert told.stderr == (
        "PriorityClass high is not known: pods that name it count with priority 0\n"
        "RuntimeClass sandboxed is not known: pods that name it count without its overhead\n" + BY_DEFAULT
    )


def test_a_class_that_the_cluster_does_not_have_is_refused_as_admission_does(tmp_path: Path) -> None:
    told = simulate(tmp_path, listed(make_node("one"), HIGH), listed(of_class("a", priorityClassName="hihg")))
    assert told.exit_code == 2
    assert 'pods "a" is forbidden: no PriorityClass with name hihg was found' in told.output


def test_the_global_default_and_the_built_in_classes_count() -> None:
    default = HIGH | {"metadata": {"name": "usual"}, "value": 7, "globalDefault": True, "preemptionPolicy": "Never"}
    critical = of_class("critical", priorityClassName="system-node-critical")
    usual, urgent, node_critical = read(
        listed(default, HIGH, of_class("a"), of_class("b", priorityClassName="high"), critical), "test"
    ).pods
    assert (usual.spec.priority, usual.spec.preemption_policy) == (7, "Never")
    assert (urgent.spec.priority, urgent.spec.preemption_policy) == (100, "PreemptLowerPriority")
    assert node_critical.spec.priority == 2_000_001_000


def test_overhead_selector_and_tolerations_come_from_the_runtime_class() -> None:
    [pod] = read(listed(SANDBOXED, of_class("a", runtimeClassName="sandboxed")), "test").pods
    assert pod.spec.overhead == {"cpu": "500m"}
    assert pod.spec.node_selector == {"runtime": "runsc"}
    assert [each.key for each in pod.spec.tolerations] == ["runsc"]


@pytest.mark.parametrize(
    ("resources", "cpu"),
    [({}, "2"), ({"limits": {"cpu": "1"}}, "1"), ({"requests": {"cpu": "1500m"}}, "1500m")],
    ids=["says nothing", "has a limit", "has a request"],
)
def test_a_limit_range_fills_in_what_a_container_does_not_say(resources: dict[str, Any], cpu: str) -> None:
    pod = of_class("a", containers=[{"name": "main", "resources": resources}])
    elsewhere = PodDict(pod, metadata={"name": "b", "namespace": "other"})
    here, there = read(listed(LIMITS, pod, elsewhere), "test").pods
    assert here.spec.containers[0].resources.requests["cpu"] == cpu
    assert there.spec.containers[0].resources.requests.get("cpu", "none") == (cpu if resources else "none")


def test_a_pod_that_was_stored_is_left_as_it_is() -> None:
    stored = of_class("a", priorityClassName="gone", priority=3)
    stored["metadata"]["uid"] = "1"
    [pod] = read(listed(HIGH, stored), "test").pods
    assert pod.spec.priority == 3


@pytest.mark.parametrize(
    ("document", "fields"),
    [
        (
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "a"},
                "spec": {"schedulerNam": "muster", "containers": [{"imge": "x"}]},
            },
            'unknown field "spec.schedulerNam", unknown field "spec.containers[0].imge"',
        ),
        (
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": "a"},
                "spec": {"template": {"spec": {"priorty": 1}}},
            },
            'unknown field "spec.template.spec.priorty"',
        ),
        (
            {
                "apiVersion": "scheduling.x-k8s.io/v1alpha1",
                "kind": "PodGroup",
                "metadata": {"name": "a", "lables": {}},
                "spec": {"minMembers": 3},
            },
            'unknown field "metadata.lables", unknown field "spec.minMembers"',
        ),
    ],
    ids=["pod", "job", "group"],
)
def test_fields_that_a_kind_does_not_have_are_refused(document: dict[str, Any], fields: str) -> None:
    with pytest.raises(ManifestError) as refused:
        read(json.dumps(document), "file.yaml", [POD_GROUPS], kinds=KINDS)
    assert str(refused.value) == f"file.yaml: {document['kind']} a: strict decoding error: {fields}"


def test_the_classes_of_a_live_cluster_are_read(
    api: Api, admin_kubeconfig: Path, priority_classes: dict[str, str], namespace: str, tmp_path: Path
) -> None:
    file = tmp_path / "wanted.json"
    for name, code in ((priority_classes["high"], 1), ("missing", 2)):
        file.write_text(listed(of_class("a", priorityClassName=name)))
        told = CliRunner().invoke(main, ["simulate", "-f", str(file), "--kubeconfig", str(admin_kubeconfig)])
        assert told.exit_code == code, told.output
        assert ("no PriorityClass with name missing was found" in told.output) is (code == 2)

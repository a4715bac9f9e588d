"""A simulation counts with what admission sets on a new pod, and says what it did not know."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from click.testing import CliRunner, Result

from muster.framework.model.pod_info import PodInfo
from muster.operator.cli import main
from muster.operator.kube.auth import StaticAuth
from muster.operator.kube.credentials import Connection
from muster.operator.simulate import admission
from muster.operator.simulate.admission import AdmissionObjects
from muster.operator.simulate.live import read_admission
from muster.operator.simulate.manifests import ManifestError, read
from muster.plugins.coscheduling.api import POD_GROUPS
from tests.builders import PodDict, make_node, make_pod
from tests.commands.asking import BY_DEFAULT
from tests.controlplane.api import Api, ApiError
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
    shown = simulate(tmp_path, listed(make_node("one", cpu="4")), pods)
    unknown = [
        "PriorityClass high is not known: pods that name it count with priority 0",
        "PriorityClasses are not known: pods that name none count with priority 0",
        "RuntimeClass sandboxed is not known: pods that name it count without its overhead",
    ]
    assert shown.stderr == "".join(f"{each}\n" for each in unknown) + BY_DEFAULT
    assert json.loads(shown.stdout)["unknown"] == unknown


def test_objects_that_the_caller_may_not_read_are_reported_with_the_answer_of_the_api() -> None:
    why = {kind: f"{kind.lower()} is forbidden: not for you" for kind in admission.KINDS}
    admitted = AdmissionObjects(unread=why)
    read(listed(of_class("a"), of_class("b", runtimeClassName="sandboxed")), "test", admission=admitted)
    assert [*admitted.unknown] == [
        "LimitRanges are not known: containers count with what they say themselves "
        "(limitrange is forbidden: not for you)",
        "PriorityClasses are not known: pods that name none count with priority 0 "
        "(priorityclass is forbidden: not for you)",
        "RuntimeClass sandboxed is not known: pods that name it count without its overhead "
        "(runtimeclass is forbidden: not for you)",
    ]


async def test_kinds_that_the_caller_may_not_list_are_reported_but_kinds_that_are_not_served_are_not() -> None:
    async def answer(request: web.Request) -> web.Response:
        if request.path.endswith("priorityclasses"):
            return web.json_response({"items": [HIGH]})
        code, reason = (404, "NotFound") if request.path.endswith("runtimeclasses") else (403, "Forbidden")
        return web.json_response({"kind": "Status", "message": "no", "reason": reason, "code": code}, status=code)

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        found = await read_admission(Connection(url, auth=StaticAuth()))
    finally:
        await runner.cleanup()
    assert found.objects == {"PriorityClass": [HIGH]}
    assert found.unread == {"LimitRange": "no", "StorageClass": "no"}


def test_a_class_that_the_cluster_does_not_have_is_refused_as_admission_does(tmp_path: Path) -> None:
    shown = simulate(tmp_path, listed(make_node("one"), HIGH), listed(of_class("a", priorityClassName="hihg")))
    assert shown.exit_code == 2
    assert 'pods "a" is forbidden: no PriorityClass with name hihg was found' in shown.output


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
    assert "runsc" in [each.key for each in pod.spec.tolerations]


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


def test_the_first_of_several_limit_ranges_fills_in_and_a_default_is_made_of_the_bounds() -> None:
    bounds = {"type": "Container", "max": {"cpu": "4", "memory": "2Gi"}, "min": {"cpu": "1", "ephemeral-storage": "1"}}
    second = LIMITS | {"metadata": {"name": "more", "namespace": "default"}, "spec": {"limits": [bounds]}}
    pod = of_class("a", containers=[{"name": "main"}], initContainers=[{"name": "first"}])
    [admitted] = read(listed(LIMITS, second, pod), "test").pods
    for container in (*admitted.spec.containers, *admitted.spec.init_containers):
        assert container.resources.requests == {"cpu": "2", "memory": "2Gi", "ephemeral-storage": "1"}


def test_a_workload_is_completed_and_refused_as_the_pods_that_it_makes() -> None:
    template = {"spec": {"priorityClassName": "high", "containers": [{"name": "main"}]}}
    for kind, version in {"Deployment": "apps/v1", "StatefulSet": "apps/v1", "Job": "batch/v1"}.items():
        made = {"apiVersion": version, "kind": kind, "metadata": {"name": "web"}, "spec": {"template": template}}
        [pod] = read(listed(HIGH, LIMITS, made), "test").pods
        assert (pod.spec.priority, pod.spec.containers[0].resources.requests) == (100, {"cpu": "2"})
        with pytest.raises(ManifestError, match='pods "web-0" is forbidden: no PriorityClass with name high was found'):
            read(listed(HIGH | {"metadata": {"name": "other"}}, made), "test")


def test_a_node_that_is_not_ready_is_tolerated_as_long_as_the_api_lets_every_pod(tmp_path: Path) -> None:
    node = make_node("one", cpu="1").taint("node.kubernetes.io/not-ready", effect="NoExecute")
    assert json.loads(simulate(tmp_path, listed(node, HIGH), listed(of_class("a"))).stdout)["fits"]
    own = [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}]
    [pod] = read(listed(of_class("a", tolerations=own)), "test").pods
    assert [each.operator for each in pod.spec.tolerations] == ["Exists"]


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
        (
            {"kind": "Pod", "metadata": {"name": "a"}, "spec": {"schedulerNam": "muster"}},
            'unknown field "spec.schedulerNam"',
        ),
        (HIGH | {"metadata": {"name": "a"}, "globalDefalt": True}, 'unknown field "globalDefalt"'),
    ],
    ids=["pod", "job", "group", "without a version", "priority class"],
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
        shown = CliRunner().invoke(main, ["simulate", "-f", str(file), "--kubeconfig", str(admin_kubeconfig)])
        assert shown.exit_code == code, shown.output
        assert ("no PriorityClass with name missing was found" in shown.output) is (code == 2)


CLASS_OF = "the cluster's class"
"""Stands for the name of a class that the cluster has for one test alone."""
FOR_THE_API: dict[str, dict[str, Any]] = {
    "what is missing is filled in": {"containers": [{"name": "main"}]},
    "less than the minimum": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "10m"}}}]},
    "more than the maximum": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "3"}}}]},
    "out of proportion": {
        "containers": [{"name": "main", "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}}}]
    },
    "an init container too large": {
        "containers": [{"name": "main"}],
        "initContainers": [{"name": "first", "resources": {"limits": {"cpu": "5"}}}],
    },
    "containers that are too large together": {"containers": [{"name": f"main-{n}"} for n in range(5)]},
    "an overhead of its own": {"containers": [{"name": "main"}], "overhead": {"cpu": "1"}},
    "an overhead": {"containers": [{"name": "main"}], "runtimeClassName": CLASS_OF},
    "another overhead": {"containers": [{"name": "main"}], "runtimeClassName": CLASS_OF, "overhead": {"cpu": "1"}},
    "another selector": {
        "containers": [{"name": "main"}],
        "runtimeClassName": CLASS_OF,
        "nodeSelector": {"runtime": "runc"},
    },
    "no such runtime": {"containers": [{"name": "main"}], "runtimeClassName": "missing"},
    "a priority": {"containers": [{"name": "main"}], "priorityClassName": CLASS_OF},
    "a priority of its own": {"containers": [{"name": "main"}], "priority": 5},
    "another priority": {"containers": [{"name": "main"}], "priorityClassName": CLASS_OF, "priority": 5},
    "another policy": {
        "containers": [{"name": "main"}],
        "priorityClassName": CLASS_OF,
        "preemptionPolicy": "PreemptLowerPriority",
    },
    "no such priority": {"containers": [{"name": "main"}], "priorityClassName": "missing"},
    "tolerations": {"containers": [{"name": "main"}], "tolerations": [{"key": "node.kubernetes.io/not-ready"}]},
}
_BOUNDS = [
    {
        "type": "Container",
        "min": {"cpu": "50m"},
        "max": {"cpu": "2"},
        "default": {"cpu": "1"},
        "defaultRequest": {"cpu": "500m"},
        "maxLimitRequestRatio": {"cpu": "4"},
    },
    {"type": "Pod", "max": {"cpu": "4"}},
]


def test_admission_completes_and_refuses_as_the_api_does(api: Api, namespace: str) -> None:
    limits = LIMITS | {"metadata": {"name": "limits", "namespace": namespace}, "spec": {"limits": _BOUNDS}}
    runtime = SANDBOXED | {"metadata": {"name": namespace}}
    priority = HIGH | {"metadata": {"name": namespace}, "preemptionPolicy": "Never"}
    classes: dict[str, Mapping[str, object]] = {
        "/apis/node.k8s.io/v1/runtimeclasses": runtime,
        "/apis/scheduling.k8s.io/v1/priorityclasses": priority,
    }
    for path, each in classes.items():
        api.post(path, each)
    try:
        api.post(f"/api/v1/namespaces/{namespace}/limitranges", limits)
        ours, theirs = {}, {}
        for case, spec in FOR_THE_API.items():
            text = json.dumps(spec).replace(CLASS_OF, namespace).replace('"name": "', '"image": "pause", "name": "')
            pod = of_class("a", **json.loads(text)) | {"metadata": {"name": "a", "namespace": namespace}}
            stored = refused(partial(api.post, f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod))
            theirs[case] = decisive(json.dumps({"kind": "Pod", **stored})) if isinstance(stored, dict) else stored
            ours[case] = refused(partial(decisive, listed(limits, runtime, priority, pod)))
        assert "" not in theirs.values()
        assert ours == theirs
    finally:
        for path in classes:
            api.delete(f"{path}/{namespace}")


def refused(ask: Callable[[], Any]) -> Any:
    """The answer, or the reason of the refusal."""
    try:
        return ask()
    except (ManifestError, ApiError) as error:
        return str(error).partition(" is forbidden: ")[2]


def decisive(text: str) -> tuple[object, ...]:
    """The parts of the only pod's spec that admission sets and decisions read."""
    [pod] = read(text, "test").pods
    spec = pod.spec
    tolerations = {(each.key, each.operator, each.value, each.effect) for each in spec.tolerations}
    asked = dict(PodInfo(pod).signature.requests)
    return spec.priority, spec.preemption_policy, spec.node_selector, asked, tolerations

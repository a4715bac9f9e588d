"""Stock kubectl, as a reader of the demo would use it."""

import json
from pathlib import Path
from typing import Any

import pytest

from muster.sandbox import Sandbox
from muster.sandbox.actions import bind
from muster.sandbox.kinds import EVENTS, EVENTS_V1, PODS
from tests.api_behaviour.objects import binding, config_map, deployment, event, new_event, pod_group
from tests.builders import make_pod
from tests.sandbox.kubectl import Kubectl, KubectlError, line

REPOSITORY = Path(__file__).parents[2]
_CONTAINERS = [{"name": "main", "image": "nginx"}]


def _pod(name: str) -> dict[str, object]:
    pod = make_pod(name).labels({"scheduling.x-k8s.io/pod-group": "gang"})
    del pod["metadata"]["uid"]
    return pod


async def test_a_list_of_pods_and_their_group_is_applied(kubectl: Kubectl) -> None:
    objects = [_pod("one"), _pod("two"), pod_group("gang", minMember=2)]

    first = await kubectl.apply(*objects)
    second = await kubectl.apply(*objects)

    assert first == ["pod/one created", "pod/two created", "podgroup.scheduling.x-k8s.io/gang created"]
    assert second == ["pod/one unchanged", "pod/two unchanged", "podgroup.scheduling.x-k8s.io/gang unchanged"]


async def test_apply_changes_what_changed_and_removes_what_is_gone(kubectl: Kubectl, sandbox: Sandbox) -> None:
    await kubectl.apply(deployment("web", ("one", "nginx:1"), ("two", "nginx:1")), pod_group("gang", minMember=2))

    changed = await kubectl.apply(deployment("web", ("one", "nginx:2")), pod_group("gang", scheduleTimeoutSeconds=9))

    shown = json.loads(await kubectl("get", "deployment/web", "podgroup/gang", "-o", "json"))["items"]
    containers = shown[0]["spec"]["template"]["spec"]["containers"]
    assert changed == ["deployment.apps/web configured", "podgroup.scheduling.x-k8s.io/gang configured"]
    assert [(item["name"], item["image"]) for item in containers] == [("one", "nginx:2")]
    assert shown[1]["spec"] == {"scheduleTimeoutSeconds": 9}


async def test_apply_on_the_server_side(kubectl: Kubectl) -> None:
    options = ("--server-side",)
    objects = [_pod("one"), pod_group("gang", minMember=2)]

    first = await kubectl.apply(*objects, options=options)
    again = await kubectl.apply(*objects, options=options)
    with pytest.raises(KubectlError, match=r'conflict with "kubectl": \.spec\.minMember'):
        await kubectl.apply(pod_group("gang", minMember=3), options=(*options, "--field-manager=other"))

    assert first == again == ["pod/one serverside-applied", "podgroup.scheduling.x-k8s.io/gang serverside-applied"]


async def test_objects_that_the_client_applied_can_be_applied_by_the_server(kubectl: Kubectl) -> None:
    await kubectl.apply(_pod("one"), pod_group("gang", minMember=2))

    await kubectl.apply(_pod("one"), pod_group("gang", minMember=5), options=("--server-side",))

    assert await kubectl("get", "pg/gang", "-o", "jsonpath={.spec.minMember}") == "5"


async def test_an_apply_can_be_tried_dry(kubectl: Kubectl) -> None:
    printed = await kubectl.apply(_pod("one"), options=("--dry-run=server",))

    assert printed == ["pod/one created (server dry run)"]
    with pytest.raises(KubectlError, match=r'pods "one" not found'):
        await kubectl("get", "pod", "one")


async def test_kubectl_apply_names_the_invalid_field(kubectl: Kubectl) -> None:
    with pytest.raises(KubectlError, match=r"spec.minMember in body should be greater than or equal to 1"):
        await kubectl.apply(pod_group("gang", minMember=0))


async def test_pods_are_shown_as_a_table(kubectl: Kubectl, sandbox: Sandbox) -> None:
    sandbox.nodes(1)
    await kubectl.apply(_pod("bound"), _pod("waiting"))
    bind(sandbox.store, "bound", binding("bound", "node-1"), namespace="default")
    await kubectl("wait", "--for=condition=Ready", "pod/bound", f"--timeout={30}s")

    header, bound, waiting = await kubectl.table("pods", "-o", "wide")

    assert header == [
        *("NAME", "READY", "STATUS", "RESTARTS", "AGE"),
        *("IP", "NODE", "NOMINATED NODE", "READINESS GATES"),
    ]
    assert bound[:4] == ["bound", "1/1", "Running", "0"]
    assert bound[6:] == ["node-1", "<none>", "<none>"]
    assert waiting[:4] == ["waiting", "0/1", "Pending", "0"]


async def test_pod_groups_have_short_names_and_columns(kubectl: Kubectl) -> None:
    await kubectl.apply(pod_group("gang", minMember=2))
    condition = {"type": "Scheduled", "status": "False", "reason": "Waiting", "message": "one of two"}
    status = {"phase": "Pending", "scheduled": 1, "conditions": [condition]}
    patch = json.dumps({"status": status})
    await kubectl("patch", "pg", "gang", "--subresource=status", "--type=merge", "-p", patch)

    (header, row), (wide_header, wide_row) = await kubectl.table("pg"), await kubectl.table("pgs", "-o", "wide")

    assert header == ["NAME", "PHASE", "MINMEMBER", "SCHEDULED", "RUNNING", "SUCCEEDED", "FAILED", "AGE"]
    assert row[:4] == ["gang", "Pending", "2", "1"]
    assert wide_header[-2:] == ["REASON", "MESSAGE"]
    assert wide_row[-2:] == ["Waiting", "one of two"]


async def test_a_watch_prints_every_step_of_a_pod(kubectl: Kubectl, sandbox: Sandbox) -> None:
    sandbox.nodes(1)
    await kubectl.apply(_pod("web"))

    async with kubectl.watching("pods") as output:
        header, pending = await line(output), await line(output)
        bind(sandbox.store, "web", binding("web", "node-1"), namespace="default")
        steps = [(await line(output))[2] for _ in range(2)]
        sandbox.store.delete(PODS, "web", namespace="default")
        last = (await line(output))[2]

    assert header == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert pending[:3] == ["web", "0/1", "Pending"]
    assert steps == ["Pending", "Running"]
    assert last == "Terminating"


async def test_describe_shows_a_pod_with_its_events(kubectl: Kubectl, sandbox: Sandbox) -> None:
    sandbox.nodes(1)
    pod = sandbox.store.create(PODS, _pod("web")).obj
    bind(sandbox.store, "web", binding("web", "node-1"), namespace="default")
    scheduled = new_event(
        "web.1", "default", reason="Scheduled", note="Successfully assigned default/web to node-1", action="Binding"
    )
    scheduled["regarding"]["uid"] = pod["metadata"]["uid"]
    sandbox.store.create(EVENTS_V1, scheduled, namespace="default")

    described = await kubectl("describe", "pod", "web")

    words = [line.split() for line in described.splitlines()]
    assert ["Node:", "node-1/10.64.0.0"] in words
    assert ["PodScheduled", "True"] in words
    (event,) = [line for line in described.splitlines() if "Successfully assigned" in line]
    assert event.split()[:2] == ["Normal", "Scheduled"]
    assert event.endswith("muster  Successfully assigned default/web to node-1")


async def test_describe_shows_nodes_and_pod_groups(kubectl: Kubectl, sandbox: Sandbox) -> None:
    sandbox.nodes(1)
    await kubectl.apply(_pod("web"), pod_group("gang", minMember=2))
    bind(sandbox.store, "web", binding("web", "node-1"), namespace="default")

    node, group = await kubectl("describe", "node", "node-1"), await kubectl("describe", "podgroup", "gang")

    assert "web" in node.partition("Non-terminated Pods:")[2]
    assert ["Min", "Member:", "2"] in [line.split() for line in group.splitlines()]


async def test_events_are_listed(kubectl: Kubectl, sandbox: Sandbox) -> None:
    sandbox.store.create(EVENTS_V1, new_event("web.1", "default"), namespace="default")

    (_, row), listed = await kubectl.table("events"), await kubectl("events", "--for=pod/web")

    assert row[1:] == ["Normal", "Tested", "pod/web", "it works"]
    assert "Pod/web" in listed


async def test_labels_and_annotations_are_set_and_removed(kubectl: Kubectl) -> None:
    await kubectl.apply(_pod("web"), pod_group("gang", minMember=2))

    await kubectl("label", "pod/web", "pg/gang", "tier=front")
    await kubectl("annotate", "pod/web", "why=because")
    labelled = await kubectl("get", "pods,pg", "-l", "tier=front", "-o", "name")
    await kubectl("label", "pod/web", "pg/gang", "tier-")
    left = await kubectl("get", "pods,pg", "-l", "tier=front", "-o", "name")

    assert labelled.split() == ["pod/web", "podgroup.scheduling.x-k8s.io/gang"]
    assert left == ""
    assert await kubectl("get", "pod", "web", "-o", "jsonpath={.metadata.annotations.why}") == "because"


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("merge", '{"data": {"key": "new"}}'),
        ("strategic", '{"data": {"key": "new"}}'),
        ("json", '[{"op": "replace", "path": "/data/key", "value": "new"}]'),
    ],
)
async def test_patches_of_every_type(kubectl: Kubectl, kind: str, patch: str) -> None:
    await kubectl.apply(config_map("a", {"key": "old"}))

    await kubectl("patch", "configmap", "a", f"--type={kind}", "-p", patch)

    assert await kubectl("get", "configmap", "a", "-o", "jsonpath={.data.key}") == "new"


async def test_nodes_are_tainted_cordoned_and_drained(kubectl: Kubectl, sandbox: Sandbox) -> None:
    sandbox.nodes(2)
    await kubectl.apply(_pod("web"))
    bind(sandbox.store, "web", binding("web", "node-1"), namespace="default")

    await kubectl("taint", "node", "node-2", "reserved=yes:NoSchedule")
    await kubectl("drain", "node-1", "--force")
    _, first, second = await kubectl.table("nodes")
    await kubectl("uncordon", "node-1")

    assert first[:2] == ["node-1", "Ready,SchedulingDisabled"]
    assert second[:2] == ["node-2", "Ready"]
    assert await kubectl("get", "nodes", "-o", "jsonpath={.items[*].spec.taints[*].key}") == "reserved"
    assert await kubectl("get", "pods", "-o", "name") == ""


async def test_wait_waits(kubectl: Kubectl, sandbox: Sandbox) -> None:
    await kubectl.apply(_pod("web"), pod_group("gang", minMember=1))
    bind(sandbox.store, "web", binding("web", "node-1"), namespace="default")

    ready = await kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=30s")
    running = await kubectl("wait", "--for=jsonpath={.status.phase}=Running", "pod/web", "--timeout=30s")
    await kubectl("delete", "pod", "web", "--wait=false")
    gone = await kubectl("wait", "--for=delete", "pod/web", "--timeout=30s")

    assert ready == running == "pod/web condition met\n"
    assert gone in ("pod/web condition met\n", "")


async def test_delete_waits_until_things_are_gone(kubectl: Kubectl, sandbox: Sandbox) -> None:
    await kubectl.apply(_pod("one"), _pod("two"), pod_group("gang", minMember=2))
    bind(sandbox.store, "one", binding("one", "node-1"), namespace="default")

    deleted = await kubectl("delete", "pods", "-l", "scheduling.x-k8s.io/pod-group=gang")
    group = await kubectl("delete", "pg", "gang")

    assert deleted.splitlines() == ['pod "one" deleted', 'pod "two" deleted']
    assert group == 'podgroup.scheduling.x-k8s.io "gang" deleted\n'
    assert await kubectl("get", "pods,pg", "-o", "name") == ""


async def test_kubectl_makes_simple_objects_by_itself(kubectl: Kubectl) -> None:
    await kubectl("create", "namespace", "team")
    await kubectl("create", "configmap", "settings", "-n", "team", "--from-literal=a=b")
    await kubectl("create", "priorityclass", "high", "--value=1000")
    await kubectl("create", "poddisruptionbudget", "keep", "-n", "team", "--selector=app=web", "--min-available=1")
    await kubectl("run", "web", "-n", "team", "--image=nginx", '--overrides={"spec":{"priorityClassName":"high"}}')

    listed = await kubectl("get", "cm,pdb,pods", "-n", "team", "-o", "name")

    assert listed.split() == ["configmap/settings", "poddisruptionbudget.policy/keep", "pod/web"]
    assert await kubectl("get", "pod", "web", "-n", "team", "-o", "jsonpath={.spec.priority}") == "1000"
    assert await kubectl("get", "pdb", "keep", "-n", "team", "-o", "jsonpath={.spec.minAvailable}") == "1"


async def test_everything_is_allowed(kubectl: Kubectl) -> None:
    assert await kubectl("auth", "can-i", "create", "pods") == "yes\n"


async def test_kubectl_makes_workloads_by_itself(kubectl: Kubectl) -> None:
    await kubectl("create", "deployment", "web", "--image=nginx", "--replicas=2", "--port=80")
    await kubectl("create", "job", "once", "--image=busybox", "--", "sleep", "1")
    await kubectl("create", "service", "clusterip", "web", "--tcp=80:8080")

    deployment, job, service = json.loads(await kubectl("get", "deploy/web", "job/once", "svc/web", "-o", "json"))[
        "items"
    ]

    assert (deployment["spec"]["replicas"], deployment["spec"]["strategy"]["type"]) == (2, "RollingUpdate")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert (container["name"], container["image"], container["ports"][0]["containerPort"]) == ("nginx", "nginx", 80)
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert (container["command"], job["spec"]["template"]["spec"]["restartPolicy"]) == (["sleep", "1"], "Never")
    assert (service["spec"]["ports"][0]["targetPort"], service["spec"]["selector"]) == (8080, {"app": "web"})


@pytest.mark.parametrize(
    ("obj", "field"),
    [
        (make_pod("one") | {"spec": {"schedulername": "muster", "containers": _CONTAINERS}}, "spec.schedulername"),
        (
            make_pod("one") | {"spec": {"containers": [_CONTAINERS[0] | {"resources": {"request": {"cpu": 1}}}]}},
            "spec.containers[0].resources.request",
        ),
        (pod_group("gang", minMember=1, foo=1), "spec.foo"),
    ],
)
async def test_a_misspelt_field_is_refused(kubectl: Kubectl, obj: dict[str, Any], field: str) -> None:
    with pytest.raises(KubectlError, match="strict decoding error") as refused:
        await kubectl.apply(obj)

    assert f'strict decoding error: unknown field "{field}"' in str(refused.value)
    assert "created" in (await kubectl.apply(obj, options=("--validate=ignore",)))[0]


async def test_events_can_be_sorted_by_their_times(kubectl: Kubectl, sandbox: Sandbox) -> None:
    sandbox.store.create(EVENTS_V1, new_event("a", "default"), namespace="default")
    sandbox.store.create(EVENTS, event("b", "default", lastTimestamp="2026-01-02T00:00:00Z"), namespace="default")

    listed = await kubectl("get", "events", "--sort-by=.lastTimestamp", "-o", "name")

    assert listed.split() == ["event/a", "event/b"]


async def test_fields_are_explained(kubectl: Kubectl) -> None:
    group, pod = await kubectl("explain", "podgroup.spec"), await kubectl("explain", "pod.spec.containers")

    assert "minMember\t<integer>" in group
    assert "How many pods the group needs" in group
    assert "resources\t<ResourceRequirements>" in pod


async def test_a_definition_of_ones_own_is_served(kubectl: Kubectl) -> None:
    size = {"type": "integer", "minimum": 1, "default": 3, "description": "How large it is."}
    spec = {"type": "object", "properties": {"size": size, "colour": {"type": "string", "enum": ["red", "blue"]}}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing", "shortNames": ["th"]},
            "versions": [version],
        },
    }
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "one"}, "spec": {}}

    await kubectl.apply(definition)
    await kubectl("wait", "--for=condition=established", "crd/things.example.com")
    created = await kubectl.apply(thing)
    shown = await kubectl.table("th")
    explained = await kubectl("explain", "things.spec.size")
    with pytest.raises(KubectlError, match=r'Unsupported value: "green": supported values: "red", "blue"'):
        await kubectl.apply(thing | {"spec": {"colour": "green"}})
    await kubectl("delete", "crd", "things.example.com")

    assert created == ["thing.example.com/one created"]
    assert shown == [["NAME", "SIZE"], ["one", "3"]]
    assert "How large it is." in explained
    with pytest.raises(KubectlError, match="could not find the requested resource"):
        await kubectl("get", "things")


@pytest.mark.parametrize("options", [(), ("--server-side",), ("--dry-run=client",), ("--dry-run=server",)])
async def test_the_installation_of_muster_can_be_applied(kubectl: Kubectl, options: tuple[str, ...]) -> None:
    # The namespace has to exist before a server looks at what goes there, be it for a dry run.
    await kubectl("create", "namespace", "muster-system")
    applied = (await kubectl("apply", *options, "-k", str(REPOSITORY / "deploy"))).splitlines()
    assert {
        "clusterrole.rbac.authorization.k8s.io/muster",
        "clusterrolebinding.rbac.authorization.k8s.io/muster",
        "role.rbac.authorization.k8s.io/muster-leader-election",
        "rolebinding.rbac.authorization.k8s.io/muster-leader-election",
        "resourcequota/muster-critical-pods",
        "deployment.apps/muster",
    } <= {each.split()[0] for each in applied}


async def test_roles_and_quotas_are_stored_and_shown(kubectl: Kubectl) -> None:
    await kubectl("apply", "-k", str(REPOSITORY / "deploy"))
    _, bound = await kubectl.table("rolebindings", "-n", "muster-system", "-o", "wide")
    name = "muster-leader-election"
    assert [bound[0], bound[1], bound[-1]] == [name, f"Role/{name}", "muster-system/muster"]
    assert (await kubectl.table("quota", "-n", "muster-system"))[0] == ["NAME", "AGE"]
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "acme:reader"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    }
    assert await kubectl.apply(role) == ["clusterrole.rbac.authorization.k8s.io/acme:reader created"]
    assert await kubectl.apply(role) == ["clusterrole.rbac.authorization.k8s.io/acme:reader unchanged"]


async def test_a_namespace_goes_with_all_it_holds(kubectl: Kubectl, sandbox: Sandbox) -> None:
    await kubectl("create", "namespace", "team")
    await kubectl("run", "web", "-n", "team", "--image=nginx")
    bind(sandbox.store, "web", binding("web", "node-1"), namespace="team")

    await kubectl("delete", "namespace", "team")

    assert await kubectl("get", "pods", "-A", "-o", "name") == ""
    assert "team" not in await kubectl("get", "namespaces", "-o", "name")


async def test_all_that_is_served_is_listed(kubectl: Kubectl) -> None:
    resources, definitions = await kubectl("api-resources", "-o", "name"), await kubectl("get", "crd", "-o", "name")

    assert {"pods", "nodes", "podgroups.scheduling.x-k8s.io", "leases.coordination.k8s.io"} <= set(resources.split())
    assert definitions.split() == ["customresourcedefinition.apiextensions.k8s.io/podgroups.scheduling.x-k8s.io"]


async def test_native_groups_are_served_where_they_are_asked_for(tmp_path: Path) -> None:
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "gang"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    }
    async with Sandbox(native_groups=True) as sandbox:
        kubectl = Kubectl(sandbox.kubeconfig(tmp_path / "kubeconfig"), tmp_path / "cache")
        created = await kubectl.apply(group)
        shown = await kubectl.table("podgroups")
        with pytest.raises(KubectlError, match="must specify one of: `basic`, `gang`"):
            await kubectl.apply(group | {"metadata": {"name": "other"}, "spec": {"schedulingPolicy": {}}})
        stored = json.loads(await kubectl("get", "podgroup", "gang", "-o", "json"))
        spec = {
            "schedulingPolicy": {"gang": {"minGroupCount": 2}},
            "workloadRef": {"workloadName": "w", "templateName": "t"},
        }
        await kubectl.apply(
            group | {"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": "CompositePodGroup", "spec": spec}
        )
        composites = await kubectl.table("compositepodgroups")

    assert created == ["podgroup.scheduling.k8s.io/gang created"]
    assert [row[:4] for row in shown] == [
        ["NAME", "POLICY", "WORKLOAD", "STATUS"],
        ["gang", "Gang", "<none>", "Pending"],
    ]
    assert [row[:3] for row in composites] == [["NAME", "POLICY", "WORKLOAD"], ["gang", "Gang", "w"]]
    assert (stored["spec"]["disruptionMode"], stored["spec"]["priority"]) == ({"single": {}}, 0)

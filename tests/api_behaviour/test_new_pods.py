"""New pods: the changes that admission and defaults make to them."""

import pytest

from tests.api_behaviour.server import STRATEGIC, Server, eventually
from tests.builders import make_pod


async def test_a_pod_starts_pending_with_the_defaults_of_its_spec(server: Server) -> None:
    bare = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "main", "image": "nginx"}]}}

    pod = (await server.post(server.pods(), bare)).body

    assert pod["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert pod["spec"] == {
        "containers": [
            {
                "name": "main",
                "image": "nginx",
                "imagePullPolicy": "Always",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "tolerations": [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
        ],
    }


async def test_a_status_that_comes_with_a_new_pod_is_ignored(server: Server) -> None:
    pod = make_pod("web", namespace=server.namespace).phase("Running").nominated("node-1")

    created = (await server.post(server.pods(), pod)).body

    assert created["status"]["phase"] == "Pending"
    assert "nominatedNodeName" not in created["status"]


async def test_a_toleration_for_all_taints_needs_no_other(server: Server) -> None:
    pod = make_pod("web", namespace=server.namespace).tolerate()

    created = (await server.post(server.pods(), pod)).body

    assert created["spec"]["tolerations"] == [{"operator": "Exists"}]


@pytest.mark.parametrize(
    ("requests", "limits", "expected"),
    [
        ({}, {}, "BestEffort"),
        ({"cpu": "1"}, {}, "Burstable"),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "1000m", "memory": "1024Mi"}, "Guaranteed"),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "2", "memory": "1Gi"}, "Burstable"),
        ({}, {"cpu": "1", "memory": "1Gi"}, "Guaranteed"),
    ],
)
async def test_the_qos_class_follows_from_requests_and_limits(
    server: Server, requests: dict[str, str], limits: dict[str, str], expected: str
) -> None:
    pod = make_pod("web", namespace=server.namespace).requests(requests).limits(limits)

    created = (await server.post(server.pods(), pod)).body

    assert created["status"]["qosClass"] == expected


async def test_requests_that_are_missing_follow_the_limits(server: Server) -> None:
    pod = make_pod("web", namespace=server.namespace).limits(cpu="2", memory="1Gi").requests(cpu="1")

    created = (await server.post(server.pods(), pod)).body

    assert created["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}


async def test_the_priority_class_gives_a_pod_its_priority(server: Server) -> None:
    path, name = "/apis/scheduling.k8s.io/v1/priorityclasses", f"{server.namespace}-high"
    never = {"metadata": {"name": name}, "value": 1000, "preemptionPolicy": "Never"}
    await server.post(path, never)

    pod = make_pod("web", namespace=server.namespace).priority_class(name)
    created = await eventually(lambda: server.post(server.pods(), pod), lambda answer: answer.code == 201)

    assert created.body["spec"]["priority"] == 1000
    assert created.body["spec"]["preemptionPolicy"] == "Never"
    assert created.body["spec"]["priorityClassName"] == name


async def test_the_system_priority_classes_are_there(server: Server) -> None:
    pod = make_pod("web", namespace=server.namespace).priority_class("system-node-critical")

    created = (await server.post(server.pods(), pod)).body

    assert created["spec"]["priority"] == 2_000_001_000


async def test_a_priority_class_that_is_not_there_is_refused(server: Server) -> None:
    answer = await server.post(server.pods(), make_pod("web", namespace=server.namespace).priority_class("nope"))

    assert (answer.code, answer.reason) == (403, "Forbidden")
    assert answer.message == 'pods "web" is forbidden: no PriorityClass with name nope was found'


async def test_a_priority_of_ones_own_is_refused(server: Server) -> None:
    answer = await server.post(server.pods(), make_pod("web", namespace=server.namespace).priority(7))

    assert answer.code == 403
    assert "the integer value of priority (7) must not be provided in pod spec" in answer.message


async def test_a_gated_pod_says_why_it_waits(server: Server) -> None:
    pod = make_pod("web", namespace=server.namespace).gate("example.com/quota")

    (condition,) = (await server.post(server.pods(), pod)).body["status"]["conditions"]

    assert (condition["type"], condition["status"]) == ("PodScheduled", "False")
    assert condition["reason"] == "SchedulingGated"
    assert condition["message"] == "Scheduling is blocked due to non-empty scheduling gates"


async def test_gates_can_be_taken_away(server: Server) -> None:
    await server.post(server.pods(), make_pod("web", namespace=server.namespace).gate("a").gate("b"))

    answer = await server.patch(
        server.pods("web"), {"spec": {"schedulingGates": [{"name": "a", "$patch": "delete"}]}}, STRATEGIC
    )

    assert answer.code == 200
    assert answer.body["spec"]["schedulingGates"] == [{"name": "b"}]


async def test_gates_cannot_be_added(server: Server) -> None:
    await server.post(server.pods(), make_pod("web", namespace=server.namespace))

    answer = await server.patch(server.pods("web"), {"spec": {"schedulingGates": [{"name": "late"}]}})

    assert (answer.code, answer.reason) == (422, "Invalid")
    assert answer.body["details"]["causes"] == [
        {
            "reason": "FieldValueForbidden",
            "field": "spec.schedulingGates[0].name",
            "message": "Forbidden: only deletion is allowed, but found new scheduling gate 'late'",
        }
    ]


async def test_a_gated_pod_may_still_narrow_down_where_it_goes(server: Server) -> None:
    await server.post(server.pods(), make_pod("web", namespace=server.namespace).gate("a"))

    answer = await server.patch(server.pods("web"), {"spec": {"nodeSelector": {"disk": "ssd"}}})

    assert answer.code == 200
    assert answer.body["spec"]["nodeSelector"] == {"disk": "ssd"}
    assert answer.body["metadata"]["generation"] == 2


async def test_a_pod_that_is_created_on_a_node_gets_the_labels_of_its_zone(server: Server) -> None:
    node = f"{server.namespace}-node"
    zone = {"topology.kubernetes.io/zone": "a", "topology.kubernetes.io/region": "r"}
    await server.post("/api/v1/nodes", {"metadata": {"name": node, "labels": zone | {"disk": "ssd"}}})

    pod = make_pod("web", namespace=server.namespace).node(node)
    created = await eventually(
        lambda: server.post(server.pods(), pod, dryRun="All"), lambda answer: "labels" in answer.body["metadata"]
    )

    assert created.body["metadata"]["labels"] == zone

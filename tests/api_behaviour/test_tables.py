"""The tables that kubectl shows."""

from typing import Any

import pytest

from tests.api_behaviour.objects import deployment, event, pod_group
from tests.api_behaviour.server import STRATEGIC, TABLE, Server
from tests.builders import make_pod


async def _rows(server: Server, path: str) -> list[list[Any]]:
    table = (await server.get(path, accept=TABLE, includeObject="None")).body
    return [row["cells"] for row in table["rows"]]


async def _columns(server: Server, path: str) -> tuple[list[str], list[str]]:
    """The names of the columns that are always shown, and of those that are shown on demand."""
    table = (await server.get(path, accept=TABLE)).body
    columns = [(column["name"], column["priority"]) for column in table["columnDefinitions"]]
    return [name for name, priority in columns if not priority], [name for name, priority in columns if priority]


@pytest.mark.parametrize(
    ("resource", "group", "always", "wide"),
    [
        (
            "pods",
            "",
            ["Name", "Ready", "Status", "Restarts", "Age"],
            ["IP", "Node", "Nominated Node", "Readiness Gates"],
        ),
        (
            "events",
            "",
            ["Last Seen", "Type", "Reason", "Object", "Message"],
            ["Subobject", "Source", "First Seen", "Count", "Name"],
        ),
        (
            "podgroups",
            "scheduling.x-k8s.io/v1alpha1",
            ["Name", "Phase", "MinMember", "Scheduled", "Running", "Succeeded", "Failed", "Age"],
            ["Reason", "Message"],
        ),
        ("leases", "coordination.k8s.io/v1", ["Name", "Holder", "Age"], []),
        (
            "poddisruptionbudgets",
            "policy/v1",
            ["Name", "Min Available", "Max Unavailable", "Allowed Disruptions", "Age"],
            [],
        ),
        (
            "deployments",
            "apps/v1",
            ["Name", "Ready", "Up-to-date", "Available", "Age"],
            ["Containers", "Images", "Selector"],
        ),
    ],
)
async def test_each_kind_has_its_columns(
    server: Server, resource: str, group: str, always: list[str], wide: list[str]
) -> None:
    assert await _columns(server, server.path(resource, group=group)) == (always, wide)


@pytest.mark.parametrize(
    ("path", "always", "wide"),
    [
        (
            "/api/v1/nodes",
            ["Name", "Status", "Roles", "Age", "Version"],
            ["Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"],
        ),
        ("/api/v1/namespaces", ["Name", "Status", "Age"], []),
        (
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            ["Name", "Value", "Global-Default", "Age", "PreemptionPolicy"],
            [],
        ),
    ],
)
async def test_kinds_outside_of_namespaces_have_their_columns(
    server: Server, path: str, always: list[str], wide: list[str]
) -> None:
    assert await _columns(server, path) == (always, wide)


async def test_rows_carry_the_metadata_of_their_objects(server: Server) -> None:
    created = await server.post(server.pods(), make_pod("web", namespace=server.namespace))

    table = (await server.get(server.pods(), accept=TABLE)).body

    (row,) = table["rows"]
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert row["object"]["kind"] == "PartialObjectMetadata"
    assert row["object"]["metadata"] | {"managedFields": None} == created.body["metadata"] | {"managedFields": None}


async def test_rows_carry_whole_objects_on_demand(server: Server) -> None:
    await server.post(server.pods(), make_pod("web", namespace=server.namespace))

    table = (await server.get(server.pods("web"), accept=TABLE, includeObject="Object")).body

    assert table["rows"][0]["object"]["spec"]["schedulerName"] == "muster"


async def test_a_pod_on_its_way_through_life(server: Server) -> None:
    await server.post(server.pods(), make_pod("web", namespace=server.namespace))
    running = {"name": "main", "image": "nginx", "imageID": "", "ready": True, "restartCount": 0}
    steps = [
        {"phase": "Running", "containerStatuses": [running | {"state": {"running": {}}}]},
        {
            "phase": "Running",
            "containerStatuses": [running | {"ready": False, "state": {"waiting": {"reason": "Oops"}}}],
        },
        {"phase": "Succeeded", "containerStatuses": [running | {"state": {"terminated": {"exitCode": 0}}}]},
    ]

    seen = [(await _rows(server, server.pods("web")))[0][1:4]]
    for status in steps:
        await server.patch(server.pods("web", "status"), {"status": status})
        seen.append((await _rows(server, server.pods("web")))[0][1:4])

    assert seen == [
        ["0/1", "Pending", "0"],
        ["1/1", "Running", "0"],
        ["0/1", "Oops", "0"],
        ["0/1", "ExitCode:0", "0"],
    ]


async def test_pods_that_wait_or_go_say_so(server: Server) -> None:
    await server.post(server.pods(), make_pod("gated", namespace=server.namespace).gate("a"))
    await server.post(server.pods(), make_pod("going", namespace=server.namespace))
    await server.bind("going", "node-1")
    await server.delete(server.pods("going"))

    rows = {row[0]: row for row in await _rows(server, server.pods())}

    assert rows["gated"][2] == "SchedulingGated"
    assert rows["going"][2] == "Terminating"
    assert rows["gated"][5:] == ["<none>", "<none>", "<none>", "<none>"]
    assert rows["going"][6] == "node-1"


async def test_nodes_show_their_state_and_roles(server: Server) -> None:
    name = f"{server.namespace}-node"
    labels = {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/edge": ""}
    status = {"conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": {"kubeletVersion": "v1.37.1"}}
    node = {"metadata": {"name": name, "labels": labels}, "spec": {"unschedulable": True}, "status": status}
    await server.post("/api/v1/nodes", node)

    ((_, state, roles, _, version, *wide),) = await _rows(server, f"/api/v1/nodes/{name}")

    assert (state, roles, version) == ("Ready,SchedulingDisabled", "edge,worker", "v1.37.1")
    assert wide == ["<none>", "<none>", "<unknown>", "<unknown>", "<unknown>"]


async def test_pod_groups_show_their_counts_and_reason(server: Server) -> None:
    await server.post(server.pod_groups(), pod_group("gang", minMember=3))
    blank = await _rows(server, server.pod_groups())
    condition = {"type": "Scheduled", "status": "False", "reason": "TooFewNodes", "message": "two are missing"}
    status = {"phase": "Pending", "scheduled": 1, "running": 0, "conditions": [condition]}
    await server.patch(server.pod_groups("gang", "status"), {"status": status})

    ((name, phase, minimum, scheduled, running, succeeded, failed, _, *wide),) = await _rows(
        server, server.pod_groups()
    )

    assert blank[0][1:4] == [None, 3, None]
    assert (name, phase, minimum, scheduled, running) == ("gang", "Pending", 3, 1, 0)
    assert (succeeded, failed) == (None, None)
    assert wide == ["TooFewNodes", "two are missing"]


async def test_events_show_what_they_are_about(server: Server) -> None:
    source = {"component": "tester", "host": "here"}
    await server.post(server.path("events"), event("a", server.namespace, count=2, source=source))

    ((_, kind, reason, about, _, origin, message, _, count, name),) = await _rows(server, server.path("events"))

    assert (kind, reason, about, origin) == ("Normal", "Tested", "pod/web", "tester, here")
    assert (message, count, name) == ("it works", 2, "a")


async def test_deployments_show_how_far_they_are(server: Server) -> None:
    path = server.path("deployments", group="apps/v1")
    await server.post(path, deployment("a", ("one", "nginx"), ("two", "redis"), replicas=3))
    await server.patch(f"{path}/a/status", {"status": {"replicas": 2, "readyReplicas": 1}}, STRATEGIC)

    ((_, ready, _, _, _, *wide),) = await _rows(server, path)

    assert ready == "1/3"
    assert wide == ["one,two", "nginx,redis", "app=a"]

"""The number of replicas of a workload, through its Scale."""

import pytest

from tests.api_behaviour.objects import deployment
from tests.api_behaviour.server import MERGE, Server


@pytest.fixture
async def path(server: Server) -> str:
    """The path of a Deployment with two replicas."""
    folder = server.path("deployments", group="apps/v1")
    await server.post(folder, deployment("web", ("main", "nginx"), replicas=2))
    return f"{folder}/web"


async def test_a_scale_shows_the_replicas_and_the_selector(server: Server, path: str) -> None:
    workload, scale = (await server.get(path)).body, (await server.get(f"{path}/scale")).body

    assert (scale["apiVersion"], scale["kind"]) == ("autoscaling/v1", "Scale")
    assert scale["metadata"] == {
        key: workload["metadata"][key] for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    }
    assert (scale["spec"], scale["status"]) == ({"replicas": 2}, {"replicas": 0, "selector": "app=web"})


async def test_a_scale_that_is_replaced_or_patched_changes_the_workload(server: Server, path: str) -> None:
    scale = (await server.get(f"{path}/scale")).body

    replaced = await server.put(f"{path}/scale", scale | {"spec": {"replicas": 3}})
    stale = await server.put(f"{path}/scale", scale | {"spec": {"replicas": 4}})
    patched = await server.patch(f"{path}/scale", {"spec": {"replicas": 5}}, MERGE)
    workload = (await server.get(path)).body

    assert (replaced.code, replaced.body["spec"]["replicas"]) == (200, 3)
    assert (stale.code, stale.reason) == (409, "Conflict")
    assert (patched.code, patched.body["spec"]["replicas"]) == (200, 5)
    assert (workload["spec"]["replicas"], workload["metadata"]["generation"]) == (5, 3)


async def test_less_than_nothing_is_refused(server: Server, path: str) -> None:
    answer = await server.patch(f"{path}/scale", {"spec": {"replicas": -1}}, MERGE)

    assert (answer.code, answer.reason) == (422, "Invalid")
    assert "spec.replicas: Invalid value: -1: must be greater than or equal to 0" in answer.message


async def test_a_rollout_goes_step_by_step_where_nothing_else_is_said(server: Server, path: str) -> None:
    folder = server.path("deployments", group="apps/v1")
    empty = await server.post(folder, deployment("empty", ("main", "nginx"), strategy={}))
    recreated = await server.post(folder, deployment("anew", ("main", "nginx"), strategy={"type": "Recreate"}))
    default = (await server.get(path)).body["spec"]["strategy"]

    limits = {"maxUnavailable": "25%", "maxSurge": "25%"}
    assert default == empty.body["spec"]["strategy"] == {"type": "RollingUpdate", "rollingUpdate": limits}
    assert recreated.body["spec"]["strategy"] == {"type": "Recreate"}

"""Evictions, and the disruption budgets that stand in their way."""

from typing import Any

from tests.api_behaviour.objects import binding
from tests.api_behaviour.server import STRATEGIC, Server
from tests.builders import make_pod

_POLICY = "policy/v1"


async def _running_pod(server: Server, name: str) -> None:
    await server.post(server.pods(), make_pod(name, namespace=server.namespace).labels(app="web"))
    await server.post(server.pods(name, "binding"), binding(name, "node-1"))
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await server.patch(server.pods(name, "status"), {"status": status}, STRATEGIC)


async def _budget(server: Server, **status: Any) -> str:
    path = server.path("poddisruptionbudgets", group=_POLICY)
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    await server.post(path, {"metadata": {"name": "budget"}, "spec": spec})
    await server.patch(f"{path}/budget/status", {"status": status})
    return f"{path}/budget"


async def test_an_evicted_pod_is_marked_and_deleted(server: Server) -> None:
    await _running_pod(server, "web")

    answer = await server.post(server.pods("web", "eviction"), {"metadata": {"name": "web"}})

    pod = (await server.get(server.pods("web"))).body
    conditions = {item["type"]: item for item in pod["status"]["conditions"]}
    assert (answer.code, answer.body["status"]) == (201, "Success")
    assert pod["metadata"]["deletionTimestamp"]
    assert conditions["DisruptionTarget"]["reason"] == "EvictionByEvictionAPI"


async def test_a_budget_that_is_used_up_forbids_an_eviction(server: Server) -> None:
    await _running_pod(server, "web")
    await _budget(server, disruptionsAllowed=0, observedGeneration=1, desiredHealthy=1, currentHealthy=1)

    answer = await server.post(server.pods("web", "eviction"), {"metadata": {"name": "web"}})

    assert (answer.code, answer.reason) == (429, "TooManyRequests")
    assert answer.message == "Cannot evict pod as it would violate the pod's disruption budget."
    assert answer.body["details"]["causes"] == [
        {
            "reason": "DisruptionBudget",
            "message": "The disruption budget budget needs 1 healthy pods and has 1 currently",
        }
    ]
    assert "deletionTimestamp" not in (await server.get(server.pods("web"))).body["metadata"]


async def test_a_budget_without_a_status_forbids_an_eviction(server: Server) -> None:
    await _running_pod(server, "web")
    await _budget(server)

    answer = await server.post(server.pods("web", "eviction"), {"metadata": {"name": "web"}})

    assert answer.code == 429
    assert answer.body["details"]["causes"][0]["message"] == (
        "The disruption budget budget is still being processed by the server."
    )


async def test_an_eviction_is_charged_to_the_budget(server: Server) -> None:
    await _running_pod(server, "web")
    path = await _budget(server, disruptionsAllowed=1, observedGeneration=1, desiredHealthy=1, currentHealthy=2)

    answer = await server.post(server.pods("web", "eviction"), {"metadata": {"name": "web"}})

    status = (await server.get(path)).body["status"]
    assert answer.code == 201
    assert status["disruptionsAllowed"] == 0
    assert list(status["disruptedPods"]) == ["web"]


async def test_a_pod_that_does_not_run_yet_is_covered_by_no_budget(server: Server) -> None:
    await server.post(server.pods(), make_pod("web", namespace=server.namespace).labels(app="web"))
    await _budget(server, disruptionsAllowed=0, observedGeneration=1)

    answer = await server.post(server.pods("web", "eviction"), {"metadata": {"name": "web"}})

    assert answer.code == 201
    assert (await server.get(server.pods("web"))).code == 404


async def test_an_eviction_can_set_the_time(server: Server) -> None:
    await _running_pod(server, "web")
    eviction = {"metadata": {"name": "web"}, "deleteOptions": {"gracePeriodSeconds": 5}}

    await server.post(server.pods("web", "eviction"), eviction)

    assert (await server.get(server.pods("web"))).body["metadata"]["deletionGracePeriodSeconds"] == 5

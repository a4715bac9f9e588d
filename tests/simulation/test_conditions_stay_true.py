"""A whole process on a simulated API: what the conditions of waiting pods say is never older than half a minute."""

from collections import Counter
from collections.abc import Iterator

import pytest

from muster.sandbox.kinds import NODES, PODS
from muster.testing import make_node, make_pod
from muster.testing.simulation import standard
from muster.testing.simulation.server import Answer, Request
from muster.testing.simulation.stage import Stage

PODS_WAITING = 300
HALF_A_MINUTE = 30.0


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage("conditions", 1, standard())
    stage.most_steps = 1_000_000
    stage.server.store.create(NODES, make_node("node", cpu="1"))
    stage.server.store.create(PODS, make_pod("first").requests(cpu="1").node("node"), namespace="default")
    for number in range(PODS_WAITING):
        pod = make_pod(f"pod-{number:03}").requests(cpu="1")
        stage.server.store.create(PODS, pod, namespace="default")
    stage.go_on(HALF_A_MINUTE)
    yield stage
    stage.end()


def reasons(stage: Stage) -> Counter[str]:
    """How many pods wait for what, by the first words behind the number of nodes."""
    said: Counter[str] = Counter()
    for pod in stage.server.objects(PODS):
        for condition in pod["status"].get("conditions", ()):
            if (condition["type"], condition["status"]) == ("PodScheduled", "False"):
                said[condition["message"].partition(": 1 ")[2].partition(".")[0]] += 1
    return said


def patched(stage: Stage) -> Counter[str]:
    """Counts the writes to the status of each pod from now on."""
    writes: Counter[str] = Counter()
    before = stage.server.on_request

    def on_request(request: Request, answer: Answer) -> None:
        if request.method == "PATCH" and request.path.endswith("/status") and "/pods/" in request.path:
            writes[request.path] += 1
        before(request, answer)

    stage.server.on_request = on_request
    return writes


def test_each_of_many_equal_pods_names_the_new_reason_after_one_write(stage: Stage) -> None:
    assert reasons(stage) == {"Insufficient cpu": PODS_WAITING}
    writes = patched(stage)
    [node] = stage.server.objects(NODES)
    tainted = {**node["spec"], "taints": [{"key": "broken", "effect": "NoSchedule"}]}
    stage.server.store.replace_stored(NODES, node | {"spec": tainted})
    stage.go_on(HALF_A_MINUTE)

    assert reasons(stage) == {"node(s) had untolerated taint(s)": PODS_WAITING}
    assert len(writes) == PODS_WAITING
    assert set(writes.values()) == {1}

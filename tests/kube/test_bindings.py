"""A Binding is posted for exactly this pod, and its outcome is a value."""

import pytest

from muster.framework.model.meta import ObjectMeta
from muster.operator.kube.bindings import BindingWriter
from muster.operator.kube.client import ApiClient
from muster.operator.kube.outcome import Outcome, Result
from muster.operator.kube.retry import Retrier

from .conftest import Time
from .fake_api import FakeApi, Json, status_answer

META = ObjectMeta(name="web-0", namespace="shop", uid="uid-1")
PATH = "/api/v1/namespaces/shop/pods/web-0/binding"
SUCCESS = Json({"kind": "Status", "status": "Success", "code": 201}, 201)


@pytest.fixture
def writer(client: ApiClient, time: Time) -> BindingWriter:
    return BindingWriter(client, Retrier(sleep=time.sleep, random=lambda: 0.0))


async def test_the_binding_names_the_pod_its_uid_and_the_node(fake: FakeApi, writer: BindingWriter) -> None:
    fake.on("POST", PATH, SUCCESS)
    assert await writer.bind(META, "node-7") == Outcome(Result.DONE)
    assert fake.asked[0].json == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"namespace": "shop", "name": "web-0", "uid": "uid-1"},
        "target": {"kind": "Node", "name": "node-7"},
    }


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (
            status_answer(409, "Conflict", 'pod web-0 is already assigned to node "node-1"'),
            Outcome(Result.CONFLICT, 'pod web-0 is already assigned to node "node-1"'),
        ),
        (
            status_answer(404, "NotFound", 'pods "web-0" not found'),
            Outcome(Result.GONE, 'pods "web-0" not found'),
        ),
        (
            status_answer(403, "Forbidden", "pods/binding is forbidden"),
            Outcome(Result.FAILED, "pods/binding is forbidden"),
        ),
    ],
)
async def test_a_refused_binding_is_not_repeated(
    fake: FakeApi, writer: BindingWriter, answer: Json, outcome: Outcome
) -> None:
    fake.on("POST", PATH, answer)
    assert await writer.bind(META, "node-7") == outcome
    assert len(fake.asked) == 1


async def test_a_servers_passing_trouble_is_sat_out(fake: FakeApi, writer: BindingWriter, time: Time) -> None:
    fake.on("POST", PATH, status_answer(500, "InternalError", "etcd"), SUCCESS)
    assert await writer.bind(META, "node-7") == Outcome(Result.DONE)
    assert time.slept == [0.01]


async def test_a_servers_lasting_trouble_is_a_failure(fake: FakeApi, writer: BindingWriter) -> None:
    fake.on("POST", PATH, status_answer(503, "ServiceUnavailable", "down"))
    assert await writer.bind(META, "node-7") == Outcome(Result.FAILED, "down")
    assert len(fake.asked) == 4


PODS = "/api/v1/namespaces/shop/pods"
ASSIGNED = status_answer(409, "Conflict", 'pod web-0 is already assigned to node "node-7"')
UNCLEAR = status_answer(504, "Timeout", "request did not complete")


def pod(node: str = "", uid: str = "uid-1") -> Json:
    found = {"metadata": {"name": "web-0", "namespace": "shop", "uid": uid}, "spec": {"nodeName": node}}
    return Json({"items": [found]})


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (pod("node-7"), Outcome(Result.DONE)),
        (pod("node-1"), Outcome(Result.CONFLICT, "request did not complete")),
        (pod("node-7", uid="uid-2"), Outcome(Result.GONE, "request did not complete")),
        (Json({"items": []}), Outcome(Result.GONE, "request did not complete")),
    ],
    ids=["bound", "bound by another", "made again", "gone"],
)
async def test_without_an_answer_to_the_binding_the_pod_is_read(
    fake: FakeApi, writer: BindingWriter, found: Json, outcome: Outcome
) -> None:
    fake.on("POST", PATH, UNCLEAR)
    fake.on("GET", PODS, found)
    assert await writer.bind(META, "node-7") == outcome
    assert fake.asked[-1].query == {"fieldSelector": "metadata.name=web-0"}


async def test_a_pod_that_has_no_node_after_all_is_bound_once_more(fake: FakeApi, writer: BindingWriter) -> None:
    fake.on("POST", PATH, UNCLEAR, SUCCESS)
    fake.on("GET", PODS, pod())
    assert await writer.bind(META, "node-7") == Outcome(Result.DONE)


async def test_the_look_waits_for_a_server_that_answers(fake: FakeApi, writer: BindingWriter, time: Time) -> None:
    fake.on("POST", PATH, UNCLEAR)
    fake.on("GET", PODS, status_answer(503, "ServiceUnavailable", "down"), pod("node-7"))
    assert await writer.bind(META, "node-7") == Outcome(Result.DONE)
    assert time.slept == [0.1]


async def test_a_first_try_that_was_done_shows_at_the_second(fake: FakeApi, writer: BindingWriter) -> None:
    fake.on("POST", PATH, status_answer(500, "InternalError", "etcd"), ASSIGNED)
    fake.on("GET", PODS, pod("node-7"))
    assert await writer.bind(META, "node-7") == Outcome(Result.DONE)


async def test_a_pod_that_is_never_bound_is_given_back(fake: FakeApi, writer: BindingWriter) -> None:
    fake.on("POST", PATH, UNCLEAR)
    fake.on("GET", PODS, pod())
    assert await writer.bind(META, "node-7") == Outcome(Result.FAILED, "request did not complete")
    assert [each.method for each in fake.asked] == ["POST", "GET"] * 4

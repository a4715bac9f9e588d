"""Objects of a workload go where the API has them, and the time of each pod's creation is kept."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from bench.scheduler_perf.catalogue import Catalogue, UnknownKindError
from bench.scheduler_perf.objects import Object
from bench.scheduler_perf.writer import IN_FLIGHT, Writer, many
from tests.bench.scheduler_perf.api import Recorder

NODE: Object = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}
POD: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}


@pytest.fixture
def api() -> Recorder:
    return Recorder()


@pytest.fixture
def writer(api: Recorder) -> Writer:
    return Writer(api, lambda count: None)


async def test_a_kind_is_asked_for_once(api: Recorder) -> None:
    catalogue = Catalogue(api)
    for made, namespace, path in ((NODE, None, "/api/v1/nodes"), (POD, "n", "/api/v1/namespaces/n/pods")):
        assert (await catalogue.resource(made)).collection(namespace) == path
    assert api.requests == ["GET /api/v1"]


@pytest.mark.parametrize(
    ("made", "namespace", "fault"),
    [
        (NODE | {"kind": "Knot"}, None, "v1 has no Knot"),
        (NODE, "n", "nodes are not in a namespace"),
        (POD, None, "pods are in a namespace"),
    ],
)
async def test_an_object_that_has_no_place_is_refused(
    writer: Writer, made: Object, namespace: str | None, fault: str
) -> None:
    with pytest.raises(UnknownKindError, match=fault):
        await writer.any_object(made, namespace)


async def test_a_namespace_is_created_once(api: Recorder, writer: Writer) -> None:
    labelled: Mapping[str, Any] = {"metadata": {"name": "b", "labels": {"team": "x"}}}
    await writer.namespace("a")
    await writer.namespace("b", dict(labelled))
    await writer.namespace("a")
    await writer.namespace("b")
    assert api.requests == ["POST /api/v1/namespaces"] * 2
    assert api.bodies == [{"metadata": {"name": "a"}}, labelled]


async def test_the_creation_of_a_pod_is_kept_under_the_name_that_it_was_given(api: Recorder, writer: Writer) -> None:
    name = await writer.pod("n", b'{"metadata":{"generateName":"pod-"}}')
    assert name == "pod-1"
    assert writer.created.keys() == {("n", "pod-1")}


async def test_a_group_goes_by_the_version_that_is_served(api: Recorder, writer: Writer) -> None:
    await writer.group({"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": "PodGroup", "metadata": {"name": "g"}}, "n")
    assert api.requests[-1] == "POST /apis/scheduling.k8s.io/v1beta1/namespaces/n/podgroups"
    assert api.bodies[-1]["apiVersion"] == "scheduling.k8s.io/v1beta1"


async def test_an_object_is_replaced_and_then_its_status(api: Recorder, writer: Writer) -> None:
    await writer.replace(POD, "n", ["resize"])
    await writer.replace(NODE, None, [])
    assert api.requests[1:] == [
        "PUT /api/v1/namespaces/n/pods/a/resize",
        "PUT /api/v1/namespaces/n/pods/a/status",
        "PUT /api/v1/nodes/a",
        "PUT /api/v1/nodes/a/status",
    ]


async def test_many_items_are_worked_on_at_a_time_but_not_more() -> None:
    running, most, done = 0, 0, []

    async def work(item: int) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        done.append(item)

    await many(range(100), work)

    assert most == IN_FLIGHT
    assert sorted(done) == list(range(100))

"""The output of `muster groups` for users who may not read everything, or whose cluster does not serve every kind."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

import pytest

from muster.framework.contract import GroupId
from muster.operator.explain.reading import Selected, list_groups, read_documents
from muster.operator.kube.auth import StaticAuth
from muster.operator.kube.credentials import Connection
from muster.operator.kube.errors import Forbidden, NotFound
from muster.operator.podgroups.membership import GroupKinds
from muster.plugins.catalog import group_kinds
from tests.builders import make_pod
from tests.gangscheduling.world import make_group, make_members
from tests.kube.fake_api import FakeApi, Json, status_answer

_LABELLED = "/apis/scheduling.x-k8s.io/v1alpha1"
_NATIVE = "/apis/scheduling.k8s.io/v1beta1"
_GROUPS = GroupKinds(group_kinds())
_SHOP = Selected("default")
_WITHIN = "/namespaces/default"
_KINDS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    f"{_LABELLED}/podgroups": [{"metadata": {"name": "own", "namespace": "default"}, "spec": {"minMember": 2}}],
    f"{_NATIVE}/podgroups": [make_group("native", 2)],
    "/apis/scheduling.k8s.io/v1alpha3/compositepodgroups": [],
    "/api/v1/pods": [
        make_pod("own-0").labels({"scheduling.x-k8s.io/pod-group": "own"}),
        *make_members("native", 1, priority=1),
    ],
}


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    """A cluster with a group of each kind; each kind is served in its namespace and in all."""
    server = FakeApi()
    for path, items in _KINDS.items():
        prefix, _, plural = path.rpartition("/")
        for each in (path, f"{prefix}{_WITHIN}/{plural}"):
            server.on("GET", each, Json({"metadata": {"resourceVersion": "1"}, "items": items}))
    await server.start()
    yield server
    await server.stop()


def _to(api: FakeApi) -> Connection:
    return Connection(api.url, auth=StaticAuth())


def _forbid(api: FakeApi, paths: Collection[str]) -> None:
    for path in paths:
        api.on("GET", path, status_answer(403, "Forbidden", f"{path} is not yours"))


async def _places(api: FakeApi) -> dict[str, int]:
    found = await list_groups(_to(api), _GROUPS, _SHOP, places=True)
    return {group.metadata.name: group.place for group in found}


async def test_users_who_may_read_everything_see_places(api: FakeApi) -> None:
    assert await _places(api) == {"native": 1, "own": 2}


@pytest.mark.parametrize("path", ["/api/v1/pods", f"{_LABELLED}/podgroups"])
async def test_users_who_may_read_one_namespace_alone_see_no_place(api: FakeApi, path: str) -> None:
    _forbid(api, [path])
    assert await _places(api) == {"native": 0, "own": 0}


async def test_kinds_that_the_cluster_does_not_serve_are_left_out(api: FakeApi) -> None:
    for path in (f"{_NATIVE}/podgroups", f"{_NATIVE}{_WITHIN}/podgroups"):
        api.on("GET", path, status_answer(404, "NotFound", "no such kind"))
    assert await _places(api) == {"own": 1}
    assert [each.name for each in await read_documents(_to(api), _GROUPS, _SHOP)] == ["own"]


async def test_native_groups_are_listed_without_the_definition_of_the_others(api: FakeApi) -> None:
    for path in (f"{_LABELLED}/podgroups", f"{_LABELLED}{_WITHIN}/podgroups"):
        api.on("GET", path, status_answer(404, "NotFound", "no such kind"))
    assert await _places(api) == {"native": 1}
    assert [each.name for each in await read_documents(_to(api), _GROUPS, _SHOP)] == ["native"]
    api.on("GET", f"{_NATIVE}{_WITHIN}/podgroups", Json({"metadata": {}, "items": []}))
    with pytest.raises(NotFound):
        await list_groups(_to(api), _GROUPS, _SHOP, places=False)


async def test_pods_are_read_for_native_groups_alone(api: FakeApi) -> None:
    _forbid(api, [f"/api/v1{_WITHIN}/pods"])
    with pytest.raises(Forbidden):
        await list_groups(_to(api), _GROUPS, _SHOP, places=False)
    api.on("GET", f"{_NATIVE}{_WITHIN}/podgroups", Json({"metadata": {}, "items": []}))
    assert [each.id for each in await list_groups(_to(api), _GROUPS, _SHOP, places=False)] == [
        GroupId("Coscheduling", "default/own")
    ]


async def test_documents_are_of_the_version_and_kind_that_lists_leave_out(api: FakeApi) -> None:
    found = await read_documents(_to(api), _GROUPS, _SHOP)
    assert [(bytes(each.body["apiVersion"]), bytes(each.body["kind"])) for each in found] == [
        (b'"scheduling.k8s.io/v1beta1"', b'"PodGroup"'),
        (b'"scheduling.x-k8s.io/v1alpha1"', b'"PodGroup"'),
    ]

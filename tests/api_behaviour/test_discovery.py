"""How clients find out what is served."""

from typing import Any

import pytest

from tests.api_behaviour.server import Server
from tests.controlplane.binaries import DEFAULT_KUBERNETES_VERSION, KUBERNETES_VERSION

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


async def _resource(server: Server, path: str, name: str) -> dict[str, Any]:
    resources = (await server.get(path)).body["resources"]
    return next(item for item in resources if item["name"] == name)


async def test_the_version_is_that_of_the_reference(server: Server) -> None:
    version = (await server.get("/version")).body

    expected = DEFAULT_KUBERNETES_VERSION if version["gitVersion"].endswith("sandbox") else KUBERNETES_VERSION
    assert [version["major"], version["minor"]] == expected.split(".")[:2]
    assert version["gitVersion"].startswith(f"v{expected}")


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
async def test_the_server_says_that_it_is_well(server: Server, path: str) -> None:
    answer = await server.get(path)

    assert (answer.code, answer.body) == (200, "ok")


async def test_the_core_versions_are_listed(server: Server) -> None:
    assert (await server.get("/api")).body["versions"] == ["v1"]


@pytest.mark.parametrize(
    ("group", "version"),
    [
        ("apps", "v1"),
        ("events.k8s.io", "v1"),
        ("coordination.k8s.io", "v1"),
        ("scheduling.x-k8s.io", "v1alpha1"),
        ("apiextensions.k8s.io", "v1"),
    ],
)
async def test_the_groups_are_listed_with_their_versions(server: Server, group: str, version: str) -> None:
    groups = {item["name"]: item for item in (await server.get("/apis")).body["groups"]}

    assert f"{group}/{version}" in [item["groupVersion"] for item in groups[group]["versions"]]
    assert (await server.get(f"/apis/{group}")).body["preferredVersion"] == groups[group]["preferredVersion"]


async def test_pods_are_described(server: Server) -> None:
    pods = await _resource(server, "/api/v1", "pods")

    assert (pods["kind"], pods["singularName"], pods["namespaced"]) == ("Pod", "pod", True)
    assert (pods["shortNames"], pods["categories"]) == (["po"], ["all"])
    assert pods["verbs"] == ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


@pytest.mark.parametrize(
    ("name", "kind", "verbs"),
    [
        ("pods/status", "Pod", ["get", "patch", "update"]),
        ("pods/binding", "Binding", ["create"]),
        ("pods/eviction", "Eviction", ["create"]),
    ],
)
async def test_the_subresources_of_pods_are_described(server: Server, name: str, kind: str, verbs: list[str]) -> None:
    resource = await _resource(server, "/api/v1", name)

    assert (resource["kind"], resource["verbs"]) == (kind, verbs)


async def test_pod_groups_are_described(server: Server) -> None:
    groups = await _resource(server, "/apis/scheduling.x-k8s.io/v1alpha1", "podgroups")

    assert (groups["kind"], groups["singularName"], groups["shortNames"]) == ("PodGroup", "podgroup", ["pg", "pgs"])


async def test_nodes_are_in_no_namespace(server: Server) -> None:
    assert (await _resource(server, "/api/v1", "nodes"))["namespaced"] is False


@pytest.mark.parametrize("root", ["/api", "/apis"])
async def test_everything_comes_in_one_document_on_demand(server: Server, root: str) -> None:
    answer = await server.get(root, accept=f"{_AGGREGATED},application/json")

    assert (answer.body["kind"], answer.body["apiVersion"]) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2")
    served = {
        (item["metadata"].get("name", ""), resource["resource"]): resource
        for item in answer.body["items"]
        for version in item["versions"]
        for resource in version["resources"]
    }
    if root == "/api":
        pods = served["", "pods"]
        assert pods["responseKind"]["kind"] == "Pod"
        assert pods["scope"] == "Namespaced"
        assert {"binding", "eviction", "status"} <= {item["subresource"] for item in pods["subresources"]}
    else:
        assert served["scheduling.x-k8s.io", "podgroups"]["shortNames"] == ["pg", "pgs"]


async def test_the_definition_of_pod_groups_can_be_read(server: Server) -> None:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/podgroups.scheduling.x-k8s.io"

    definition = (await server.get(path)).body

    conditions = {item["type"]: item["status"] for item in definition["status"]["conditions"]}
    assert definition["spec"]["names"]["kind"] == "PodGroup"
    assert conditions["Established"] == "True"


@pytest.mark.parametrize(
    ("group", "kind"),
    [("api/v1", "Pod"), ("apis/scheduling.x-k8s.io/v1alpha1", "PodGroup"), ("apis/apps/v1", "Deployment")],
)
async def test_patches_are_documented_as_validated_by_the_server(server: Server, group: str, kind: str) -> None:
    index = (await server.get("/openapi/v3")).body["paths"]
    document = (await server.get(index[group]["serverRelativeURL"])).body

    patches = [path["patch"] for path in document["paths"].values() if "patch" in path]
    ours = [item for item in patches if item["x-kubernetes-group-version-kind"]["kind"] == kind]
    assert all("fieldValidation" in [parameter["name"] for parameter in item["parameters"]] for item in ours)
    assert ours

"""Namespaces of one test each, on a control plane that runs no controllers: what is in them is removed here."""

import itertools
from collections.abc import Iterator

from tests.controlplane.api import Api

_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_numbers = itertools.count(1)


def create_namespace(api: Api) -> str:
    """Creates a namespace that no other test of this session has and returns its name."""
    name = f"test-{next(_numbers)}"
    api.post("/api/v1/namespaces", {"metadata": {"name": name}})
    return name


def remove_namespace(api: Api, name: str) -> None:
    """Removes a namespace with all it holds, at once: finalizers and grace periods are overruled."""
    path = f"/api/v1/namespaces/{name}"
    namespace = api.delete(path)
    for root, resource in _deletable_collections(api):
        objects = f"{root}/namespaces/{name}/{resource}"
        for left in api.delete(objects, gracePeriodSeconds=0).get("items", ()):
            if left["metadata"].get("finalizers"):
                api.patch(f"{objects}/{left['metadata']['name']}", {"metadata": {"finalizers": None}})
    api.put(f"{path}/finalize", namespace | {"spec": {"finalizers": []}})


def _deletable_collections(api: Api) -> Iterator[tuple[str, str]]:
    """The root path and name of every namespaced resource that can be deleted as a whole, in its preferred version."""
    for root in ("/api", "/apis"):
        for group in api.get(root, accept=_DISCOVERY)["items"]:
            version = group["versions"][0]
            path = "/".join(filter(None, (root, group["metadata"].get("name"), version["version"])))
            for resource in version.get("resources", ()):
                if resource["scope"] == "Namespaced" and "deletecollection" in resource["verbs"]:
                    yield path, resource["resource"]

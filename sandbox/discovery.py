"""The documents by which clients learn what is served: groups, versions, resources and the version of the server.

Pure functions of the kinds that are served. Both forms are here: the aggregated one that newer clients ask for, and
the older one document per group and version.
"""

from muster.sandbox.kinds import BINDINGS
from muster.sandbox.objects import Object
from muster.sandbox.registry import Kind, Registry

AGGREGATED_TYPES = ("v2", "v2beta1")
"""The versions of `apidiscovery.k8s.io` in which the aggregated document is given."""

_SUBRESOURCE_KINDS = {
    "binding": ("", "v1", "Binding", ("create",)),
    "eviction": ("policy", "v1", "Eviction", ("create",)),
    "scale": ("autoscaling", "v1", "Scale", ("get", "patch", "update")),
}
_WRITE_STATUS = ("get", "patch", "update")


def server_version() -> Object:
    """`/version`: the version of Kubernetes whose behaviour the sandbox has."""
    return {
        "major": "1",
        "minor": "37",
        "gitVersion": "v1.37.1+muster-sandbox",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "linux/amd64",
    }


def core_versions(host: str) -> Object:
    """`/api`."""
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": host}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}


def groups(kinds: Registry) -> Object:
    """`/apis`."""
    served = [_group(name, version) for name, version in kinds.group_versions() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": served}


def group(kinds: Registry, name: str) -> Object | None:
    """`/apis/{name}`, or None for an unknown group."""
    found = next((item for item in kinds.group_versions() if item[0] == name and name), None)
    return {"kind": "APIGroup", "apiVersion": "v1"} | _group(*found) if found else None


def _group(name: str, version: str) -> Object:
    served = {"groupVersion": f"{name}/{version}", "version": version}
    return {"name": name, "versions": [served], "preferredVersion": served}


def resources(kinds: Registry, group: str, version: str) -> Object | None:
    """`/api/v1` or `/apis/{group}/{version}`, or None where nothing is served there."""
    served = kinds.in_group_version(group, version)
    if not served:
        return None
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": served[0].api_version,
        "resources": [item for kind in served for item in _resource(kind)],
    }


def _resource(kind: Kind) -> list[Object]:
    common = {"singularName": kind.singular, "namespaced": kind.namespaced, "kind": kind.kind}
    listed: Object = {"name": kind.resource} | common | {"verbs": list(kind.verbs)}
    if kind.short_names:
        listed["shortNames"] = list(kind.short_names)
    if kind.categories:
        listed["categories"] = list(kind.categories)
    below = [_subresource(kind, name) for name in kind.subresources]
    return [listed, *below]


def _subresource(kind: Kind, name: str) -> Object:
    listed: Object = {"name": f"{kind.resource}/{name}", "singularName": "", "namespaced": kind.namespaced}
    if name in _SUBRESOURCE_KINDS:
        group, version, answered, verbs = _SUBRESOURCE_KINDS[name]
        foreign = {"group": group, "version": version} if group else {}
        return listed | foreign | {"kind": answered, "verbs": list(verbs)}
    return listed | {"kind": kind.kind, "verbs": list(_WRITE_STATUS)}


def aggregated(kinds: Registry, *, core: bool, version: str) -> Object:
    """The aggregated document of `/api` (`core`) or of `/apis`, in one version of `apidiscovery.k8s.io`."""
    items = [
        {
            "metadata": {"name": group, "creationTimestamp": None} if group else {"creationTimestamp": None},
            "versions": [
                {
                    "version": served,
                    "freshness": "Current",
                    "resources": [_aggregated_resource(kind) for kind in kinds.in_group_version(group, served)],
                }
            ],
        }
        for group, served in kinds.group_versions()
        if core is not bool(group)
    ]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": items,
    }


def _aggregated_resource(kind: Kind) -> Object:
    listed: Object = {
        "resource": kind.resource,
        "responseKind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "scope": _scope(kind),
        "singularResource": kind.singular,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        listed["shortNames"] = list(kind.short_names)
    if kind.categories:
        listed["categories"] = list(kind.categories)
    if kind.subresources:
        listed["subresources"] = [_aggregated_subresource(kind, name) for name in kind.subresources]
    return listed


def _aggregated_subresource(kind: Kind, name: str) -> Object:
    group, version, answered, verbs = _SUBRESOURCE_KINDS.get(name, (kind.group, kind.version, kind.kind, _WRITE_STATUS))
    return {
        "subresource": name,
        "responseKind": {"group": group, "version": version, "kind": answered},
        "verbs": list(verbs),
    }


def _scope(kind: Kind) -> str:
    return "Namespaced" if kind.namespaced else "Cluster"


def paths(kinds: Registry) -> Object:
    """`/`: the folders of the API."""
    served = [f"/apis/{group}/{version}" for group, version in kinds.group_versions() if group]
    return {"paths": ["/api", "/api/v1", "/apis", *served, "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"]}


def folder(kind: Kind) -> str:
    """The path of a kind's group and version: `/api/v1` or `/apis/{group}/{version}`."""
    return f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"


def item_path(kind: Kind) -> str:
    """The path of one object, with its parts in braces."""
    inside = "/namespaces/{namespace}" if kind.namespaced else ""
    return f"{folder(kind)}{inside}/{kind.resource}/{{name}}"


def documented(kinds: Registry) -> list[Kind]:
    """The kinds whose objects can be created and changed, unlike requests such as Binding."""
    return [kind for kind in kinds if kind is not BINDINGS]

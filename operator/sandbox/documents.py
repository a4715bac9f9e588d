"""The paths that are about the server itself: what it serves, which version it is, whether it is well."""

import msgspec
from aiohttp import web

from muster.operator.sandbox import discovery, errors, openapi
from muster.operator.sandbox.answers import JSON, document
from muster.operator.sandbox.objects import Object

_HEALTH_PATHS = ("/healthz", "/livez", "/readyz")


def answer(request: web.BaseRequest) -> web.Response | None:
    """The document at the path of a GET request, or None where the path is about objects."""
    path = request.path.rstrip("/") or "/"
    if path in _HEALTH_PATHS:
        return web.Response(text="ok")
    if path in ("/api", "/apis") and (version := _aggregated_version(request)):
        content = discovery.aggregated(core=path == "/api", version=version)
        media = f"{JSON};g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
        return web.Response(body=msgspec.json.encode(content), headers={"Content-Type": media})
    match path.strip("/").split("/"):
        case [""]:
            return document(discovery.paths())
        case ["version"]:
            return document(discovery.server_version())
        case ["api"]:
            return document(discovery.core_versions(request.host))
        case ["apis"]:
            return document(discovery.groups())
        case ["api", version]:
            return _found(discovery.resources("", version))
        case ["apis", group]:
            return _found(discovery.group(group))
        case ["apis", group, version]:
            return _found(discovery.resources(group, version))
        case ["openapi", "v2"]:
            return _openapi_v2(request)
        case ["openapi", "v3"]:
            return document(openapi.index())
        case ["openapi", "v3", *rest]:
            return _found(openapi.document("/".join(rest)))
    return None


def _aggregated_version(request: web.BaseRequest) -> str:
    accept = request.headers.get("Accept", "")
    wanted = (version for version in discovery.AGGREGATED_TYPES if f"v={version};as=APIGroupDiscoveryList" in accept)
    return next(wanted, "")


def _openapi_v2(request: web.BaseRequest) -> web.Response:
    if openapi.V2_ACCEPTED in request.headers.get("Accept", ""):
        return web.Response(body=openapi.v2_protobuf(), content_type=openapi.V2_PROTOBUF)
    return document(openapi.v2())


def _found(content: Object | None) -> web.Response:
    if content is None:
        raise errors.no_such_path()
    return document(content)

"""The two servers that every test here runs against, and a namespace of the test's own on each."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
import yaml

from muster.plugins.coscheduling.definition import definition
from muster.sandbox import Sandbox
from tests.api_behaviour.server import SECONDS, Server
from tests.controlplane.api import Api, ApiError
from tests.controlplane.plane import ControlPlane
from tests.namespaces import create_namespace

SANDBOX, REAL = "sandbox", "kube-apiserver"
_POD_GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/podgroups"
_CONTENTS = (
    ("pods", ""),
    ("configmaps", ""),
    ("events", ""),
    ("leases", "coordination.k8s.io/v1"),
    ("deployments", "apps/v1"),
    ("poddisruptionbudgets", "policy/v1"),
    ("podgroups", "scheduling.x-k8s.io/v1alpha1"),
)
_OUTSIDE = ("/api/v1/nodes", "/apis/scheduling.k8s.io/v1/priorityclasses")
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture(scope="session")
def real(control_plane: ControlPlane) -> ControlPlane:
    """The control plane of the session, with PodGroups served."""
    described = definition()
    with control_plane.api() as api:
        known = [item["metadata"]["name"] for item in api.get(_DEFINITIONS)["items"]]
        if described["metadata"]["name"] not in known:
            api.post(_DEFINITIONS, described)
        _wait_for_pod_groups(api)
    return control_plane


@pytest.fixture(params=[SANDBOX, REAL])
async def server(request: pytest.FixtureRequest) -> AsyncIterator[Server]:
    """The server under test. It has neither kubelet nor controllers; the sandbox's stand-ins for them are off."""
    if request.param == SANDBOX:
        async with Sandbox([definition()], stand_ins=False) as sandbox, _session(sandbox.url) as session:
            server = Server(session, "test")
            await server.post("/api/v1/namespaces", {"metadata": {"name": "test"}})
            yield server
        return
    plane: ControlPlane = request.getfixturevalue("real")
    trust = ssl.create_default_context(cafile=str(plane.ca_file))
    with plane.api() as api:
        namespace = create_namespace(api)
    async with _session(plane.url, trust=trust, token=_token(plane)) as session:
        server = Server(session, namespace)
        yield server
        await _remove(server)


@asynccontextmanager
async def _session(
    url: str, *, trust: ssl.SSLContext | bool = True, token: str = "any"
) -> AsyncIterator[aiohttp.ClientSession]:
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(url, headers=headers, connector=aiohttp.TCPConnector(ssl=trust)) as session:
        yield session


def _token(plane: ControlPlane) -> str:
    """The administrator's token, as the kubeconfig has it."""
    config = yaml.safe_load(plane.kubeconfig().read_text())
    token: str = config["users"][0]["user"]["token"]
    return token


def _wait_for_pod_groups(api: Api) -> None:
    """A definition is served a moment after it was created."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        try:
            api.get(_POD_GROUPS)
        except ApiError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError("PodGroups are not served")


async def _remove(server: Server) -> None:
    """Removes the namespace with all it holds, and the objects outside of it that are named after it."""
    path = f"/api/v1/namespaces/{server.namespace}"
    contents = [server.path(resource, group=group) for resource, group in _CONTENTS]
    await asyncio.gather(*(_empty(server, content) for content in contents))
    await asyncio.gather(*(_remove_named(server, folder) for folder in _OUTSIDE))
    namespace = await server.delete(path)
    await server.put(f"{path}/finalize", namespace.body | {"spec": {"finalizers": []}})


async def _empty(server: Server, path: str) -> None:
    for left in (await server.delete(path, gracePeriodSeconds=0)).body["items"]:
        if left["metadata"].get("finalizers"):
            await server.patch(f"{path}/{left['metadata']['name']}", {"metadata": {"finalizers": None}})


async def _remove_named(server: Server, folder: str) -> None:
    for name in (await server.get(folder)).names:
        if name.startswith(f"{server.namespace}-"):
            await server.delete(f"{folder}/{name}")

"""Fixtures for every test: one real API server for the session, started by the first test that asks for it."""

import asyncio
import gc
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer

from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.deployed import log_in_as_deployed
from tests.namespaces import create_namespace, remove_namespace
from tests.worker_units import Units, longest_first

if TYPE_CHECKING:
    import kubernetes

# How fast an example runs says something about the machine only, and a failure in CI has to come back when run again.
settings.register_profile(
    "muster", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
# Fresh examples each night, and many: the one that fails is printed with what draws it again.
settings.register_profile(
    "nightly", settings.get_profile("muster"), derandomize=False, max_examples=1500, print_blob=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "muster"))

# kubectl remembers for minutes which kinds a server has, by its port, which another server may have had just before.
os.environ["KUBECACHEDIR"] = os.devnull


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Units | None:
    """Workers share units out where the command line says no more than how many workers there are."""
    if config.getoption("dist") != "load":
        return None
    config.option.loadscopereorder = False
    return Units(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A run without workers goes through the tests in the order of their files."""
    if hasattr(config, "workerinput"):
        items[:] = longest_first(items)


@pytest.fixture(scope="session", autouse=True)
def _no_loop_but_the_tests_own() -> None:
    """Python 3.11 makes an event loop for pytest-asyncio's first look at the current one, and nobody closes it."""
    asyncio.set_event_loop(None)


@pytest.fixture(autouse=True)
def _collector_as_it_was() -> Iterator[None]:
    """A command takes all that there is for what stays, where no collector looks, nor hypothesis for its own random."""
    before = gc.isenabled(), gc.get_threshold()
    yield
    gc.unfreeze()
    assert (gc.isenabled(), gc.get_threshold()) == before


@pytest.fixture
def own_objects_alone(_collector_as_it_was: None) -> Iterator[None]:
    """The collector goes through what this test makes alone: the collected tests are a million objects.

    Not for a test of Hypothesis, the first of which has to find what refers to NumPy's random.
    """
    gc.freeze()
    yield
    gc.collect()


@pytest.fixture(autouse=True)
def _loggers_as_they_were() -> Iterator[None]:
    """A command that runs inside a test sets the handlers and the levels of its process, `muster run` even in vain."""
    loggers = [logging.getLogger(name) for name in ("", "muster", "kopf", "kopf._core", "aiohttp.access")]
    before = [(logger, logger.level, list(logger.handlers)) for logger in loggers]
    yield
    for logger, level, handlers in before:
        logger.setLevel(level)
        logger.handlers[:] = handlers


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """etcd and kube-apiserver for the whole session. No scheduler, no controller and no kubelet runs."""
    with ControlPlane(tmp_path_factory.mktemp("control-plane")) as plane:
        yield plane


@pytest.fixture(scope="session")
def admin_kubeconfig(control_plane: ControlPlane) -> Path:
    """A kubeconfig that may do everything."""
    return control_plane.kubeconfig()


@pytest.fixture(scope="session")
def muster_kubeconfig(control_plane: ControlPlane) -> Path:
    """A kubeconfig with a token of the ServiceAccount that is deployed, and with its rights alone."""
    return log_in_as_deployed(control_plane)


@pytest.fixture(scope="session")
def api(control_plane: ControlPlane) -> Iterator[Api]:
    """A client that sends and returns plain dicts, with the administrator's rights."""
    with control_plane.api() as client:
        yield client


@pytest.fixture(scope="session")
def api_client(admin_kubeconfig: Path) -> "Iterator[kubernetes.client.ApiClient]":
    """The official client's connection, for any of its typed APIs."""
    # Imported here because it takes seconds, and most tests need no API server.
    import kubernetes

    configuration = kubernetes.client.Configuration()
    kubernetes.config.load_kube_config(str(admin_kubeconfig), client_configuration=configuration)
    with kubernetes.client.ApiClient(configuration) as client:
        yield client


@pytest.fixture(scope="session")
def core_v1(api_client: "kubernetes.client.ApiClient") -> "kubernetes.client.CoreV1Api":
    """The official client's core API."""
    import kubernetes

    return kubernetes.client.CoreV1Api(api_client)


@pytest.fixture
def namespace(api: Api) -> Iterator[str]:
    """The name of a namespace of this test alone; it is removed afterwards with all it holds."""
    name = create_namespace(api)
    yield name
    remove_namespace(api, name)


@pytest.fixture
def add_nodes(api: Api) -> Iterator[Callable[..., None]]:
    """Call it with nodes to create them on the API server; they are deleted after the test."""
    names: list[str] = []

    def add(*nodes: Mapping[str, Any]) -> None:
        for node in nodes:
            api.post("/api/v1/nodes", node)
            names.append(node["metadata"]["name"])

    yield add
    for name in names:
        api.delete(f"/api/v1/nodes/{name}")


@pytest.fixture
def add_pods(api: Api, namespace: str) -> Callable[..., None]:
    """Call it with pods to create them in this test's namespace, whatever namespace they name."""

    def add(*pods: Mapping[str, Any]) -> None:
        for pod in pods:
            metadata = pod["metadata"] | {"namespace": namespace}
            api.post(f"/api/v1/namespaces/{namespace}/pods", {**pod, "metadata": metadata})

    return add


@pytest.fixture
def priority_classes(api: Api, namespace: str) -> Iterator[dict[str, str]]:
    """The names of two priority classes, `low` and `high`."""
    names = {kind: f"{namespace}-{kind}" for kind in ("low", "high")}
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    for value, name in enumerate(names.values(), start=1):
        api.post(path, {"metadata": {"name": name}, "value": value})
    yield names
    for name in names.values():
        api.delete(f"{path}/{name}")

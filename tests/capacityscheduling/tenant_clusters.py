"""Clusters for tenants: the API server of the simulation in virtual time, and a real one, each with one Muster on it.

`tenants` creates and deletes objects by the API's paths, and sees nothing else of either. On both it plays the kubelet
and the users; the simulated server's own kubelets start pods as well.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from muster.framework.model.times import rfc3339
from muster.testing.simulation import standard
from muster.testing.simulation.loop import SimulatedLoop
from muster.testing.simulation.replica import Replica
from muster.testing.simulation.server import Request, SimulatedServer
from tests.controlplane.api import Api, ApiError
from tests.controlplane.plane import ControlPlane
from tests.controlplane.server import READY_WITHIN_SECONDS
from tests.deployed import define_pod_groups, log_in_as_deployed
from tests.e2e.muster_process import Options, running

_NOT_FOUND = 404
_QUOTAS = Path(__file__).parents[2] / "deploy" / "crds" / "scheduling.x-k8s.io_elasticquotas.yaml"


class TenantCluster(Protocol):
    """An API server with one Muster, and its time."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        ...

    def get(self, path: str) -> Any:
        """Read a list."""
        ...

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Create an object. Returns it."""
        ...

    def delete(self, path: str) -> None:
        """Delete a pod at once, if it is still there."""
        ...

    def start(self, pod: Mapping[str, Any]) -> None:
        """Let a pod with a node run."""
        ...


class _Simulated:
    """The simulated server, with one replica."""

    def __init__(self, seed: str) -> None:
        self._loop = SimulatedLoop(Random(f"{seed}/loop"))
        asyncio._set_running_loop(self._loop)
        try:
            self._server = SimulatedServer(self._loop, Random(f"{seed}/server"))
            Replica("muster-0", standard(), self._server, self._loop, seed=seed, record=lambda line, *bodies: None)
        finally:
            asyncio._set_running_loop(None)

    def now(self) -> float:
        return self._server.wall()

    def wait(self, seconds: float) -> None:
        self._loop.run_until(self._loop.time() + seconds)

    def get(self, path: str) -> Any:
        return self._ask("GET", path)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._ask("POST", path, body)

    def delete(self, path: str) -> None:
        self._ask("DELETE", path, {"gracePeriodSeconds": 0}, accepted=(_NOT_FOUND,))

    def start(self, pod: Mapping[str, Any]) -> None:
        """Its kubelets do."""

    def end(self) -> None:
        """End the process."""
        self._loop.end()

    def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, accepted: tuple[int, ...] = ()
    ) -> Any:
        data = None if body is None else json.dumps(body).encode()
        answer = self._server.answer(Request("tenants", method, path, data))
        assert answer.good or answer.status in accepted, f"{method} {path}: {answer.body.decode()}"
        return json.loads(answer.body)


class _Real:
    """A real server, as an administrator."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.get = api.get
        self.post = api.post

    def now(self) -> float:
        return time.time()

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def delete(self, path: str) -> None:
        try:
            self._api.delete(path, gracePeriodSeconds=0)
        except ApiError as error:
            if error.code != _NOT_FOUND:
                raise

    def start(self, pod: Mapping[str, Any]) -> None:
        meta = pod["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status"
        self._api.patch(path, {"status": {"phase": "Running", "startTime": rfc3339(self.now())}})


@contextmanager
def simulated(seed: str = "tenants") -> Iterator[TenantCluster]:
    """A simulated API server, and a Muster that leads."""
    logging.disable(logging.CRITICAL)
    cluster = _Simulated(seed)
    try:
        yield cluster
    finally:
        cluster.end()
        logging.disable(logging.NOTSET)


@contextmanager
def real() -> Iterator[TenantCluster]:
    """A real API server, and a Muster with the rights of an installation."""
    with TemporaryDirectory() as name, ControlPlane(Path(name)) as plane, plane.api() as api:
        define_pod_groups(plane)
        plane.kubectl("apply", "--server-side", "-f", str(_QUOTAS))
        plane.kubectl("wait", "--for=condition=Established", "-f", str(_QUOTAS), "--timeout=60s")
        options = Options(kubeconfig=log_in_as_deployed(plane), log=Path(name) / "muster.log", names=("muster",))
        with running(options, ready=False) as process:
            process.wait_until_ready(within=READY_WITHIN_SECONDS)
            yield _Real(api)

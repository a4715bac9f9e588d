"""Kubelets, played: what is bound starts, what is deleted ends, and a pod of Muster's is a real process.

No container engine runs where tests do. A pod of the release's Deployment is started as the program that its image
holds, with the arguments, files and token that a kubelet would give it, and is ready when its probe says so. The pod of
`helm test` is a real process too, and ends when that does. All other pods run as soon as they are bound.
"""

import subprocess
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self

from tests.controlplane.api import Api, ApiError
from tests.controlplane.plane import ControlPlane
from tests.deploy.helm import NAMESPACE
from tests.deploy.pod import Replica, log_in, mount

_OURS = ("app.kubernetes.io/name", "muster")
_TEST = ("helm.sh/hook", "test")
_LOOK_EVERY_SECONDS = 0.2

Pod = dict[str, Any]


class Kubelets:
    """The kubelets of all nodes, while the context lasts; `muster` gives the program."""

    def __init__(self, plane: ControlPlane, muster: Callable[[], Path], folder: Path) -> None:
        self._plane, self._muster, self._folder = plane, muster, folder
        self._replicas: dict[str, Replica] = {}
        self._tests: dict[str, subprocess.Popen[bytes]] = {}
        self._over = Event()
        self._thread = Thread(target=self._work)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()
        for replica in self._replicas.values():
            replica.stop()
        for test in self._tests.values():
            test.kill()
            test.wait()

    def _work(self) -> None:
        with self._plane.api() as api:
            while not self._over.wait(_LOOK_EVERY_SECONDS):
                for pod in api.get("/api/v1/pods")["items"]:
                    try:
                        self._care_for(api, pod)
                    except ApiError:
                        continue  # somebody else was faster; the next look shows it

    def _care_for(self, api: Api, pod: Pod) -> None:
        meta = pod["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        if not pod["spec"].get("nodeName"):
            return
        if "deletionTimestamp" in meta:
            replica = self._replicas.pop(meta["uid"], None)
            if replica is not None:
                replica.stop()
            api.delete(path, gracePeriodSeconds=0)
        elif _is_test(pod) and pod["status"]["phase"] in ("Pending", "Running"):
            code = self._test_of(api, pod).poll()
            phase = "Running" if code is None else "Failed" if code else "Succeeded"
            if phase != pod["status"]["phase"]:
                api.patch(f"{path}/status", {"status": {"phase": phase}})
        elif pod["status"]["phase"] == "Pending" and self._is_up(api, pod):
            api.patch(f"{path}/status", {"status": _running(pod)})

    def _test_of(self, api: Api, pod: Pod) -> subprocess.Popen[bytes]:
        """The process of a pod of `helm test`, which is started where it is not yet."""
        uid = pod["metadata"]["uid"]
        if uid not in self._tests:
            folder = self._folder / uid
            folder.mkdir()
            [container] = pod["spec"]["containers"]
            kubeconfig = log_in(self._plane, api, folder, pod["spec"]["serviceAccountName"])
            program = self._muster().with_name(container["command"][0])
            variables = {variable["name"]: variable["value"] for variable in container["env"]}
            with (folder / "log").open("wb") as log:
                self._tests[uid] = subprocess.Popen(
                    [program, *container["command"][1:], *container["args"]],
                    env={**variables, "HOME": str(folder), "KUBECONFIG": str(kubeconfig)},
                    stdout=log,
                    stderr=log,
                )
        return self._tests[uid]

    def _is_up(self, api: Api, pod: Pod) -> bool:
        meta = pod["metadata"]
        label, name = _OURS
        if meta["namespace"] != NAMESPACE or meta.get("labels", {}).get(label) != name:
            return True
        if meta["uid"] not in self._replicas:
            folder = self._folder / meta["uid"]
            folder.mkdir()
            self._replicas[meta["uid"]] = Replica(self._muster(), mount(self._plane, api, folder))
        return self._replicas[meta["uid"]].page("/readyz") == (200, "ok")


def _is_test(pod: Pod) -> bool:
    key, value = _TEST
    return bool(pod["metadata"].get("annotations", {}).get(key) == value)


def _running(pod: Pod) -> dict[str, Any]:
    conditions = [{"type": kind, "status": "True"} for kind in ("Initialized", "ContainersReady", "Ready")]
    containers = [
        {
            "name": container["name"],
            "image": container["image"],
            "imageID": "",
            "ready": True,
            "restartCount": 0,
            "state": {"running": {}},
        }
        for container in pod["spec"]["containers"]
    ]
    return {"phase": "Running", "conditions": conditions, "containerStatuses": containers}

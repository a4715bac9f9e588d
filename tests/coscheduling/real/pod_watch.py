"""A watch on one namespace's pods by somebody who is not Muster, in a thread of its own."""

import json
import threading
import time
from typing import Any, Self

from tests.controlplane.plane import ControlPlane
from tests.coscheduling.chaos.watch import GangWatch


class PodWatch:
    """Tells a `GangWatch` of every change of a pod, for as long as the block lasts. Ask nothing of it before the end.

    Times are those at which changes arrive here.
    """

    def __init__(self, plane: ControlPlane, namespace: str, gangs: GangWatch) -> None:
        self._api = plane.api()
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._gangs = gangs
        self._thread = threading.Thread(target=self._follow)
        self._lock = threading.Lock()
        self._error: Exception | None = None

    def __enter__(self) -> Self:
        listed = self._api.get(self._path)
        self._stream = self._api.stream(self._path, watch="true", resourceVersion=listed["metadata"]["resourceVersion"])
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def group_added(self, key: str, needed: int) -> None:
        """There is about to be a PodGroup."""
        with self._lock:
            self._gangs.group_changed(key, needed, time.monotonic())

    def _follow(self) -> None:
        try:
            for line in self._stream:
                self._take(json.loads(line))
        except Exception as error:
            self._error = error

    def _take(self, change: dict[str, Any]) -> None:
        pod = change["object"]
        key = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        with self._lock:
            if change["type"] == "DELETED":
                self._gangs.pod_gone(key, pod, time.monotonic())
            else:
                self._gangs.pod_changed(key, pod, time.monotonic())

"""A played HAMi behind HTTP, on a real API server: its extender, and the device plugins of all nodes.

It runs in threads of the test. What HAMi decides and writes is `tests.hami.played`; here are its requests to the API
server and the extender's wire format.
"""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.controlplane.api import Api, ApiError
from tests.controlplane.plane import ControlPlane
from tests.hami.names import Object
from tests.hami.played import LockedError, PlayedDevicePlugins, PlayedHami

_ALLOCATES_EVERY_SECONDS = 0.05
_RETRY_SECONDS = 28.0
_POLL_SECONDS = 0.1


class _RealApi:
    """Implements `HamiApi` with requests."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def nodes(self) -> list[Object]:
        found: list[Object] = self._api.get("/api/v1/nodes")["items"]
        return found

    def pods(self) -> list[Object]:
        found: list[Object] = self._api.get("/api/v1/pods")["items"]
        return found

    def annotate_pod(self, pod: Object, values: Mapping[str, str]) -> None:
        self._api.patch(_path(pod), {"metadata": {"annotations": dict(values)}})

    def annotate_node(self, name: str, values: Mapping[str, str | None]) -> None:
        self._api.patch(f"/api/v1/nodes/{name}", {"metadata": {"annotations": dict(values)}})

    def bind(self, pod: Object, node: str) -> str:
        meta = {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        try:
            self._api.post(f"{_path(pod)}/binding", {"metadata": meta, "target": target})
        except ApiError as error:
            return str(error)
        return ""


class ServedHami:
    """HAMi's parts, one request at a time.

    Attributes:
        url: the extender's urlPrefix.
        asked: the verbs and pods of the requests, in their order.
        fails: errors of bind by the pods' names.
    """

    def __init__(self, api: Api, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.asked: list[tuple[str, str]] = []
        self.fails: dict[str, str] = {}
        self._hami = PlayedHami(_RealApi(api), time.time)
        self._plugins = PlayedDevicePlugins(_RealApi(api))
        self._turn = threading.Lock()

    def filter(self, args: Object) -> Object:
        """Answer ExtenderArgs."""
        with self._turn:
            self.asked.append(("filter", args["Pod"]["metadata"]["name"]))
            return self._hami.filter(args["Pod"], args["NodeNames"])

    def bind(self, args: Object) -> Object:
        """Answer ExtenderBindingArgs; wait for the lock of another member of the gang."""
        name = args["PodName"]
        self.asked.append(("bind", name))
        deadline = time.monotonic() + _RETRY_SECONDS
        while True:
            try:
                with self._turn:
                    bound = self._hami.bind(name, args["PodNamespace"], args["PodUID"], args["Node"])
                    return {"error": self.fails.get(name) or bound}
            except LockedError as locked:
                if time.monotonic() > deadline:
                    return {"error": str(locked)}
            time.sleep(_POLL_SECONDS)

    def allocate(self) -> None:
        """Let the device plugins act."""
        with self._turn:
            self._plugins.step()


def _path(pod: Object) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


@contextmanager
def served_hami(plane: ControlPlane) -> Iterator[ServedHami]:
    """HAMi as long as the block lasts."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            args = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps({"/filter": hami.filter, "/bind": hami.bind}[self.path](args)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    over = threading.Event()

    def allocate() -> None:
        while not over.wait(_ALLOCATES_EVERY_SECONDS):
            hami.allocate()

    with plane.api() as api, ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        hami = ServedHami(api, server.server_address[1])
        threads = [threading.Thread(target=server.serve_forever), threading.Thread(target=allocate)]
        for thread in threads:
            thread.start()
        try:
            yield hami
        finally:
            over.set()
            server.shutdown()
            for thread in threads:
                thread.join()

"""The stage for faults: two replicas that are started again when they end, and work that goes on meanwhile."""

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.builders import PodDict, make_pod
from tests.controlplane.api import Api, ApiError
from tests.controlplane.plane import ControlPlane
from tests.e2e.eventually import eventually
from tests.ha import audit
from tests.ha.pods import GROUP_LABEL
from tests.ha.replica import Replica, Terms, create_account, log_in
from tests.ha.wall import Wall
from tests.ha.work import GANG

PODS_PER_NODE = 40
_ALREADY_THERE = 409
_PAUSE_SECONDS = 0.1
_LEADS_WITHIN_SECONDS = 60.0


@dataclass
class Seat:
    """A replica, whichever process it is by now, and its way to the API server."""

    user: str
    kubeconfig: Path
    wall: Wall
    process: Replica


class Pair:
    """Two replicas.

    Attributes:
        seats: of either.
    """

    def __init__(self, plane: ControlPlane, terms: Terms, folder: Path) -> None:
        self._terms = terms
        self._folder = folder
        self._stopped: Replica | None = None
        self.seats = [self._seat(plane, name) for name in ("replica-a", "replica-b")]

    def leader(self) -> Seat:
        """The leader, as soon as there is one."""
        found = eventually(self._leading, within=_LEADS_WITHIN_SECONDS)
        assert found is not None
        return found

    def look_after(self) -> None:
        """Start again what has ended."""
        for seat in self.seats:
            if not seat.process.is_running:
                seat.process.wait()
                seat.process = self._process(seat.user, seat.kubeconfig)

    def stop_leader(self) -> None:
        """It stands until `go_on`."""
        self._stopped = self.leader().process
        self._stopped.signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Continue the replica that was stopped."""
        if self._stopped is not None:
            self._stopped.signal(signal.SIGCONT)
        self._stopped = None

    def mend(self) -> None:
        """The network works."""
        for seat in self.seats:
            seat.wall.mend()

    def close(self) -> None:
        """End both."""
        for seat in self.seats:
            seat.process.kill()
            seat.wall.close()

    def _leading(self) -> Seat | None:
        return next((seat for seat in self.seats if seat.process.is_running and seat.process.leads), None)

    def _seat(self, plane: ControlPlane, name: str) -> Seat:
        user, wall = create_account(plane, self._terms.name, name), Wall(plane.url)
        kubeconfig = self._folder / f"{name}.kubeconfig"
        log_in(plane, user, kubeconfig, server=wall.url)
        return Seat(user, kubeconfig, wall, self._process(user, kubeconfig))

    def _process(self, user: str, kubeconfig: Path) -> Replica:
        return Replica(self._terms, user, kubeconfig=kubeconfig, folder=self._folder)


class Work:
    """Pods of 100m CPU, half of them in gangs of ten, created by a thread that goes on however often it is refused."""

    def __init__(self, plane: ControlPlane, namespace: str, *, first: int, pods: int) -> None:
        self._plane = plane
        self._namespace = namespace
        self._first = first
        self._turns = pods // (2 * GANG)
        self._thread = threading.Thread(target=self._create_all, daemon=True)
        self._thread.start()

    @property
    def is_done(self) -> bool:
        """Whether all is created."""
        return not self._thread.is_alive()

    def _create_all(self) -> None:
        pods = f"/api/v1/namespaces/{self._namespace}/pods"
        groups = f"/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{self._namespace}/podgroups"
        for turn in range(self._first, self._first + self._turns):
            gang = f"gang-{turn}"
            kind = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}
            self._insist(groups, {**kind, "metadata": {"name": gang}, "spec": {"minMember": GANG}})
            for number in range(GANG):
                self._insist(pods, self._pod(f"single-{turn}-{number}"))
                self._insist(pods, self._pod(f"{gang}-{number}").labels({GROUP_LABEL: gang}))

    def _pod(self, name: str) -> PodDict:
        made = make_pod(name, namespace=self._namespace).scheduler(self._namespace).requests(cpu="100m")
        made["metadata"].pop("uid", None)
        return made

    def _insist(self, path: str, body: Mapping[str, object]) -> None:
        """Create it, over a connection of its own: one that has fallen silent is of no use any more."""
        while True:
            try:
                with self._plane.api() as api:
                    api.post(path, body)
            except ApiError as error:
                if error.code == _ALREADY_THERE:
                    return
            except OSError:
                pass
            else:
                return
            time.sleep(_PAUSE_SECONDS)


def lost(api: Api, namespace: str, log: Path, users: list[str]) -> Iterator[str]:
    """All that is not as it has to be."""
    pods = api.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    waiting = [pod["metadata"]["name"] for pod in pods if "nodeName" not in pod["spec"]]
    if waiting:
        yield f"{len(waiting)} of {len(pods)} pods have no node: {', '.join(waiting[:3])}"
    members = Counter(
        pod["metadata"]["labels"][GROUP_LABEL]
        for pod in pods
        if "nodeName" in pod["spec"] and GROUP_LABEL in pod["metadata"].get("labels", {})
    )
    yield from (f"{count} members of {gang} are bound" for gang, count in members.items() if count != GANG)
    full = Counter(pod["spec"].get("nodeName") for pod in pods)
    yield from (f"{count} pods are on {node}" for node, count in full.items() if node and count > PODS_PER_NODE)
    bound = audit.bindings([write for user in users for write in audit.writes(log, user)])
    yield from (f"{pod} was bound {times} times" for pod, times in bound.items() if times > 1)


def wait_for(done: Callable[[], bool], pair: Pair, *, seconds: float) -> float | None:
    """How long it takes until it is so, while replicas that end are started again; None when it takes too long."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        pair.look_after()
        try:
            if done():
                return time.monotonic() - began
        except (ApiError, OSError):
            pass
        time.sleep(_PAUSE_SECONDS)
    return None

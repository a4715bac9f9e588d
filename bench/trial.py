"""A trial: one side drains a backlog of pods, alone on its own control plane.

`python -m bench.drain` and `python -m bench.gangs` run one for each side. The comparison is fair:

- Every side gets a fresh etcd and API server with the same nodes and pods, filled and idle before the side starts. So
  no side finds warmer caches or a larger database than another, and the order of the sides does not matter.
- The backlog exists before the side starts, so the side does not compete with clients that create pods. The start
  itself (loading, logging in, listing) does not count: rates are measured between the first and the last binding that a
  watch on the pods shows.
- A side's work for a pod does not end with the Binding. CPU time is measured from the first binding until the last
  Event exists, so that no work can be deferred beyond the end. The cost of the start is reported separately.
- The CPU time of the API server and etcd is measured too: on a machine with few CPUs, the sum bounds the rate.
- Other programs affect rates more than CPU times. Their share of the machine is reported, so that readers can reject a
  disturbed run.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import uvloop

from bench import cluster
from bench.check import until_right
from bench.client import Client
from bench.failures import StalledError
from bench.ledger import Ledger, count_events, count_scheduled
from bench.measure import Reading, is_running, peak_bytes
from bench.progress import Display
from bench.scale import Body
from bench.sides import Side, log_of
from tests.controlplane.plane import ControlPlane
from tests.controlplane.server import Server

API_SERVER, ETCD, BENCH = "kube-apiserver", "etcd", "bench"

_SLACK_SECONDS = 60.0
_AT_LEAST_A_SECOND = 10
_LISTED_A_SECOND = 1000
"""The least number of objects that a side lists in a second before it begins to schedule."""
_EVENTS_WITHIN_SECONDS = 30.0
_LOOK_SECONDS = 0.1
_LOG_LINES = 15


@dataclass(frozen=True, slots=True)
class Backlog:
    """The initial cluster of a trial: nodes, waiting pods, and further objects that these need, such as their groups.

    `controllers` of kube-controller-manager, and `beside`, run during the trial of either side if pods need more than a
    scheduler.
    """

    nodes: Sequence[Body]
    pods: Sequence[Body]
    others: Sequence[Body] = ()
    controllers: Sequence[str] = ()
    beside: Callable[[Client], Awaitable[None]] | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a side.

    Attributes:
        side: its name.
        pods: the number of bound pods.
        start_seconds: from its start to its first binding.
        bound_seconds: from the first binding to the last.
        written_seconds: from the first binding to the last Event.
        cpu_seconds: CPU time of the side, from the first binding to the last Event.
        total_cpu_seconds: CPU time of the side, from its start to the last Event.
        server_cpu_seconds: CPU time of kube-apiserver and etcd, by name, from the first binding to the last Event.
        peak_bytes: its highest resident memory.
        others_share: the part of the machine's CPUs that programs outside the trial used meanwhile.
    """

    side: str
    pods: int
    start_seconds: float
    bound_seconds: float
    written_seconds: float
    cpu_seconds: float
    total_cpu_seconds: float
    server_cpu_seconds: Mapping[str, float]
    peak_bytes: int
    others_share: float

    @property
    def pods_per_second(self) -> float:
        """The rate of bindings, between the first and the last."""
        return (self.pods - 1) / self.bound_seconds

    @property
    def cpu_per_pod(self) -> float:
        """CPU seconds of the side for each pod."""
        return self.cpu_seconds / self.pods

    @property
    def server_cpu_per_pod(self) -> float:
        """CPU seconds of kube-apiserver and etcd for each pod."""
        return sum(self.server_cpu_seconds.values()) / self.pods

    @property
    def all_cpu_per_pod(self) -> float:
        """CPU seconds of the side, kube-apiserver and etcd for each pod."""
        return self.cpu_per_pod + self.server_cpu_per_pod


def run(side: Side, backlog: Backlog, display: Display) -> Result:
    """A trial from the start of its control plane to its end. Raises what `control_plane` and `measure` do."""
    with control_plane(side, display) as plane, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(measure(side, backlog, plane, display))


@contextmanager
def control_plane(
    side: Side,
    display: Display,
    *,
    feature_gates: Mapping[str, bool] = {},
    runtime_config: Mapping[str, bool] = {},
    api_server_arguments: Sequence[str] = (),
) -> Iterator[ControlPlane]:
    """A control plane for one side, in a temporary folder. Raises as `ControlPlane.start` does."""
    with TemporaryDirectory(prefix="muster-bench-") as folder:
        plane = ControlPlane(
            Path(folder),
            feature_gates=feature_gates,
            runtime_config=runtime_config,
            api_server_arguments=api_server_arguments,
        )
        with display.phase(f"{side.name}: control plane"):
            plane.start()
        try:
            yield plane
        finally:
            plane.stop()


async def measure(side: Side, backlog: Backlog, plane: ControlPlane, display: Display) -> Result:
    """Fill the cluster, let the side drain the backlog, and check the result. The side has ended afterwards.

    Raises `StalledError` and `WrongRunError` if the side failed, `RefusedError`, and `TimeoutError` if the cluster
    cannot be filled in time.
    """
    if backlog.controllers:
        plane.start_controller_manager(*backlog.controllers)
    async with Client(plane.kubeconfig()) as client:
        objects = {"nodes": backlog.nodes, "others": backlog.others, "pods": backlog.pods}
        await cluster.fill(client, side.name, objects, display)
        pids = {server.name: server.pid for server in plane.servers}
        with display.phase(f"{side.name}: rest"):
            await cluster.rest(pids)
        within = len(backlog.pods) / _AT_LEAST_A_SECOND + (len(backlog.nodes) + len(backlog.others)) / _LISTED_A_SECOND
        trial = _Trial(side, len(backlog.pods), _SLACK_SECONDS + within, client, pids)
        async with _running(backlog.beside, client):
            result = await trial.run(plane, display)
        await until_right(client, trial.ledger.nodes)
        return result


@asynccontextmanager
async def _running(beside: Callable[[Client], Awaitable[None]] | None, client: Client) -> AsyncIterator[None]:
    """Run `beside` while the block lasts. Raises the error that ends it early."""
    if beside is None:
        yield
        return
    task = asyncio.ensure_future(beside(client))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


class _Trial:
    """The measured part of a trial.

    Attributes:
        ledger: the bindings.
    """

    def __init__(self, side: Side, pods: int, within: float, client: Client, pids: Mapping[str, int]) -> None:
        """`within` is the limit, in seconds, for binding all pods."""
        self.ledger = Ledger(client, notice=self._notice)
        self._side = side
        self._pods = pods
        self._within = within
        self._client = client
        self._pids = {**pids, BENCH: os.getpid()}
        self._first: tuple[float, Reading] | None = None

    async def run(self, plane: ControlPlane, display: Display) -> Result:
        async with self.ledger:
            started = time.monotonic()
            with self._side.running(plane) as server:
                self._pids[self._side.name] = server.pid
                try:
                    await self._until_bound(server, display)
                    written, last = await self._until_written()
                except TimeoutError:
                    seconds = time.monotonic() - started
                    raise StalledError(await how_far(self._side, plane, self._client, self.ledger, seconds)) from None
                return self._result(server, started, written, last)

    def _notice(self) -> None:
        if self._first is None:
            self._first = time.monotonic(), Reading.of(self._pids)

    async def _until_bound(self, server: Server, display: Display) -> None:
        """Wait until all pods are bound. Raises `TimeoutError` if the side ends or is too slow."""
        with display.phase(f"{self._side.name}: drain", self._pods) as advance:
            async with asyncio.timeout(self._within):
                if not await self.ledger.reach(self._pods, is_alive=lambda: is_running(server.pid), advance=advance):
                    raise TimeoutError

    async def _until_written(self) -> tuple[float, Reading]:
        """Wait for the last Event; returns its time and the CPU times by then. Raises `TimeoutError`."""
        async with asyncio.timeout(_EVENTS_WITHIN_SECONDS):
            while True:
                written, used = time.monotonic(), Reading.of(self._pids)
                enough = await count_events(self._client) >= self._pods
                if enough and await count_scheduled(self._client) >= self._pods:
                    return written, used
                await asyncio.sleep(_LOOK_SECONDS)

    def _result(self, server: Server, started: float, written: float, last: Reading) -> Result:
        assert self._first is not None, "all pods are bound, so the first one is"
        began, before = self._first
        name, used = self._side.name, last.since(before)
        return Result(
            side=name,
            pods=self._pods,
            start_seconds=began - started,
            bound_seconds=max(self.ledger.times.values()) - began,
            written_seconds=written - began,
            cpu_seconds=used.processes[name],
            total_cpu_seconds=last.processes[name],
            server_cpu_seconds={each: used.processes[each] for each in (API_SERVER, ETCD)},
            peak_bytes=peak_bytes(server.pid),
            others_share=used.others / ((written - began) * (os.cpu_count() or 1)),
        )


async def how_far(side: Side, plane: ControlPlane, client: Client, ledger: Ledger, seconds: float) -> str:
    """A text with the progress of a stalled side, and the end of its log."""
    log = log_of(plane, side.name).read_text(errors="replace").splitlines()[-_LOG_LINES:]
    done = (
        f"{side.name} bound {len(ledger.nodes)} pods and wrote {await count_events(client)} Events in {seconds:.0f} s"
    )
    return "\n".join([f"{done}; the end of its log:", *log])

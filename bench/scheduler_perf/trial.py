"""A run of one workload with one side, from the start of its control plane to its end.

Both sides get the API server, the feature gates, the controllers and the scheduler's configuration that scheduler_perf
gives kube-scheduler. As there, the scheduler runs before the first node is made, and what is measured are the pods that
the workload names. Unlike there, it is a process of its own, and so is what creates the pods. Muster has no feature
gates: it goes by what the API server serves.
"""

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from functools import partial

import uvloop
import yaml

from bench.client import Client
from bench.failures import StalledError, text_of
from bench.ledger import WrongRunError
from bench.measure import is_running
from bench.progress import Display
from bench.scheduler_perf.collecting import Collector, Found
from bench.scheduler_perf.configuration import Workload
from bench.scheduler_perf.operations import CreatePods
from bench.scheduler_perf.page import SidePages
from bench.scheduler_perf.play import Player
from bench.scheduler_perf.pods import PodWatch
from bench.scheduler_perf.resolution import resolve
from bench.scheduler_perf.writer import Writer
from bench.sides import (
    CONFIGURATION,
    KUBE_SCHEDULER,
    MUSTER,
    Side,
    grant_pod_groups,
    kube_scheduler_command,
    log_of,
    muster_command,
)
from bench.trial import BENCH, control_plane
from tests.controlplane import commands
from tests.controlplane.plane import SCHEDULER, ControlPlane

_DEVICES, _GROUPS = "DynamicResourceAllocation", "GenericWorkload"
_SERVED: Mapping[str, Sequence[str]] = {
    _DEVICES: [f"resource.k8s.io/{version}" for version in ("v1", "v1beta2", "v1beta1", "v1alpha3")],
    _GROUPS: ["scheduling.k8s.io/v1beta1"],
}
"""The versions of APIs that a gate needs."""
_API_SERVER = ("--disable-admission-plugins=Priority",)
"""Pods name their priority, not a class; what else scheduler_perf turns off is off for every benchmark."""
_CONTROLLERS = ("garbage-collector-controller", "resourceclaim-controller")
"""Those that make the claims of pods, and end them with the pods. Nothing else in the workloads has an owner."""
_DEFAULT = {"profiles": [{"schedulerName": "default-scheduler"}]}
_LOG_LINES = 15


def sides(workload: Workload) -> tuple[Side, Side]:
    """kube-scheduler and Muster, as the workload wants its scheduler."""
    return (
        Side(KUBE_SCHEDULER.name, partial(_kube_scheduler, workload)),
        Side(MUSTER.name, partial(_muster, workload)),
    )


def run(side: Side, workload: Workload, display: Display) -> Found:
    """The run. Raises one of `FAILURES`, and `OperationError` and `TemplateError` for what is not understood."""
    wanted = [versions for gate, versions in _SERVED.items() if workload.gates.get(gate)]
    served = {version: True for versions in wanted for version in versions}
    with (
        control_plane(
            side, display, feature_gates=workload.gates, runtime_config=served, api_server_arguments=_API_SERVER
        ) as plane,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        if workload.gates.get(_DEVICES):
            plane.start_controller_manager(*_CONTROLLERS)
        return runner.run(measure(side, workload, plane, display))


async def measure(side: Side, workload: Workload, plane: ControlPlane, display: Display) -> Found:
    """The part of a run on a control plane that serves. The side does not run any more afterwards. Raises as `run`."""
    operations = resolve(workload)
    pods = sum(each.count for each in operations if isinstance(each, CreatePods) and each.steady_seconds is None)
    async with Client(plane.kubeconfig()) as client, PodWatch(client) as watch:
        with side.running(plane) as server, display.phase(f"{side.name}: {workload.title}", pods) as advance:
            pages = SidePages.of(server, plane)
            writer = Writer(client, advance)
            pids = {each.name: each.pid for each in plane.servers}
            collector = Collector(watch, pages, side.name, {**pids, side.name: server.pid, BENCH: os.getpid()})
            is_alive = partial(is_running, server.pid)
            player = Player(client, writer, watch, collector, is_alive=is_alive)
            try:
                await pages.until_ready(is_alive)
                await player.play(operations)
            except (TimeoutError, ExceptionGroup) as error:
                raise StalledError("\n".join([text_of(error), *_end_of_log(side, plane)])) from error
    if collector.found is None:
        raise WrongRunError("the workload measures nothing")
    return collector.found


def _end_of_log(side: Side, plane: ControlPlane) -> list[str]:
    lines = log_of(plane, side.name).read_text(errors="replace").splitlines()
    return ["the end of its log:", *lines[-_LOG_LINES:]]


def _settings(workload: Workload) -> Mapping[str, object]:
    """The fields of the scheduler's configuration."""
    if workload.scheduler_config is None:
        return _DEFAULT
    settings: Mapping[str, object] = yaml.safe_load(workload.scheduler_config.read_text())
    return settings


def _kube_scheduler(workload: Workload, plane: ControlPlane) -> list[str]:
    command = kube_scheduler_command(plane, _settings(workload))
    return [*command, *commands.switches("feature-gates", workload.gates)]


def _muster(workload: Workload, plane: ControlPlane) -> list[str]:
    grant_pod_groups(plane)
    path = plane.files.folder / "muster.yaml"
    path.write_text(json.dumps({**CONFIGURATION, **_settings(workload)}))
    return muster_command(plane.kubeconfig(SCHEDULER), f"--config={path}")

"""The sides of a benchmark: each is started on a control plane as a process with a log and no other state.

All answer to the same schedulerName and log in as the same user, Kubernetes' user for a scheduler, so the API server
grants them the same rights and the same share of its capacity. They write as fast as they can: kube-scheduler with
5,000 requests a second, as in its own benchmarks, Muster with no limit, its default. Both are compiled before they
start, as in an installation.
"""

import compileall
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.scale import SCHEDULER_NAME
from tests.controlplane import commands
from tests.controlplane.guard import Guard
from tests.controlplane.plane import SCHEDULER, ControlPlane
from tests.controlplane.ports import free_port
from tests.controlplane.server import Server

_QUERIES_PER_SECOND = 5000
_ROOT = Path(__file__).parents[1]
_PACKAGES = ("framework", "operator", "plugins", "sandbox")
"""Muster's folders, to be compiled: pip compiles what it installs, but not an editable install."""
CONFIGURATION: Mapping[str, object] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "leaderElection": {"leaderElect": False},
}
"""The configuration of either side that has one: it runs alone."""

_POD_GROUPS = "bench:podgroups"
_POD_GROUPS_ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": _POD_GROUPS},
    "rules": [
        {
            "apiGroups": ["scheduling.k8s.io", "scheduling.x-k8s.io"],
            "resources": ["podgroups", "podgroups/status"],
            "verbs": ["get", "list", "watch", "patch", "update"],
        }
    ],
}
"""The rights that Muster needs beyond a scheduler's role: to read pod groups, or learn that the kind does not exist."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side: its name, and its command line on a running control plane."""

    name: str
    command: Callable[[ControlPlane], list[str]]

    @contextmanager
    def running(self, plane: ControlPlane) -> Iterator[Server]:
        """Run the side's process while the block lasts."""
        command = self.command(plane)
        guard = Guard()
        try:
            server = Server(command, log=log_of(plane, self.name), guard=guard)
            try:
                yield server
            finally:
                server.stop()
        finally:
            guard.close()


def log_of(plane: ControlPlane, side: str) -> Path:
    """The file of a side's output."""
    return plane.files.log(f"measured-{side}")


def grant_pod_groups(plane: ControlPlane) -> None:
    """Allow the sides' user to read pod groups."""
    plane.kubectl("apply", "--filename=-", stdin=json.dumps(_POD_GROUPS_ROLE))
    plane.grant(SCHEDULER, _POD_GROUPS)


def _kube_scheduler(plane: ControlPlane) -> list[str]:
    return kube_scheduler_command(plane, {"profiles": [{"schedulerName": SCHEDULER_NAME}]})


def kube_scheduler_command(plane: ControlPlane, settings: Mapping[str, object]) -> list[str]:
    """The command line of kube-scheduler with these fields of its configuration, as fast as it can write."""
    kubeconfig = plane.kubeconfig(SCHEDULER)
    connection = {"kubeconfig": str(kubeconfig), "qps": _QUERIES_PER_SECOND, "burst": _QUERIES_PER_SECOND}
    config = {**CONFIGURATION, "clientConnection": connection, **settings}
    path = plane.files.folder / "kube-scheduler.yaml"
    path.write_text(json.dumps(config))
    return commands.kube_scheduler(plane.files, port=free_port(), kubeconfig=kubeconfig, config=path)


def _muster(plane: ControlPlane) -> list[str]:
    grant_pod_groups(plane)
    return muster_command(plane.kubeconfig(SCHEDULER))


def muster_command(kubeconfig: Path, choice: str = f"--scheduler-name={SCHEDULER_NAME}") -> list[str]:
    """The command line of Muster, which is compiled first, on the API server of a kubeconfig.

    `choice` is the argument that says which pods it schedules.
    """
    for package in _PACKAGES:
        compileall.compile_dir(_ROOT / package, quiet=2)
    return [
        str(Path(sys.executable).with_name("muster")),
        "run",
        f"--kubeconfig={kubeconfig}",
        choice,
        "--bind-address=127.0.0.1",
        f"--secure-port={free_port()}",
        "--plain-http",
    ]


def _ceiling(plane: ControlPlane) -> list[str]:
    return [sys.executable, "-m", "bench.ceiling", str(plane.kubeconfig(SCHEDULER))]


KUBE_SCHEDULER = Side("kube-scheduler", _kube_scheduler)
MUSTER = Side("muster", _muster)
CEILING = Side("ceiling", _ceiling)
SIDES = {side.name: side for side in (KUBE_SCHEDULER, MUSTER, CEILING)}

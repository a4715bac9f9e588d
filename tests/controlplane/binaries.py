"""Which control-plane programs the tests use, which versions of them, and where they lie on this machine.

The builder puts the programs where this module says, the control plane takes them from there. A folder named by
`KUBEBUILDER_ASSETS` goes before the cache, so programs that a machine already has are not built again. The variable
`KUBERNETES` chooses another version of Kubernetes, whose programs have a folder of their own.
"""

import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

KUBERNETES_MODULE = "k8s.io/kubernetes"
DEFAULT_KUBERNETES_VERSION = "1.37.1"
KUBERNETES_VERSION = os.environ.get("KUBERNETES") or DEFAULT_KUBERNETES_VERSION


@dataclass(frozen=True, slots=True)
class Binary:
    """One program and the Go package that it is built from.

    Attributes:
        package: its import path, or where the builder puts `source`.
        source: the file of this repository that is the program, where the module has no such program itself.
    """

    name: str
    module: str
    version: str
    package: str
    source: Path | None = None

    @property
    def stamp(self) -> str:
        """What distinguishes one build of the program from another: the version, and a digest of the source."""
        if self.source is None:
            return self.version
        return f"{self.version} {hashlib.sha256(self.source.read_bytes()).hexdigest()}"


def _kubernetes(name: str) -> Binary:
    return Binary(name, KUBERNETES_MODULE, KUBERNETES_VERSION, f"{KUBERNETES_MODULE}/cmd/{name}")


CONTROL_PLANE = (
    _kubernetes("kube-apiserver"),
    _kubernetes("kube-scheduler"),
    _kubernetes("kube-controller-manager"),
    Binary("etcd", "go.etcd.io/etcd/server/v3", "3.6.16", "go.etcd.io/etcd/server/v3"),
    Binary("helm", "helm.sh/helm/v4", "4.3.1", "helm.sh/helm/v4/cmd/helm"),
)
"""The programs that the tests run."""

E2E_TESTS = Binary(
    "e2e-tests",
    KUBERNETES_MODULE,
    KUBERNETES_VERSION,
    "./suite",
    source=Path(__file__).parents[1] / "conformance" / "suite.go",
)
"""Kubernetes' own end-to-end tests, which are built for `tests.conformance` alone."""

NEIGHBOURS = (
    Binary("jobset", "sigs.k8s.io/jobset", "0.8.2", "sigs.k8s.io/jobset"),
    Binary("lws", "sigs.k8s.io/lws", "0.7.0", "sigs.k8s.io/lws/cmd"),
    Binary(
        "mpi-operator", "github.com/kubeflow/mpi-operator", "0.6.0", "github.com/kubeflow/mpi-operator/cmd/mpi-operator"
    ),
    Binary(
        "trainer",
        "github.com/kubeflow/trainer/v2",
        "2.0.0",
        "github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager",
    ),
    Binary("kwok", "sigs.k8s.io/kwok", "0.8.0", "sigs.k8s.io/kwok/cmd/kwok"),
    Binary("karpenter", "sigs.k8s.io/karpenter", "1.12.0", "sigs.k8s.io/karpenter/kwok"),
)
"""Programs that people run beside Muster, each of which `tests.neighbours` builds and runs."""

BINARIES = {binary.name: binary for binary in (*CONTROL_PLANE, E2E_TESTS, *NEIGHBOURS)}


class MissingBinaryError(RuntimeError):
    """A program that the tests need is not on this machine; the text says how to get it."""


def cache_folder(binary: Binary) -> Path:
    """The folder that the built program is kept in, outside the repository and named after a version of Kubernetes.

    For a program of Kubernetes it is the program's own version, for any other program the default one.
    """
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    version = binary.version if binary.module == KUBERNETES_MODULE else DEFAULT_KUBERNETES_VERSION
    return Path(cache) / "muster" / "controlplane" / version


def version_stamp(binary: Binary) -> Path:
    """The file beside a built program that names the build, as its `stamp` does."""
    return cache_folder(binary) / f".{binary.name}.version"


def find(binary: Binary) -> Path | None:
    """The path of a program that is ready to run in the pinned version, or None where it has to be built."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets and (given := Path(assets) / binary.name).is_file():
        return given
    built, stamp = cache_folder(binary) / binary.name, version_stamp(binary)
    if built.is_file() and stamp.is_file() and stamp.read_text() == binary.stamp:
        return built
    return None


def locate(name: str) -> Path:
    """The path of the program `name`, a key of `BINARIES`; raises `MissingBinaryError` where it is not built yet."""
    binary = BINARIES[name]
    path = find(binary)
    if path is None:
        raise MissingBinaryError(f"{name} {binary.version} is not built: run `python -m tests.controlplane.build`")
    return path


def locate_kubectl() -> Path:
    """The path of the machine's own kubectl, which is not built here; raises `MissingBinaryError` without one."""
    path = shutil.which("kubectl")
    if path is None:
        raise MissingBinaryError("kubectl is not on the PATH: install it, the tests drive the API server with it")
    return Path(path)

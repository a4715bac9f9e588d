"""The command lines of the control plane's servers. Pure: paths, addresses and switches in, arguments out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.controlplane.binaries import locate

HOST = "127.0.0.1"
# Off for most tests: no kubelet runs there, nor what makes service accounts and frees new nodes of their taints.
DISABLED_ADMISSION_PLUGINS = ("ServiceAccount", "TaintNodesByCondition")


@dataclass(frozen=True, slots=True)
class Files:
    """Where in the folder of a control plane its servers find and leave their files."""

    folder: Path

    @property
    def etcd_data(self) -> Path:
        return self.folder / "etcd"

    @property
    def tokens(self) -> Path:
        return self.folder / "tokens.csv"

    @property
    def signing_key(self) -> Path:
        return self.folder / "service-account.key"

    @property
    def certificates(self) -> Path:
        return self.folder / "certificates"

    def certificate(self, server: str) -> Path:
        """The certificate that a server made for itself, with the authority that signed it."""
        return self.certificates / f"{server}.crt"

    def kubeconfig(self, user: str) -> Path:
        return self.folder / f"{user.replace(':', '-')}.kubeconfig"

    def log(self, server: str) -> Path:
        return self.folder / f"{server}.log"


def etcd(files: Files, *, port: int, peer_port: int) -> list[str]:
    """A single member that never waits for the disk: its data need not survive a crash."""
    address, peer_address = f"http://{HOST}:{port}", f"http://{HOST}:{peer_port}"
    return [
        str(locate("etcd")),
        f"--data-dir={files.etcd_data}",
        f"--listen-client-urls={address}",
        f"--advertise-client-urls={address}",
        f"--listen-peer-urls={peer_address}",
        f"--initial-advertise-peer-urls={peer_address}",
        f"--initial-cluster=default={peer_address}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def kube_apiserver(files: Files, *, port: int, etcd_port: int, settings: Sequence[str]) -> list[str]:
    """An API server that knows users by token and their rights by RBAC, and makes its own certificate."""
    return [
        str(locate("kube-apiserver")),
        f"--etcd-servers=http://{HOST}:{etcd_port}",
        f"--bind-address={HOST}",
        f"--advertise-address={HOST}",
        f"--secure-port={port}",
        f"--cert-dir={files.certificates}",
        "--endpoint-reconciler-type=none",
        "--service-cluster-ip-range=10.0.0.0/16",
        f"--token-auth-file={files.tokens}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={files.signing_key}",
        f"--service-account-signing-key-file={files.signing_key}",
        *settings,
    ]


def kube_scheduler(files: Files, *, port: int, kubeconfig: Path, config: Path) -> list[str]:
    """A scheduler that takes its API connection from the configuration file."""
    return [
        str(locate("kube-scheduler")),
        f"--config={config}",
        *_component_arguments(files, port, kubeconfig),
    ]


def kube_controller_manager(files: Files, *, port: int, kubeconfig: Path, controllers: Sequence[str]) -> list[str]:
    """The named controllers, or with `*` all that are on by default."""
    return [
        str(locate("kube-controller-manager")),
        f"--kubeconfig={kubeconfig}",
        f"--controllers={','.join(controllers)}",
        "--kube-api-qps=5000",
        "--kube-api-burst=5000",
        "--use-service-account-credentials",
        f"--service-account-private-key-file={files.signing_key}",
        f"--root-ca-file={files.certificate('apiserver')}",
        "--leader-elect=false",
        *_component_arguments(files, port, kubeconfig),
    ]


def without_admission(plugins: Sequence[str]) -> list[str]:
    """The flag that switches admission plugins off; nothing for none."""
    return [f"--disable-admission-plugins={','.join(plugins)}"] if plugins else []


def switches(flag: str, values: Mapping[str, bool]) -> list[str]:
    """A flag that takes a map of switches, such as `--feature-gates=A=true,B=false`; nothing for an empty map."""
    listed = ",".join(f"{name}={str(value).lower()}" for name, value in values.items())
    return [f"--{flag}={listed}"] if listed else []


def _component_arguments(files: Files, port: int, kubeconfig: Path) -> list[str]:
    return [
        f"--bind-address={HOST}",
        f"--secure-port={port}",
        f"--cert-dir={files.certificates}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--authentication-skip-lookup",
    ]

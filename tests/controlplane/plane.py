"""A Kubernetes control plane on the loopback address: etcd and kube-apiserver, and on demand the other two programs.

Tests and benchmarks use it as a context manager; the folder they give keeps logs and kubeconfigs after the stop, etcd's
data goes with it. It guarantees that the API server serves when `start` returns, and that no process is left after
`stop` or after the death of the calling process.
"""

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from tests.controlplane import commands, rights, users
from tests.controlplane.api import Api
from tests.controlplane.binaries import locate_kubectl
from tests.controlplane.commands import HOST, Files
from tests.controlplane.guard import Guard
from tests.controlplane.ports import free_port
from tests.controlplane.server import Server
from tests.controlplane.users import User

ADMIN = "admin"
MUSTER = "muster"
SCHEDULER = "system:kube-scheduler"
CONTROLLER_MANAGER = "system:kube-controller-manager"


class KubectlError(RuntimeError):
    """kubectl ended with an error; the text is what it said."""


class ControlPlane:
    """etcd and kube-apiserver of one cluster, with users that log in by token.

    The users are `admin`, who may do everything, `muster`, who may do nothing until `grant`, and the two system users
    that Kubernetes' own bootstrap roles are bound to. `feature_gates` and `runtime_config` are kube-apiserver's, as
    `{"SomeGate": True}` and `{"some.group/v1": True}`; `api_server_arguments` go to its command line as they are.
    `disabled_admission` names the admission plugins that are off.
    """

    def __init__(
        self,
        folder: Path,
        *,
        feature_gates: Mapping[str, bool] = {},
        runtime_config: Mapping[str, bool] = {},
        api_server_arguments: Sequence[str] = (),
        disabled_admission: Sequence[str] = commands.DISABLED_ADMISSION_PLUGINS,
    ) -> None:
        self.files = Files(folder)
        self._feature_gates = commands.switches("feature-gates", feature_gates)
        self._settings = [
            *commands.switches("runtime-config", runtime_config),
            *commands.without_admission(disabled_admission),
            *api_server_arguments,
        ]
        accounts = User(ADMIN, ("system:masters",)), User(MUSTER), User(SCHEDULER), User(CONTROLLER_MANAGER)
        self._users = {user.name: user for user in accounts}
        self._port = free_port()
        self._guard: Guard | None = None
        self._servers: list[Server] = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """The address of the API server; `https`, signed by the authority in `ca_file`."""
        return f"https://{HOST}:{self._port}"

    @property
    def ca_file(self) -> Path:
        """The certificate authority of the API server, as PEM."""
        return self.files.certificate("apiserver")

    @property
    def servers(self) -> Sequence[Server]:
        """The servers that run, in the order of their start."""
        return tuple(server for server in self._servers if server.is_running)

    def start(self) -> None:
        """Starts etcd and the API server and waits for its `/readyz`.

        Raises `MissingBinaryError` where a program is not built and `StartError` where one does not come up; nothing
        is left running then.
        """
        self.files.certificates.mkdir(parents=True, exist_ok=True)
        users.write_token_table(self.files.tokens, self._users.values())
        users.write_signing_key(self.files.signing_key)
        try:
            etcd_port = free_port()
            self._run(commands.etcd(self.files, port=etcd_port, peer_port=free_port()))
            settings = [*self._feature_gates, *self._settings]
            command = commands.kube_apiserver(self.files, port=self._port, etcd_port=etcd_port, settings=settings)
            server = self._run(command)
            with self.api() as api:
                server.wait_until(api.is_ready)
            for name, user in self._users.items():
                users.write_kubeconfig(self.kubeconfig(name), server=self.url, ca_file=self.ca_file, user=user)
        except BaseException:
            self.stop()
            raise

    def start_scheduler(self, config: Mapping[str, object] = {}, *arguments: str) -> Api:
        """Starts kube-scheduler and waits until it is ready; returns a client for its health and metrics pages.

        `config` holds fields of a `KubeSchedulerConfiguration`; connection and leader election are filled in where
        they are absent. The scheduler logs in as `system:kube-scheduler`, with the rights that Kubernetes gives it.
        `arguments` are added to its command line.
        """
        kubeconfig = self.kubeconfig(SCHEDULER)
        path = self.files.folder / "kube-scheduler.yaml"
        defaults = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(kubeconfig)},
            "leaderElection": {"leaderElect": False},
        }
        path.write_text(json.dumps(defaults | dict(config)))
        port = free_port()
        command = commands.kube_scheduler(self.files, port=port, kubeconfig=kubeconfig, config=path)
        return self._run_component([*command, *self._feature_gates, *arguments], port, page="/readyz")

    def start_controller_manager(self, *controllers: str) -> Api:
        """Starts kube-controller-manager with the named controllers, by default all, and waits until it is ready."""
        port, kubeconfig = free_port(), self.kubeconfig(CONTROLLER_MANAGER)
        command = commands.kube_controller_manager(
            self.files, port=port, kubeconfig=kubeconfig, controllers=controllers or ("*",)
        )
        return self._run_component([*command, *self._feature_gates], port, page="/healthz")

    def start_program(
        self, command: Sequence[str], *, is_ready: Callable[[], bool], environment: Mapping[str, str] = {}
    ) -> Server:
        """Starts a program of others that works on this cluster, and waits until it is ready.

        Raises `StartError` where it does not come up.
        """
        server = self._run(command, environment)
        server.wait_until(is_ready)
        return server

    def stop(self) -> None:
        """Ends every server, the youngest first, and throws etcd's data away; without effect when nothing runs."""
        while self._servers:
            self._servers.pop().stop()
        if self._guard is not None:
            self._guard.close()
            self._guard = None
        shutil.rmtree(self.files.etcd_data, ignore_errors=True)

    def server(self, name: str) -> Server:
        """The server with this name that runs."""
        return next(server for server in self.servers if server.name == name)

    def start_again(self, name: str) -> None:
        """Starts a server that was ended by others anew, with the same command, data and port; does not wait."""
        at = next(at for at, server in enumerate(self._servers) if server.name == name)
        ended = self._servers[at]
        self._servers[at] = self._new(ended.command, ended.environment)

    def api(self, user: str = ADMIN) -> Api:
        """A client of the API server that is logged in as one of the users."""
        return Api(self.url, ca_file=self.ca_file, token=self._users[user].token)

    def kubeconfig(self, user: str = ADMIN) -> Path:
        """The path of a kubeconfig that logs in as one of the users."""
        return self.files.kubeconfig(user)

    def grant(self, user: str, *cluster_roles: str) -> None:
        """Binds a user to cluster roles that exist and returns when the rights are in force."""
        with self.api() as api:
            for role in cluster_roles:
                rights.grant(api, user, role)

    def log_in(self, user: str, token: str) -> None:
        """Lets a user log in with this token from now on, such as one that the API server made."""
        self._users[user] = User(user, token=token)
        users.write_kubeconfig(self.kubeconfig(user), server=self.url, ca_file=self.ca_file, user=self._users[user])

    def kubectl(self, *arguments: str, stdin: str | None = None, user: str = ADMIN) -> str:
        """Runs kubectl as one of the users and returns what it printed; raises `KubectlError` where it fails."""
        cache = self.files.folder / "kubectl-cache"
        command = [str(locate_kubectl()), f"--kubeconfig={self.kubeconfig(user)}", f"--cache-dir={cache}", *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True)
        if done.returncode:
            raise KubectlError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def _run_component(self, command: Sequence[str], port: int, *, page: str) -> Api:
        server = self._run(command)
        ca_file, token = self.files.certificate(server.name), self._users[ADMIN].token
        with Api(f"https://{HOST}:{port}", ca_file=ca_file, token=token) as api:
            server.wait_until(lambda: api.is_ready(page))
        return api

    def _run(self, command: Sequence[str], environment: Mapping[str, str] = {}) -> Server:
        server = self._new(command, environment)
        self._servers.append(server)
        return server

    def _new(self, command: Sequence[str], environment: Mapping[str, str]) -> Server:
        if self._guard is None:
            self._guard = Guard()
        log = self.files.log(Path(command[0]).name)
        return Server(command, log=log, guard=self._guard, environment=environment)

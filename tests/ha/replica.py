"""One replica: a `muster run` with a service account of its own, so that the audit log tells it from the others."""

from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.controlplane.users import User, write_kubeconfig
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import MusterProcess, Options

ROLE = "muster-replica"
_RULES = [
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"]},
    {"apiGroups": ["scheduling.x-k8s.io"], "resources": ["podgroups"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["scheduling.x-k8s.io"], "resources": ["podgroups/status"], "verbs": ["patch"]},
]
"""What a replica may do beyond what Kubernetes' own roles give a scheduler."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How the replicas of one test elect a leader, and how fast it works.

    Attributes:
        name: their schedulerName and lease; also the namespace of the lease.
        seconds: lease duration, renew deadline and retry period; None leaves them to the defaults.
        qps: requests per second.
    """

    name: str
    seconds: tuple[int, int, int] | None = None
    qps: int = 100

    def configuration(self) -> dict[str, object]:
        """As a KubeSchedulerConfiguration."""
        keys = ("leaseDuration", "renewDeadline", "retryPeriod")
        times = {key: f"{value}s" for key, value in zip(keys, self.seconds or (), strict=False)}
        gangs = {
            "multiPoint": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "PrioritySort"}]},
        }
        return {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"qps": self.qps, "burst": 10},
            "leaderElection": {
                "leaderElect": False,
                "resourceName": self.name,
                "resourceNamespace": self.name,
                **times,
            },
            "profiles": [{"schedulerName": self.name, "plugins": gangs}],
        }


@dataclass(frozen=True, kw_only=True)
class _Options(Options):
    """The options of `muster run`, with the election that the configuration leaves off."""

    def command(self) -> list[str]:
        return [*super().command(), "--leader-elect"]


class Replica(MusterProcess):
    """Runs from the moment it is made until it is stopped.

    Attributes:
        user: who it is to the API server.
    """

    def __init__(self, terms: Terms, user: str, *, kubeconfig: Path, folder: Path) -> None:
        config = folder / f"{terms.name}.yaml"
        config.write_text(yaml.safe_dump(terms.configuration()))
        log = folder / f"{user.rpartition(':')[2]}.log"
        super().__init__(_Options(kubeconfig=kubeconfig, config=config, log=log))
        self.user = user
        self._lease = terms.name

    @property
    def leads(self) -> bool:
        """Whether its metrics say that it leads."""
        return self.metric(f'leader_election_master_status{{name="{self._lease}"}}') == 1

    def wait_until_leading(self, *, within: float) -> None:
        """Return when it leads."""
        eventually(lambda: self.leads, within=within)


def create_role(api: Api) -> None:
    """The role that all replicas are given."""
    api.post("/apis/rbac.authorization.k8s.io/v1/clusterroles", {"metadata": {"name": ROLE}, "rules": _RULES})


def create_account(plane: ControlPlane, namespace: str, name: str) -> str:
    """A service account with the rights of a replica; returns its user name."""
    user = f"system:serviceaccount:{namespace}:{name}"
    with plane.api() as api:
        api.post(f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": name}})
    plane.grant(user, ROLE, "system:kube-scheduler", "system:volume-scheduler")
    return user


def log_in(plane: ControlPlane, user: str, kubeconfig: Path, *, server: str = "") -> None:
    """Write a kubeconfig with a new token of a service account; `server` where it is not reached directly."""
    namespace, name = user.split(":")[2:]
    with plane.api() as api:
        answer = api.post(f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token", {"spec": {}})
    account = User(name, token=answer["status"]["token"])
    write_kubeconfig(kubeconfig, server=server or plane.url, ca_file=plane.ca_file, user=account)

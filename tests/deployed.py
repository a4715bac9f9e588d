"""The surroundings of Muster on a control plane of the tests: the definitions of its objects, and its account."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.controlplane.plane import MUSTER, ControlPlane
from tests.deploy.helm import Helm, pick
from tests.e2e.eventually import eventually

NAMESPACE = "muster-system"
_DEPLOY = Path(__file__).parents[1] / "deploy"


def define_pod_groups(plane: ControlPlane) -> None:
    """Installs the definition of PodGroups, and returns when they are served."""
    _define(plane, "podgroups")


def define_elastic_quotas(plane: ControlPlane) -> None:
    """Installs the definition of ElasticQuotas, and returns when they are served."""
    _define(plane, "elasticquotas")


def log_in_as_deployed(plane: ControlPlane) -> Path:
    """The user `muster` has a token of the deployed ServiceAccount from now on, and its rights alone.

    Returns its kubeconfig.
    """
    plane.kubectl("create", "namespace", NAMESPACE)
    for name in ("serviceaccount", "rbac"):
        plane.kubectl("apply", "-f", str(_DEPLOY / "manifests" / f"{name}.yaml"))
    token = plane.kubectl("--namespace", NAMESPACE, "create", "token", "muster", "--duration=3h")
    plane.log_in(MUSTER, token.strip())
    return plane.kubeconfig(MUSTER)


def grant_as_charted(plane: ControlPlane, home: Path, values: Mapping[str, Any]) -> Path:
    """The user `muster` has the rights that the chart grants with these values from now on; `home` is for Helm.

    Returns its kubeconfig.
    """
    role = pick(Helm(home).template(values), "ClusterRole/muster")
    kind = {"apiVersion": role["apiVersion"], "kind": "ClusterRole", "metadata": {"name": "muster-as-charted"}}
    with plane.api() as api:
        api.post("/apis/rbac.authorization.k8s.io/v1/clusterroles", {**kind, "rules": role["rules"]})
    plane.grant(MUSTER, "muster-as-charted")
    return plane.kubeconfig(MUSTER)


def _define(plane: ControlPlane, plural: str) -> None:
    definition = _DEPLOY / "crds" / f"scheduling.x-k8s.io_{plural}.yaml"
    plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(definition))
    plane.kubectl("wait", "--for=condition=Established", "-f", str(definition), "--timeout=60s")
    with plane.api() as api:
        eventually(lambda: "items" in api.get(f"/apis/scheduling.x-k8s.io/v1alpha1/{plural}"))

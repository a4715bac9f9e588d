"""The account that Muster is deployed with, on a control plane of the tests."""

from pathlib import Path

from tests.controlplane.plane import MUSTER, ControlPlane

NAMESPACE = "muster-system"
_MANIFESTS = Path(__file__).parents[1] / "deploy" / "manifests"


def log_in_as_deployed(plane: ControlPlane) -> Path:
    """The user `muster` has a token of the deployed ServiceAccount from now on, and its rights alone.

    Returns its kubeconfig.
    """
    plane.kubectl("create", "namespace", NAMESPACE)
    for name in ("serviceaccount", "rbac"):
        plane.kubectl("apply", "-f", str(_MANIFESTS / f"{name}.yaml"))
    token = plane.kubectl("--namespace", NAMESPACE, "create", "token", "muster", "--duration=3h")
    plane.log_in(MUSTER, token.strip())
    return plane.kubeconfig(MUSTER)

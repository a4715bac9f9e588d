"""The surroundings of Muster on a control plane of the tests: the definition of PodGroups, and its account."""

from pathlib import Path

from tests.controlplane.plane import MUSTER, ControlPlane
from tests.e2e.eventually import eventually

NAMESPACE = "muster-system"
_DEPLOY = Path(__file__).parents[1] / "deploy"
_DEFINITION = _DEPLOY / "crds" / "scheduling.x-k8s.io_podgroups.yaml"


def define_pod_groups(plane: ControlPlane) -> None:
    """Installs the definition of PodGroups, and returns when they are served."""
    plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(_DEFINITION))
    plane.kubectl("wait", "--for=condition=Established", "-f", str(_DEFINITION), "--timeout=60s")
    with plane.api() as api:
        eventually(lambda: "items" in api.get("/apis/scheduling.x-k8s.io/v1alpha1/podgroups"))


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

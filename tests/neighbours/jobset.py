"""Starts JobSet on a control plane."""

from tests.controlplane.plane import ControlPlane
from tests.neighbours.neighbour import Neighbour


def start_jobset(plane: ControlPlane) -> None:
    """Returns when JobSets are served, and its controller and webhooks run. Raises `StartError`."""
    jobset = Neighbour("jobset", plane)
    jobset.define("config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml")
    jobset.start(f"--config={jobset.configure('config.jobset.x-k8s.io')}")
    jobset.call_webhooks("config/components/webhook/manifests.yaml")

"""Kubeflow Trainer makes a PodGroup and a JobSet of a TrainJob, JobSet the pods, from what docs/gangs.md shows."""

from pathlib import Path

import pytest

from tests.controlplane.plane import ControlPlane
from tests.coscheduling.objects import GROUP_LABEL
from tests.neighbours.cluster import NeighbourCluster, example
from tests.neighbours.jobset import start_jobset
from tests.neighbours.neighbour import Neighbour

SYSTEM = "kubeflow-system"
SECRET = "kubeflow-trainer-webhook-cert"
MOUNTED = Path("/tmp/k8s-webhook-server/serving-certs")
"""Where Trainer waits for the certificate that a kubelet would mount.

It has no setting for this folder, and only looks whether the certificate is there; it serves the one below `TMPDIR`.
"""

pytestmark = pytest.mark.neighbours


@pytest.fixture(scope="module", autouse=True)
def _trainer(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> None:
    start_jobset(plane)
    trainer = Neighbour("trainer", plane)
    trainer.define(
        *(
            f"manifests/base/crds/trainer.kubeflow.org_{kind}.yaml"
            for kind in ("clustertrainingruntimes", "trainingruntimes", "trainjobs")
        )
    )
    plane.kubectl("create", "namespace", SYSTEM)
    plane.kubectl("--namespace", SYSTEM, "create", "secret", "generic", SECRET)
    MOUNTED.mkdir(parents=True, exist_ok=True)
    (MOUNTED / "tls.crt").touch()
    home = tmp_path_factory.mktemp("trainer")
    served = home / MOUNTED.relative_to("/tmp")
    served.parent.mkdir()
    served.symlink_to(trainer.certificates)
    trainer.start(
        f"--health-probe-bind-address=127.0.0.1:{trainer.health_port}",
        f"--webhook-server-port={trainer.webhook_port}",
        environment={"TMPDIR": str(home)},
    )
    trainer.call_webhooks("manifests/base/webhook/manifests.yaml")


def test_a_trainjob_starts_whole_with_the_group_that_trainer_makes(cluster: NeighbourCluster) -> None:
    cluster.add_node("3")
    cluster.apply(example("kubeflow-trainer.yaml"))
    cluster.wait_until_waiting(4)
    group = cluster.groups()["first-training"]["spec"]
    assert (group["minMember"], group["minResources"], group["scheduleTimeoutSeconds"]) == (4, {"cpu": "4"}, 120)
    assert cluster.owners("first-training") == [("TrainJob", "first-training")]
    assert {pod["metadata"]["labels"][GROUP_LABEL] for pod in cluster.pods()} == {"first-training"}

    cluster.add_node("1")
    cluster.wait_until_whole(4)

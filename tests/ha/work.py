"""Work for a scheduler: single pods and gangs of ten, in turns."""

from tests.builders import PodDict, make_pod
from tests.e2e.cluster import Cluster
from tests.ha.pods import GROUP_LABEL

GANG = 10
DONE_WITHIN = 90.0
"""Three times as long as the slowest replica of these tests, at its own rate, takes for all pods of its test."""


def create_work(cluster: Cluster, *, pods: int, scheduler: str) -> None:
    """Creates so many pods of 100m CPU, a multiple of twenty: ten single ones, a gang of ten, and so on."""
    for number in range(pods // (2 * GANG)):
        create_gang(cluster, f"gang-{number}")
        singles = (f"single-{number}-{index}" for index in range(GANG))
        members = (_pod(f"gang-{number}-{index}").labels({GROUP_LABEL: f"gang-{number}"}) for index in range(GANG))
        cluster.create(*map(_pod, singles), *members, scheduler=scheduler)


def create_gang(cluster: Cluster, name: str) -> None:
    """Creates a PodGroup of ten pods."""
    path = f"/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{cluster.namespace}/podgroups"
    group = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}
    cluster.api.post(path, {**group, "metadata": {"name": name}, "spec": {"minMember": GANG}})


def _pod(name: str) -> PodDict:
    return make_pod(name).requests(cpu="100m")

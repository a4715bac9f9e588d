"""Every page that says how to do something, followed literally from its first command to its last."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from tests.controlplane.plane import ControlPlane
from tests.coscheduling.ecosystems.manifests_reader import manifests
from tests.deploy.followed.conftest import clear, uninstall
from tests.deploy.followed.page import Reader
from tests.deploy.helm import NAMESPACE, REPOSITORY, Helm

DOCS = REPOSITORY / "docs"


@pytest.fixture(scope="module")
def release(whole_cluster: ControlPlane, whole_helm: Helm) -> Iterator[None]:
    """The chart, as it is, with all its replicas."""
    whole_helm.install()
    whole_cluster.kubectl("-n", NAMESPACE, "rollout", "status", "deployment/muster", "--timeout=180s")
    yield
    uninstall(whole_cluster, whole_helm)


@pytest.fixture
def installed(release: None, whole_cluster: ControlPlane) -> Iterator[None]:
    """The release, and nothing left of what a page made."""
    yield
    clear(whole_cluster)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    "page", ["beside-others", "gangs", "kueue", "operations", "performance", "reading-a-reason", "upgrade"]
)
def test_a_page_can_be_followed_on_a_cluster_that_has_muster(reader: Reader, page: str) -> None:
    reader.follow(DOCS / f"{page}.md")


@pytest.mark.usefixtures("installed")
def test_groups_that_operators_make_start_whole(whole_cluster: ControlPlane, reader: Reader) -> None:
    """Each operator's own manifests, and the pods that a JobSet's controller makes, with Muster set up by the page."""
    reader.follow(DOCS / "gangs.md", "## KubeRay")
    for name in ("mpi-operator", "kuberay", "kubeflow-trainer", "spark-operator"):
        found = manifests(name)
        _make(whole_cluster, found.group, *found.pods)
        _wait_until_started(whole_cluster, found.name, len(found.pods))
        clear(whole_cluster)

    group, jobs = yaml.safe_load_all((REPOSITORY / "deploy" / "examples" / "jobset.yaml").read_text())
    _make(whole_cluster, group, *_pods_of(jobs))
    _wait_until_started(whole_cluster, "coupled", group["spec"]["minMember"])


def _make(plane: ControlPlane, *objects: Mapping[str, Any]) -> None:
    plane.kubectl("create", "-f", "-", stdin=yaml.safe_dump_all([_for_the_api(each) for each in objects]))


def _for_the_api(obj: Mapping[str, Any]) -> dict[str, Any]:
    """Without owners, who are not there and would be missed."""
    plain: dict[str, Any] = json.loads(json.dumps(obj))
    for field in ("ownerReferences", "uid", "creationTimestamp"):
        plain["metadata"].pop(field, None)
    return plain


def _pods_of(jobs: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The pods that a JobSet comes to."""
    for job in jobs["spec"]["replicatedJobs"]:
        template = job["template"]["spec"]["template"]
        for number in range(job["replicas"] * job["template"]["spec"]["parallelism"]):
            metadata = {**template["metadata"], "name": f"{jobs['metadata']['name']}-{job['name']}-{number}"}
            yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def _wait_until_started(plane: ControlPlane, group: str, pods: int) -> None:
    wanted = "--for=jsonpath={.status.scheduled}=" + str(pods)
    plane.kubectl("wait", f"podgroup/{group}", wanted, "--timeout=60s")

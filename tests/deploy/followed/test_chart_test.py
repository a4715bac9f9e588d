"""`helm test` on a cluster where the release is at work."""

import json
import re
from collections.abc import Iterator

import pytest

from tests.controlplane.plane import ControlPlane
from tests.deploy.followed.conftest import uninstall
from tests.deploy.helm import NAMESPACE, Helm


@pytest.fixture
def release(whole_cluster: ControlPlane, whole_helm: Helm) -> Iterator[Helm]:
    """The chart, as it is, with all its replicas."""
    whole_helm.install()
    whole_cluster.kubectl("-n", NAMESPACE, "rollout", "status", "deployment/muster", "--timeout=180s")
    yield whole_helm
    uninstall(whole_cluster, whole_helm)


def test_helm_test_has_muster_schedule_a_pod_and_a_gang_and_leaves_nothing(
    release: Helm, whole_cluster: ControlPlane
) -> None:
    said = release.test()

    assert re.search(r"TEST SUITE: +muster-test\n.*Phase: +Succeeded", said, re.DOTALL), said
    events = json.loads(whole_cluster.kubectl("-n", NAMESPACE, "get", "events.events.k8s.io", "-o", "json"))["items"]
    scheduled = [
        each["regarding"]["name"]
        for each in events
        if each["reason"] == "Scheduled" and each["reportingController"] == "muster"
    ]
    made = [re.sub(r"^muster-test-\w+-", "", name) for name in scheduled if name.startswith("muster-test-")]
    assert sorted(made) == ["gang", "gang-0", "gang-1", "single"]
    kinds = "pods,podgroups.scheduling.x-k8s.io,roles,rolebindings,serviceaccounts"
    left = whole_cluster.kubectl("-n", NAMESPACE, "get", kinds, "-o", "name")
    assert [name for name in left.splitlines() if "muster-test" in name] == []

"""On a real API server the definition of PodGroups, and the right to them, may be missing, come, go and come again."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders import make_pod
from tests.controlplane.api import Api, ApiError
from tests.controlplane.plane import MUSTER, ControlPlane
from tests.deployed import define_pod_groups

from .conftest import DEFINITION, GROUPS, control, eventually

PODS = "/api/v1/namespaces/default/pods"
RIGHTS = [
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]},
    {"apiGroups": ["scheduling.x-k8s.io"], "resources": ["podgroups"], "verbs": ["list", "watch"]},
    {"apiGroups": ["scheduling.x-k8s.io"], "resources": ["podgroups/status"], "verbs": ["patch"]},
    {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """An API server of these tests alone, without PodGroups. Each test leaves it so."""
    with ControlPlane(tmp_path_factory.mktemp("without-pod-groups")) as made:
        yield made


@pytest.fixture
def bare(plane: ControlPlane) -> Iterator[Api]:
    with plane.api() as client:
        client.post(PODS, make_pod("a").labels({"scheduling.x-k8s.io/pod-group": "train"}))
        yield client
        client.delete(f"{PODS}/a")


def missing(caplog: pytest.LogCaptureFixture) -> bool:
    """Whether it was said that PodGroups are not served."""
    said = [line for line in caplog.messages if line.startswith("/apis/scheduling.x-k8s.io/v1alpha1/podgroups: ")]
    return any("could not find" in line or "404" in line for line in said)


def create_group(api: Api, name: str) -> bool:
    """Whether it could be created; a definition that has just come may not be served everywhere yet."""
    body = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": name}}
    try:
        api.post(f"{GROUPS}/namespaces/default/podgroups", body | {"spec": {"minMember": 1}})
    except ApiError:
        return False
    return True


def status(api: Api, name: str) -> dict[str, Any]:
    found: dict[str, Any] = api.get(f"{GROUPS}/namespaces/default/podgroups/{name}")
    status: dict[str, Any] = found.get("status", {})
    return status


async def test_the_definition_may_be_missing_and_be_deleted(
    plane: ControlPlane, bare: Api, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "muster")
    async with control(plane.kubeconfig()):
        await eventually(lambda: missing(caplog))
        for _ in range(2):
            define_pod_groups(plane)
            await eventually(lambda: create_group(bare, "train"))
            await eventually(lambda: status(bare, "train").get("phase") == "Scheduling")
            caplog.clear()
            plane.kubectl("delete", "-f", str(DEFINITION))
            await eventually(lambda: missing(caplog))


async def test_these_rights_are_enough_and_may_come_late(
    plane: ControlPlane, bare: Api, caplog: pytest.LogCaptureFixture
) -> None:
    define_pod_groups(plane)
    await eventually(lambda: create_group(bare, "train"))
    async with control(plane.kubeconfig(MUSTER)):
        await eventually(lambda: any("podgroups.scheduling.x-k8s.io is forbidden" in line for line in caplog.messages))
        role = {"metadata": {"name": "muster-podgroups"}, "rules": RIGHTS}
        bare.post("/apis/rbac.authorization.k8s.io/v1/clusterroles", role)
        plane.grant(MUSTER, "muster-podgroups")
        await eventually(lambda: status(bare, "train").get("phase") == "Scheduling")
    plane.kubectl("delete", "-f", str(DEFINITION))

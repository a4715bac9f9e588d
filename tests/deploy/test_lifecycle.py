"""Upgrade, uninstall, install again: PodGroups, which belong to users, outlive all of it."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.controlplane.api import Api, ApiError
from tests.deploy.helm import CHART, NAMESPACE, RELEASE, REPOSITORY, Helm, HelmError
from tests.e2e.eventually import eventually
from tests.gone import is_gone, remove

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRD = f"{CRDS}/podgroups.scheduling.x-k8s.io"
QUOTAS = f"{CRDS}/elasticquotas.scheduling.x-k8s.io"
GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{RELEASE}"


@pytest.fixture(autouse=True)
def without_definitions(admin: Api) -> Iterator[None]:
    """Takes the definitions away before and after a test, with all PodGroups."""
    _remove_definitions(admin)
    yield
    _remove_definitions(admin)


@pytest.fixture
def release(cluster_helm: Helm) -> Iterator[Helm]:
    """Helm, with a promise to uninstall what a test has installed."""
    yield cluster_helm
    cluster_helm.uninstall()


def test_podgroups_outlive_upgrade_and_uninstall(release: Helm, admin: Api) -> None:
    release.install()
    group = _make_group(admin)

    release.upgrade({"scheduler": {"verbosity": 2, "replicaCount": 3}})
    assert admin.get(DEPLOYMENT)["spec"]["replicas"] == 3
    assert _group(admin) == group

    release.uninstall()
    assert is_gone(admin, DEPLOYMENT)
    assert _group(admin) == group

    release.install()
    assert _group(admin) == group


def test_a_definition_that_is_there_is_left_alone_when_asked_to(release: Helm, admin: Api) -> None:
    before = _define(admin)

    with pytest.raises(HelmError, match=r"podgroups\.scheduling\.x-k8s\.io.*cannot be imported"):
        release.install()
    release.install({"crds": {"install": False}})
    release.uninstall()

    assert admin.get(CRD)["metadata"]["uid"] == before["metadata"]["uid"]
    assert "helm.sh/resource-policy" not in admin.get(CRD)["metadata"]["annotations"]


def test_a_definition_that_is_there_can_be_taken_over(release: Helm, admin: Api) -> None:
    before = _define(admin)
    group = _make_group(admin)

    release.install({}, "--take-ownership")

    after = admin.get(CRD)["metadata"]
    assert after["uid"] == before["metadata"]["uid"]
    assert after["annotations"]["helm.sh/resource-policy"] == "keep"
    assert _group(admin) == group


@pytest.mark.parametrize("manager", ["helm", "kubectl-create", "kubectl-client-side-apply"])
def test_the_documented_command_takes_over_a_definition_that_another_tool_made(
    release: Helm, admin: Api, manager: str
) -> None:
    before = _define(admin, manager=manager, columns=False)
    group = _make_group(admin)
    release.install({"schedulerNames": ["muster", "scheduler-plugins-scheduler"], "crds": {"install": False}})
    options = ("--reset-then-reuse-values", "--take-ownership", "--force-conflicts")
    documented = (CHART / "README.md").read_text()

    with pytest.raises(HelmError, match=r"conflict with .*: \.spec\.versions"):
        release.upgrade({"crds": {"install": True}}, "--reset-then-reuse-values", "--take-ownership")
    release.upgrade({"crds": {"install": True}}, *options)
    release.upgrade({"scheduler": {"verbosity": 1}}, "--reset-then-reuse-values")

    assert all(option in documented for option in options)
    after = admin.get(CRD)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"]["versions"][0]["additionalPrinterColumns"]
    assert _group(admin) == group
    config = admin.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/{RELEASE}")["data"]["config.yaml"]
    assert [profile["schedulerName"] for profile in yaml.safe_load(config)["profiles"]] == [
        "muster",
        "scheduler-plugins-scheduler",
    ]


def test_an_upgrade_keeps_the_certificate_that_the_replicas_serve_with(release: Helm, admin: Api) -> None:
    values: dict[str, Any] = {"webhook": {"enabled": True}}
    secret = f"/api/v1/namespaces/{NAMESPACE}/secrets/{RELEASE}-webhook"
    release.install(values)
    before = admin.get(secret)["data"]

    release.upgrade(values)

    assert admin.get(secret)["data"] == before
    path = f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{RELEASE}"
    [webhook] = admin.get(path)["webhooks"]
    assert webhook["clientConfig"]["caBundle"] == before["ca.crt"]


def test_podgroups_can_be_made_while_no_replica_answers_unless_failing_is_asked_for(release: Helm, admin: Api) -> None:
    release.install({"webhook": {"enabled": True, "failurePolicy": "Fail"}})
    eventually(lambda: "failed calling webhook" in _refusal(admin))

    release.upgrade({"webhook": {"enabled": True}})
    eventually(lambda: _refusal(admin) == "")


def _define(admin: Api, *, manager: str = "somebody", columns: bool = True) -> dict[str, Any]:
    """Makes the definition as another tool would, and without columns as scheduler-plugins' is; returns it."""
    path = REPOSITORY / "deploy" / "crds" / "scheduling.x-k8s.io_podgroups.yaml"
    definition = yaml.safe_load(path.read_text())
    for version in definition["spec"]["versions"] if not columns else ():
        del version["additionalPrinterColumns"]
    made: dict[str, Any] = admin.post(f"{CRDS}?fieldManager={manager}", definition)
    return made


def _make_group(admin: Api) -> dict[str, Any]:
    eventually(lambda: admin.get(GROUPS))
    group = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "kept"}}
    made: dict[str, Any] = admin.post(GROUPS, group | {"spec": {"minMember": 2}})
    return made


def _refusal(admin: Api) -> str:
    """What the API server has against a PodGroup; empty when it would take it."""
    group = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "tried"}}
    try:
        admin.post(f"{GROUPS}?dryRun=All", group)
    except ApiError as error:
        return str(error)
    return ""


def _group(admin: Api) -> dict[str, Any]:
    group: dict[str, Any] = admin.get(f"{GROUPS}/kept")
    return group


def _remove_definitions(admin: Api) -> None:
    for path in (CRD, QUOTAS):
        remove(admin, path)

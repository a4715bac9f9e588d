"""The values of the chart: the objects that each of them changes, and values that the chart refuses."""

from typing import Any

import pytest

from tests.deploy.helm import Helm, HelmError, name_of, pick
from tests.deploy.tables import at, cases, nested

Case = dict[str, Any]

DEFAULT = {
    "ClusterRole/muster",
    "ClusterRole/muster-podgroups-admin",
    "ClusterRole/muster-podgroups-edit",
    "ClusterRole/muster-podgroups-view",
    "ClusterRoleBinding/muster",
    "ConfigMap/muster",
    "CustomResourceDefinition/elasticquotas.scheduling.x-k8s.io",
    "CustomResourceDefinition/podgroups.scheduling.x-k8s.io",
    "Deployment/muster",
    "PodDisruptionBudget/muster",
    "ResourceQuota/muster-critical-pods",
    "Role/muster-leader-election",
    "RoleBinding/muster-leader-election",
    "Service/muster",
    "ServiceAccount/muster",
}
SWITCHES = ("networkPolicy", "serviceMonitor", "prometheusRule", "grafanaDashboard", "webhook")
ABBREVIATIONS = {"container": "spec.template.spec.containers.0", "pod": "spec.template.spec"}


def test_lint_finds_no_fault(helm: Helm) -> None:
    assert "0 chart(s) failed" in helm.lint()


def test_the_defaults_install_what_every_cluster_needs(helm: Helm) -> None:
    assert {name_of(manifest) for manifest in helm.template()} == DEFAULT


@pytest.mark.parametrize("case", cases("switches.yaml"))
def test_a_switch_adds_and_removes_what_it_is_for(helm: Helm, case: Case) -> None:
    rendered = {name_of(manifest) for manifest in helm.template(nested(case["set"]))}
    assert rendered - DEFAULT == set(case.get("adds", ()))
    assert DEFAULT - rendered == set(case.get("removes", ()))


@pytest.mark.parametrize("case", cases("effects.yaml"))
def test_a_value_arrives_where_it_is_for(helm: Helm, case: Case) -> None:
    manifests = helm.template(nested(case["set"]))
    for place, expected in case["gives"].items():
        name, path = place.split(" ")
        first, dot, rest = path.partition(".")
        path = ABBREVIATIONS.get(first, first) + dot + rest
        assert (place, at(pick(manifests, name), path)) == (place, expected)


@pytest.mark.parametrize("case", cases("refusals.yaml"))
def test_a_wrong_value_is_refused_with_its_name(helm: Helm, case: Case) -> None:
    with pytest.raises(HelmError) as refusal:
        helm.template(nested(case["set"]))
    assert case["names"] in str(refusal.value)


def test_all_switches_go_together(helm: Helm) -> None:
    rendered = {name_of(manifest) for manifest in helm.template({switch: {"enabled": True} for switch in SWITCHES})}
    assert len(rendered - DEFAULT) == len(SWITCHES) + len({"the webhook's certificate"})


def test_no_quota_is_made_in_kube_system(helm: Helm) -> None:
    rendered = {name_of(manifest) for manifest in helm.template(namespace="kube-system")}
    assert DEFAULT - rendered == {"ResourceQuota/muster-critical-pods"}


def test_reviews_of_tokens_are_granted_only_where_they_are_asked_for(helm: Helm) -> None:
    def groups(values: Case) -> set[str]:
        rules = pick(helm.template(values), "ClusterRole/muster")["rules"]
        return {group for rule in rules for group in rule["apiGroups"]}

    plain = groups({"serving": {"plainHttp": True}})
    assert groups({}) - plain == {"authentication.k8s.io", "authorization.k8s.io"}


def test_labels_and_annotations_for_all_objects_are_on_all_of_them(helm: Helm) -> None:
    on = {switch: {"enabled": True} for switch in SWITCHES} | {
        "rbac": {"metricsReaders": [{"kind": "Group", "name": "g"}]}
    }
    marked = helm.template({**on, "commonLabels": {"team": "a"}, "commonAnnotations": {"owner": "b"}})
    for manifest in marked:
        described = (at(manifest, "metadata.labels.team"), at(manifest, "metadata.annotations.owner"))
        assert (name_of(manifest), described) == (name_of(manifest), ("a", "b"))
    assert {name_of(manifest) for manifest in marked} == {name_of(manifest) for manifest in helm.template(on)}


@pytest.mark.parametrize(
    ("image", "warned"),
    [
        ({}, True),
        ({"image": {"repository": "muster", "tag": "7"}}, True),
        ({"image": {"repository": "registry.example/muster"}}, False),
        ({"scheduler": {"image": "ours:7"}}, True),
        ({"scheduler": {"image": "registry.example/muster:7"}}, False),
    ],
    ids=str,
)
def test_the_notes_warn_of_an_image_that_names_no_registry(helm: Helm, image: Case, warned: bool) -> None:
    assert ("names no registry. Nodes that do not hold it" in helm.notes(image)) == warned


def test_a_changed_configuration_rolls_the_deployment(helm: Helm) -> None:
    def checksum(values: Case) -> Any:
        deployment = pick(helm.template(values), "Deployment/muster")
        return at(deployment, "spec.template.metadata.annotations.checksum/config")

    assert checksum({}) == checksum({"image": {"tag": "other"}}) != checksum({"schedulerNames": ["other"]})


@pytest.mark.parametrize("off", ["scheduler.leaderElect", "config.leaderElection.leaderElect"])
def test_replicas_without_an_election_are_refused(helm: Helm, off: str) -> None:
    with pytest.raises(HelmError, match=r"scheduler\.replicaCount is 2 and leader election is off"):
        helm.template(nested({off: False}))


@pytest.mark.parametrize(
    ("release", "name"),
    [
        ("m.v1", "m-v1-muster"),
        ("muster.v1", "muster-v1"),
        ("a" * 49 + ".v1", "a" * 49),
        ("one", "one-muster"),
    ],
)
def test_a_release_of_any_name_gives_names_that_a_service_may_have(helm: Helm, release: str, name: str) -> None:
    manifests = helm.template({"webhook": {"enabled": True}}, release=release)
    services = [manifest["metadata"]["name"] for manifest in manifests if manifest["kind"] == "Service"]
    assert services == [name]
    service = pick(manifests, f"ValidatingWebhookConfiguration/{name}")["webhooks"][0]["clientConfig"]["service"]
    assert service["name"] == name


@pytest.mark.parametrize(("release", "override"), [("1m", ""), ("muster", "1m")])
def test_a_name_that_no_service_may_have_is_refused_with_the_way_out(helm: Helm, release: str, override: str) -> None:
    with pytest.raises(HelmError, match=r'"1m(-muster)?" begins with a digit.* Set fullnameOverride'):
        helm.template({"fullnameOverride": override}, release=release)


def test_a_numeric_release_name_is_a_valid_label(helm: Helm) -> None:
    manifests = helm.template({"fullnameOverride": "ours"}, release="123")
    selector = at(pick(manifests, "Deployment/ours"), "spec.selector.matchLabels")
    assert selector == {"app.kubernetes.io/name": "muster", "app.kubernetes.io/instance": "123"}


def test_two_servers_on_one_port_are_refused(helm: Helm) -> None:
    with pytest.raises(HelmError, match=r"serving\.port and webhook\.port are both 9443"):
        helm.template(nested({"webhook.enabled": True, "serving.port": 9443}))
    assert helm.template(nested({"webhook.enabled": False, "serving.port": 9443}))


@pytest.mark.parametrize("label", ["app.kubernetes.io/name", "app.kubernetes.io/instance"])
def test_a_label_that_selects_the_pods_cannot_be_given_another_value(helm: Helm, label: str) -> None:
    with pytest.raises(HelmError, match=rf"scheduler\.podLabels: the Deployment selects its pods by {label}"):
        helm.template({"scheduler": {"podLabels": {label: "other"}}})


def test_selectors_of_pods_stay_the_same_in_every_version(helm: Helm) -> None:
    """The selector of a Deployment cannot be changed by an upgrade."""
    labels = {"app.kubernetes.io/name": "muster", "app.kubernetes.io/instance": "muster"}
    manifests = helm.template(nested({"networkPolicy.enabled": True, "serviceMonitor.enabled": True}))
    for name, path in {
        "Deployment/muster": "spec.selector.matchLabels",
        "Service/muster": "spec.selector",
        "PodDisruptionBudget/muster": "spec.selector.matchLabels",
        "NetworkPolicy/muster": "spec.podSelector.matchLabels",
        "ServiceMonitor/muster": "spec.selector.matchLabels",
    }.items():
        assert at(pick(manifests, name), path) == labels
    assert at(pick(manifests, "Deployment/muster"), "spec.template.metadata.labels") == labels

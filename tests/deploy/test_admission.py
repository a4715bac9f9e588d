"""All objects of the chart and the manifests, admitted by a real API server."""

import base64
import json
import re
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.controlplane.api import Api, ApiError
from tests.controlplane.plane import ControlPlane
from tests.deploy.helm import NAMESPACE, REPOSITORY, Helm, Manifest, pick
from tests.deploy.tables import nested
from tests.gone import remove

EVERYTHING = nested(
    {
        "crds.install": False,
        "networkPolicy.enabled": True,
        "serviceMonitor.enabled": True,
        "prometheusRule.enabled": True,
        "grafanaDashboard.enabled": True,
        "webhook.enabled": True,
        "serving.certificateSecret": "tls",
        "rbac.metricsReaders": [{"kind": "Group", "name": "monitoring", "apiGroup": "rbac.authorization.k8s.io"}],
    }
)
# Kinds of other projects that the chart or the examples use; they are tried on definitions that take anything.
OTHERS = {
    "monitoring.coreos.com/v1": ("ServiceMonitor", "PrometheusRule"),
    "cert-manager.io/v1": ("Issuer", "Certificate"),
    "kubeflow.org/v2beta1": ("MPIJob",),
    "trainer.kubeflow.org/v1alpha1": ("TrainingRuntime", "TrainJob"),
    "jobset.x-k8s.io/v1alpha2": ("JobSet",),
    "leaderworkerset.x-k8s.io/v1": ("LeaderWorkerSet",),
    "ray.io/v1": ("RayCluster",),
    "sparkoperator.k8s.io/v1beta2": ("SparkApplication",),
}
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_SERVER_SIDE = ("apply", "--server-side", "--dry-run=server", "--filename=-")


def lenient(group_version: str, kind: str) -> Manifest:
    """A definition of a kind that takes anything."""
    group, version = group_version.split("/")
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "metadata": {"name": f"{plural}.{group}", "annotations": {"api-approved.kubernetes.io": "unapproved"}},
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural},
            "scope": "Namespaced",
            "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


@pytest.fixture(scope="module")
def others(cluster: ControlPlane, admin: Api) -> Iterator[None]:
    """Definitions of what is not Kubernetes' own, of PodGroups and ElasticQuotas as they are, and the namespace."""
    definitions = [lenient(group, kind) for group, kinds in OTHERS.items() for kind in kinds]
    definitions += [yaml.safe_load(path.read_text()) for path in (REPOSITORY / "deploy" / "crds").glob("*.yaml")]
    names = [definition["metadata"]["name"] for definition in definitions]
    for name, definition in zip(names, definitions, strict=True):
        remove(admin, f"{_CRDS}/{name}")
        admin.post(_CRDS, definition)
    cluster.kubectl("apply", "--filename", str(REPOSITORY / "deploy" / "namespace.yaml"))
    cluster.kubectl("wait", "--for=condition=Established", *(f"crd/{name}" for name in names))
    yield
    for name in names:
        remove(admin, f"{_CRDS}/{name}")


@pytest.mark.usefixtures("others")
@pytest.mark.parametrize("certificate", ["self-made", "cert-manager"])
def test_the_chart_with_all_switches_on_passes_a_dry_run(helm: Helm, cluster: ControlPlane, certificate: str) -> None:
    manifests = helm.template({**EVERYTHING, "webhook": {"enabled": True, "certificate": certificate}})
    answer = cluster.kubectl(*_SERVER_SIDE, stdin=yaml.safe_dump_all(manifests))
    assert answer.count("serverside-applied (server dry run)") == len(manifests)


@pytest.mark.usefixtures("others")
def test_the_manifests_pass_a_dry_run(cluster: ControlPlane) -> None:
    manifests = cluster.kubectl("kustomize", str(REPOSITORY / "deploy"))
    answer = cluster.kubectl(*_SERVER_SIDE, stdin=manifests)
    assert answer.count("serverside-applied (server dry run)") == len(re.findall(r"^kind:", manifests, re.MULTILINE))


@pytest.mark.usefixtures("others")
def test_the_examples_pass_a_dry_run(cluster: ControlPlane) -> None:
    cluster.kubectl("apply", "--server-side", "--dry-run=server", f"--filename={REPOSITORY / 'deploy' / 'examples'}")


@pytest.mark.usefixtures("others")
def test_a_restricted_namespace_admits_the_pod(helm: Helm, admin: Api) -> None:
    enforced = admin.get(f"/api/v1/namespaces/{NAMESPACE}")["metadata"]["labels"]
    assert enforced["pod-security.kubernetes.io/enforce"] == "restricted"
    spec = pick(helm.template(EVERYTHING), "Deployment/muster")["spec"]["template"]["spec"]
    pods = f"/api/v1/namespaces/{NAMESPACE}/pods"
    pod = admin.post(pods, {"metadata": {"name": "restricted"}, "spec": spec})
    assert pod["spec"]["priority"] == 2_000_000_000
    admin.delete(f"{pods}/restricted", gracePeriodSeconds=0)

    lax = [container | {"securityContext": {}} for container in spec["containers"]]
    with pytest.raises(ApiError, match="violates PodSecurity"):
        admin.post(pods, {"metadata": {"name": "lax"}, "spec": spec | {"containers": lax}})


def test_the_pod_cannot_write_nor_gain_anything(helm: Helm) -> None:
    spec = pick(helm.template(), "Deployment/muster")["spec"]["template"]["spec"]
    [container] = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"]
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    writable = [mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")]
    assert writable == ["/tmp"]


def test_the_self_made_certificate_is_good_for_the_name_that_the_api_server_calls(helm: Helm, tmp_path: Path) -> None:
    manifests = helm.template({"webhook": {"enabled": True}})
    secret = pick(manifests, "Secret/muster-webhook")
    files = {name: tmp_path / name for name in secret["data"]}
    for name, path in files.items():
        path.write_bytes(base64.b64decode(secret["data"][name]))
    [webhook] = pick(manifests, "ValidatingWebhookConfiguration/muster")["webhooks"]
    service = webhook["clientConfig"]["service"]

    host = f"{service['name']}.{service['namespace']}.svc"
    command = ["openssl", "verify", "-CAfile", files["ca.crt"], "-verify_hostname", host, files["tls.crt"]]
    assert subprocess.run(command, capture_output=True, text=True).stdout.strip().endswith("OK")
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(files["tls.crt"], files["tls.key"])
    assert webhook["clientConfig"]["caBundle"] == secret["data"]["ca.crt"]


def test_the_webhook_is_asked_about_podgroups_alone(helm: Helm) -> None:
    [webhook] = pick(helm.template({"webhook": {"enabled": True}}), "ValidatingWebhookConfiguration/muster")["webhooks"]
    [rule] = webhook["rules"]
    assert (rule["apiGroups"], rule["resources"]) == (["scheduling.x-k8s.io"], ["podgroups"])
    assert webhook["failurePolicy"] == "Ignore"
    assert json.dumps(rule).count("*") == 0

"""The webhook of an installed release: served with the chart's certificate, where the API server is told to ask."""

import http.client
import json
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.controlplane.ports import free_port
from tests.deploy.helm import RELEASE, Helm
from tests.deploy.image import Image
from tests.deploy.pod import Replica, mount
from tests.e2e.eventually import eventually

_CONFIGURATION = f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{RELEASE}"
_KIND = {"group": "scheduling.x-k8s.io", "version": "v1alpha1"}


@dataclass(frozen=True)
class Webhook:
    """The webhook as the API server would call it: by the name of its service, trusting the chart's authority alone."""

    port: int
    host: str
    path: str
    authority: Path

    def review(self, spec: dict[str, Any]) -> dict[str, Any]:
        """What it answers when a PodGroup with this spec is created."""
        request = {
            "uid": "review-1",
            "operation": "CREATE",
            "kind": _KIND | {"kind": "PodGroup"},
            "resource": _KIND | {"resource": "podgroups"},
            "namespace": "default",
            "name": "gang",
            "userInfo": {"username": "someone", "uid": "", "groups": []},
            "object": {
                "apiVersion": "scheduling.x-k8s.io/v1alpha1",
                "kind": "PodGroup",
                "metadata": {"name": "gang", "namespace": "default"},
                "spec": spec,
            },
            "oldObject": None,
            "dryRun": False,
        }
        body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        answer: dict[str, Any] = json.loads(self._post(json.dumps(body)))["response"]
        return answer

    def _post(self, body: str) -> bytes:
        context = ssl.create_default_context(cafile=str(self.authority))
        connection = http.client.HTTPConnection(self.host, timeout=10)
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        with context.wrap_socket(plain, server_hostname=self.host) as connection.sock:
            connection.request("POST", f"{self.path}?timeout=5s", body, {"Content-Type": "application/json"})
            with connection.getresponse() as answer:
                return answer.read()

    def answers(self) -> bool:
        """Whether anybody listens there."""
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True


@pytest.fixture(scope="module")
def webhook(
    cluster_helm: Helm, image: Image, cluster: ControlPlane, admin: Api, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Webhook]:
    """The webhook of a release with the webhook on."""
    folder = tmp_path_factory.mktemp("replica")
    cluster_helm.install({"webhook": {"enabled": True}})
    [registered] = admin.get(_CONFIGURATION)["webhooks"]
    service = registered["clientConfig"]["service"]
    webhook = Webhook(
        port=free_port(),
        host=f"{service['name']}.{service['namespace']}.svc",
        path=service["path"],
        authority=folder / "webhook-certificate" / "ca.crt",
    )
    replica = Replica(image.muster, mount(cluster, admin, folder), f"--webhook-port={webhook.port}")
    try:
        replica.wait_until_ready()
        eventually(webhook.answers)
        yield webhook
    finally:
        code = replica.stop()
        cluster_helm.uninstall()
    assert code == 0


def test_a_podgroup_that_can_mean_something_is_let_through(webhook: Webhook) -> None:
    assert webhook.review({"minMember": 3, "minResources": {"cpu": "2"}})["allowed"]


def test_one_that_cannot_is_refused_with_the_reason(webhook: Webhook) -> None:
    answer = webhook.review({"minMember": 3, "scheduleTimeoutSeconds": -1})
    assert not answer["allowed"]
    assert answer["status"]["message"].startswith("spec.scheduleTimeoutSeconds: Invalid value: -1: ")

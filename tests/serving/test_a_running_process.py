"""The pages of `muster run` over TLS: who may read them on a real cluster, and what they say there."""

import http.client
import json
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from muster.framework.config import load
from muster.operator.process.settings import muster_configuration, with_scheduler_names
from tests.builders import make_node, make_pod
from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane
from tests.controlplane.rights import grant
from tests.e2e.cluster import Cluster
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import MusterProcess, Options
from tests.namespaces import create_namespace, remove_namespace

RBAC = "/apis/rbac.authorization.k8s.io/v1"
NAME = "muster-over-tls"
PAGES = ("/metrics", "/metrics/resources", "/configz", "/debug/why", "/web/", "/web/nodes", "/web/stream")


@dataclass(frozen=True, kw_only=True)
class Secure(Options):
    """Options of a process that serves over TLS, with a certificate of its own making."""

    def command(self) -> list[str]:
        return [*(argument for argument in super().command() if argument != "--plain-http"), "--web"]


@dataclass(frozen=True)
class Site:
    """The process as a client meets it who cannot check its certificate."""

    port: int

    def get(self, path: str, token: str | None = None) -> tuple[int, str]:
        """Status and text; status 0 while nobody answers."""
        trust = ssl.create_default_context()
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=10, context=trust)
        try:
            connection.request("GET", path, headers={} if token is None else {"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError as error:
            return 0, str(error)
        finally:
            connection.close()


@pytest.fixture(scope="module")
def site(
    control_plane: ControlPlane, muster_kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """A `muster run` with the rights that Kubernetes gives a scheduler, among them to ask who may read its pages."""
    log = tmp_path_factory.mktemp("muster") / "muster.log"
    options = Secure(kubeconfig=muster_kubeconfig, log=log, names=[NAME])
    process = MusterProcess(options)
    site = Site(options.port)
    try:
        eventually(lambda: site.get("/readyz") == (HTTPStatus.OK, "ok"))
        yield site
    finally:
        process.stop()


@pytest.fixture(scope="module")
def accounts(api: Api) -> Iterator[str]:
    """A namespace for service accounts."""
    name = create_namespace(api)
    yield name
    remove_namespace(api, name)


def create_account(api: Api, namespace: str, name: str) -> str:
    """A service account; its token."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    api.post(path, {"metadata": {"name": name}})
    token: str = api.post(f"{path}/{name}/token", {"spec": {}})["status"]["token"]
    return token


@pytest.fixture(scope="module")
def reader(api: Api, accounts: str) -> Iterator[str]:
    """The token of a service account that may read all pages."""
    user, role = f"system:serviceaccount:{accounts}:reader", f"{accounts}-reader"
    token = create_account(api, accounts, "reader")
    rules = [
        {"nonResourceURLs": [*PAGES, "/web", "/web/*"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]},
    ]
    api.post(f"{RBAC}/clusterroles", {"metadata": {"name": role}, "rules": rules})
    grant(api, user, role)
    yield token
    api.delete(f"{RBAC}/clusterrolebindings/{user}:{role}")
    api.delete(f"{RBAC}/clusterroles/{role}")


@pytest.fixture(scope="module")
def stranger(api: Api, accounts: str) -> str:
    """The token of a service account that may read nothing."""
    return create_account(api, accounts, "stranger")


@pytest.fixture
def cluster(control_plane: ControlPlane, api: Api, namespace: str) -> Cluster:
    """The test's own pods."""
    return Cluster(control_plane, api, namespace)


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/readyz/sched-handler-sync"])
def test_health_is_open_to_everyone(path: str, site: Site) -> None:
    assert site.get(path) == (HTTPStatus.OK, "ok")


@pytest.mark.parametrize("path", PAGES)
def test_every_other_page_needs_a_role(path: str, site: Site, accounts: str, stranger: str) -> None:
    nobody, unknown, known = site.get(path), site.get(path, "nobody.issued.this"), site.get(path, stranger)
    assert [nobody[0], unknown[0], known[0]] == [HTTPStatus.FORBIDDEN, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN]
    user = f"system:serviceaccount:{accounts}:stranger"
    assert json.loads(known[1])["message"] == f'forbidden: User "{user}" cannot get path "{path}"'


def test_a_user_with_the_role_may_read_the_metrics(site: Site, reader: str) -> None:
    status, text = site.get("/metrics", reader)
    assert status == HTTPStatus.OK
    assert 'scheduler_pending_pods{queue="active"} 0.0' in text
    assert site.get("/metrics/resources", reader)[0] == HTTPStatus.OK


def test_configz_is_the_configuration_in_force_and_loads_as_one(site: Site, reader: str) -> None:
    status, text = site.get("/configz", reader)
    assert status == HTTPStatus.OK
    document = json.loads(text)["kubescheduler.config.k8s.io"]
    assert load(json.dumps(document), "configz") == with_scheduler_names(muster_configuration(), [NAME])


def test_why_shows_the_last_decision_on_a_pod(
    site: Site, reader: str, cluster: Cluster, add_nodes: Callable[..., None]
) -> None:
    add_nodes(make_node("one", cpu="2"))
    cluster.create(make_pod("fits").requests(cpu="1"), make_pod("large").requests(cpu="3"), scheduler=NAME)
    cluster.wait_until_bound("fits")
    message = cluster.wait_until_unschedulable("large")

    def why(name: str) -> tuple[int, Any]:
        status, text = site.get(f"/debug/why?pod={cluster.namespace}/{name}", reader)
        return status, json.loads(text)

    status, bound = why("fits")
    assert status == HTTPStatus.OK
    assert (bound["pod"], bound["node"], bound["code"]) == (f"{cluster.namespace}/fits", "one", "Success")
    status, waiting = why("large")
    assert status == HTTPStatus.OK
    assert (waiting["node"], waiting["code"]) == ("", "Unschedulable")
    assert waiting["message"] == message
    assert message.startswith("0/1 nodes are available: 1 Insufficient cpu. preemption: ")
    assert waiting["uid"] == cluster.pod("large")["metadata"]["uid"]
    status, unknown = why("unknown")
    assert status == HTTPStatus.NOT_FOUND
    assert unknown["reason"] == f"there is no pod {cluster.namespace}/unknown"

    cluster.delete("large")
    cluster.create(make_pod("large").gate("example.com/later"), scheduler=NAME)
    reason = f"pod {cluster.namespace}/large is not looked at before its scheduling gates are gone: example.com/later"
    eventually(lambda: why("large") == (HTTPStatus.NOT_FOUND, {"reason": reason}))


def test_the_web_pages_are_shown_below_their_path(
    site: Site, reader: str, cluster: Cluster, add_nodes: Callable[..., None]
) -> None:
    add_nodes(make_node("one", cpu="2"))
    cluster.create(make_pod("large").requests(cpu="3"), scheduler=NAME)
    message = cluster.wait_until_unschedulable("large")
    pod = f"/web/pods/{cluster.namespace}/large"
    eventually(lambda: message in site.get(pod, reader)[1])
    page = site.get(pod, reader)[1]
    assert 'href="/web/static/muster.css"' in page
    assert "Decided by the leader" in page
    assert site.get("/web/nodes/one", reader)[0] == HTTPStatus.OK
    assert site.get("/web", reader)[0] == HTTPStatus.SEE_OTHER

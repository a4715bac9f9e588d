"""A real API server answers the reviews: a service account reads what a role grants it and nothing else."""

import json
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest

from muster.operator.serving import ReviewAuthorizer
from tests.controlplane.api import Api
from tests.controlplane.plane import MUSTER, ControlPlane
from tests.controlplane.rights import grant

RBAC = "/apis/rbac.authorization.k8s.io/v1"


class Awaited:
    """The tests' own client behind the interface that the authorizer wants."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def post(self, path: str, body: bytes) -> bytes:
        return json.dumps(self._api.post(path, json.loads(body))).encode()


@pytest.fixture
def authorizer(control_plane: ControlPlane, muster_kubeconfig: Path) -> Iterator[ReviewAuthorizer]:
    """Asks as the scheduler's own user, with the rights that Kubernetes gives a scheduler."""
    with control_plane.api(MUSTER) as scheduler:
        yield ReviewAuthorizer(Awaited(scheduler), timer=lambda: 0.0)


@pytest.fixture
def scraper(api: Api, namespace: str) -> Iterator[str]:
    """The token of a service account that may get /metrics."""
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    user = f"system:serviceaccount:{namespace}:scraper"
    role = f"{namespace}-scraper"
    api.post(accounts, {"metadata": {"name": "scraper"}})
    rules = [
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]},
    ]
    api.post(f"{RBAC}/clusterroles", {"metadata": {"name": role}, "rules": rules})
    grant(api, user, role)
    yield api.post(f"{accounts}/scraper/token", {"spec": {}})["status"]["token"]
    api.delete(f"{RBAC}/clusterrolebindings/{user}:{role}")
    api.delete(f"{RBAC}/clusterroles/{role}")


async def test_a_service_account_reads_the_page_that_a_role_grants_it(
    authorizer: ReviewAuthorizer, scraper: str, namespace: str
) -> None:
    assert (await authorizer.authorize(scraper, "/metrics")).allowed
    refused = await authorizer.authorize(scraper, "/configz")
    assert refused.status is HTTPStatus.FORBIDDEN
    assert refused.message == (
        f'forbidden: User "system:serviceaccount:{namespace}:scraper" cannot get path "/configz"'
    )


async def test_an_invented_token_is_unauthorized(authorizer: ReviewAuthorizer) -> None:
    assert (await authorizer.authorize("nobody.issued.this", "/metrics")).status is HTTPStatus.UNAUTHORIZED


async def test_a_request_without_a_token_is_anonymous_and_forbidden(authorizer: ReviewAuthorizer) -> None:
    refused = await authorizer.authorize(None, "/metrics")
    assert refused.status is HTTPStatus.FORBIDDEN
    assert refused.message == 'forbidden: User "system:anonymous" cannot get path "/metrics"'

"""Reviews: what a user may do."""

import pytest

from tests.api_behaviour.server import Server

_REVIEWS = "/apis/authorization.k8s.io/v1"
_PODS = {"namespace": "default", "verb": "create", "resource": "pods"}


async def test_the_administrator_may_do_everything(server: Server) -> None:
    answer = await server.post(f"{_REVIEWS}/selfsubjectaccessreviews", {"spec": {"resourceAttributes": _PODS}})

    assert (answer.code, answer.body["kind"]) == (201, "SelfSubjectAccessReview")
    assert answer.body["spec"] == {"resourceAttributes": _PODS}
    assert answer.body["status"]["allowed"] is True


async def test_the_masters_may_do_everything(server: Server) -> None:
    spec = {"user": "me", "groups": ["system:masters"], "nonResourceAttributes": {"path": "/metrics", "verb": "get"}}

    answer = await server.post(f"{_REVIEWS}/subjectaccessreviews", {"spec": spec})

    assert (answer.code, answer.body["spec"]) == (201, spec)
    assert answer.body["status"]["allowed"] is True


@pytest.mark.parametrize(
    "path", [f"{_REVIEWS}/selfsubjectaccessreviews", "/apis/authentication.k8s.io/v1/tokenreviews"]
)
async def test_reviews_are_not_listed(server: Server, path: str) -> None:
    answer = await server.get(path)

    assert (answer.code, answer.reason) == (405, "MethodNotAllowed")


async def test_a_client_learns_who_it_is(server: Server) -> None:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}

    answer = await server.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)

    assert (answer.code, answer.body["kind"]) == (201, "SelfSubjectReview")
    assert answer.body["status"]["userInfo"]["username"]
    assert "system:authenticated" in answer.body["status"]["userInfo"]["groups"]

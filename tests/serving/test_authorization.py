"""The API server decides who reads a page, and is asked no more often than it must be."""

import asyncio
import json
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import pytest

from muster.operator.serving import AccessDecision, ReviewAuthorizer
from tests.clocks import ManualClock

PROMETHEUS = {"username": "system:serviceaccount:mon:prometheus", "uid": "u1", "groups": ["system:authenticated"]}
TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


@dataclass
class Reviewer:
    """An API server that knows some tokens and what users may read, and remembers what it was asked."""

    users: dict[str, dict[str, Any]] = field(default_factory=lambda: {"good": PROMETHEUS})
    grants: set[tuple[str, str]] = field(default_factory=lambda: {(PROMETHEUS["username"], "/metrics")})  # type: ignore[arg-type]
    down: set[str] = field(default_factory=set)
    asked: list[tuple[str, Any]] = field(default_factory=list)

    async def post(self, path: str, body: bytes) -> bytes:
        review = json.loads(body)
        self.asked.append((path, review))
        if path in self.down:
            raise ConnectionError("connection refused")
        return json.dumps({**review, "status": self._status(path, review["spec"])}).encode()

    def _status(self, path: str, spec: dict[str, Any]) -> dict[str, Any]:
        if path == ACCESS:
            asked = spec.get("nonResourceAttributes") or spec["resourceAttributes"]
            what = asked.get("path") or f"{asked['verb']} {asked['resource']}/{asked['name']} in {asked['namespace']}"
            return {"allowed": (spec["user"], what) in self.grants}
        user = self.users.get(spec["token"])
        return {"authenticated": False} if user is None else {"authenticated": True, "user": user}

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]


@pytest.fixture
def reviewer() -> Reviewer:
    return Reviewer()


@pytest.fixture
def timer() -> ManualClock:
    return ManualClock()


@pytest.fixture
def authorizer(reviewer: Reviewer, timer: ManualClock) -> ReviewAuthorizer:
    return ReviewAuthorizer(reviewer, timer=timer)


async def test_a_known_user_with_the_right_gets_in(authorizer: ReviewAuthorizer) -> None:
    assert (await authorizer.authorize("good", "/metrics")).allowed


async def test_the_reviews_carry_the_token_and_then_the_user_the_verb_and_the_path(
    authorizer: ReviewAuthorizer, reviewer: Reviewer
) -> None:
    await authorizer.authorize("good", "/metrics")
    assert reviewer.asked == [
        (TOKENS, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "good"}}),
        (
            ACCESS,
            {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SubjectAccessReview",
                "spec": {
                    "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
                    "user": PROMETHEUS["username"],
                    "uid": "u1",
                    "groups": ["system:authenticated"],
                },
            },
        ),
    ]


async def test_extra_attributes_of_the_user_are_passed_on(authorizer: ReviewAuthorizer, reviewer: Reviewer) -> None:
    extra = {"authentication.kubernetes.io/node-name": ["n1"]}
    reviewer.users["good"] = {**PROMETHEUS, "extra": extra}
    await authorizer.authorize("good", "/metrics")
    assert reviewer.asked[1][1]["spec"]["extra"] == extra


async def test_a_known_user_without_the_right_is_forbidden_by_name(authorizer: ReviewAuthorizer) -> None:
    assert await authorizer.authorize("good", "/configz") == AccessDecision(
        HTTPStatus.FORBIDDEN,
        'forbidden: User "system:serviceaccount:mon:prometheus" cannot get path "/configz"',
    )


async def test_a_bad_token_is_unauthorized_and_its_rights_are_not_asked_for(
    authorizer: ReviewAuthorizer, reviewer: Reviewer
) -> None:
    assert await authorizer.authorize("bad", "/metrics") == AccessDecision(HTTPStatus.UNAUTHORIZED, "Unauthorized")
    assert reviewer.paths == [TOKENS]


async def test_without_a_token_the_anonymous_user_is_asked_for_and_forbidden(
    authorizer: ReviewAuthorizer, reviewer: Reviewer
) -> None:
    decision = await authorizer.authorize(None, "/metrics")
    assert decision == AccessDecision(
        HTTPStatus.FORBIDDEN, 'forbidden: User "system:anonymous" cannot get path "/metrics"'
    )
    ((path, review),) = reviewer.asked
    assert path == ACCESS
    assert (review["spec"]["user"], review["spec"]["groups"]) == ("system:anonymous", ["system:unauthenticated"])


async def test_pages_that_are_granted_to_the_unauthenticated_need_no_token(
    authorizer: ReviewAuthorizer, reviewer: Reviewer
) -> None:
    reviewer.grants.add(("system:anonymous", "/metrics"))
    assert (await authorizer.authorize(None, "/metrics")).allowed


@pytest.mark.parametrize(
    ("token", "path"), [("good", "/metrics"), ("good", "/configz"), ("bad", "/metrics"), (None, "/metrics")]
)
async def test_an_answer_holds_for_ten_seconds(
    authorizer: ReviewAuthorizer, reviewer: Reviewer, timer: ManualClock, token: str | None, path: str
) -> None:
    first = await authorizer.authorize(token, path)
    questions = len(reviewer.asked)
    timer.time += 9.9
    assert await authorizer.authorize(token, path) == first
    assert len(reviewer.asked) == questions
    timer.time += 0.2
    assert await authorizer.authorize(token, path) == first
    assert len(reviewer.asked) == 2 * questions


async def test_a_right_taken_away_is_gone_after_ten_seconds(
    authorizer: ReviewAuthorizer, reviewer: Reviewer, timer: ManualClock
) -> None:
    await authorizer.authorize("good", "/metrics")
    reviewer.grants.clear()
    assert (await authorizer.authorize("good", "/metrics")).allowed
    timer.time += 10.1
    assert (await authorizer.authorize("good", "/metrics")).status is HTTPStatus.FORBIDDEN


async def test_a_second_page_asks_for_the_right_only(authorizer: ReviewAuthorizer, reviewer: Reviewer) -> None:
    await authorizer.authorize("good", "/metrics")
    await authorizer.authorize("good", "/configz")
    assert reviewer.paths == [TOKENS, ACCESS, ACCESS]


async def test_two_tokens_do_not_share_answers(authorizer: ReviewAuthorizer) -> None:
    assert (await authorizer.authorize("good", "/metrics")).allowed
    assert not (await authorizer.authorize("bad", "/metrics")).allowed
    assert not (await authorizer.authorize(None, "/metrics")).allowed


@pytest.mark.parametrize(
    ("path", "decision"),
    [
        (TOKENS, AccessDecision(HTTPStatus.UNAUTHORIZED, "Unauthorized")),
        (
            ACCESS,
            AccessDecision(HTTPStatus.INTERNAL_SERVER_ERROR, 'Internal Server Error: "/metrics": connection refused'),
        ),
    ],
)
async def test_access_is_denied_while_the_api_server_is_down_and_the_failure_is_not_cached(
    authorizer: ReviewAuthorizer, reviewer: Reviewer, path: str, decision: AccessDecision
) -> None:
    reviewer.down = {path}
    assert await authorizer.authorize("good", "/metrics") == decision
    reviewer.down = set()
    assert (await authorizer.authorize("good", "/metrics")).allowed


async def test_access_is_denied_after_an_answer_that_is_not_a_review(timer: ManualClock) -> None:
    class Confused:
        async def post(self, path: str, body: bytes) -> bytes:
            return b'{"kind": "Status"}'

    decision = await ReviewAuthorizer(Confused(), timer=timer).authorize("good", "/metrics")
    assert decision.status is HTTPStatus.UNAUTHORIZED


async def test_long_paths_are_asked_about_and_not_remembered(reviewer: Reviewer, timer: ManualClock) -> None:
    authorizer = ReviewAuthorizer(reviewer, timer=timer)
    for _ in range(2):
        assert (await authorizer.authorize("good", "/" + "x" * 5000)).status is HTTPStatus.FORBIDDEN
    assert reviewer.paths == [TOKENS, ACCESS, ACCESS]


async def test_made_up_tokens_are_asked_about_a_few_at_a_time(timer: ManualClock) -> None:
    class Slow(Reviewer):
        under_way = most = 0

        async def post(self, path: str, body: bytes) -> bytes:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            await asyncio.sleep(0)
            self.under_way -= 1
            return await super().post(path, body)

    reviewer = Slow()
    authorizer = ReviewAuthorizer(reviewer, timer=timer)
    decisions = await asyncio.gather(*(authorizer.authorize(f"made up {n}", "/metrics") for n in range(100)))
    assert {decision.status for decision in decisions} == {HTTPStatus.UNAUTHORIZED}
    assert reviewer.most == 8


async def test_only_users_who_may_get_a_pod_may_read_why_it_waits(
    authorizer: ReviewAuthorizer, reviewer: Reviewer
) -> None:
    reviewer.grants.add((str(PROMETHEUS["username"]), "get pods/web in shop"))
    assert (await authorizer.authorize("good", "/namespaces/shop/pods/web/why")).allowed
    assert await authorizer.authorize("good", "/namespaces/bank/pods/web/why") == AccessDecision(
        HTTPStatus.FORBIDDEN,
        f'pods "web" is forbidden: User "{PROMETHEUS["username"]}" cannot get resource "pods" in API group "" '
        'in the namespace "bank"',
    )
    assert not (await authorizer.authorize("good", "/namespaces/shop/pods/a/b/why")).allowed
    assert "nonResourceAttributes" not in reviewer.asked[1][1]["spec"]

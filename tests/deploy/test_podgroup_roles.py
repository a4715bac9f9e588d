"""The rights of a namespace's users on its PodGroups, by the roles that they have in it."""

from collections.abc import Iterator

import pytest

from tests.controlplane.api import Api
from tests.deploy.helm import Helm, pick
from tests.namespaces import create_namespace, remove_namespace

VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
READING, ALL = set(VERBS[:3]), set(VERBS)
WRITING = ALL - READING
_RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.mark.parametrize("role", ["view", "edit", "admin"])
def test_each_role_joins_the_one_of_the_api_server_that_is_named_alike(helm: Helm, role: str) -> None:
    made = pick(helm.template(), f"ClusterRole/muster-podgroups-{role}")
    labels = {key: value for key, value in made["metadata"]["labels"].items() if key.startswith("rbac.")}
    assert labels == {f"rbac.authorization.k8s.io/aggregate-to-{role}": "true"}


@pytest.fixture(scope="module")
def space(admin: Api, cluster_helm: Helm) -> Iterator[str]:
    """A namespace in which a user has each of the roles; their names are those of the roles."""
    cluster_helm.install({})
    name = create_namespace(admin)
    for role in ("view", "edit", "admin"):
        admin.post(
            f"{_RBAC}/namespaces/{name}/rolebindings",
            {
                "metadata": {"name": role},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole",
                    "name": f"muster-podgroups-{role}",
                },
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": role}],
            },
        )
    yield name
    remove_namespace(admin, name)
    cluster_helm.uninstall()


def may(
    admin: Api, user: str, verb: str, namespace: str, subresource: str = "", *, resource: str = "podgroups"
) -> bool:
    attributes = {
        "group": "scheduling.x-k8s.io",
        "resource": resource,
        "subresource": subresource,
        "verb": verb,
        "namespace": namespace,
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": attributes},
    }
    answer = admin.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    allowed: bool = answer["status"]["allowed"]
    return allowed


@pytest.mark.parametrize(("user", "allowed"), [("view", READING), ("edit", WRITING), ("admin", WRITING)])
def test_users_may_do_with_podgroups_what_their_role_says(admin: Api, space: str, user: str, allowed: set[str]) -> None:
    assert {verb for verb in VERBS if may(admin, user, verb, space)} == allowed
    assert not any(may(admin, user, verb, "default") for verb in VERBS)
    assert not any(may(admin, user, verb, space, "status") for verb in VERBS)


@pytest.mark.parametrize(("user", "allowed"), [("view", READING), ("edit", set()), ("admin", set())])
def test_users_may_read_quotas_and_change_none(admin: Api, space: str, user: str, allowed: set[str]) -> None:
    assert {verb for verb in VERBS if may(admin, user, verb, space, resource="elasticquotas")} == allowed

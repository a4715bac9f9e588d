"""Gives users of a control plane their rights, and waits until the API server goes by them."""

import time
from http import HTTPStatus

from tests.controlplane.api import Api, ApiError

_RBAC = "rbac.authorization.k8s.io"
_CLUSTER_ROLES = f"/apis/{_RBAC}/v1/clusterroles"
_BINDINGS = f"/apis/{_RBAC}/v1/clusterrolebindings"
_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_IN_FORCE_WITHIN_SECONDS = 30
_ASK_EVERY_SECONDS = 0.02


def grant(api: Api, user: str, cluster_role: str) -> None:
    """Binds a user to a cluster role and returns when the rights are in force; to do so twice is the same as once.

    Raises `ApiError` where there is no such role and `TimeoutError` where the API server does not take it up.
    """
    role = api.get(f"{_CLUSTER_ROLES}/{cluster_role}")
    binding = {
        "metadata": {"name": f"{user}:{cluster_role}"},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": cluster_role},
        "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": user}],
    }
    try:
        api.post(_BINDINGS, binding)
    except ApiError as error:
        if error.code != HTTPStatus.CONFLICT:
            raise
    rule = next(rule for rule in role["rules"] if "resources" in rule)
    resource, _, subresource = rule["resources"][0].partition("/")
    right = {
        "group": rule["apiGroups"][0],
        "resource": resource,
        "subresource": subresource,
        "verb": rule["verbs"][0],
        "name": rule.get("resourceNames", [""])[0],
    }
    _wait_for_right(api, user, right)


def _wait_for_right(api: Api, user: str, right: dict[str, str]) -> None:
    """The authorizer watches roles and bindings, so it learns of a new one a moment after it was created."""
    deadline = time.monotonic() + _IN_FORCE_WITHIN_SECONDS
    review = {"spec": {"user": user, "resourceAttributes": right}}
    while not api.post(_REVIEWS, review)["status"]["allowed"]:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{user} may still not {right['verb']} {right['resource']}")
        time.sleep(_ASK_EVERY_SECONDS)

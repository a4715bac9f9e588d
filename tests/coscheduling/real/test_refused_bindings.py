"""A policy of the real API server that denies the binding of one member of a gang, until it is taken away."""

from collections.abc import Callable, Iterator

import pytest

from tests.builders import make_node
from tests.controlplane.api import Api
from tests.coscheduling.conftest import AddNodes, StartMuster
from tests.coscheduling.objects import make_members
from tests.coscheduling.real.gangs import API, GangCluster
from tests.e2e.eventually import eventually

MakeGangs = Callable[[str], GangCluster]

POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
NAME = "no-binding-of-g-1"


@pytest.fixture
def policy(api: Api, namespace: str) -> Iterator[str]:
    """The path of a policy that denies bindings of the pod g-1 in this namespace; whoever lifts it deletes it."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/binding"]}
    selected = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    api.post(
        POLICIES,
        {
            "metadata": {"name": NAME},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [rule], "namespaceSelector": selected},
                "validations": [{"expression": "object.metadata.name != 'g-1'", "message": "g-1 stays where it is"}],
            },
        },
    )
    api.post(BINDINGS, {"metadata": {"name": NAME}, "spec": {"policyName": NAME, "validationActions": ["Deny"]}})
    yield f"{BINDINGS}/{NAME}"
    for path in (BINDINGS, POLICIES):
        found = [item["metadata"]["name"] for item in api.get(path)["items"]]
        if NAME in found:
            api.delete(f"{path}/{NAME}")


def test_a_gang_of_which_one_binding_is_denied_says_so_and_is_whole_when_it_is_allowed(
    start_muster: StartMuster, make_gangs: MakeGangs, add_nodes: AddNodes, api: Api, policy: str
) -> None:
    gangs = make_gangs(start_muster().name)
    add_nodes(make_node("one", cpu="3"))
    eventually(lambda: denied_in_a_trial(gangs))
    gangs.add_group("g", 3)
    gangs.add(*make_members("g", 3))

    reported = f"2 of 3 pods are bound, 1 was refused: {gangs.namespace}/g-1: "
    eventually(lambda: gangs.condition("g")[1].startswith(reported))
    reason, message = gangs.condition("g")
    assert (reason, "g-1 stays where it is" in message) == ("BindingFailed", True)
    assert len(gangs.nodes("g")) == 2
    status = api.get(f"{API}/namespaces/{gangs.namespace}/podgroups/g")["status"]
    assert (status["scheduled"], status["phase"]) == (2, "Scheduling")

    api.delete(policy)
    gangs.wait_until_started("g", 3)
    eventually(lambda: gangs.condition("g") == ("Scheduled", "the 3 pods that it needs are scheduled"))


def denied_in_a_trial(gangs: GangCluster) -> bool:
    """Whether the API server knows the policy by now: it denies to bind a pod, although the pod is not there."""
    body = {"metadata": {"name": "g-1"}, "target": {"kind": "Node", "name": "one"}}
    try:
        gangs.api.post(f"/api/v1/namespaces/{gangs.namespace}/pods/g-1/binding", body)
    except Exception as error:
        return "stays where it is" in str(error)
    return False

"""Invalid PodGroups: those that the API itself refuses, and those that it accepts and the scheduler has to handle."""

import pytest

from tests.builders import make_node
from tests.controlplane.api import ApiError
from tests.coscheduling.conftest import AddNodes
from tests.coscheduling.objects import make_members
from tests.coscheduling.real.gangs import GangCluster


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("min_member", 0, "spec.minMember"),
        ("min_member", -1, "spec.minMember"),
        ("min_member", 2**31, "spec.minMember"),
        ("min_resources", {"cpu": "a lot"}, "spec.minResources.cpu"),
        ("min_resources", {"memory": "1 Gi"}, "spec.minResources.memory"),
        ("timeout", "soon", "spec.scheduleTimeoutSeconds"),
        ("timeout", -5, "spec.scheduleTimeoutSeconds"),
    ],
)
def test_the_api_refuses_it_with_the_path_of_the_field(
    gangs: GangCluster, field: str, value: object, said: str
) -> None:
    asked = {"min_member": 1, field: value}

    with pytest.raises(ApiError) as refused:
        gangs.add_group("g", **asked)  # type: ignore[arg-type]

    assert refused.value.code == 422
    assert said in str(refused.value)


def test_a_podgroup_that_names_no_minmember_is_let_through_and_holds_nobody(
    gangs: GangCluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one"))
    gangs.add_group("g")
    gangs.add(*make_members("g", 1))

    gangs.wait_until_started("g", 1)

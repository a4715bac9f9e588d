"""Which cluster events follow from a node's change."""

import pytest

from muster.framework.cache.cache import changes, same
from muster.framework.contract.events import Action
from muster.framework.model.quantity import QuantityError
from tests.builders import NodeDict, make_node
from tests.cache.objects import node


def base() -> NodeDict:
    return make_node("n", cpu="4").zone("a").taint("spot").image("web:1", size=10)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (base(), Action(0)),
        (base().resources(cpu="8"), Action.UPDATE_NODE_ALLOCATABLE),
        (base().resources({"example.com/gpu": "1"}), Action.UPDATE_NODE_ALLOCATABLE),
        (base().resources(cpu="4000m"), Action(0)),
        (base().zone("b"), Action.UPDATE_NODE_LABEL),
        (base().labels(disk="ssd"), Action.UPDATE_NODE_LABEL),
        (base().taint("gpu"), Action.UPDATE_NODE_TAINT),
        (base().image("db:1", size=20), Action.UPDATE_NODE_IMAGE),
        (base().unschedulable(), Action(0)),
        (base().zone("b").taint("gpu"), Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT),
    ],
)
def test_each_part_has_a_bit_of_its_own(changed: NodeDict, expected: Action) -> None:
    assert changes(node(base()), node(changed)) == expected


def test_a_node_that_becomes_schedulable_counts_as_a_change_of_taints() -> None:
    assert changes(node(base().unschedulable()), node(base())) == Action.UPDATE_NODE_TAINT


def test_an_amount_that_is_no_quantity_is_refused() -> None:
    with pytest.raises(QuantityError):
        changes(node(base()), node(base().resources(cpu="many")))


def test_a_heartbeat_changes_nothing() -> None:
    before, after = base(), base()
    before["metadata"]["resourceVersion"] = "1"
    after["metadata"]["resourceVersion"] = "2"
    after["status"]["conditions"] = [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}]
    assert same(node(before), node(after))


@pytest.mark.parametrize("changed", [base().unschedulable(), base().zone("b"), base().resources(cpu="4000m")])
def test_anything_else_is_not_the_same(changed: NodeDict) -> None:
    assert not same(node(base()), node(changed))


def test_a_node_made_anew_is_not_the_same() -> None:
    anew = base()
    anew["metadata"]["uid"] = "another"
    assert not same(node(base()), node(anew))

"""Answers that `GroupTrees` keeps for each event agree with the tree that the engine gets."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.contract.group_tree import COMPOSITE_PREFIX
from muster.framework.embedded.clock import VirtualClock
from muster.plugins.gangscheduling.api import NativePodGroup
from muster.plugins.gangscheduling.book import NativePodGroups
from muster.plugins.gangscheduling.composite_api import CompositePodGroup
from muster.plugins.gangscheduling.trees import is_composite
from tests.coscheduling.objects import typed_pod
from tests.gangscheduling.world import make_composite, make_group, make_members

ROOT = f"{COMPOSITE_PREFIX}default/composite-0"
Leaf = tuple[int, int, int]
"""A PodGroup: the number of the CompositePodGroup that it is a part of, its minCount, and how many pods have nodes."""


def follow_composites(groups: NativePodGroups, needs: list[int]) -> None:
    for number, need in enumerate(needs):
        above = {} if not number else {"parentCompositePodGroupName": f"composite-{(number - 1) // 2}"}
        made = make_composite(f"composite-{number}", need, **above)
        groups.follow_composite(f"default/composite-{number}", msgspec.convert(made, CompositePodGroup))


def follow_leaf(groups: NativePodGroups, number: int, leaf: Leaf) -> None:
    parent, min_count, placed = leaf
    made = make_group(f"leaf-{number}", min_count, parentCompositePodGroupName=f"composite-{parent}")
    groups.follow_group(f"default/leaf-{number}", msgspec.convert(made, NativePodGroup))
    for pod in make_members(f"leaf-{number}", placed):
        groups.follow_pod(None, typed_pod(pod.node("one")))


@given(
    st.lists(st.integers(1, 3), min_size=3, max_size=3),
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.integers(0, 4)), max_size=7),
)
def test_the_least_that_a_tree_needs_follows_every_change(needs: list[int], leaves: list[Leaf]) -> None:
    groups = NativePodGroups(VirtualClock())
    follow_composites(groups, needs)
    for number, leaf in enumerate(leaves):
        follow_leaf(groups, number, leaf)
        assert groups.trees.least(ROOT) == groups.trees.tree(ROOT).least
    for number in range(len(leaves)):
        groups.follow_group(f"default/leaf-{number}", None)
        assert groups.trees.least(ROOT) == groups.trees.tree(ROOT).least


def test_a_pod_group_is_no_composite_whatever_its_namespace_is_called() -> None:
    assert is_composite(ROOT)
    assert not is_composite("compositepodgroup/composite-0")

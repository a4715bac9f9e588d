"""The tree of quotas: which object counts, what is above it, what is guaranteed, and what of it is not followed."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.plugins.capacityscheduling.api import KNOWN_ANNOTATIONS, PARENT, WEIGHT, ElasticQuota
from muster.plugins.capacityscheduling.tree import MOST_LEVELS, QuotaTree, branch
from tests.capacityscheduling.objects import quota


def paths(tree: QuotaTree) -> dict[str, list[str]]:
    """The keys on the path of each namespace's quota, without the root."""
    return {name: [each.key for each in found.path[:-1]] for name, found in tree.by_namespace.items()}


def test_without_objects_there_is_no_tree() -> None:
    tree = QuotaTree.of([])
    assert not tree
    assert (tree.lent, dict(tree.problems), tree.root.min) == (frozenset(), {}, {})


def test_the_root_is_guaranteed_what_its_quotas_are_together() -> None:
    tree = QuotaTree.of([quota("ml", min={"cpu": "4", "gpu": "2"}), quota("dev", min={"cpu": "6"}), quota("max-only")])
    assert tree.root.min == {"cpu": 10_000, "gpu": 2}
    assert tree.lent == {"cpu", "gpu"}
    assert paths(tree) == {"ml": ["ml/quota"], "dev": ["dev/quota"], "max-only": ["max-only/quota"]}


def test_the_oldest_quota_of_a_namespace_counts() -> None:
    late = quota("ml", name="a-late", min={"cpu": "9"}, created="2026-02-01T00:00:00Z")
    first = quota("ml", name="first", min={"cpu": "1"}, created="2026-01-01T00:00:00Z")
    tree = QuotaTree.of([late, first])
    assert tree.by_namespace["ml"].key == "ml/first"
    assert tree.root.min == {"cpu": 1000}
    assert tree.problems == {"ml/a-late": ["not used: ml/first is older, and a namespace has one quota"]}


def test_of_quotas_of_one_age_the_first_by_name_counts() -> None:
    tree = QuotaTree.of([quota("ml", name="b"), quota("ml", name="a")])
    assert tree.by_namespace["ml"].key == "ml/a"


def test_a_parent_is_guaranteed_at_least_what_its_children_are() -> None:
    tree = QuotaTree.of(
        [
            quota("dept", name="all", min={"cpu": "5", "gpu": "9"}),
            quota("ml", min={"cpu": "4", "gpu": "2"}, parent="dept/all"),
            quota("dev", min={"cpu": "4"}, parent="dept/all"),
        ]
    )
    assert tree.by_namespace["dept"].min == {"cpu": 8000, "gpu": 9}
    assert tree.root.min == {"cpu": 8000, "gpu": 9}
    assert paths(tree)["ml"] == ["ml/quota", "dept/all"]
    assert tree.problems == {"dept/all": ["spec.min[cpu] is less than its children are guaranteed together"]}


@pytest.mark.parametrize(
    ("objects", "problems"),
    [
        ([quota("ml", parent="no/where")], {"ml/quota": ["its parent no/where does not exist, or is not used"]}),
        ([quota("ml", parent="quota")], {"ml/quota": ["its parent ml/quota is under it"]}),
        (
            [quota("a", parent="b/quota"), quota("b", parent="c/quota"), quota("c", parent="a/quota")],
            {"c/quota": ["its parent a/quota is under it"]},
        ),
    ],
)
def test_an_invalid_parent_is_reported_and_ignored(objects: list[ElasticQuota], problems: dict[str, list[str]]) -> None:
    tree = QuotaTree.of(objects)
    assert tree.problems == problems
    [at_the_top] = problems
    assert paths(tree)[at_the_top.partition("/")[0]] == [at_the_top]


def test_a_chain_that_is_too_long_is_cut() -> None:
    names = [f"ns{number:04}" for number in range(3 * MOST_LEVELS)]
    tree = QuotaTree.of(
        [
            quota(names[0]),
            *(quota(name, parent=f"{above}/quota") for above, name in pairwise(names)),
        ]
    )
    assert max(map(len, paths(tree).values())) <= MOST_LEVELS
    assert tree.problems


def test_faults_of_fields_are_among_the_problems() -> None:
    tree = QuotaTree.of([quota("ml", weight="none")])
    assert [line.partition(":")[0] for line in tree.problems["ml/quota"]] == [
        "metadata.annotations[muster-scheduler.io/quota-weight]"
    ]
    assert tree.by_namespace["ml"].weight == 1


@given(parent=st.text(max_size=20), weight=st.text("0123456789-+.e x", max_size=12) | st.text(max_size=12))
def test_annotations_never_prevent_a_quota_and_each_fault_names_its_field(parent: str, weight: str) -> None:
    tree = QuotaTree.of([quota("ml", parent=parent, weight=weight), quota("dev", parent="ml/quota")])
    found = tree.by_namespace["ml"]
    assert found.weight >= 1
    assert tree.by_namespace["dev"].path[1] is found
    at = tuple(f"metadata.annotations[{name}]" for name in KNOWN_ANNOTATIONS)
    assert [line for line in tree.problems.get("ml/quota", ()) if not line.startswith((*at, "its parent"))] == []
    assert {PARENT, WEIGHT} == KNOWN_ANNOTATIONS


def test_a_branch_is_the_quota_below_the_first_one_in_common() -> None:
    tree = QuotaTree.of(
        [quota("dept"), quota("ml", parent="dept/quota"), quota("dev", parent="dept/quota"), quota("ops")]
    )
    dept, ml, dev, ops = (tree.by_namespace[name] for name in ("dept", "ml", "dev", "ops"))
    assert branch(ml, dev) is ml
    assert branch(ml, ops) is dept
    assert branch(ops, ml) is ops
    assert branch(ml, dept) is ml
    assert branch(dept, ml) is None
    assert branch(ml, ml) is None

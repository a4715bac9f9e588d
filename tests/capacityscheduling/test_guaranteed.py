"""Guaranteed pods: which pods of a quota its `min` covers, and that what is placed later takes nothing from them."""

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from muster.framework.model.pod_info import PodInfo
from muster.plugins.capacityscheduling.borrowing import need_of
from muster.plugins.capacityscheduling.guaranteed import RunningUnit, guaranteed
from muster.plugins.capacityscheduling.tree import QuotaTree
from tests.builders import make_pod
from tests.cache.objects import pod
from tests.capacityscheduling.objects import quota


def of(name: str, namespace: str = "ml", **requests: str) -> PodInfo:
    return pod(make_pod(name, namespace=namespace).requests(requests))


def alone(name: str, *, priority: int = 0, started: float = 0.0, namespace: str = "ml", **requests: str) -> RunningUnit:
    return RunningUnit(name, (of(name, namespace, **requests),), priority, started)


def names(tree: QuotaTree, namespace: str, units: Mapping[str, Sequence[RunningUnit]]) -> list[str]:
    by_quota = {tree.by_namespace[name]: found for name, found in units.items()}
    found = guaranteed(tree.by_namespace[namespace], by_quota, tree.lent)
    return sorted(
        each.name for running in units.values() for unit in running for each in unit.pods if each.uid in found
    )


ONE = QuotaTree.of([quota("ml", min={"cpu": "4", "gpu": "2"})])


def test_the_most_important_and_the_longest_running_are_covered_first() -> None:
    units = [
        alone("new", started=2.0, cpu="2"),
        alone("old", started=1.0, cpu="2"),
        alone("high", priority=1, started=3.0, cpu="2"),
    ]
    assert names(ONE, "ml", {"ml": units}) == ["high", "old"]


def test_a_unit_that_does_not_fit_takes_nothing() -> None:
    assert names(ONE, "ml", {"ml": [alone("large", priority=1, cpu="5"), alone("small", cpu="4")]}) == ["small"]


def test_all_resources_that_are_guaranteed_anywhere_have_to_fit() -> None:
    tree = QuotaTree.of([quota("ml", min={"cpu": "4"}), quota("dev", min={"gpu": "1"})])
    assert names(tree, "ml", {"ml": [alone("gpu", cpu="1", gpu="1"), alone("plain", cpu="1", memory="1Gi")]}) == [
        "plain"
    ]


def test_a_gang_is_covered_as_a_whole_or_not_at_all() -> None:
    gang = RunningUnit("gang", [of(f"gang-{n}", cpu="2") for n in range(3)], 1, 0.0)
    assert names(ONE, "ml", {"ml": [gang, alone("one", cpu="3")]}) == ["one"]


def test_of_a_gang_with_pods_to_spare_as_many_are_covered_as_fit() -> None:
    gang = RunningUnit("gang", [of(f"gang-{n}", cpu="1") for n in range(6)], 1, 0.0, spare=3)
    assert names(ONE, "ml", {"ml": [gang, alone("one", cpu="1")]}) == ["gang-0", "gang-1", "gang-2", "gang-3"]


def test_a_gang_that_could_not_run_with_what_fits_is_not_covered() -> None:
    gang = RunningUnit("gang", [of(f"gang-{n}", cpu="1") for n in range(6)], 1, 0.0, spare=1)
    assert names(ONE, "ml", {"ml": [gang, alone("one", cpu="1")]}) == ["one"]


DEEP = QuotaTree.of(
    [
        quota("dept", min={"cpu": "6"}),
        quota("ml", min={"cpu": "2"}, parent="dept/quota"),
        quota("dev", min={"cpu": "2"}, parent="dept/quota"),
    ]
)


def test_a_parent_covers_what_its_children_guarantee_before_all_else() -> None:
    units = {
        "ml": [alone("ml-high", priority=9, cpu="2"), alone("ml-more", priority=9, cpu="2")],
        "dev": [alone("dev-low", namespace="dev", cpu="2"), alone("dev-more", namespace="dev", cpu="2")],
        "dept": [alone("dept", namespace="dept", priority=5, cpu="2")],
    }
    assert names(DEEP, "dept", units) == ["dev-low", "ml-high", "ml-more"]


amounts = st.integers(0, 3)
specs = st.lists(st.tuples(amounts, amounts, st.integers(0, 1)), max_size=8)


def running(found: Sequence[tuple[int, int, int]]) -> list[RunningUnit]:
    return [
        alone(f"p{at}", priority=priority, started=float(at), cpu=str(cpu), gpu=str(gpu))
        for at, (cpu, gpu, priority) in enumerate(found)
    ]


@given(specs)
def test_covered_pods_fit_into_min(found: Sequence[tuple[int, int, int]]) -> None:
    units = running(found)
    covered = guaranteed(ONE.by_namespace["ml"], {ONE.by_namespace["ml"]: units}, ONE.lent)
    need = need_of(each for unit in units for each in unit.pods if each.uid in covered)
    assert need.get("cpu", 0) <= 4000
    assert need.get("gpu", 0) <= 2


@given(specs, st.tuples(amounts, amounts))
def test_a_pod_that_is_placed_later_displaces_none_of_its_priority_or_a_higher_one(
    found: Sequence[tuple[int, int, int]], added: tuple[int, int]
) -> None:
    units, ml = running(found), ONE.by_namespace["ml"]
    later = alone("later", priority=0, started=99.0, cpu=str(added[0]), gpu=str(added[1]))
    before = guaranteed(ml, {ml: units}, ONE.lent)
    assert before <= guaranteed(ml, {ml: [*units, later]}, ONE.lent)


@given(specs, st.sets(st.integers(0, 7)))
def test_the_end_of_pods_that_are_not_covered_changes_nothing_for_the_others(
    found: Sequence[tuple[int, int, int]], ended: set[int]
) -> None:
    units, ml = running(found), ONE.by_namespace["ml"]
    before = guaranteed(ml, {ml: units}, ONE.lent)
    left = [unit for at, unit in enumerate(units) if at not in ended or unit.pods[0].uid in before]
    assert guaranteed(ml, {ml: left}, ONE.lent) == before

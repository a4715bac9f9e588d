"""The rule of borrowing: who is let in, and which quota, resource and amounts are named when nobody is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.model.pod_info import PodInfo
from muster.plugins.capacityscheduling.borrowing import QuotaRejection, is_within, need_of, needed_at_once, rejection_of
from muster.plugins.capacityscheduling.tree import Amounts, Quota, QuotaTree
from tests.builders import make_pod
from tests.cache.objects import pod
from tests.capacityscheduling.objects import quota


def of(name: str, **requests: str) -> PodInfo:
    return pod(make_pod(name).requests(requests))


def asked(tree: QuotaTree, namespace: str, need: Amounts, used: dict[str, Amounts]) -> QuotaRejection | None:
    """What keeps pods of the namespace out; `used` is by key of the quota, "" for the root."""
    return rejection_of(tree.by_namespace[namespace], need, lambda each: used.get(each.key, {}), tree.lent)


FLAT = QuotaTree.of(
    [
        quota("ml", min={"cpu": "4"}, max={"cpu": "8", "gpu": "2"}),
        quota("dev", min={"cpu": "6"}),
    ]
)


@pytest.mark.parametrize(
    ("need", "used", "text"),
    [
        ({"cpu": 4000}, {}, None),
        ({"cpu": 4000}, {"ml/quota": {"cpu": 4000}, "": {"cpu": 4000}}, None),
        (
            {"cpu": 5000},
            {"ml/quota": {"cpu": 4000}, "": {"cpu": 4000}},
            "namespace ml uses 4 of 8 cpu, its max; 5 more are needed",
        ),
        ({"gpu": 3}, {}, "namespace ml uses 0 of 2 gpu, its max; 3 more are needed"),
        (
            {"cpu": 1000},
            {"ml/quota": {"cpu": 4000}, "": {"cpu": 10_000}},
            "namespace ml may borrow no more cpu, quotas use 10 of 10 in all; 1 more is needed",
        ),
        # Within its own min it is let in, whatever others have borrowed.
        ({"cpu": 1000}, {"ml/quota": {"cpu": 3000}, "": {"cpu": 12_000}}, None),
        # What no quota guarantees is not lent, and not limited but by max.
        ({"memory": 1 << 40}, {}, None),
    ],
)
def test_a_namespace_may_use_its_max_and_borrow_what_others_do_not_use(
    need: Amounts, used: dict[str, Amounts], text: str | None
) -> None:
    found = asked(FLAT, "ml", need, used)
    assert (None if found is None else found.told("ml")) == text


DEEP = QuotaTree.of(
    [
        quota("dept", name="all", min={"cpu": "10"}, max={"cpu": "12"}),
        quota("ml", min={"cpu": "4"}, parent="dept/all"),
        quota("dev", min={"cpu": "4"}, parent="dept/all"),
        quota("ops", min={"cpu": "6"}),
    ]
)


@pytest.mark.parametrize(
    ("used", "text"),
    [
        # From a sibling that does not use its own, though nothing is left at the top.
        ({"ml/quota": {"cpu": 8000}, "dept/all": {"cpu": 8000}, "": {"cpu": 20_000}}, None),
        # From what is above, as long as all is within what is guaranteed.
        ({"ml/quota": {"cpu": 9000}, "dept/all": {"cpu": 9500}, "": {"cpu": 9500}}, None),
        (
            {"ml/quota": {"cpu": 9000}, "dept/all": {"cpu": 10_000}, "": {"cpu": 16_000}},
            "namespace ml may borrow no more cpu, quotas use 16 of 16 in all; 1 more is needed",
        ),
        (
            {"ml/quota": {"cpu": 9000}, "dept/all": {"cpu": 11_500}, "": {"cpu": 11_500}},
            "quota dept/all above namespace ml uses 11500m of 12 cpu, its max; 1 more is needed",
        ),
    ],
)
def test_a_namespace_borrows_from_its_siblings_first(used: dict[str, Amounts], text: str | None) -> None:
    found = asked(DEEP, "ml", {"cpu": 1000}, used)
    assert (None if found is None else found.told("ml")) == text


def test_nominated_pods_count_as_used() -> None:
    ml = FLAT.by_namespace["ml"]
    ahead: dict[Quota, Amounts] = {ml: {"cpu": 4000}, FLAT.root: {"cpu": 10_000}}

    def nothing(each: Quota) -> Amounts:
        return {}

    assert is_within(ml, {"cpu": 1000}, nothing, FLAT.lent)
    assert not is_within(ml, {"cpu": 1000}, nothing, FLAT.lent, ahead=ahead)
    assert rejection_of(ml, {"cpu": 1000}, nothing, FLAT.lent, ahead=ahead) == QuotaRejection(
        FLAT.root, "cpu", 10_000, 10_000, 1000
    )


def test_a_need_counts_pods_and_leaves_out_zeros() -> None:
    assert need_of((of("a", cpu="1", gpu="0"), of("b", cpu="500m"))) == {"pods": 2, "cpu": 1500}


def test_of_unlike_members_the_least_or_the_most_that_as_many_can_need_counts() -> None:
    members = [of("a", cpu="4"), of("b", cpu="1", gpu="1"), of("c", cpu="2", gpu="1")]
    assert needed_at_once(members, 2) == {"pods": 2, "cpu": 3000, "gpu": 1}
    assert needed_at_once(members, 2, most=True) == {"pods": 2, "cpu": 6000, "gpu": 2}
    for most in (False, True):
        assert needed_at_once(members, 3, most=most) == {"pods": 3, "cpu": 7000, "gpu": 2}


@given(st.integers(0, 5), st.integers(0, 12_000), st.integers(0, 16_000), st.integers(1, 6000))
def test_a_request_within_min_is_never_rejected_for_lack_of_unused_capacity_to_borrow(
    ahead: int, own: int, others: int, need: int
) -> None:
    ml = FLAT.by_namespace["ml"]

    def used(each: Quota) -> Amounts:
        return {"cpu": own} if each is ml else {"cpu": own + others}

    claimed: dict[Quota, Amounts] = {ml: {"cpu": 1000 * ahead}, FLAT.root: {"cpu": 1000 * ahead}}
    within = is_within(ml, {"cpu": need}, used, FLAT.lent, ahead=claimed)
    found = rejection_of(ml, {"cpu": need}, used, FLAT.lent, ahead=claimed)
    assert within == (own + 1000 * ahead + need <= 4000)
    assert not (within and found is not None)
    if found is not None and found.quota is FLAT.root:
        assert own + others + 1000 * ahead + need > 10_000

"""The algebra of taints and tolerations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.model.node import Taint, Tolerations, kept_off, tolerated, tolerates, untolerated
from muster.framework.model.pod import Toleration

TAINT = Taint(key="spot", value="a", effect="NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "covered"),
    [
        (Toleration(key="spot", operator="Equal", value="a", effect="NoSchedule"), True),
        (Toleration(key="spot", value="a"), True),
        (Toleration(key="spot", operator="Exists"), True),
        (Toleration(operator="Exists"), True),
        (Toleration(operator="Exists", effect="NoSchedule"), True),
        (Toleration(value="a"), True),
        (Toleration(key="spot", value="b"), False),
        (Toleration(key="spot", value=""), False),
        (Toleration(key="spot", operator="Exists", effect="NoExecute"), False),
        (Toleration(key="gpu", operator="Exists"), False),
        (Toleration(key="spot", operator="Gt", value="0"), False),
        (Toleration(key="spot", operator="Like", value="a"), False),
    ],
)
def test_a_toleration_covers_a_taint_by_key_value_and_effect(toleration: Toleration, covered: bool) -> None:
    assert tolerates(toleration, TAINT) is covered


def test_numbers_are_not_compared() -> None:
    five = Taint(key="sla", value="5", effect="NoSchedule")
    assert not tolerates(Toleration(key="sla", operator="Gt", value="3"), five)
    assert not tolerates(Toleration(key="sla", operator="Lt", value="9"), five)


def test_only_taints_of_the_asked_effects_are_counted() -> None:
    taints = [TAINT, Taint(key="gpu", effect="PreferNoSchedule"), Taint(key="old", effect="PreferNoSchedule")]
    assert untolerated(taints, [], "PreferNoSchedule") == 2
    assert untolerated(taints, [Toleration(key="gpu", operator="Exists")], "PreferNoSchedule", "NoSchedule") == 2


def test_a_pod_is_kept_off_by_one_hard_taint_among_tolerated_ones() -> None:
    tolerations = [Toleration(key="spot", operator="Exists")]
    assert not kept_off([TAINT, Taint(key="gpu", effect="PreferNoSchedule")], tolerations)
    assert kept_off([TAINT, Taint(key="gpu", effect="NoExecute")], tolerations)


PARTS = ("", "a", "b")
taints = st.builds(Taint, key=st.sampled_from("ab"), value=st.sampled_from(PARTS), effect=st.sampled_from("NP"))
tolerations = st.builds(
    Toleration,
    key=st.sampled_from(PARTS),
    operator=st.sampled_from(("", "Equal", "Exists", "Gt")),
    value=st.sampled_from(PARTS),
    effect=st.sampled_from(("", "N", "P")),
)


@given(taints, st.lists(tolerations, max_size=4))
def test_tolerations_in_order_cover_what_one_of_them_does(taint: Taint, several: list[Toleration]) -> None:
    assert tolerated(taint, Tolerations(several)) == tolerated(taint, several)

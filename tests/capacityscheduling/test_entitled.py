"""Entitled shares follow guarantees, weights, limits and demand."""

import pytest

from tests.capacityscheduling.entitled import Terms, entitled


def shares(capacity: float, **tenants: Terms) -> dict[str, float]:
    """The shares, in whole units."""
    return {name: round(share, 6) for name, share in entitled(tenants, capacity).items()}


def test_namespaces_with_work_get_their_guaranteed_share() -> None:
    assert shares(30, a=Terms(18), b=Terms(6), c=Terms(6)) == {"a": 18, "b": 6, "c": 6}


def test_idle_capacity_is_lent_by_weight() -> None:
    assert shares(60, a=Terms(24, weight=1), b=Terms(12, weight=2), c=Terms(12)) == {"a": 24, "b": 24, "c": 12}
    assert shares(60, a=Terms(24, wanted=0), b=Terms(12, weight=2), c=Terms(12)) == {"a": 0, "b": 40, "c": 20}


def test_nobody_gets_more_than_max_or_than_is_asked_for() -> None:
    assert shares(60, a=Terms(24, most=30), b=Terms(12, wanted=5), c=Terms(12)) == {"a": 27.5, "b": 5, "c": 27.5}
    assert shares(60, a=Terms(24, most=30), b=Terms(12, wanted=5), c=Terms(12, most=20)) == {"a": 30, "b": 5, "c": 20}
    assert shares(60, a=Terms(24, most=25), b=Terms(12, wanted=5), c=Terms(12)) == {"a": 25, "b": 5, "c": 30}


@pytest.mark.parametrize("capacity", [40, 41, 55])
def test_all_of_the_capacity_is_given_away_while_somebody_wants_it(capacity: int) -> None:
    found = shares(capacity, a=Terms(20), b=Terms(10, weight=3), c=Terms(10, weight=2))
    assert sum(found.values()) == pytest.approx(capacity)

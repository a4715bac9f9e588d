"""Host ports in use."""

import pytest

from muster.framework.model.pod_info import HostPort
from muster.framework.snapshot.node_tables import PortTable

EVERY = "0.0.0.0"


@pytest.mark.parametrize(
    ("taken", "wanted", "conflict"),
    [
        (HostPort(EVERY, "TCP", 80), HostPort(EVERY, "TCP", 80), True),
        (HostPort(EVERY, "TCP", 80), HostPort("10.0.0.1", "TCP", 80), True),
        (HostPort("10.0.0.1", "TCP", 80), HostPort(EVERY, "TCP", 80), True),
        (HostPort("10.0.0.1", "TCP", 80), HostPort("10.0.0.1", "TCP", 80), True),
        (HostPort("10.0.0.1", "TCP", 80), HostPort("10.0.0.2", "TCP", 80), False),
        (HostPort(EVERY, "UDP", 80), HostPort(EVERY, "TCP", 80), False),
        (HostPort(EVERY, "TCP", 81), HostPort(EVERY, "TCP", 80), False),
    ],
)
def test_ports_conflict_on_the_same_address_or_where_one_means_every_address(
    taken: HostPort, wanted: HostPort, conflict: bool
) -> None:
    table = PortTable()
    table.add(3, [taken])
    assert list(table.conflicting_rows(wanted)) == ([3] if conflict else [])


def test_a_port_claimed_twice_must_be_given_back_twice() -> None:
    table = PortTable()
    claim = HostPort(EVERY, "TCP", 80)
    table.add(1, [claim])
    table.add(1, [claim])
    table.remove(1, [claim])
    assert list(table.conflicting_rows(claim)) == [1]
    table.remove(1, [claim])
    assert list(table.conflicting_rows(claim)) == []


def test_a_port_given_back_on_one_row_or_address_stays_claimed_on_the_others() -> None:
    table = PortTable()
    one, other = HostPort("10.0.0.1", "TCP", 80), HostPort("10.0.0.2", "TCP", 80)
    table.add(1, [one, other])
    table.add(2, [one])
    table.remove(1, [one])
    assert sorted(table.conflicting_rows(HostPort(EVERY, "TCP", 80))) == [1, 2]
    assert list(table.conflicting_rows(one)) == [2]


def test_nothing_is_left_when_everything_was_given_back() -> None:
    table = PortTable()
    claims = [HostPort(EVERY, "TCP", 80), HostPort("10.0.0.1", "UDP", 53)]
    table.add(1, claims)
    table.remove(1, claims)
    assert not table.claims()


def test_ports_of_some_rows_are_answered_for_these_rows_only() -> None:
    table = PortTable()
    claim = HostPort(EVERY, "TCP", 80)
    for row in (1, 2, 3):
        table.add(row, [claim])
    assert table.conflicting_rows(claim, [2, 4]) == [2]
    assert table.conflicting_rows(HostPort("10.0.0.1", "TCP", 80), [2, 4]) == [2]

"""The connection that is closed for a new one: the longest idle, of the address that has most."""

import pytest

from muster.operator.serving import Limits
from muster.operator.serving.connections import Connections, ConnectionState, OpenConnection


class House:
    """A book of connections named by letters, and which of them were cut off."""

    def __init__(self, limits: Limits) -> None:
        self.book = Connections(limits)
        self.ended = ""
        self._entries: dict[str, OpenConnection] = {}

    def come(self, name: str, host: str, stage: ConnectionState = ConnectionState.IDLE) -> bool:
        def end() -> None:
            self.ended += name

        entry = self.book.admit(host, end)
        if entry is None:
            return False
        self._entries[name] = entry
        self.book.move(entry, stage)
        return True

    def move(self, name: str, stage: ConnectionState) -> None:
        self.book.move(self._entries[name], stage)

    def leave(self, name: str) -> None:
        self.book.leave(self._entries[name])


ROOMY = Limits(total=100, per_address=100, handshakes=100)


def test_an_address_that_has_all_it_may_loses_its_longest_idle_connection_to_its_newest() -> None:
    house = House(Limits(total=100, per_address=2, handshakes=100))
    assert [house.come(name, "10.0.0.1") for name in "abc"] == [True] * 3
    assert house.come("x", "10.0.0.2")
    assert (house.ended, len(house.book)) == ("a", 3)


def test_a_full_server_ends_a_connection_of_the_address_with_the_most() -> None:
    house = House(Limits(total=4, per_address=100, handshakes=100))
    house.come("p", "10.0.0.9")
    for name in "abc":
        house.come(name, "10.0.0.1")
    assert house.come("q", "10.0.0.8")
    assert house.ended == "a"


def test_too_many_handshakes_end_only_the_oldest_of_them() -> None:
    house = House(Limits(total=100, per_address=100, handshakes=2))
    house.come("i", "10.0.0.1", ConnectionState.IDLE)
    for name in "abc":
        house.come(name, "10.0.0.1", ConnectionState.HANDSHAKE)
    assert (house.ended, len(house.book)) == ("a", 3)


@pytest.mark.parametrize("limits", [Limits(2, 100, 100), Limits(100, 2, 100)])
def test_a_request_under_way_is_never_cut_off(limits: Limits) -> None:
    house = House(limits)
    house.come("a", "10.0.0.1", ConnectionState.SERVED)
    house.come("b", "10.0.0.1")
    assert house.come("c", "10.0.0.1", ConnectionState.SERVED)
    assert not house.come("d", "10.0.0.1")
    assert house.ended == "b"


def test_the_time_of_idling_begins_anew_with_each_request() -> None:
    house = House(Limits(total=2, per_address=100, handshakes=100))
    house.come("a", "10.0.0.1")
    house.come("b", "10.0.0.1")
    house.move("a", ConnectionState.SERVED)
    house.move("a", ConnectionState.IDLE)
    house.come("c", "10.0.0.1")
    assert house.ended == "b"


def test_a_closed_connection_does_not_count() -> None:
    house = House(Limits(total=1, per_address=1, handshakes=1))
    house.come("a", "10.0.0.1")
    house.leave("a")
    house.leave("a")
    house.move("a", ConnectionState.IDLE)
    assert house.come("b", "10.0.0.1")
    assert house.ended == ""


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("::ffff:10.0.0.1", "10.0.0.1", True),
        ("fe80::1%eth0", "fe80::2", True),
        ("10.0.0.1", "10.0.0.2", False),
    ],
)
def test_the_addresses_that_one_machine_may_have_count_as_one(one: str, other: str, same: bool) -> None:
    house = House(Limits(total=100, per_address=1, handshakes=100))
    house.come("a", one)
    house.come("b", other)
    assert house.ended == ("a" if same else "")


def test_all_are_cut_off_at_the_end() -> None:
    house = House(ROOMY)
    house.come("a", "10.0.0.1", ConnectionState.SERVED)
    house.come("b", "10.0.0.2")
    house.book.end_all()
    assert (house.ended, len(house.book)) == ("ab", 0)

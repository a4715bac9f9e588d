"""The wall clock follows the API server's, as its answers show it, or the machine's own if that is right."""

from email.utils import formatdate

import pytest

from muster.operator.kube.server_clock import TOLERATED_SECONDS, ServerClock

START = 1_700_000_000.0


class Times:
    """An API server's clock, and a machine's that may differ."""

    def __init__(self) -> None:
        self.now = 50.0
        self.jump = 0.0
        self.server_jump = 0.0
        self.clock = ServerClock(lambda: self.now, lambda: self.server + self.jump)

    @property
    def server(self) -> float:
        return START + self.now + self.server_jump

    def answer(self, seconds: float = 0.0) -> None:
        """An answer travels so long, as its request did."""
        self.now += seconds
        date = formatdate(self.server, usegmt=True)
        self.now += seconds
        self.clock.answered(date, 2 * seconds)

    @property
    def error(self) -> float:
        return self.clock.wall() - self.server


def test_without_an_answer_it_is_the_machine_s() -> None:
    times = Times()
    times.jump = 600.0
    assert times.error == 600.0


@pytest.mark.parametrize("jump", [-1.9, -0.1, 0.0, 0.7, 1.9])
def test_a_machine_that_is_about_right_is_left_alone(jump: float) -> None:
    times = Times()
    times.jump = jump
    for _ in range(30):
        times.answer(0.03)
        times.now += 0.77
        assert times.error == pytest.approx(jump, abs=1e-6)


@pytest.mark.parametrize("jump", [-3600.0, -10.0, 10.0, 600.0])
@pytest.mark.parametrize("latency", [0.0, 0.4])
def test_a_machine_that_is_wrong_is_corrected_by_the_first_answer_and_stays_so(jump: float, latency: float) -> None:
    times = Times()
    times.jump = jump
    for _ in range(30):
        times.answer(latency)
        assert abs(times.error) <= TOLERATED_SECONDS + 1.0 + 2 * latency
        times.now += 977.3
        assert abs(times.error) <= TOLERATED_SECONDS + 1.0 + 2 * latency


def test_a_machine_that_jumps_between_answers_is_corrected_at_once() -> None:
    times = Times()
    times.answer()
    times.jump = 600.0
    assert abs(times.error) <= TOLERATED_SECONDS + 1.0
    times.jump = 0.0
    assert times.error == 0.0


def test_an_api_server_whose_clock_is_set_is_followed() -> None:
    times = Times()
    times.answer()
    times.server_jump = 300.0
    times.jump = -300.0
    times.answer()
    assert abs(times.error) <= TOLERATED_SECONDS + 1.0


@pytest.mark.parametrize("header", [None, "", "tomorrow", "Mon, 99 Foo 2026"])
def test_a_header_that_is_no_date_is_ignored(header: str | None) -> None:
    times = Times()
    times.jump = 600.0
    times.clock.answered(header, 0.0)
    assert times.error == 600.0

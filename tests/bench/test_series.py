"""Trials of both sides one after the other, some of which fail."""

import click
import pytest

from bench import series
from bench.failures import StalledError
from bench.progress import Display
from bench.series import Series, finished
from bench.sides import MUSTER, Side
from bench.trial import Backlog, Result
from tests.controlplane.binaries import MissingBinaryError

BACKLOG = Backlog([], [])


def test_results_outlive_a_side_that_stalls(display: Display, result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(side: Side, backlog: Backlog, display: Display) -> Result:
        if side is not MUSTER:
            raise StalledError("bound 3 pods")
        return result

    monkeypatch.setattr(series, "run", run)
    both = Series(display)
    pairs = [both.run("few", BACKLOG), both.run("many", BACKLOG)]

    assert pairs == [(None, result)] * 2
    assert [finished(pair) for pair in pairs] == [[result]] * 2
    with pytest.raises(click.ClickException) as told:
        both.end()
    assert told.value.message == "kube-scheduler, few: bound 3 pods\n\nkube-scheduler, many: bound 3 pods"


def test_a_series_without_a_failure_ends_well(
    display: Display, result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series, "run", lambda side, backlog, display: result)
    both = Series(display)
    assert both.run("few", BACKLOG) == (result, result)
    both.end()


def test_nothing_goes_on_without_a_control_plane(display: Display, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(side: Side, backlog: Backlog, display: Display) -> Result:
        raise MissingBinaryError("etcd")

    monkeypatch.setattr(series, "run", run)
    with pytest.raises(MissingBinaryError):
        Series(display).run("few", BACKLOG)

"""Equal backlogs without quotas, with five and with 500, drained in turns, and each rate beside that without quotas."""

import json
from collections.abc import Mapping
from typing import Any

import click
import pytest
from click.testing import CliRunner

from bench import quotas, stand_in
from bench.progress import Display
from bench.quotas import QUOTAS, SharedCluster, cases, main
from bench.stand_in import PODS, Drained
from bench.tables.speed import FIVE_QUOTAS, MANY_QUOTAS, NAMESPACES_ALONE, NO_QUOTAS, relative
from muster.framework.model.quantity import milli_value, nanos


def listed(cluster: SharedCluster, path: str) -> list[Any]:
    """The objects of a list."""
    return [json.loads(body) for _, body in cluster.objects().get(path, ())]


def test_pods_are_spread_evenly_over_the_namespaces_that_have_quotas() -> None:
    cluster = SharedCluster(10, 0, 40, 4, True)
    named = [quota["metadata"]["namespace"] for quota in listed(cluster, QUOTAS)]
    pods = [pod["metadata"]["namespace"] for pod in listed(cluster, PODS)]
    assert [pods.count(name) for name in named] == [10] * 4
    assert listed(SharedCluster(10, 0, 40, 4, False), QUOTAS) == []


@pytest.mark.parametrize(("namespaces", "pods"), [(4, 40), (5, 60), (500, 6000)])
def test_all_pods_fit_into_what_is_guaranteed_together_and_half_of_the_namespaces_borrow(
    namespaces: int, pods: int
) -> None:
    specs = [quota["spec"] for quota in listed(SharedCluster(10, 0, pods, namespaces, True), QUOTAS)]
    least, most = ([milli_value(nanos(spec[field]["cpu"])) for spec in specs] for field in ("min", "max"))
    asked = 100 * pods // namespaces
    assert sum(least) >= 100 * pods
    assert sum(each < asked for each in least) == namespaces // 2
    assert all(each >= asked for each in most)


def test_each_case_is_measured_as_often_in_alternating_order(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[SharedCluster] = []

    def run(cluster: SharedCluster, display: Display) -> Drained:
        measured.append(cluster)
        return Drained(cluster.pods, 1000.0 - 100 * cluster.has_quotas, 0.001, 1.0, 7)

    monkeypatch.setattr(quotas, "run", run)
    done = CliRunner().invoke(main, ["--nodes=10", "--pods=20", "--runs=3", "-o", "json"])

    found: Mapping[str, Any] = json.loads(done.stdout)
    assert [relative(found, case) for case in (NO_QUOTAS, FIVE_QUOTAS, NAMESPACES_ALONE, MANY_QUOTAS)] == [
        1,
        0.9,
        1,
        0.9,
    ]
    assert all(len(case["runs"]) == 3 for case in found.values())
    once = [*cases(10, 20).values()]
    assert measured == [*once, *reversed(once), *once]


def test_the_table_shows_every_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotas, "run", lambda cluster, display: Drained(cluster.pods, 900.0, 0.00123, 1.0, 7))
    shown = CliRunner().invoke(main, ["--nodes=10", "--pods=20", "--runs=1"]).output
    assert [line.count("900") for line in shown.splitlines() if "1.23" in line] == [1] * 4
    assert shown.count("1.000") == 4


def test_pods_that_do_not_fit_are_refused() -> None:
    done = CliRunner().invoke(main, ["--nodes=1", "--pods=41"])
    assert done.exit_code == click.UsageError.exit_code
    assert "1 nodes have no capacity for 41 pods" in done.output


@pytest.mark.slow
def test_all_pods_are_bound_under_quotas_on_the_stand_in(display: Display) -> None:
    assert stand_in.run(SharedCluster(10, 0, 40, 4, True), display).pods == 40

"""How the process starts, ends, restarts beside what exists, and reports on itself."""

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from muster.operator.versions import own
from tests.builders import make_node, make_pod
from tests.controlplane.plane import MUSTER, ControlPlane
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import StartMuster, WriteConfig, unique_name
from tests.e2e.eventually import eventually
from tests.e2e.faulty_api import Delay, FaultyApi, is_binding
from tests.e2e.muster_process import MusterProcess

AddNodes = Callable[..., None]
FULL = "0/1 nodes are available: 1 Insufficient cpu."


def test_sigterm_lets_bindings_under_way_end_and_begins_no_others(
    start_muster: StartMuster,
    control_plane: ControlPlane,
    cluster: Cluster,
    add_nodes: AddNodes,
    tmp_path: Path,
) -> None:
    add_nodes(make_node("one"))
    delay = Delay()
    with FaultyApi(control_plane, MUSTER) as slow_api:
        muster = start_muster(kubeconfig=slow_api.kubeconfig(tmp_path / "kubeconfig"))
        with slow_api.trouble(delay, on=is_binding):
            cluster.create(make_pod("before"), scheduler=muster.name)
            eventually(lambda: delay.waiting == 1)

            muster.signal(signal.SIGTERM)
            eventually(lambda: "shutdown failed: process is shutting down" in muster.page("/readyz")[1])
            cluster.create(make_pod("after"), scheduler=muster.name)
            delay.over()

            assert muster.wait() == 0

    assert cluster.node_of("before") == "one"
    assert len(cluster.events("before", "Scheduled")) == 1
    assert cluster.node_of("after") == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_process_ends_at_once_and_well_on(number: signal.Signals, start_muster: StartMuster) -> None:
    muster = start_muster()

    muster.signal(number)

    assert muster.wait() == 0
    assert muster.errors == []


def test_a_process_says_first_which_version_it_is_and_then_that_it_schedules_no_gangs(
    start_muster: StartMuster, write_config: WriteConfig
) -> None:
    name = unique_name()
    muster = start_muster(name, config=write_config("VolumeBinding", name=name))
    version, gangs, *_ = muster.log.splitlines()
    assert f'"Starting Muster" version="{own()}" decidesAs="kube-scheduler 1.' in version
    assert "no profile enables Coscheduling" in gangs


def test_sigusr2_writes_cache_and_queue_to_the_log_and_finds_no_difference_to_a_recount(
    muster: MusterProcess, cluster: Cluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one", cpu="1"))
    cluster.create(make_pod("web").requests(cpu="600m"), scheduler=muster.name)
    cluster.wait_until_bound("web")
    cluster.create(
        make_pod("next").requests(cpu="600m"), make_pod("gated").gate("example.com/no"), scheduler=muster.name
    )
    cluster.wait_until_unschedulable("next")

    muster.signal(signal.SIGUSR2)

    eventually(lambda: "the cache equals a recount" in muster.log)
    assert "node one: pods 1 of 110, cpu 600 of 1000" in muster.log
    assert f"bound pod {cluster.namespace}/web" in muster.log
    assert f"unschedulable: {cluster.namespace}/next, attempts 1, held back by NodeResourcesFit" in muster.log
    assert f"gated: {cluster.namespace}/gated, attempts 0, held back by SchedulingGates" in muster.log


def test_a_restarted_process_counts_bound_pods_and_schedules_the_others(
    start_muster: StartMuster, cluster: Cluster, add_nodes: AddNodes
) -> None:
    name = unique_name()
    add_nodes(make_node("one", cpu="1"))
    first = start_muster(name)
    cluster.create(make_pod("first").requests(cpu="600m"), scheduler=name)
    cluster.wait_until_bound("first")
    first.stop()

    cluster.create(make_pod("large").requests(cpu="600m"), make_pod("small").requests(cpu="300m"), scheduler=name)
    start_muster(name)

    assert cluster.wait_until_bound("small") == ["one"]
    assert cluster.wait_until_turned_away("large") == FULL


def test_two_processes_of_different_names_fill_the_same_nodes_one_after_the_other(
    muster: MusterProcess, start_muster: StartMuster, cluster: Cluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one", cpu="1"))
    other = start_muster()
    for turn in range(5):
        cluster.create(make_pod(f"a-{turn}").requests(cpu="100m"), scheduler=muster.name)
        cluster.create(make_pod(f"b-{turn}").requests(cpu="100m"), scheduler=other.name)
        cluster.wait_until_bound(f"a-{turn}", f"b-{turn}")

    cluster.create(make_pod("a-more").requests(cpu="100m"), scheduler=muster.name)
    cluster.create(make_pod("b-more").requests(cpu="100m"), scheduler=other.name)

    assert cluster.wait_until_turned_away("a-more") == FULL
    assert cluster.wait_until_turned_away("b-more") == FULL


def test_the_pages_show_the_configuration_the_last_decisions_and_the_counts(
    muster: MusterProcess, cluster: Cluster, add_nodes: AddNodes
) -> None:
    add_nodes(make_node("one", cpu="1"))
    scheduled = f'scheduler_schedule_attempts_total{{profile="{muster.name}",result="scheduled"}}'
    before = muster.metric(scheduled)
    cluster.create(make_pod("web").requests(cpu="100m"), scheduler=muster.name)
    cluster.wait_until_bound("web")
    eventually(lambda: cluster.events("web", "Scheduled"))

    status, configuration = muster.page("/configz")
    assert status == 200
    [profile] = json.loads(configuration)["kubescheduler.config.k8s.io"]["profiles"]
    assert profile["schedulerName"] == muster.name
    status, decision = muster.page(f"/debug/why?pod={cluster.namespace}/web")
    assert (status, json.loads(decision)["node"]) == (200, "one")
    assert muster.metric(scheduled) == before + 1
    assert f'namespace="{cluster.namespace}",pod="web"' in muster.page("/metrics/resources")[1]

"""Plugins of another package: found by their entry points, enabled by configuration, and part of every decision."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.builders import make_node, make_pod
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import StartMuster, WriteConfig, unique_name
from tests.e2e.eventually import eventually
from tests.e2e.muster_process import MUSTER

AddNodes = Callable[..., None]
QUIET = "0/1 nodes are available: 1 node(s) wanted to be left alone."


def test_a_plugin_of_ten_lines_keeps_pods_off_a_node(
    start_muster: StartMuster,
    write_config: WriteConfig,
    with_example_plugins: dict[str, str],
    cluster: Cluster,
    add_nodes: AddNodes,
) -> None:
    name = unique_name()
    start_muster(name, config=write_config("QuietNodes", name=name), environment=with_example_plugins)
    add_nodes(make_node("quiet", cpu="64").labels({"example.com/quiet": ""}))
    cluster.create(make_pod("web"), scheduler=name)
    assert cluster.wait_until_turned_away("web") == QUIET

    add_nodes(make_node("loud", cpu="1"))

    assert cluster.wait_until_bound("web") == ["loud"]


def test_the_plugin_does_nothing_unless_it_is_enabled(with_example_plugins: dict[str, str]) -> None:
    quiet, loud = make_node("quiet").labels({"example.com/quiet": ""}), make_node("loud")

    def feasible(*plugins: str) -> list[str]:
        enabled = {"multiPoint": {"enabled": [{"name": plugin} for plugin in plugins]}}
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"plugins": enabled}],
        }
        case = {"id": "quiet", "objects": [quiet, loud], "pod": make_pod("web"), "config": config}
        command = [str(MUSTER), "explain", "--batch", "-"]
        answer = subprocess.run(
            command, input=json.dumps(case), capture_output=True, text=True, check=True, env=with_example_plugins
        )
        names: list[str] = json.loads(answer.stdout)["feasible"]
        return names

    assert feasible() == ["loud", "quiet"]
    assert feasible("QuietNodes") == ["loud"]


def test_a_place_that_another_scheduler_takes_while_permit_holds_the_pod_is_given_up(
    start_muster: StartMuster,
    write_config: WriteConfig,
    with_example_plugins: dict[str, str],
    cluster: Cluster,
    add_nodes: AddNodes,
) -> None:
    name = unique_name()
    held = start_muster(name, config=write_config("Doorman", name=name), environment=with_example_plugins)
    add_nodes(make_node("one", cpu="1"))
    cluster.create(make_pod("slow").requests(cpu="700m").annotations({"example.com/hold": ""}), scheduler=name)
    eventually(lambda: held.metric('scheduler_cache_size{type="assumed_pods"}') == 1)
    cluster.create(make_pod("quick").requests(cpu="700m"), scheduler="nobody")
    cluster.bind("quick", "one")
    eventually(lambda: held.metric('scheduler_cache_size{type="pods"}') == 2)

    cluster.kubectl("annotate", "pod", "slow", "example.com/hold-")

    assert cluster.wait_until_turned_away("slow") == "0/1 nodes are available: 1 Insufficient cpu."
    assert cluster.node_of("slow") == ""
    cluster.delete("quick")
    assert cluster.wait_until_bound("slow") == ["one"]


def test_a_pod_that_permit_holds_when_the_process_ends_is_bound_by_the_next_one(
    start_muster: StartMuster,
    write_config: WriteConfig,
    with_example_plugins: dict[str, str],
    cluster: Cluster,
    add_nodes: AddNodes,
) -> None:
    name = unique_name()
    config: Path = write_config("Doorman", name=name)
    first = start_muster(name, config=config, environment=with_example_plugins)
    add_nodes(make_node("one", cpu="1"))
    cluster.create(make_pod("slow").requests(cpu="700m").annotations({"example.com/hold": ""}), scheduler=name)
    eventually(lambda: first.metric('scheduler_cache_size{type="assumed_pods"}') == 1)

    first.stop()

    assert cluster.node_of("slow") == ""
    assert (cluster.events("slow", "FailedScheduling"), cluster.scheduled_condition("slow")) == ([], {})
    start_muster(name, config=config, environment=with_example_plugins)
    cluster.kubectl("annotate", "pod", "slow", "example.com/hold-")
    assert cluster.wait_until_bound("slow") == ["one"]

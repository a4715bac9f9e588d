"""A gang of 512 on a dump of 5,000 nodes."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muster.operator.cli import main
from tests.builders import NodeDict, make_node, make_pod
from tests.simulate.rehearsing import GROUP_LABEL, pod_group

GANG = 512


def make(number: int) -> NodeDict:
    """One node in ten has eight GPUs."""
    if number % 10:
        return make_node(f"node-{number}", cpu="16", memory="64Gi")
    return make_node(f"node-{number}", cpu="32", memory="128Gi").resources({"example.com/gpu": "8"})


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """5,000 nodes with two pods each."""
    nodes = [make(number) for number in range(5000)]
    pods = [make_pod(f"web-{number}").requests(cpu="2").node(f"node-{number % 5000}") for number in range(10_000)]
    path = tmp_path_factory.mktemp("large") / "dump.json"
    path.write_text(json.dumps({"kind": "List", "items": [*nodes, *pods]}))
    return path


def train(folder: Path, gpus: int) -> Path:
    """A job of 512 pods that start together."""
    pod = make_pod("").requests(cpu="1").limits({"example.com/gpu": str(gpus)})
    template = {"metadata": {"labels": {GROUP_LABEL: "train"}}, "spec": pod["spec"]}
    spec = {"parallelism": GANG, "completions": GANG, "template": template}
    job = {"kind": "Job", "metadata": {"name": "train"}, "spec": spec}
    path = folder / "train.json"
    path.write_text(json.dumps({"kind": "List", "items": [pod_group("train", GANG), job]}))
    return path


def simulate(wanted: Path, dump: Path) -> Any:
    arguments = ["simulate", "-f", str(wanted), "--from", str(dump), "-o", "json"]
    return json.loads(CliRunner().invoke(main, arguments).stdout)


def test_a_gang_that_fits_is_placed_on_nodes_that_have_what_it_needs(dump: Path, tmp_path: Path) -> None:
    answer = simulate(train(tmp_path, gpus=1), dump)
    nodes = [int(pod["node"].removeprefix("node-")) for pod in answer["pods"]]
    assert answer["fits"]
    assert len(nodes) == GANG
    assert all(number % 10 == 0 for number in nodes)
    assert max(nodes.count(number) for number in set(nodes)) <= 8


def test_the_number_of_nodes_that_a_gang_lacks_is_shown(dump: Path, tmp_path: Path) -> None:
    answer = simulate(train(tmp_path, gpus=8), dump)
    assert not answer["fits"]
    assert {pod["reason"] for pod in answer["pods"]} == {
        "pod group default/train is unschedulable, 500 of the 512 members that it needs fit; with those 500 placed: "
        "0/5000 nodes are available: 5000 Insufficient example.com/gpu."
    }
    [addition] = answer["missing"]["additions"]
    assert (addition["nodes"], addition["like"]) == (12, "node-0")

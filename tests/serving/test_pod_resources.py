"""`kube_pod_resource_request` and `kube_pod_resource_limit` say what kube-scheduler's would."""

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from muster.framework.model.pod import Pod
from muster.operator.metrics import pod_resource_blocks
from tests.serving.scraping import Scrape, scrape


def pod(name: str = "web", *, node: str = "n1", phase: str = "Running", **spec: Any) -> Pod:
    content = {
        "metadata": {"namespace": "shop", "name": name},
        "spec": {"nodeName": node, "schedulerName": "muster", "priority": 7, **spec},
        "status": {"phase": phase},
    }
    return msgspec.json.decode(json.dumps(content), type=Pod)


def container(*, requests: dict[str, str] | None = None, limits: dict[str, str] | None = None, **more: str) -> Any:
    return {"name": "c", "resources": {"requests": requests or {}, "limits": limits or {}}, **more}


def exposed(*pods: Pod) -> Scrape:
    return scrape(pod_resource_blocks(lambda: pods))


def amounts(text: Scrape, name: str) -> dict[str, float]:
    return {sample.labels["resource"]: sample.value for sample in text.samples if sample.name == name}


REQUEST = "kube_pod_resource_request"
LIMIT = "kube_pod_resource_limit"


def test_a_series_says_whose_resource_it_is_and_in_what_unit() -> None:
    text = exposed(pod(containers=[container(requests={"cpu": "250m"})]))
    assert text.types == {LIMIT: "gauge", REQUEST: "gauge"}
    assert (
        text.value(
            REQUEST,
            namespace="shop",
            pod="web",
            node="n1",
            scheduler="muster",
            priority="7",
            resource="cpu",
            unit="cores",
        )
        == 0.25
    )


def test_units_follow_the_resource() -> None:
    wanted = ["memory", "ephemeral-storage", "hugepages-2Mi", "attachable-volumes-csi-x", "example.com/gpu"]
    text = exposed(pod(containers=[container(requests=dict.fromkeys(wanted, "2"))]))
    units = {sample.labels["resource"]: sample.labels["unit"] for sample in text.samples}
    assert units == dict(zip(wanted, ["bytes", "bytes", "bytes", "integer", ""], strict=True))


def test_containers_and_sidecars_add_up_and_init_containers_raise() -> None:
    text = exposed(
        pod(
            containers=[container(requests={"cpu": "1", "memory": "1Gi"}), container(requests={"cpu": "500m"})],
            initContainers=[
                container(requests={"cpu": "250m"}, restartPolicy="Always"),
                container(requests={"cpu": "1", "memory": "3Gi"}),
            ],
        )
    )
    assert amounts(text, REQUEST) == {"cpu": 1.75, "memory": 3 * 2**30}


def test_pod_level_values_replace_the_sums() -> None:
    text = exposed(
        pod(
            resources={"requests": {"cpu": "4"}, "limits": {"cpu": "8"}},
            containers=[container(requests={"cpu": "1"}, limits={"cpu": "2", "memory": "1Gi"})],
        )
    )
    assert amounts(text, REQUEST) == {"cpu": 4}
    assert amounts(text, LIMIT) == {"cpu": 8, "memory": 2**30}


def test_overhead_is_added_to_requests_but_only_to_limits_that_are_set() -> None:
    text = exposed(
        pod(
            overhead={"cpu": "100m", "memory": "64Mi"},
            containers=[container(requests={"cpu": "1"}, limits={"cpu": "2"})],
        )
    )
    assert amounts(text, REQUEST) == {"cpu": 1.1, "memory": 64 * 2**20}
    assert amounts(text, LIMIT) == {"cpu": 2.1}


def test_zero_amounts_have_no_series() -> None:
    assert exposed(pod(containers=[container(requests={"cpu": "0"})])).samples == []


def test_pods_that_ended_on_a_node_are_left_out_and_unscheduled_ones_are_in() -> None:
    wants = [container(requests={"cpu": "1"})]
    text = exposed(
        pod("done", phase="Succeeded", containers=wants),
        pod("broken", phase="Failed", containers=wants),
        pod("waiting", node="", phase="Pending", priority=None, containers=wants),
    )
    assert [(s.labels["pod"], s.labels["node"], s.labels["priority"]) for s in text.samples] == [("waiting", "", "")]


def test_odd_scheduler_names_do_not_break_the_text() -> None:
    text = exposed(pod(schedulerName='a"b\\c\nd', containers=[container(requests={"cpu": "1"})]))
    assert [sample.labels["scheduler"] for sample in text.samples] == ['a"b\\c\nd']


def test_many_pods_are_written_in_many_blocks_and_each_family_once() -> None:
    asked = []

    def pods() -> Iterable[Pod]:
        asked.append(True)
        return [pod(f"p{i}", containers=[container(requests={"cpu": "1"}, limits={"cpu": "1"})]) for i in range(250)]

    blocks = list(pod_resource_blocks(pods))
    text = scrape(blocks)
    assert max(block.count(b"\n") for block in blocks) == 100
    assert len(text.samples) == 500
    assert text.text.count("# TYPE") == 2
    assert asked == [True]

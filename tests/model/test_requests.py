"""Effective requests: rules one by one, then pods with everything at once, as Kubernetes 1.37.1 itself counted them."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from muster.framework.model.pod import Pod
from muster.framework.model.quantity import QuantityError
from muster.framework.model.requests import amounts, nonzero_requests, pod_requests, scoring_requests
from tests.builders import PodDict, make_pod

MI = 2**20
RECORDED = [json.loads(line) for line in (Path(__file__).parent / "effective_requests.jsonl").read_text().splitlines()]


def requests_of(pod: dict[str, Any]) -> dict[str, int]:
    return pod_requests(msgspec.convert(pod, Pod))


def scoring_of(pod: dict[str, Any]) -> dict[str, int]:
    converted = msgspec.convert(pod, Pod)
    return scoring_requests(converted, pod_requests(converted))


def nonzero_of(pod: dict[str, Any]) -> dict[str, int]:
    return nonzero_requests(msgspec.convert(pod, Pod))


def reported(
    pod: PodDict,
    *,
    allocated: dict[str, str] | None = None,
    actual: dict[str, str] | None = None,
    resize: str = "",
    container: str = "main",
) -> PodDict:
    """The pod as a kubelet reports it: what it gave to a container, and how a resize stands."""
    status: dict[str, Any] = {"name": container}
    if allocated is not None:
        status["allocatedResources"] = allocated
    if actual is not None:
        status["resources"] = {"requests": actual}
    pod.setdefault("status", {}).setdefault("containerStatuses", []).append(status)
    if resize:
        pod["status"]["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": resize}]
    return pod


def whole(pod: PodDict, **requests: str) -> PodDict:
    """The pod with requests of its own, apart from its containers'."""
    pod["spec"]["resources"] = {"requests": requests}
    return pod


def test_a_pod_that_asks_for_nothing_has_an_empty_request() -> None:
    assert requests_of(make_pod("p")) == {}


def test_cpu_is_counted_in_milli_cores_and_everything_else_in_whole_units() -> None:
    pod = make_pod("p").requests({"cpu": "1.5", "memory": "1Mi", "ephemeral-storage": "1k", "example.com/gpu": "2"})
    assert requests_of(pod) == {"cpu": 1500, "memory": MI, "ephemeral-storage": 1000, "example.com/gpu": 2}


def test_containers_add_up_exactly_before_they_are_rounded() -> None:
    pod = make_pod("p").requests(cpu="100u").container("second", {"cpu": "100u"}).container("third", {"cpu": "800u"})
    assert requests_of(pod) == {"cpu": 1}


def test_plain_init_containers_run_one_at_a_time_so_the_largest_counts() -> None:
    pod = make_pod("p").requests(cpu="1", memory="10Mi")
    pod.init_container("first", {"cpu": "3"}).init_container("second", {"cpu": "2", "memory": "5Mi"})
    assert requests_of(pod) == {"cpu": 3000, "memory": 10 * MI}


def test_init_containers_count_for_a_resource_that_no_container_names() -> None:
    pod = make_pod("p").init_container("loader", {"example.com/gpu": "1"})
    assert requests_of(pod) == {"example.com/gpu": 1}


def test_sidecars_stay_and_add_up_with_the_containers() -> None:
    pod = make_pod("p").requests(cpu="1").init_container("proxy", {"cpu": "500m"}, sidecar=True)
    assert requests_of(pod) == {"cpu": 1500}


def test_a_plain_init_container_runs_beside_the_sidecars_started_before_it() -> None:
    pod = make_pod("p").requests(cpu="1")
    pod.init_container("proxy", {"cpu": "500m"}, sidecar=True).init_container("loader", {"cpu": "2"})
    assert requests_of(pod) == {"cpu": 2500}


def test_a_plain_init_container_does_not_run_beside_the_sidecars_after_it() -> None:
    pod = make_pod("p").requests(cpu="1")
    pod.init_container("loader", {"cpu": "2"}).init_container("proxy", {"cpu": "500m"}, sidecar=True)
    assert requests_of(pod) == {"cpu": 2000}


def test_overhead_comes_on_top_even_of_resources_that_nothing_names() -> None:
    pod = make_pod("p").requests(cpu="1").overhead(cpu="250m", memory="1Mi")
    assert requests_of(pod) == {"cpu": 1250, "memory": MI}


def test_requests_of_the_pod_as_a_whole_override_its_containers() -> None:
    pod = whole(make_pod("p").requests(cpu="1", memory="9Mi"), cpu="500m")
    assert requests_of(pod) == {"cpu": 500, "memory": 9 * MI}


def test_hugepages_can_be_asked_for_as_a_whole() -> None:
    pod = make_pod("p")
    pod["spec"]["resources"] = {"requests": {"hugepages-2Mi": "4Mi"}}
    assert requests_of(pod) == {"hugepages-2Mi": 4 * MI}


def test_other_resources_cannot_be_asked_for_as_a_whole() -> None:
    pod = make_pod("p").requests({"example.com/gpu": "1"})
    pod["spec"]["resources"] = {"requests": {"example.com/gpu": "7"}}
    assert requests_of(pod) == {"example.com/gpu": 1}


def test_overhead_comes_on_top_of_requests_as_a_whole() -> None:
    assert requests_of(whole(make_pod("p"), cpu="1").overhead(cpu="100m")) == {"cpu": 1100}


def test_a_pod_being_shrunk_counts_with_what_is_still_in_force() -> None:
    pod = reported(make_pod("p").requests(cpu="1"), allocated={"cpu": "1"}, actual={"cpu": "3"})
    assert requests_of(pod) == {"cpu": 3000}


def test_a_pod_being_grown_counts_with_what_it_wants() -> None:
    pod = reported(make_pod("p").requests(cpu="4"), allocated={"cpu": "2"}, actual={"cpu": "1"}, resize="Deferred")
    assert requests_of(pod) == {"cpu": 4000}


def test_a_resize_that_can_never_be_carried_out_does_not_count() -> None:
    pod = reported(make_pod("p").requests(cpu="64"), allocated={"cpu": "2"}, actual={"cpu": "1"}, resize="Infeasible")
    assert requests_of(pod) == {"cpu": 2000}


def test_wanted_allocated_and_actual_amounts_are_compared_for_the_whole_pod_not_for_each_container() -> None:
    pod = make_pod("p").requests(cpu="1").container("second", {"cpu": "2"})
    reported(pod, allocated={"cpu": "2"}, actual={"cpu": "2"})
    reported(pod, allocated={"cpu": "1"}, actual={"cpu": "1"}, container="second")
    assert requests_of(pod) == {"cpu": 3000}


def test_a_status_of_another_container_changes_nothing() -> None:
    pod = reported(make_pod("p").requests(cpu="1"), actual={"cpu": "3"}, container="stranger")
    assert requests_of(pod) == {"cpu": 1000}


def test_scoring_counts_100m_and_200mi_for_each_container_that_names_neither() -> None:
    assert scoring_of(make_pod("p").container("second")) == {"cpu": 200, "memory": 400 * MI}


def test_scoring_leaves_what_a_container_names_as_it_is_even_zero() -> None:
    assert scoring_of(make_pod("p").requests(cpu="0", memory="1Mi")) == {"cpu": 0, "memory": MI}


def test_scoring_takes_defaults_for_init_containers_too() -> None:
    pod = make_pod("p").requests(cpu="10m", memory="1Mi").init_container("proxy", sidecar=True)
    assert scoring_of(pod) == {"cpu": 110, "memory": 201 * MI}


def test_scoring_takes_no_notice_of_requests_as_a_whole() -> None:
    pod = whole(make_pod("p").requests(cpu="10m").overhead(memory="1Mi"), cpu="1", memory="1Gi")
    assert scoring_of(pod) == {"cpu": 10, "memory": 201 * MI}


def test_a_node_counts_defaults_only_for_what_a_pod_with_requests_as_a_whole_leaves_open() -> None:
    assert nonzero_of(whole(make_pod("p").container("second"), cpu="1")) == {"cpu": 1000, "memory": 400 * MI}


def test_a_node_counts_no_default_for_what_one_container_of_a_pod_with_requests_as_a_whole_names() -> None:
    pod = whole(make_pod("p").requests(memory="1Mi").container("second"), cpu="1")
    assert nonzero_of(pod) == {"cpu": 1000, "memory": MI}


@pytest.mark.parametrize("case", RECORDED, ids=range(len(RECORDED)))
def test_requests_equal_the_requests_that_kubernetes_computes(case: dict[str, Any]) -> None:
    pod = {"metadata": {}} | case["pod"]
    assert requests_of(pod) == case["requests"]
    assert nonzero_of(pod) == {name: n for name, n in case["scoring"].items() if name in ("cpu", "memory")}


def test_a_resource_list_is_read_as_the_scheduler_counts_it() -> None:
    assert amounts({"cpu": "2", "memory": "1Mi", "pods": "110", "example.com/gpu": 1}) == {
        "cpu": 2000,
        "memory": MI,
        "pods": 110,
        "example.com/gpu": 1,
    }


def test_a_request_that_is_no_quantity_is_refused() -> None:
    with pytest.raises(QuantityError, match="got 'much'"):
        requests_of(make_pod("p").requests(cpu="much"))

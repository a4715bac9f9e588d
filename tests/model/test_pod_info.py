"""Values derived of a pod, which pods of one class share."""

import gc
from typing import Any
from weakref import ref

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import HostPort, PodInfo, PodSignature, signature_of
from muster.framework.model.quantity import QuantityError
from tests.builders import PodDict, make_pod

MI = 2**20


def info_of(pod: dict[str, Any]) -> PodInfo:
    return PodInfo(msgspec.convert(pod, Pod))


def signature(pod: dict[str, Any]) -> PodSignature:
    return info_of(pod).signature


def running(pod: PodDict, **given: str) -> PodDict:
    """The pod with a kubelet's report of what it gave to its container."""
    statuses = [{"name": "main", "resources": {"requests": given}, "allocatedResources": given}]
    pod["status"] = {"phase": "Running", "containerStatuses": statuses}
    return pod


def test_a_pod_info_holds_what_is_asked_of_a_pod_most_often() -> None:
    pod = make_pod("web", namespace="shop").labels(app="web").priority(7).node("a")
    info = info_of(pod)
    assert (info.key, info.name, info.namespace, info.uid) == ("shop/web", "web", "shop", "pod-shop-web")
    assert (info.labels, info.priority, info.node_name) == ({"app": "web"}, 7, "a")
    assert not info.terminating


def test_a_pod_without_priority_has_priority_zero() -> None:
    assert info_of(make_pod("web")).priority == 0


def test_a_pod_with_a_deletion_timestamp_is_terminating() -> None:
    pod = make_pod("web")
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert info_of(pod).terminating


def test_a_pod_with_a_request_that_is_no_quantity_is_refused() -> None:
    with pytest.raises(QuantityError):
        info_of(make_pod("web").requests(memory="lots"))


def test_pods_with_equal_specs_share_their_shape() -> None:
    assert signature(make_pod("a").requests(cpu="1").labels(x="1")) is signature(
        make_pod("b").requests(cpu="1").labels(x="2")
    )


def test_pods_with_different_specs_do_not() -> None:
    assert signature(make_pod("a").requests(cpu="1")) is not signature(make_pod("a").requests(cpu="2"))


def test_the_node_of_a_pod_is_not_part_of_its_shape() -> None:
    assert signature(make_pod("a").requests(cpu="1")) is signature(make_pod("b").requests(cpu="1").node("n"))


def test_the_order_in_which_a_manifest_names_resources_is_not_part_of_its_shape() -> None:
    assert signature(make_pod("a").requests(cpu="1", memory="1Mi")) is signature(
        make_pod("b").requests(memory="1Mi", cpu="1")
    )


def test_a_pod_keeps_its_shape_when_it_is_given_what_it_asked_for() -> None:
    waiting = info_of(make_pod("a").requests(cpu="1"))
    started = info_of(running(make_pod("a").requests(cpu="1"), cpu="1000m"))
    assert started.signature is waiting.signature


def test_a_pod_that_was_given_more_than_it_asks_for_has_a_shape_of_its_own() -> None:
    waiting = info_of(make_pod("a").requests(cpu="1"))
    shrinking = info_of(running(make_pod("a").requests(cpu="1"), cpu="2"))
    assert shrinking.signature is not waiting.signature
    assert (waiting.signature.requests, shrinking.signature.requests) == ({"cpu": 1000}, {"cpu": 2000})


def test_a_shape_does_not_depend_on_which_of_its_pods_was_seen_first() -> None:
    shrinking = info_of(running(make_pod("a").requests(cpu="1"), cpu="2"))
    waiting = info_of(make_pod("b").requests(cpu="1"))
    started = info_of(running(make_pod("c").requests(cpu="1"), cpu="1"))
    assert waiting.signature is started.signature
    assert waiting.signature.requests == {"cpu": 1000}
    assert shrinking.signature.requests == {"cpu": 2000}


def test_an_infeasible_resize_is_part_of_the_shape() -> None:
    pod = running(make_pod("a").requests(cpu="9"), cpu="1")
    growing = signature(pod)
    pod["status"]["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]
    assert (growing.requests, signature(pod).requests) == ({"cpu": 9000}, {"cpu": 1000})


def test_a_shape_lives_no_longer_than_its_pods() -> None:
    info = info_of(make_pod("a").requests({"example.com/only-here": "1"}))
    remembered = ref(info.signature)
    del info
    gc.collect()
    assert remembered() is None


def test_scoring_amounts_are_at_hand() -> None:
    pod = make_pod("a").requests(cpu="1").container("second")
    assert signature(pod).nonzero == (1100, 400 * MI)


def test_host_ports_get_the_defaults_of_the_api() -> None:
    pod = make_pod("a")
    pod["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8080, "hostIP": "", "protocol": ""}]
    assert signature(pod).host_ports == (HostPort("0.0.0.0", "TCP", 8080),)


def test_ports_that_claim_nothing_of_the_node_do_not_count() -> None:
    pod = make_pod("a")
    pod["spec"]["containers"][0]["ports"] = [{"containerPort": 80}, {"containerPort": 81, "hostPort": 0}]
    assert signature(pod).host_ports == ()


def test_host_ports_of_sidecars_count_but_host_ports_of_plain_init_containers_do_not() -> None:
    pod = make_pod("a").host_port(1, protocol="UDP", ip="10.0.0.1")
    pod.init_container("proxy", sidecar=True).init_container("loader")
    for port, container in enumerate(pod["spec"]["initContainers"], start=2):
        container["ports"] = [{"containerPort": port, "hostPort": port}]
    assert set(signature(pod).host_ports) == {HostPort("10.0.0.1", "UDP", 1), HostPort("0.0.0.0", "TCP", 2)}


def test_images_of_all_containers_are_listed() -> None:
    pod = make_pod("a", image="web:1").container("second", image="log:2").init_container("loader")
    assert sorted(signature(pod).images) == ["log:2", "pause:3.10", "web:1"]


def test_a_pod_info_reads_well_in_a_log() -> None:
    assert repr(info_of(make_pod("a"))) == "PodInfo(default/a, uid=pod-default-a, node=None)"


def test_shape_of_leaves_the_pod_as_it_is() -> None:
    pod = msgspec.convert(running(make_pod("a").node("n").requests(cpu="1"), cpu="2"), Pod)
    before = msgspec.json.encode(pod)
    signature_of(pod)
    assert msgspec.json.encode(pod) == before


VOLUMES = (
    {"name": "v", "image": {"reference": "web:1"}},
    {"name": "v", "persistentVolumeClaim": {"claimName": "a"}},
    {"name": "w", "persistentVolumeClaim": {"claimName": "b"}},
)
PARTS: dict[str, st.SearchStrategy[Any]] = {
    "nodeName": st.sampled_from(["", "a", "b"]),
    "schedulerName": st.sampled_from(["x", "y"]),
    "containers": st.sampled_from([[{"name": "main"}], [{"name": "main", "image": "web:1"}]]),
    "volumes": st.lists(st.sampled_from(VOLUMES), max_size=2),
    "resourceClaims": st.lists(st.sampled_from([{"name": "c"}, {"name": "d", "resourceClaimName": "e"}]), max_size=2),
    "schedulingGroup": st.sampled_from([None, {"podGroupName": "g"}, {"podGroupName": "h"}]),
}
STATUSES = st.sampled_from([{}, {"phase": "Running"}, running(make_pod("p"), cpu="1")["status"]])
OWNERS = st.lists(st.sampled_from([{"kind": "Job", "name": "j", "uid": "1"}]), max_size=1)
META = {"annotations": st.sampled_from([{}, {"a": "b"}]), "ownerReferences": OWNERS}
SENT = st.fixed_dictionaries(
    {"metadata": st.fixed_dictionaries(META), "spec": st.fixed_dictionaries(PARTS), "status": STATUSES}
)


@given(st.lists(SENT, min_size=2, max_size=6))
def test_pods_that_share_parts_say_what_they_were_sent_with(sent: list[dict[str, Any]]) -> None:
    infos = [info_of(pod) for pod in sent]
    assert [info.pod for info in infos] == [msgspec.convert(pod, Pod) for pod in sent]


def test_which_claims_a_pod_uses_makes_no_other_signature_and_how_many_does() -> None:
    first, second, both = (
        PodInfo(msgspec.convert(make_pod("p") | {"spec": {"resourceClaims": claims}}, Pod))
        for claims in (
            [{"name": "c", "resourceClaimName": "a"}],
            [{"name": "d", "resourceClaimName": "b"}],
            [{"name": "c", "resourceClaimName": "a"}, {"name": "d", "resourceClaimName": "b"}],
        )
    )
    assert first.signature is second.signature
    assert first.signature is not both.signature

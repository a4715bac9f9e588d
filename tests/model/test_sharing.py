"""Equal parts of pods are one object, and no pod is another one for it."""

from typing import Any

import msgspec
import pytest

from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from tests.builders import PodDict, make_pod


def replica(number: int) -> PodDict:
    pod = make_pod(f"web-{number}").labels(app="web").annotations({"note": "same"}).owned_by("ReplicaSet", "web")
    pod.requests(cpu="1").apart("zone", {"app": "web"}).tolerate("spot").node(f"n{number}").phase("Running")
    return pod


def decoded(pod: PodDict) -> PodInfo:
    return PodInfo(msgspec.json.decode(msgspec.json.encode(pod), type=Pod))


def parts(info: PodInfo) -> list[Any]:
    spec, meta = info.pod.spec, info.pod.metadata
    return [
        spec.containers,
        spec.affinity,
        spec.tolerations,
        meta.labels,
        info.labels,
        meta.annotations,
        meta.owner_references,
        info.pod.status,
    ]


def test_replicas_share_all_that_is_the_same() -> None:
    one, other = decoded(replica(1)), decoded(replica(2))
    assert all(mine is yours for mine, yours in zip(parts(one), parts(other), strict=True))
    assert (one.node_name, other.node_name) == ("n1", "n2")


@pytest.mark.parametrize(
    "pod",
    [
        make_pod("plain"),
        replica(1),
        replica(1).labels(app="other").annotations({"note": "another"}).nominated("n9"),
        replica(2).node("").terminating(),
        replica(3).claim("data-3"),
    ],
)
def test_a_pod_stays_what_it_was(pod: PodDict) -> None:
    for number in (1, 2):
        decoded(replica(number))
    decoded(PodDict(make_pod("empty") | {"status": {}}))
    before = msgspec.json.decode(msgspec.json.encode(pod), type=Pod)
    assert decoded(pod).pod == before
    assert msgspec.json.encode(decoded(pod).pod) == msgspec.json.encode(before)

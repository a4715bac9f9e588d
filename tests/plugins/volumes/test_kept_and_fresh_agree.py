"""Volume plugins that have kept parts of the cluster answer as plugins do that have just started."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from muster.framework.contract import FilterPlugin
from muster.plugins.volumes.binding import VolumeBinding
from muster.plugins.volumes.limits import NodeVolumeLimits
from muster.plugins.volumes.restrictions import VolumeRestrictions
from tests.builders import NodeDict, ObjectDict, PodDict, make_node, make_pod, require
from tests.plugins.cluster import Cluster, info
from tests.storage import (
    HOSTNAME,
    ZONE,
    make_attachment,
    make_capacity,
    make_claim,
    make_class,
    make_csi_driver,
    make_csi_node,
    make_volume,
)

KINDS: tuple[type[FilterPlugin], ...] = (VolumeRestrictions, NodeVolumeLimits, VolumeBinding)
NODES = ("a", "b", "c")
CLAIMS = ("c0", "c1", "c2")
sizes = st.sampled_from(("1Gi", "2Gi", "3Gi"))
names = st.sampled_from(NODES)
classes = st.sampled_from(("local", "late"))
CLASSES = [make_class("local", provisioner="kubernetes.io/no-provisioner"), make_class("late")]


@st.composite
def claims(draw: st.DrawFn) -> ObjectDict:
    volume = draw(st.sampled_from(("", "", "v0", "v1")))
    claim = make_claim(draw(st.sampled_from(CLAIMS)), storage_class=draw(classes), volume=volume, size=draw(sizes))
    return claim.selected(draw(names)) if not volume and draw(st.integers(0, 4)) == 0 else claim


@st.composite
def volumes(draw: st.DrawFn) -> ObjectDict:
    source = draw(st.sampled_from((None, {"awsElasticBlockStore": {"volumeID": "vol-1"}})))
    volume = make_volume(
        draw(st.sampled_from(("v0", "v1", "v2", "v3"))), storage_class=draw(classes), size=draw(sizes), source=source
    )
    match draw(st.integers(0, 3)):
        case 0:
            volume.on(draw(names))
        case 1:
            volume.at(require(ZONE, "In", "x", "y"))
    match draw(st.integers(0, 4)):
        case 0:
            volume.kept_for(make_claim(draw(st.sampled_from(CLAIMS))), uid=draw(st.booleans()))
        case 1:
            volume.phase("Released")
    return volume


@st.composite
def nodes(draw: st.DrawFn) -> NodeDict:
    return make_node(draw(names)).zone(draw(st.sampled_from("xyz")))


objects = st.one_of(
    claims(),
    volumes(),
    st.sampled_from(CLASSES),
    st.builds(lambda tracks: make_csi_driver("csi.example.com", storageCapacity=tracks), st.booleans()),
    st.builds(
        lambda node, count, driver: make_csi_node(node, {driver: count}, migrated=["kubernetes.io/aws-ebs"]),
        names,
        st.sampled_from((0, 1, 2, None)),
        st.sampled_from(("csi.example.com", "ebs.csi.aws.com")),
    ),
    st.builds(
        lambda node, size: make_capacity(f"of-{node}", "late", {HOSTNAME: node}, size),
        names,
        st.sampled_from(("1Gi", "9Gi")),
    ),
    st.builds(lambda node, volume: make_attachment("at", node, volume), names, st.sampled_from(("v0", "v1"))),
)


@st.composite
def pods(draw: st.DrawFn, name: str) -> PodDict:
    pod = make_pod(name)
    for claim in draw(st.lists(st.sampled_from(CLAIMS), max_size=2)):
        pod.claim(claim)
    if draw(st.booleans()):
        pod.volume("disk", awsElasticBlockStore={"volumeID": draw(st.sampled_from(("vol-1", "vol-2")))})
    return pod


steps = st.lists(
    st.one_of(
        st.tuples(st.just("keep"), objects),
        st.tuples(st.just("keep"), volumes()),
        st.tuples(st.just("drop"), st.one_of(volumes(), objects)),
        st.tuples(st.just("node"), nodes()),
        st.tuples(st.just("no node"), names),
        st.tuples(st.just("pod"), st.tuples(pods("there"), names)),
        st.tuples(st.just("no pod"), st.integers(0, 9)),
    ),
    max_size=15,
)
LOOKED_AT = (
    make_pod("web").claim("c0"),
    make_pod("web").claim("c1"),
    make_pod("web").claim("c1").claim("c2"),
    make_pod("web").volume("disk", awsElasticBlockStore={"volumeID": "vol-1"}),
)
FIRST = (
    *CLASSES,
    make_claim("c0", storage_class="local", volume="v0"),
    make_claim("c1", storage_class="local", size="1Gi"),
    make_claim("c2", storage_class="late", size="1Gi"),
    make_volume("v0", storage_class="local"),
    make_volume("v1", storage_class="local").on("a"),
    make_csi_driver("csi.example.com", storageCapacity=True),
    make_capacity("of-b", "late", {HOSTNAME: "b"}, "9Gi"),
    *(make_csi_node(name, {"csi.example.com": 1}) for name in NODES),
)
"""So that all that may happen matters."""


@settings(max_examples=100)
@given(steps)
def test_after_any_events_the_answers_equal_the_answers_of_new_plugins(steps: list[tuple[str, Any]]) -> None:
    warm = Cluster(*(make_node(name) for name in NODES))
    plugins = [warm.plugin(kind) for kind in KINDS]
    warm.keep(*FIRST)
    known = {(obj["kind"], obj.name): obj for obj in FIRST}
    present = {name: make_node(name) for name in NODES}
    running = [(make_pod("first").claim("c0"), "a"), (make_pod("second").claim("c2"), "b")]
    for pod, node in running:
        warm.place(node, pod)
    for number, (what, detail) in enumerate(steps):
        match what:
            case "keep":
                detail["metadata"]["resourceVersion"] = str(number)
                known[detail["kind"], detail.name] = detail
                warm.keep(detail)
            case "drop" if (detail["kind"], detail.name) in known:
                warm.drop(known.pop((detail["kind"], detail.name)))
            case "node":
                present[detail.name] = detail
                warm.add(detail)
            case "no node":
                present.pop(detail, None)
                warm.snapshot.remove_node(detail)
            case "pod":
                pod, node = detail
                pod["metadata"] |= {"name": f"p{number}", "uid": f"p{number}"}
                running.append((pod, node))
                warm.place(node, pod)
            case "no pod" if running:
                pod, node = running.pop(detail % len(running))
                warm.snapshot.remove_pod(info(pod), node)
        fresh = Cluster(*present.values())
        fresh.keep(*known.values())
        for pod, node in running:
            fresh.place(node, pod)
        for kind, plugin in zip(KINDS, plugins, strict=True):
            new = fresh.plugin(kind)
            for pod in LOOKED_AT:
                assert warm.rejected(plugin, pod) == fresh.rejected(new, pod)

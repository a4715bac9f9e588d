"""Hypothesis strategies: clusters with few, clashing values, so that every rule is met often."""

from hypothesis import strategies as st

from tests.builders import NodeDict, PodDict, make_node, make_pod, require
from tests.plugins.cluster import Cluster

GPU, FPGA = "example.com/gpu", "example.com/fpga"
IMAGES = ("app:1", "db:1", "tiny:latest")
MIB = 1024 * 1024

cpu = st.sampled_from(("0", "1m", "100m", "333m", "1", "1500m", "4"))
memory = st.sampled_from(("0", "1", "64Mi", "200Mi", "1Gi", "3000001k"))
count = st.sampled_from(("0", "1", "3", "8"))
_REQUESTS = {"cpu": cpu, "memory": memory, GPU: count, FPGA: count, "ephemeral-storage": count}


@st.composite
def nodes(draw: st.DrawFn, name: str) -> NodeDict:
    """A node with a bit of everything."""
    node = make_node(name, pods=draw(st.sampled_from(("0", "1", "3", "110"))))
    node.resources(cpu=draw(cpu), memory=draw(memory))
    node.resources(draw(st.dictionaries(st.sampled_from((GPU, FPGA, "ephemeral-storage")), count)))
    node.labels(draw(st.dictionaries(st.sampled_from(("disk", "cores")), st.sampled_from(("ssd", "4", "16")))))
    for effect in draw(st.lists(st.sampled_from(("NoSchedule", "NoExecute", "PreferNoSchedule")), max_size=3)):
        node.taint(draw(st.sampled_from(("spot", "gpu"))), draw(st.sampled_from(("", "a"))), effect=effect)
    for image in draw(st.lists(st.sampled_from(IMAGES), unique=True)):
        node.image(image, size=draw(st.integers(0, 3000)) * MIB)
    return node.unschedulable() if draw(st.booleans()) else node


@st.composite
def pods(draw: st.DrawFn, name: str) -> PodDict:
    """A pod with a bit of everything."""
    pod = make_pod(name, image=draw(st.sampled_from(("app:1", "tiny", "none:1"))))
    for resource, amounts in _REQUESTS.items():
        if draw(st.booleans()):
            pod.requests({resource: draw(amounts)})
    if draw(st.booleans()):
        pod.container("second", {"cpu": draw(cpu)}, image=draw(st.sampled_from(IMAGES)))
    for key in draw(st.lists(st.sampled_from(("spot", "gpu", "")), max_size=2)):
        pod.tolerate(key, effect=draw(st.sampled_from(("", "NoSchedule", "PreferNoSchedule"))))
    if draw(st.booleans()):
        pod.host_port(draw(st.sampled_from((80, 81))), ip=draw(st.sampled_from((None, "10.0.0.1", "10.0.0.2"))))
    for operator in draw(st.lists(st.sampled_from(("Exists", "DoesNotExist")), max_size=2)):
        pod.require_nodes(require(draw(st.sampled_from(("disk", "cores"))), operator))
    for weight in draw(st.lists(st.integers(1, 100), max_size=2)):
        pod.prefer_nodes(weight, require("cores", "Gt", "8"), require("disk", "NotIn", "hdd"))
    return pod


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """One to five nodes with up to two pods on each."""
    cluster = Cluster(*(draw(nodes(f"n{index}")) for index in range(draw(st.integers(1, 5)))))
    for index, name in enumerate(cluster.view().names()):
        cluster.place(name, *(draw(pods(f"p{index}-{number}")) for number in range(draw(st.integers(0, 2)))))
    return cluster

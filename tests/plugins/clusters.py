"""Hypothesis strategies: clusters with few, clashing values, so that every rule is met often."""

from hypothesis import strategies as st

from tests.builders import NodeDict, PodDict, make_node, make_pod, require
from tests.plugins.cluster import Cluster
from tests.storage import make_capacity, make_claim, make_class, make_csi_driver, make_csi_node, make_volume

GPU, FPGA = "example.com/gpu", "example.com/fpga"
IMAGES = ("app:1", "db:1", "tiny:latest")
MIB = 1024 * 1024

cpu = st.sampled_from(("0", "1m", "100m", "333m", "1", "1500m", "4"))
memory = st.sampled_from(("0", "1", "64Mi", "200Mi", "1Gi", "3000001k"))
count = st.sampled_from(("0", "1", "3", "8"))
_REQUESTS = {"cpu": cpu, "memory": memory, GPU: count, FPGA: count, "ephemeral-storage": count}

CLAIMS = (
    make_claim("ssd", storage_class="ssd", volume="ssd"),
    make_claim("alone", storage_class="ssd", volume="ssd", modes=["ReadWriteOncePod"]),
    make_claim("late", storage_class="late", size="3Gi"),
    make_claim("local", storage_class="local", size="1Gi"),
)
STORAGE = (
    *CLAIMS,
    make_class("ssd", waits=False),
    make_class("late", topologies=[{"disk": ["ssd", "4"]}]),
    make_class("local", provisioner="kubernetes.io/no-provisioner"),
    make_csi_driver("csi.example.com", storageCapacity=True),
    make_capacity("small", "late", {"cores": "4"}, "4Gi"),
    make_capacity("large", "late", {"cores": "16"}, "40Gi"),
    make_volume("ssd", storage_class="ssd").at(require("disk", "Exists")).labels({"topology.kubernetes.io/zone": "a"}),
    make_volume("n0-local", storage_class="local", size="1Gi").on("n0"),
    make_volume("n0-large", storage_class="local", size="7Gi").on("n0"),
    make_volume("n1-local", storage_class="local", size="5Gi").on("n1"),
    make_csi_node("n0", {"csi.example.com": 1}),
    make_csi_node("n1", {"csi.example.com": 2}),
)
"""What claims of pods are about: all that matters but the nodes is there."""


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
    for claim in draw(st.lists(st.sampled_from(CLAIMS), max_size=2)):
        pod.claim(claim["metadata"]["name"])
    if draw(st.booleans()):
        pod.volume("disk", gcePersistentDisk={"pdName": "d", "readOnly": draw(st.booleans())})
    return pod


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """One to five nodes with up to two pods on each, and storage that is always the same."""
    cluster = Cluster(*(draw(nodes(f"n{index}")) for index in range(draw(st.integers(1, 5)))))
    for index, name in enumerate(cluster.view().names()):
        cluster.place(name, *(draw(pods(f"p{index}-{number}")) for number in range(draw(st.integers(0, 2)))))
    cluster.keep(*STORAGE)
    return cluster

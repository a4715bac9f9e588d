"""Everything that a pod can have thousands of, with how many fit into the largest object that the API stores.

Whoever adds a plugin that reads a field of a pod adds a shape for it here.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from tests.builders import PodDict, require

Shape = Callable[[PodDict, int], object]

SHAPES: Final[Mapping[str, tuple[Shape, int]]] = MappingProxyType(
    {
        "requests": (lambda pod, n: pod.requests({f"example.com/r-{n}": str(n + 1)}), 15_000),
        "requests and limits": (
            lambda pod, n: pod.requests({f"example.com/r-{n}": "1"}).limits({f"example.com/r-{n}": "1"}),
            10_000,
        ),
        "containers": (lambda pod, n: pod.container(f"c{n}", {"cpu": "1m"}), 5_000),
        "init containers": (lambda pod, n: pod.init_container(f"i{n}", {"cpu": "1m"}, sidecar=n % 2 == 0), 5_000),
        "images": (lambda pod, n: pod.container(f"c{n}", image=f"example.com/image-{n}"), 5_000),
        "host ports": (lambda pod, n: pod.host_port(n % 65_535 + 1, ip=f"10.0.{n % 7}.1"), 15_000),
        "tolerations": (lambda pod, n: pod.tolerate(f"example.com/k-{n}", value="x"), 15_000),
        "node selector": (lambda pod, n: pod.node_selector({f"example.com/k-{n}": "x"}), 30_000),
        "required terms": (lambda pod, n: pod.require_nodes(require(f"example.com/k-{n}", "In", "x")), 10_000),
        "required names": (lambda pod, n: pod.require_nodes(require("kubernetes.io/hostname", "In", f"n{n}")), 10_000),
        "preferred terms": (lambda pod, n: pod.prefer_nodes(1, require(f"example.com/k-{n}", "In", "x")), 10_000),
        "bounds": (lambda pod, n: pod.require_nodes(require("example.com/size", "Gt", str(n))), 10_000),
        "preferred bounds": (lambda pod, n: pod.prefer_nodes(1, require("example.com/size", "Lt", str(n))), 10_000),
        "joint terms": (
            lambda pod, n: pod.require_nodes(
                require("kubernetes.io/hostname", "NotIn", f"n{n}"), require("example.com/size", "Exists")
            ),
            6_000,
        ),
        "affinity": (lambda pod, n: pod.near("kubernetes.io/hostname", {f"k-{n}": "x"}), 6_000),
        "own topologies": (lambda pod, n: pod.near(f"example.com/t-{n}", {f"k-{n}": "x"}, weight=1), 6_000),
        "anti-affinity": (lambda pod, n: pod.apart("kubernetes.io/hostname", {f"k-{n}": "x"}), 6_000),
        "spreading": (lambda pod, n: pod.spread(f"example.com/t-{n}", {f"k-{n}": "x"}), 5_000),
        "claims": (lambda pod, n: pod.claim(f"claim-{n}"), 10_000),
        "gates": (lambda pod, n: pod.gate(f"example.com/gate-{n}"), 15_000),
        "labels": (lambda pod, n: pod.labels({f"example.com/k-{n}": "x"}), 20_000),
        "annotations": (lambda pod, n: pod.annotations({f"example.com/k-{n}": "x"}), 5_000),
    }
)
"""By name: what adds the n-th of them, and how many there can be."""

"""NodeResourceTopologies, and pods of the class Guaranteed, in the API's JSON shape."""

from collections.abc import Mapping, Sequence
from typing import Any

from muster.plugins.noderesourcetopology.fingerprint import fingerprint
from tests.builders import PodDict, make_pod

SINGLE, RESTRICTED = "single-numa-node", "restricted"


def make_topology(
    node: str,
    *zones: Mapping[str, str],
    policy: str = SINGLE,
    scope: str = "container",
    taken: Sequence[Mapping[str, str]] = (),
    costs: Sequence[Sequence[int]] = (),
    pods: Sequence[tuple[str, str]] | None = None,
    attributes: Mapping[str, str] = {},
) -> dict[str, Any]:
    """The object of a node. Each zone is given by what is available in it, and `taken` by what pods have of it besides.

    `costs` are the distances of zones, a row for each; `pods`, by namespace and name, are those of the fingerprint.
    """
    named = {"topologyManagerPolicy": policy, "topologyManagerScope": scope} | dict(attributes)
    if pods is not None:
        named["nodeTopologyPodsFingerprint"] = fingerprint(pods)
    return {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": node},
        "attributes": [{"name": name, "value": value} for name, value in named.items() if value],
        "zones": [
            {
                "name": f"node-{number}",
                "type": "Node",
                "costs": [{"name": f"node-{other}", "value": cost} for other, cost in enumerate(row)],
                "resources": [
                    {
                        "name": name,
                        "capacity": _plus(text, held.get(name, "0")),
                        "allocatable": _plus(text, held.get(name, "0")),
                        "available": text,
                    }
                    for name, text in zone.items()
                ],
            }
            for number, (zone, held, row) in enumerate(
                zip(zones, [*taken, *({},) * len(zones)], [*costs, *((),) * len(zones)], strict=False)
            )
        ],
    }


def guaranteed(name: str, *containers: Mapping[str, str], namespace: str = "default") -> PodDict:
    """A pod of the class Guaranteed whose containers request so much."""
    pod = make_pod(name, namespace=namespace)
    pod["spec"]["containers"] = [
        {"name": f"c{number}", "image": "pause", "resources": {"requests": dict(amounts), "limits": dict(amounts)}}
        for number, amounts in enumerate(containers)
    ]
    return pod


def _plus(one: str, other: str) -> str:
    """The sum of two amounts with the same unit."""
    unit = one.lstrip("0123456789") or other.lstrip("0123456789")
    return f"{int(one.rstrip('KMGTi') or 0) + int(other.rstrip('KMGTi') or 0)}{unit}"

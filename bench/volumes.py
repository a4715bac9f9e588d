"""Volumes for a backlog, one a pod, each made on the node that its pod gets, as a storage driver does.

`bench.shapes` measures them. The claims wait for their first consumer: a scheduler finds each pod a node and writes it
on the claim, the provisioner here makes the volume there, kube-controller-manager binds the two, and the scheduler
binds the pod. Both sides have the same provisioner beside them, in the benchmark's own process.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from bench.client import Client
from bench.scale import NAMESPACE, Body
from tests.builders import PodDict
from tests.storage import make_claim, make_class, make_volume

CONTROLLERS = ("persistentvolume-binder-controller",)
"""What has to run for claims to be bound."""

_CLASS = "made-on-demand"
_CLAIMS = f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims"
_SELECTED_NODE = "volume.kubernetes.io/selected-node"


def mounting(pod: PodDict) -> PodDict:
    """The pod with a claim of its own name."""
    return pod.claim(pod.name)


def storage(pods: Iterable[str]) -> Iterator[Body]:
    """A class, and for each of these pods a claim of its name."""
    yield "/apis/storage.k8s.io/v1/storageclasses", _posted(make_class(_CLASS))
    for name in pods:
        yield _CLAIMS, _posted(make_claim(name, namespace=NAMESPACE, storage_class=_CLASS))


async def provision(client: Client) -> None:
    """Make a volume for each claim that has been given a node, until cancelled. Raises `RefusedError`."""
    made: set[str] = set()
    async for lines in client.watch(_CLAIMS):
        for line in lines:
            claim = msgspec.json.decode(line)["object"]
            name, node = claim["metadata"]["name"], claim["metadata"].get("annotations", {}).get(_SELECTED_NODE)
            if node is not None and name not in made:
                made.add(name)
                await client.post("/api/v1/persistentvolumes", _posted(_volume(claim, node)))


def _volume(claim: Mapping[str, Any], node: str) -> Mapping[str, object]:
    owner = {key: claim["metadata"][key] for key in ("name", "namespace", "uid")}
    owner |= {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return make_volume(f"volume-{owner['name']}", storage_class=_CLASS, claimRef=owner).on(node)


def _posted(obj: Mapping[str, object]) -> bytes:
    """The object without what only the API server gives."""
    metadata = msgspec.convert(obj["metadata"], dict[str, object])
    given = {key: value for key, value in metadata.items() if key not in ("uid", "resourceVersion")}
    return msgspec.json.encode({key: value for key, value in obj.items() if key != "status"} | {"metadata": given})

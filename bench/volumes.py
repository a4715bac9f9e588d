"""Volumes for a backlog, one for each pod, created on the pod's node, as a storage driver does.

`bench.shapes` measures them. The claims wait for their first consumer: a scheduler finds a node for each pod and writes
it to the claim, the provisioner in this module creates the volume there, kube-controller-manager binds the two, and the
scheduler binds the pod. Both sides have the same provisioner, in the benchmark's process.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from bench.client import Client
from bench.scale import NAMESPACE, Body
from tests.builders import PodDict
from tests.storage import make_claim, make_class, make_volume

CONTROLLERS = ("persistentvolume-binder-controller",)
"""The controllers that bind claims."""

_CLASS = "made-on-demand"
_CLAIMS = f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims"
_SELECTED_NODE = "volume.kubernetes.io/selected-node"


def mounting(pod: PodDict) -> PodDict:
    """A pod with a claim of the pod's name."""
    return pod.claim(pod.name)


def storage(pods: Iterable[str]) -> Iterator[Body]:
    """A storage class, and a claim for each of these pods, with the pod's name."""
    yield "/apis/storage.k8s.io/v1/storageclasses", _posted(make_class(_CLASS))
    for name in pods:
        yield _CLAIMS, _posted(make_claim(name, namespace=NAMESPACE, storage_class=_CLASS))


async def provision(client: Client) -> None:
    """Create a volume for each claim with a selected node, until cancelled. Raises `RefusedError`."""
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
    """The object without the fields that only the API server sets."""
    metadata = msgspec.convert(obj["metadata"], dict[str, object])
    given = {key: value for key, value in metadata.items() if key not in ("uid", "resourceVersion")}
    return msgspec.json.encode({key: value for key, value in obj.items() if key != "status"} | {"metadata": given})

"""Local volumes for a backlog, one a pod, each bound to its claim when the pod that mounts it gets its node.

`bench.shapes` measures them. The claims wait for their first consumer, so a scheduler finds each pod a node with a free
volume, writes the volume, and binds the pod when kube-controller-manager has completed the claim.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from bench.scale import NAMESPACE, Body, node_name
from tests.builders import PodDict
from tests.storage import make_claim, make_class, make_volume

CONTROLLERS = ("persistentvolume-binder-controller",)
"""What has to run for volumes to become available and claims to be bound."""

_CLASS = "local"


def mounting(pod: PodDict) -> PodDict:
    """The pod with a claim of its own name."""
    return pod.claim(pod.name)


def storage(pods: Iterable[str]) -> Iterator[Body]:
    """A class, and for each of these pods a claim of its name and a volume on a node of its own."""
    local = make_class(_CLASS, provisioner="kubernetes.io/no-provisioner")
    yield "/apis/storage.k8s.io/v1/storageclasses", _posted(local)
    for number, name in enumerate(pods):
        path = {"local": {"path": "/mnt/disk"}}
        volume = make_volume(f"volume-{number:05}", storage_class=_CLASS, source=path).on(node_name(number))
        yield "/api/v1/persistentvolumes", _posted(volume)
        claim = make_claim(name, namespace=NAMESPACE, storage_class=_CLASS)
        yield f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims", _posted(claim)


def _posted(obj: Mapping[str, object]) -> bytes:
    """The object without what only the API server gives."""
    metadata = msgspec.convert(obj["metadata"], dict[str, object])
    given = {key: value for key, value in metadata.items() if key not in ("uid", "resourceVersion")}
    return msgspec.json.encode({key: value for key, value in obj.items() if key != "status"} | {"metadata": given})

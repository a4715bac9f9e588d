"""Storage objects on a real API server, and the controllers of volumes, whose part a test plays itself."""

from collections.abc import Mapping
from typing import Any

from tests.controlplane.api import Api
from tests.e2e.eventually import eventually

_PATHS = {
    "PersistentVolume": "/api/v1/persistentvolumes",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
    "CSINode": "/apis/storage.k8s.io/v1/csinodes",
    "CSIDriver": "/apis/storage.k8s.io/v1/csidrivers",
}
_SELECTED_NODE = "volume.kubernetes.io/selected-node"
_BIND_COMPLETED = "pv.kubernetes.io/bind-completed"


class PlayedStorage:
    """Storage objects, the claims of one namespace among them."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._claims = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"
        self._namespace = namespace
        self._made: list[str] = []

    def create(self, *objects: Mapping[str, Any]) -> None:
        """Creates objects; fields that the API server drops from a new object are written afterwards."""
        for obj in objects:
            kind, name = obj["kind"], obj["metadata"]["name"]
            metadata = {
                key: value for key, value in obj["metadata"].items() if key in ("name", "labels", "annotations")
            }
            path = _PATHS.get(kind, self._claims)
            self._api.post(path, {**obj, "metadata": metadata})
            if kind == "PersistentVolume":
                self._api.patch(f"{path}/{name}/status", {"status": obj["status"]})
            if kind in _PATHS:
                self._made.append(f"{path}/{name}")

    def claim(self, name: str) -> Any:
        """The claim as the API has it."""
        return self._api.get(f"{self._claims}/{name}")

    def volume(self, name: str) -> Any:
        """The volume as the API has it."""
        return self._api.get(f"{_PATHS['PersistentVolume']}/{name}")

    def selected_node(self, claim: str) -> str:
        """The node for which a volume is to be made for the claim, once that is said."""
        annotations = eventually(lambda: self.claim(claim)["metadata"].get("annotations", {}))
        return str(annotations.get(_SELECTED_NODE))

    def claimed_by(self, volume: str) -> str:
        """The claim that a volume is for, once that is said."""
        reference = eventually(lambda: self.volume(volume)["spec"].get("claimRef"))
        return str(reference["name"])

    def provision(self, claim: str, volume: Mapping[str, Any]) -> None:
        """Makes a volume for the claim, as its driver would, and binds both."""
        self.create(volume)
        found = self.claim(claim)["metadata"]
        reference = {"kind": "PersistentVolumeClaim", "apiVersion": "v1"}
        reference |= {key: found[key] for key in ("name", "namespace", "uid")}
        path = f"{_PATHS['PersistentVolume']}/{volume['metadata']['name']}"
        self._api.patch(path, {"spec": {"claimRef": reference}})
        self.bind(claim, volume["metadata"]["name"])

    def refuse(self, claim: str) -> None:
        """Says that no volume can be made for the claim on the selected node."""
        self._api.patch(f"{self._claims}/{claim}", {"metadata": {"annotations": {_SELECTED_NODE: None}}})

    def bind(self, claim: str, volume: str) -> None:
        """Completes the binding of a volume that is the claim's."""
        done = {"metadata": {"annotations": {_BIND_COMPLETED: "yes"}}, "spec": {"volumeName": volume}}
        self._api.patch(f"{self._claims}/{claim}", done)

    def remove(self) -> None:
        """Takes away what has no namespace, whatever protects it."""
        for path in self._made:
            self._api.patch(path, {"metadata": {"finalizers": None}})
            self._api.delete(path)

"""Stand-ins for the controllers of claims: of volumes, and of devices that pods claim through templates.

Volumes are bound and made as by drivers that answer at once; a claim that waits for its first consumer waits until a
scheduler has chosen a volume or a node for it. Each stand-in has a `step` that does all that is due; the server calls
it after every change of the kinds that it looks at.
"""

from muster.framework.model.quantity import nanos
from muster.sandbox.kinds import (
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    STORAGE_CLASSES,
)
from muster.sandbox.objects import Object, get_in, metadata, name_of, namespace_of, with_metadata, without
from muster.sandbox.selectors import from_label_selector
from muster.sandbox.store import ObjectStore
from muster.sandbox.workloads import owned_by

SELECTED_NODE = "volume.kubernetes.io/selected-node"
_ZONE = "topology.kubernetes.io/zone"
_NO_PROVISIONER = "kubernetes.io/no-provisioner"
_ENDED = ("Succeeded", "Failed")


class VolumeController:
    """Binds the claims of one store to volumes, makes volumes for them, and releases those of deleted claims."""

    KINDS = (PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES)

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def step(self) -> None:
        """Handles every claim without a volume and every volume that has lost its claim."""
        for claim in list(self._store.objects(PERSISTENT_VOLUME_CLAIMS)):
            if get_in(claim, ("status", "phase")) == "Pending" and not metadata(claim).get("deletionTimestamp"):
                volume = self._volume_for(claim)
                if volume is not None:
                    self._bind(claim, volume)
        for volume in list(self._store.objects(PERSISTENT_VOLUMES)):
            self._settle(volume)

    def _volume_for(self, claim: Object) -> Object | None:
        """The volume that the claim names or that is kept for it, one that fits it, or a new one; None to wait on."""
        named = claim["spec"].get("volumeName")
        volumes = list(self._store.objects(PERSISTENT_VOLUMES))
        for volume in volumes:
            if (named and name_of(volume) == named and _is_free_for(volume, claim)) or _is_kept_for(volume, claim):
                return volume
        class_name = claim["spec"].get("storageClassName")
        known = self._store.find(STORAGE_CLASSES, class_name) if class_name else None
        waits = known is not None and known.obj["volumeBindingMode"] == "WaitForFirstConsumer"
        node = (metadata(claim).get("annotations") or {}).get(SELECTED_NODE, "")
        if named or (waits and not node):
            return None
        fitting = [] if waits else [volume for volume in volumes if _fits(volume, claim)]
        if fitting:
            return min(fitting, key=lambda volume: nanos(volume["spec"]["capacity"]["storage"]))
        if known is None or known.obj["provisioner"] == _NO_PROVISIONER:
            return None
        return self._store.create(PERSISTENT_VOLUMES, self._made_for(claim, known.obj, node)).obj

    def _made_for(self, claim: Object, storage_class: Object, node: str) -> Object:
        name = f"pvc-{metadata(claim)['uid']}"
        spec: Object = {
            "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
            "accessModes": claim["spec"]["accessModes"],
            "persistentVolumeReclaimPolicy": storage_class["reclaimPolicy"],
            "storageClassName": name_of(storage_class),
            "volumeMode": claim["spec"]["volumeMode"],
            "csi": {"driver": storage_class["provisioner"], "volumeHandle": name},
        }
        known = self._store.find(NODES, node)
        zone = (metadata(known.obj).get("labels") or {}).get(_ZONE) if known else None
        if zone:
            term = {"matchExpressions": [{"key": _ZONE, "operator": "In", "values": [zone]}]}
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
        return {"metadata": {"name": name}, "spec": spec}

    def _bind(self, claim: Object, volume: Object) -> None:
        reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "uid": metadata(claim)["uid"]}
        reference |= {"name": name_of(claim), "namespace": namespace_of(claim)}
        spec, bound = volume["spec"] | {"claimRef": reference}, {"phase": "Bound"}
        self._store.replace_stored(PERSISTENT_VOLUMES, volume | {"spec": spec, "status": bound})
        annotations = (metadata(claim).get("annotations") or {}) | {"pv.kubernetes.io/bind-completed": "yes"}
        taken = {"accessModes": spec["accessModes"], "capacity": spec["capacity"]}
        changed = claim | {"spec": claim["spec"] | {"volumeName": name_of(volume)}, "status": bound | taken}
        self._store.replace_stored(PERSISTENT_VOLUME_CLAIMS, with_metadata(changed, annotations=annotations))

    def _settle(self, volume: Object) -> None:
        """Makes a volume without a claim available, and releases one whose claim was deleted."""
        phase, reference = get_in(volume, ("status", "phase")), volume["spec"].get("claimRef")
        if reference is None:
            wanted = "Available"
        elif phase != "Bound":
            return
        else:
            claim = self._store.find(
                PERSISTENT_VOLUME_CLAIMS, reference.get("name", ""), namespace=reference.get("namespace", "")
            )
            if claim is not None and metadata(claim.obj)["uid"] == reference.get("uid"):
                return
            if volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete":
                self._store.delete(PERSISTENT_VOLUMES, name_of(volume))
                return
            wanted = "Released"
        if phase != wanted:
            self._store.replace_stored(PERSISTENT_VOLUMES, volume | {"status": {"phase": wanted}})


def _is_kept_for(volume: Object, claim: Object) -> bool:
    """Whether the volume's own reference names the claim, as a scheduler or an administrator has written it."""
    reference = volume["spec"].get("claimRef") or {}
    named = (reference.get("namespace"), reference.get("name")) == (namespace_of(claim), name_of(claim))
    return named and reference.get("uid") in (None, "", metadata(claim)["uid"])


def _is_free_for(volume: Object, claim: Object) -> bool:
    return not volume["spec"].get("claimRef") or _is_kept_for(volume, claim)


def _fits(volume: Object, claim: Object) -> bool:
    """Whether a volume without a claim fits a claim."""
    spec, wanted = volume["spec"], claim["spec"]
    labels = metadata(volume).get("labels") or {}
    return (
        not spec.get("claimRef")
        and (spec.get("storageClassName") or "") == (wanted.get("storageClassName") or "")
        and spec["volumeMode"] == wanted["volumeMode"]
        and set(wanted["accessModes"]) <= set(spec["accessModes"])
        and nanos(spec["capacity"]["storage"]) >= nanos(wanted["resources"]["requests"]["storage"])
        and all(item.holds(labels) for item in from_label_selector(wanted.get("selector")))
    )


class DeviceClaimController:
    """Creates the device claims that pods request by template, and frees devices whose pods have ended."""

    KINDS = (PODS, RESOURCE_CLAIMS, RESOURCE_CLAIM_TEMPLATES)

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def step(self) -> None:
        """Handles every pod with templates and every reserved claim."""
        templates = self._store.ledger.entries(RESOURCE_CLAIM_TEMPLATES)
        for pod in list(self._store.objects(PODS)) if templates else ():
            if any(claim.get("resourceClaimTemplateName") for claim in pod["spec"].get("resourceClaims") or ()):
                self._make_claims(pod)
        for claim in list(self._store.objects(RESOURCE_CLAIMS)):
            self._free(claim)

    def _make_claims(self, pod: Object) -> None:
        status, namespace = pod.get("status") or {}, namespace_of(pod)
        made = list(status.get("resourceClaimStatuses") or ())
        known = {item["name"] for item in made}
        for wanted in pod["spec"]["resourceClaims"]:
            template = self._store.find(
                RESOURCE_CLAIM_TEMPLATES, wanted.get("resourceClaimTemplateName") or "", namespace=namespace
            )
            if template is None or wanted["name"] in known or metadata(pod).get("deletionTimestamp"):
                continue
            given = metadata(template.obj["spec"])
            annotations = (given.get("annotations") or {}) | {"resource.kubernetes.io/pod-claim-name": wanted["name"]}
            fields = {"generateName": f"{name_of(pod)}-{wanted['name']}-", "annotations": annotations}
            labels = {"labels": given["labels"]} if given.get("labels") else {}
            claim = owned_by({"metadata": fields | labels, "spec": template.obj["spec"]["spec"]}, pod)
            name = name_of(self._store.create(RESOURCE_CLAIMS, claim, namespace=namespace).obj)
            made.append({"name": wanted["name"], "resourceClaimName": name})
        if len(made) > len(known):
            self._store.replace_stored(PODS, pod | {"status": status | {"resourceClaimStatuses": made}})

    def _free(self, claim: Object) -> None:
        """Ends the reservations of ended pods; with the last one the claim loses its devices."""
        status, namespace = claim.get("status") or {}, namespace_of(claim)
        reserved = status.get("reservedFor") or []
        pods = {metadata(pod)["uid"]: pod for pod in self._store.objects(PODS, namespace=namespace)} if reserved else {}
        kept = [
            item
            for item in reserved
            if item.get("resource") != "pods"
            or (item["uid"] in pods and get_in(pods[item["uid"]], ("status", "phase")) not in _ENDED)
        ]
        if kept != reserved:
            changed = status | {"reservedFor": kept} if kept else without(status, "reservedFor", "allocation")
            self._store.replace_stored(RESOURCE_CLAIMS, claim | {"status": changed})
        for owner in metadata(claim).get("ownerReferences") or ():
            if owner["kind"] == "Pod" and self._store.find(PODS, owner["name"], namespace=namespace) is None:
                self._store.delete(RESOURCE_CLAIMS, name_of(claim), namespace=namespace)

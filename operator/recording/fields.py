"""The contents of each text of a recording, by field.

`names` walks the objects and events of a recording by their structs, and looks up each field here. A text that is not
listed, here or by its plugin (`Plugin.recorded`), counts as a name. A test fails for an unlisted field of Muster's
structs.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
from pydantic import BaseModel

from muster.framework.config import args
from muster.framework.config.model import (
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    PluginConfig,
    PluginReference,
)
from muster.framework.contract import Plugin, whole_nodes
from muster.framework.contract.recorded import Content, MapContent, TextKind
from muster.framework.groups.annotations import GroupMeta
from muster.framework.model import devices, label_selector, meta, node, pod, pod_relations, volume_sources, volumes
from muster.framework.model import workloads as pods_of

from . import events

_NAME, _KEPT, _KEY = TextKind.NAME, TextKind.KEPT, TextKind.KEY
_LABELS = MapContent(_KEY, _NAME)
_AMOUNTS = MapContent(TextKind.RESOURCE)
_BY_NAME = MapContent(_NAME)
_REQUIREMENT: Mapping[str, Content] = {"key": _KEY, "operator": _KEPT, "values": _NAME}
_TOLERATION: Mapping[str, Content] = {"key": _KEY, "operator": _KEPT, "value": _NAME, "effect": _KEPT}
_TAINT: Mapping[str, Content] = {"key": _KEY, "value": _NAME, "effect": _KEPT}
_BINDING: Mapping[str, Content] = {"bindingConditions": _NAME, "bindingFailureConditions": _NAME}
_ANNOTATED: Mapping[str, Content] = {"annotations": TextKind.ANNOTATIONS}
_SPREAD: Mapping[str, Content] = {
    "topologyKey": _KEY,
    "whenUnsatisfiable": _KEPT,
    "nodeAffinityPolicy": _KEPT,
    "nodeTaintsPolicy": _KEPT,
    "matchLabelKeys": _KEY,
}
_OF_OBJECT: Mapping[str, Content] = {"kind": _KEPT, "object": TextKind.OBJECT}

_FIELDS: Mapping[type[Any], Mapping[str, Content]] = {
    # metadata
    meta.Identity: {"name": _NAME, "namespace": _NAME, "uid": _NAME, "resourceVersion": _KEPT},
    meta.ObjectMeta: {"creationTimestamp": _KEPT, "deletionTimestamp": _KEPT, "labels": _LABELS},
    meta.OwnerReference: {"apiVersion": TextKind.API_GROUP, "kind": TextKind.OWNED_KIND, "name": _NAME, "uid": _NAME},
    pod.PodMeta: _ANNOTATED,
    volumes.StorageMeta: _ANNOTATED,
    whole_nodes.AnnotatedMeta: _ANNOTATED,
    GroupMeta: _ANNOTATED,
    devices.ClaimMeta: {**_ANNOTATED, "generateName": _NAME, "finalizers": _KEY},
    # selectors
    label_selector.LabelSelector: {"matchLabels": _LABELS},
    label_selector.LabelSelectorRequirement: _REQUIREMENT,
    pod.NodeSelectorRequirement: _REQUIREMENT,
    volumes.TopologySelectorRequirement: {"key": _KEY, "values": _NAME},
    pods_of.LabelledPods: {"selector": _LABELS},
    pods_of.PodTemplateMeta: {"labels": _LABELS},
    pods_of.PodTemplateSpec: {"priorityClassName": _NAME},
    pods_of.StatefulSetSpec: {"podManagementPolicy": _KEPT},
    # pods
    pod.PodSpec: {
        "nodeName": _NAME,
        "schedulerName": TextKind.SCHEDULER,
        "priorityClassName": _NAME,
        "preemptionPolicy": _KEPT,
        "nodeSelector": _LABELS,
        "overhead": _AMOUNTS,
    },
    pod.PodStatus: {"phase": _KEPT, "startTime": _KEPT, "nominatedNodeName": _NAME, "allocatedResources": _AMOUNTS},
    pod.PodCondition: {
        "type": TextKind.CONDITION,
        "status": _KEPT,
        "reason": TextKind.CONDITION,
        "message": TextKind.UNREAD,
        "lastTransitionTime": _KEPT,
    },
    pod_relations.PodAffinityTerm: {"namespaces": _NAME, "topologyKey": _KEY},
    pod_relations.TopologySpreadConstraint: _SPREAD,
    pod.Toleration: _TOLERATION,
    pod.Container: {"name": _NAME, "image": TextKind.IMAGE, "restartPolicy": _KEPT},
    pod.ContainerPort: {"protocol": _KEPT, "hostIP": _NAME},
    pod.ContainerRestartRule: {"action": _KEPT},
    pod.ContainerStatus: {"name": _NAME, "allocatedResources": _AMOUNTS},
    pod.ResourceRequirements: {"requests": _AMOUNTS, "limits": _AMOUNTS},
    pod.VolumeMount: {"bindMountOptions": _NAME},
    pod.Volume: {"name": _NAME},
    pod.ImageVolumeSource: {"reference": TextKind.IMAGE},
    pod.ClaimSource: {"claimName": _NAME},
    pod.SchedulingGate: {"name": _KEY},
    pod.PodResourceClaim: {"name": _NAME, "resourceClaimName": _NAME, "resourceClaimTemplateName": _NAME},
    pod.PodResourceClaimStatus: {"name": _NAME, "resourceClaimName": _NAME},
    pod.PodSchedulingGroup: {"podGroupName": _NAME},
    # nodes
    node.NodeStatus: {"allocatable": _AMOUNTS, "declaredFeatures": _KEPT},
    node.Taint: _TAINT,
    node.ContainerImage: {"names": TextKind.IMAGE},
    whole_nodes.WholeNodeStatus: {"capacity": _AMOUNTS, "allocatable": _AMOUNTS},
    whole_nodes.NodeCondition: {
        "type": _NAME,
        "status": _KEPT,
        "reason": _NAME,
        "message": TextKind.TEXT,
        "lastTransitionTime": _KEPT,
    },
    # volumes
    volume_sources.GCEPersistentDisk: {"pdName": TextKind.DISK},
    volume_sources.AWSElasticBlockStore: {"volumeID": TextKind.DISK},
    volume_sources.AzureDisk: {"diskURI": TextKind.DISK, "kind": _KEPT},
    volume_sources.Cinder: {"volumeID": TextKind.DISK},
    volume_sources.Portworx: {"volumeID": TextKind.DISK},
    volume_sources.CSISource: {"driver": TextKind.DRIVER, "volumeHandle": TextKind.DISK},
    volume_sources.ISCSI: {"iqn": _NAME},
    volume_sources.RBD: {"monitors": _NAME, "pool": _NAME, "image": _NAME},
    volumes.PersistentVolumeSpec: {
        "capacity": _AMOUNTS,
        "accessModes": _KEPT,
        "storageClassName": _NAME,
        "volumeMode": _KEPT,
        "volumeAttributesClassName": _NAME,
    },
    volumes.PersistentVolumeClaimSpec: {
        "accessModes": _KEPT,
        "volumeName": _NAME,
        "storageClassName": _NAME,
        "volumeMode": _KEPT,
        "volumeAttributesClassName": _NAME,
    },
    volumes.ClaimReference: {"namespace": _NAME, "name": _NAME, "uid": _NAME},
    volumes.VolumeResources: {"requests": _AMOUNTS},
    volumes.PhaseStatus: {"phase": _KEPT},
    volumes.StorageClass: {"provisioner": TextKind.DRIVER, "volumeBindingMode": _KEPT},
    volumes.CSINodeDriver: {"name": TextKind.DRIVER},
    volumes.CSIDriverMeta: {"name": TextKind.DRIVER},
    volumes.CSIStorageCapacity: {"storageClassName": _NAME},
    volumes.VolumeAttachmentSpec: {"attacher": TextKind.DRIVER, "nodeName": _NAME},
    volumes.AttachmentSource: {"persistentVolumeName": _NAME},
    # devices
    devices.CELSelector: {"expression": TextKind.EXPRESSION},
    devices.DeviceTaint: _TAINT,
    devices.DeviceToleration: _TOLERATION,
    devices.CapacityRequirements: {"requests": _BY_NAME},
    devices.ExactDeviceRequest: {"deviceClassName": _NAME, "allocationMode": _KEPT},
    devices.DeviceSubRequest: {"name": _NAME},
    devices.DeviceRequest: {"name": _NAME},
    devices.DeviceConstraint: {"requests": _NAME, "matchAttribute": _NAME, "distinctAttribute": _NAME},
    devices.DeviceClaimConfiguration: {"requests": _NAME, "opaque": TextKind.ANYTHING},
    devices.DeviceAllocationConfiguration: {"source": _KEPT, "requests": _NAME, "opaque": TextKind.ANYTHING},
    devices.DeviceRequestAllocationResult: {
        **_BINDING,
        "request": _NAME,
        "driver": _NAME,
        "pool": _NAME,
        "device": _NAME,
        "shareID": _KEPT,
        "consumedCapacity": _BY_NAME,
        "skipNodeOperations": TextKind.ANYTHING,
    },
    devices.AllocationResult: {"allocationTimestamp": _KEPT},
    devices.ConsumerReference: {"apiGroup": TextKind.API_GROUP, "resource": _KEPT, "name": _NAME, "uid": _NAME},
    devices.DeviceCondition: {"type": _NAME, "status": _KEPT, "reason": _NAME, "message": TextKind.TEXT},
    devices.AllocatedDeviceStatus: {"driver": _NAME, "pool": _NAME, "device": _NAME},
    devices.DeviceClassSpec: {"extendedResourceName": TextKind.RESOURCE},
    devices.DeviceAttribute: {"string": _NAME, "version": _NAME, "strings": _NAME, "versions": _NAME},
    devices.Device: {
        **_BINDING,
        "name": _NAME,
        "attributes": _BY_NAME,
        "capacity": _BY_NAME,
        "nodeName": _NAME,
    },
    devices.CounterConsumption: {"counterSet": _NAME, "counters": _BY_NAME, "compatibilityGroups": _NAME},
    devices.CounterSet: {"name": _NAME, "counters": _BY_NAME},
    devices.ResourcePool: {"name": _NAME},
    devices.ResourceSliceSpec: {"driver": _NAME, "nodeName": _NAME},
    devices.DeviceTaintSelector: {"driver": _NAME, "pool": _NAME, "device": _NAME},
    # events
    events.Began: {"muster": _KEPT, "configuration": _KEPT, "kinds": _KEPT},
    events.ObjectAdded: _OF_OBJECT,
    events.ObjectChanged: _OF_OBJECT,
    events.ObjectGone: _OF_OBJECT,
    events.ObjectKnown: _OF_OBJECT,
    events.MemberEnded: {"books": _KEPT, "uid": _NAME},
    events.MemberEnding: {"podGroup": _NAME},
    events.Answered: {"call": TextKind.CALL, "result": TextKind.ANSWER},
    events.Failure: {"message": TextKind.TEXT, "reason": _KEPT},
    events.Ranking: {"by_plugin": TextKind.BY_PLUGIN},
    events.Decided: {
        "pod": _NAME,
        "uid": _NAME,
        "node": _NAME,
        "code": _KEPT,
        "message": TextKind.TEXT,
        "plugin": _KEPT,
        "group": TextKind.GROUP,
    },
    events.GroupDecided: {"group": TextKind.GROUP, "code": _KEPT, "message": TextKind.TEXT},
    # the configuration
    KubeSchedulerConfiguration: {"apiVersion": _KEPT, "kind": _KEPT},
    KubeSchedulerProfile: {"schedulerName": TextKind.SCHEDULER},
    PluginReference: {"name": _KEPT},
    PluginConfig: {"name": _KEPT, "args": TextKind.ARGUMENTS},
    args.ResourceSpec: {"name": TextKind.RESOURCE},
    args.ScoringStrategy: {"type": _KEPT},
    args.NodeResourcesFitArgs: {"ignoredResources": TextKind.RESOURCE, "ignoredResourceGroups": TextKind.API_GROUP},
    args.NodeAffinityArgs: {"addedAffinity": _KEPT},
    args.PodTopologySpreadArgs: {"defaultingType": _KEPT},
    args.DefaultConstraint: {**_SPREAD, "labelSelector": TextKind.ANYTHING},
}

_INNER: Mapping[tuple[type[Any], str], type[Any]] = {
    (events.Began, "configuration"): KubeSchedulerConfiguration,
    (args.NodeAffinityArgs, "addedAffinity"): pod.NodeAffinity,
}
"""The contents of fields with the type of plain JSON."""


class Member(NamedTuple):
    """A field of a struct or of a model of the configuration.

    Attributes:
        content: the content of its text; None if it is not listed.
        inner: the struct or model in it, or in each of its items.
        texts: whether it has texts other than amounts.
    """

    content: Content | None
    inner: type[Any] | None
    texts: bool


class Fields:
    """The fields of all recorded structs, with the contents that Muster and these plugins list."""

    def __init__(self, plugins: Iterable[type[Plugin[Any]]]) -> None:
        self._fields = dict(_FIELDS)
        self._inner = dict(_INNER)
        for plugin in plugins:
            self._fields |= plugin.recorded.fields
            self._inner |= plugin.recorded.inner
        self._known: dict[type[Any], Mapping[str, Member]] = {}

    def members(self, kind: type[Any]) -> Mapping[str, Member]:
        """The fields of a struct or model, by their JSON names."""
        if kind not in self._known:
            self._known[kind] = {name: self._member(kind, name, hint) for name, hint in _hints(kind)}
        return self._known[kind]

    def _member(self, kind: type[Any], name: str, hint: Any) -> Member:
        leaves = [*_leaves(hint)]
        bases = (self._fields.get(base, {}) for base in kind.__mro__)
        content = next((fields[name] for fields in bases if name in fields), None)
        structs = (leaf for leaf in leaves if isinstance(leaf, type) and issubclass(leaf, (msgspec.Struct, BaseModel)))
        inner = self._inner.get((kind, name)) or next(structs, None)
        return Member(content, inner, any(leaf in (str, Any, msgspec.Raw) for leaf in leaves))


def _hints(kind: type[Any]) -> Iterator[tuple[str, Any]]:
    if issubclass(kind, BaseModel):
        return ((field.alias or name, field.annotation) for name, field in kind.model_fields.items())
    hints = typing.get_type_hints(kind)
    return ((field.encode_name, hints[field.name]) for field in msgspec.structs.fields(kind))


def _leaves(hint: Any) -> Iterator[Any]:
    """The types in a type hint. An amount, which is a text or a number, does not count as a text."""
    if typing.get_origin(hint) is typing.Annotated:
        yield from _leaves(typing.get_args(hint)[0])
        return
    of = typing.get_args(hint)
    if typing.get_origin(hint) in (typing.Union, types.UnionType) and str in of and int in of:
        return
    if not of:
        yield hint
    for each in of:
        yield from _leaves(each)

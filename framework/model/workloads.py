"""Namespaces, and the objects that say which pods are replicas of one another, as far as scheduling reads them."""

from __future__ import annotations

import msgspec

from .integers import Int32
from .label_selector import LabelSelector
from .meta import ObjectMeta, Wire
from .pod import PodSchedulingGroup


class Namespace(Wire):
    """A namespace."""

    metadata: ObjectMeta


class LabelledPods(Wire):
    """`spec` of a Service or ReplicationController. A Service without a selector selects nothing."""

    selector: dict[str, str] | None = None


class SelectedPods(Wire):
    """`spec` of a ReplicaSet."""

    selector: LabelSelector | None = None


class PodTemplateMeta(Wire):
    """`metadata` of a pod template."""

    labels: dict[str, str] = msgspec.field(default_factory=dict)


class PodTemplateSpec(Wire):
    """`spec` of a pod template, as far as it concerns all pods that are made from it."""

    priority_class_name: str = ""
    scheduling_group: PodSchedulingGroup | None = None


class PodTemplate(Wire):
    """The template of a workload's pods."""

    metadata: PodTemplateMeta = PodTemplateMeta()
    spec: PodTemplateSpec = PodTemplateSpec()


class StatefulSetSpec(SelectedPods):
    """`spec` of a StatefulSet. With the policy `Parallel`, all pods are created at once."""

    replicas: Int32 = 1
    pod_management_policy: str = ""
    template: PodTemplate = PodTemplate()


class Service(Wire):
    """A service."""

    metadata: ObjectMeta
    spec: LabelledPods = LabelledPods()


class ReplicationController(Wire):
    """A replication controller."""

    metadata: ObjectMeta
    spec: LabelledPods = LabelledPods()


class ReplicaSet(Wire):
    """A replica set."""

    metadata: ObjectMeta
    spec: SelectedPods = SelectedPods()


class StatefulSet(Wire):
    """A stateful set."""

    metadata: ObjectMeta
    spec: StatefulSetSpec = StatefulSetSpec()

"""Namespaces, and the objects that say which pods are replicas of one another, as far as scheduling reads them."""

from __future__ import annotations

from .label_selector import LabelSelector
from .meta import ObjectMeta, Wire


class Namespace(Wire):
    """A namespace."""

    metadata: ObjectMeta


class LabelledPods(Wire):
    """`spec` of a Service or ReplicationController. A Service without a selector selects nothing."""

    selector: dict[str, str] | None = None


class SelectedPods(Wire):
    """`spec` of a ReplicaSet or StatefulSet."""

    selector: LabelSelector | None = None


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
    spec: SelectedPods = SelectedPods()

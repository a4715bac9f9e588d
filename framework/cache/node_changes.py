"""What changed of a node, in the terms of cluster events. The cache asks it about every report of a known node."""

from __future__ import annotations

import msgspec

from ..contract.events import Action
from ..model.node import Node
from ..model.requests import amounts


def changes(old: Node, new: Node) -> Action:
    """Which kinds of event follow from `new` taking the place of `old`; none when no pod can profit.

    As in kube-scheduler, a node that becomes schedulable counts as a change of taints, one that is cordoned as nothing.
    Raises QuantityError when an allocatable amount of `new` cannot be parsed.
    """
    changed = Action(0)
    if old.status.allocatable != new.status.allocatable and amounts(old.status.allocatable) != amounts(
        new.status.allocatable
    ):
        changed |= Action.UPDATE_NODE_ALLOCATABLE
    if old.metadata.labels != new.metadata.labels:
        changed |= Action.UPDATE_NODE_LABEL
    if old.spec.taints != new.spec.taints or (old.spec.unschedulable and not new.spec.unschedulable):
        changed |= Action.UPDATE_NODE_TAINT
    if old.status.images != new.status.images:
        changed |= Action.UPDATE_NODE_IMAGE
    if old.status.declared_features != new.status.declared_features:
        changed |= Action.UPDATE_NODE_DECLARED_FEATURE
    return changed


def same(old: Node, new: Node) -> bool:
    """Whether the two differ in their resource version at most, as after a heartbeat."""
    return (
        old.spec == new.spec
        and old.status == new.status
        and old.metadata == msgspec.structs.replace(new.metadata, resource_version=old.metadata.resource_version)
    )

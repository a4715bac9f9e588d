"""Which resources are scheduled: cpu, memory, ephemeral storage and scalar resources. Other names are ignored."""

from __future__ import annotations

from muster.framework.model.names import is_extended_resource
from muster.framework.model.requests import CPU, EPHEMERAL_STORAGE, MEMORY

STANDARD = (CPU, MEMORY, EPHEMERAL_STORAGE)


def is_scalar(name: str) -> bool:
    """Whether the resource is an extended one, huge pages, attachable volumes or of a Kubernetes domain."""
    if is_extended_resource(name):
        return True
    return name.startswith(("hugepages-", "attachable-volumes-")) or "kubernetes.io/" in name


def is_scheduled(name: str) -> bool:
    """Whether kube-scheduler keeps books on the resource."""
    return name in STANDARD or is_scalar(name)

"""Tenants: whose pods go first, above the order of QueueSort, which then holds within each tenant alone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from ..model.pod_info import PodInfo
from .plugin import Args, Plugin


class TenantOrderPlugin(Plugin[Args]):
    """Divides waiting pods among tenants, and orders these. The first such plugin of all profiles is asked.

    The queue keeps what it is told, so a plugin has to name the tenants whose turn may have changed, and to answer None
    when namespaces have other tenants. As long as `tenants_moved` has not answered None, no pod has a tenant. A failure
    counts as the answer without tenants.
    """

    @abstractmethod
    def tenants_moved(self) -> Sequence[str] | None:
        """The tenants whose turn may have changed since the last call; None if pods may have other tenants now.

        Called before each pop, so it must be very fast when nothing has changed.
        """

    @abstractmethod
    def tenant_of(self, namespace: str) -> str:
        """The tenant of the pods in a namespace; "" for none."""

    @abstractmethod
    def turn_of(self, tenant: str, pod: PodInfo) -> tuple[float, ...]:
        """How early the turn of a tenant is, whose first ready pod is this one; smaller is earlier.

        () is the turn of pods without a tenant. Tenants with equal turns are ordered by QueueSort. Of the pod, only its
        signature may matter: pods with the same one have the same turn until `tenants_moved` names the tenant.
        """

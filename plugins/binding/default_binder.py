"""DefaultBinder: binds a pod through the API's Binding subresource."""

from __future__ import annotations

from muster.framework.contract import BindPlugin, CycleState, Status
from muster.framework.model.pod_info import PodInfo


class DefaultBinder(BindPlugin):
    """Binds every pod that comes to it."""

    name = "DefaultBinder"

    async def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Binds the pod by the handle's binder, and returns its answer."""
        return await self.handle.binder.bind(pod, node_name)

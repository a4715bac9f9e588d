"""UnsupportedFields: a pod that asks for what Muster cannot judge yet waits, and is told for which field.

The catalogue puts it in front of a profile that would run a plugin of kube-scheduler which Muster does not have. Where
a profile switches that plugin off, kube-scheduler ignores the field, and so does Muster.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from muster.framework.contract import (
    Action,
    ClusterEvent,
    CycleState,
    EnqueueExtensions,
    EventRegistration,
    EventResource,
    Handle,
    NodeView,
    PerSignature,
    PreFilterPlugin,
    Status,
)
from muster.framework.model.pod_info import PodInfo

from .fields import judged_by


class UnsupportedFieldsArgs(BaseModel):
    """`plugins`: names of the plugins that are missing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    plugins: tuple[str, ...] = ()


class UnsupportedFields(PreFilterPlugin, EnqueueExtensions):
    """Turns pods away as a whole."""

    name = "UnsupportedFields"
    args_model = UnsupportedFieldsArgs

    def __init__(self, args: BaseModel | None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._missing = args.plugins if isinstance(args, UnsupportedFieldsArgs) else ()
        self._verdicts = PerSignature(self._judge)

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Names every field that is in the way."""
        return self._verdicts.of(pod)

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Only a change of the pod itself helps."""
        return [EventRegistration(ClusterEvent(EventResource.TARGET_POD, Action.UPDATE))]

    def _judge(self, pod: PodInfo) -> Status | None:
        found = list(judged_by(self._missing, pod.pod.spec))
        reasons = (f"{field} is not supported yet: Muster does not have {plugin}" for field, plugin in found)
        return Status.unresolvable(*reasons) if found else None

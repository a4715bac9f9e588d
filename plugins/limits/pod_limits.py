"""PodLimits: a pod that exceeds a limit waits alone, with a message that names the limit.

The catalog puts it in front of every profile. The limits are far above normal use; a profile changes them in its
`pluginConfig`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muster.framework.authoring import PerSignature
from muster.framework.contract import (
    Action,
    ClusterEvent,
    CycleState,
    EnqueueExtensions,
    EventRegistration,
    EventResource,
    Handle,
    NodeView,
    PreFilterPlugin,
    Status,
)
from muster.framework.contract.arguments import PluginArgs, Problem, invalid
from muster.framework.model.affinity_terms import MOST_TERMS
from muster.framework.model.pod_info import PodInfo

from .sizes import SIZES


class PodLimitsArgs(PluginArgs):
    """The most of each that a pod may have; see `SIZES` for what is counted."""

    containers: int = 2_000
    requested_resources: int = 500
    host_ports: int = 5_000
    tolerations: int = 10_000
    node_selector_labels: int = 10_000
    node_affinity_expressions: int = 2_000
    joint_node_affinity_expressions: int = 500
    node_affinity_values: int = 20_000
    pod_affinity_terms: int = 64
    topology_spread_constraints: int = 64
    selector_parts: int = 2_000
    volumes: int = 1_000
    resource_claims: int = 100

    def problems(self, path: str) -> Iterator[Problem]:
        """A limit below one would keep every pod out."""
        for field, value in self.model_dump(by_alias=True).items():
            if value < 1:
                yield invalid(f"{path}.{field}", value, "must be positive")
        if self.pod_affinity_terms > MOST_TERMS:
            place = f"{path}.podAffinityTerms"
            yield invalid(
                place, self.pod_affinity_terms, f"must be {MOST_TERMS} at most, for no more are read of a pod"
            )


class PodLimits(PreFilterPlugin[PodLimitsArgs], EnqueueExtensions[PodLimitsArgs]):
    """Turns pods away as a whole."""

    name = "PodLimits"
    args_model = PodLimitsArgs

    def __init__(self, args: PodLimitsArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._limits = args
        self._verdicts = PerSignature(self._judge)

    def concerns(self, pod: PodInfo) -> bool:
        """Few pods have too much of anything. Volumes are no part of a signature."""
        return bool(pod.pod.spec.volumes) or self._verdicts.of(pod) is not None

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: NodeView) -> Status | None:
        """Names everything that there is too much of."""
        return self._judge(pod) if pod.pod.spec.volumes else self._verdicts.of(pod)

    def events_to_register(self) -> Sequence[EventRegistration]:
        """Only a change of the pod itself helps."""
        return [EventRegistration(ClusterEvent(EventResource.TARGET_POD, Action.UPDATE))]

    def _judge(self, pod: PodInfo) -> Status | None:
        reasons = []
        for field, (words, size) in SIZES.items():
            most: int = getattr(self._limits, field)
            found = size(pod.pod.spec)
            if found > most:
                reasons.append(f"too many {words}: {found}, at most {most}")
        return Status.unresolvable(*reasons) if reasons else None

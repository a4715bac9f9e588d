"""Pods that a PreEnqueue plugin keeps out.

Such a pod is no member of an entry, not even of its group's, until the plugin lets it in. The queue keeps it here and
asks again when something happens that the gating plugin registered for.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..contract.events import ClusterEvent
from ..contract.observer import Observer
from ..contract.status import Code
from ..model.pod_info import PodInfo
from .entry import Member, Place
from .hints import HintTable, Rejector
from .rejectors import RejectorIndex
from .rules import PreEnqueue


@dataclass(slots=True, eq=False)
class GatedPod:
    """A pod at a gate.

    Attributes:
        member: the pod.
        group: the id of the group it would be in, if any.
        plugin: who keeps it out.
        asked: when its time limit last made the queue ask again.
    """

    member: Member
    group: str | None
    plugin: str
    asked: float = float("-inf")

    @property
    def place(self) -> Place:
        """Always the same; entries have places that change."""
        return Place.GATED

    @property
    def rejector(self) -> Rejector:
        """Who keeps it out, with the profile."""
        return self.member.info.pod.spec.scheduler_name, self.plugin


class Gates:
    """All gated pods. The observer hears how many each plugin holds back."""

    __slots__ = ("_groups", "_hints", "_index", "_observer", "_pods", "_pre_enqueue")

    def __init__(self, pre_enqueue: PreEnqueue, hints: HintTable, observer: Observer) -> None:
        self._pre_enqueue = pre_enqueue
        self._hints = hints
        self._observer = observer
        self._pods: dict[GatedPod, None] = {}
        self._index: RejectorIndex[GatedPod] = RejectorIndex()

    def __len__(self) -> int:
        return len(self._pods)

    def plugin_against(self, pod: PodInfo, first: str = "") -> str | None:
        """The plugin that does not let the pod in, if any; `first` is asked before the others."""
        status = self._pre_enqueue(pod, first)
        return None if status is None or status.code is Code.SUCCESS else status.plugin

    def add(self, pod: GatedPod) -> None:
        """Keep a pod out."""
        self._pods[pod] = None
        self._index.add(pod, (pod.rejector,))
        self._observe(pod, 1)

    def discard(self, pod: GatedPod) -> None:
        """Take out a pod that is here; it must be as it was when it was added."""
        del self._pods[pod]
        self._index.discard(pod, (pod.rejector,))
        self._observe(pod, -1)

    def concerned_by(self, event: ClusterEvent) -> list[GatedPod]:
        """Pods whose gating plugin registered for the event."""
        return self._index.where(lambda rejector: self._hints.concerns(rejector, event))

    def since_before(self, moment: float) -> list[GatedPod]:
        """Pods that came, or were last asked about by the clock, before `moment`."""
        return [pod for pod in self._pods if max(pod.member.timestamp, pod.asked) < moment]

    def _observe(self, pod: GatedPod, change: int) -> None:
        profile, plugin = pod.rejector
        self._observer.unschedulable_pods(plugin, profile=profile, change=change)

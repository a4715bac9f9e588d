"""The pods of Muster's own schedulers, each in its latest version, whether it waits, is assumed or runs.

The pod informer's handler maintains them. Failure handling and reports read them: at the end of an attempt its pod may
have been deleted, bound by another client, or replaced by a pod of the same name.
"""

from __future__ import annotations

from collections.abc import Collection

from ..model.pod import Pod
from ..model.pod_info import PodInfo


class KnownPods:
    """The pods by `namespace/name`. `scheduler_names` are those of the profiles."""

    def __init__(self, scheduler_names: Collection[str]) -> None:
        self._names = frozenset(scheduler_names)
        self._pods: dict[str, PodInfo] = {}

    def is_ours(self, pod: Pod) -> bool:
        """Whether the pod names one of the profiles."""
        return pod.spec.scheduler_name in self._names

    def get(self, key: str) -> PodInfo | None:
        """The pod `namespace/name` as last seen; None for one that is gone, or of another scheduler."""
        return self._pods.get(key)

    def keep(self, pod: PodInfo) -> None:
        """Store the latest version of a pod."""
        self._pods[pod.key] = pod

    def drop(self, key: str) -> None:
        """Remove a pod that is gone. Raises KeyError if it is not known."""
        del self._pods[key]

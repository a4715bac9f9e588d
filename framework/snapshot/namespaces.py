"""Usage by namespace: the pods of each namespace on all nodes, and what they request together.

Quotas are counted by it. The snapshot adds and removes pods here as it does on their nodes, so the sums include assumed
pods, follow trials and their undoing, and are computed again by the recount. Counting begins when a plugin first asks;
clusters without quotas pay one comparison for each pod.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from types import MappingProxyType

from ..model.pod_info import PodInfo
from ..model.requests import PODS

Amounts = Mapping[str, int]
"""By resource: milli-cores for cpu, whole units otherwise; `pods` is the number of pods. No zeros."""

NOTHING: Amounts = MappingProxyType({})


class NamespaceUsage:
    """Pods, and sums of their effective requests, by namespace.

    Attributes:
        counting: whether pods are counted; before the first question they are not.
    """

    __slots__ = (
        "_added",
        "_changed",
        "_gone",
        "_moves",
        "_pods",
        "_removed",
        "_revisions",
        "_tried",
        "_used",
        "counting",
    )

    def __init__(self) -> None:
        self.counting = False
        self._moves = 0
        self._revisions: dict[str, int] = {}
        self._pods: dict[str, dict[str, PodInfo]] = {}
        self._used: dict[str, dict[str, int]] = {}
        self._tried: dict[str, dict[str, int]] = {}
        self._removed: dict[str, dict[str, int]] = {}
        self._added: set[str] = set()
        self._gone: set[str] = set()
        self._changed: dict[str, None] = {}

    def begin(self, pods: Iterable[PodInfo]) -> None:
        """Count these pods, all that the snapshot has, and from now on each that comes or goes."""
        self.counting = True
        for pod in pods:
            self.change(pod, 1, tentative=False)

    def change(self, pod: PodInfo, by: int, *, tentative: bool) -> None:
        """The pod was added (1) or removed (-1). A `tentative` change belongs to a trial, or undoes one there."""
        namespace, requests = pod.namespace, pod.signature.requests
        self._changed[namespace] = None
        _add(self._used, namespace, requests, by)
        if tentative:
            self._follow_trial(pod, by)
        elif by > 0:
            self._pods.setdefault(namespace, {})[pod.uid] = pod
            self._moved(namespace)
        else:
            self._forget(pod)

    def refresh(self, pod: PodInfo) -> None:
        """The pod is counted in this version from now on, which requests the same."""
        self._pods[pod.namespace][pod.uid] = pod
        self._moved(pod.namespace)

    def pods(self, namespace: str) -> Collection[PodInfo]:
        """The namespace's pods outside of all trials. Valid until the next change."""
        found = self._pods.get(namespace)
        return () if found is None else found.values()

    def revision(self, namespace: str) -> int:
        """A value that changes whenever `pods` does, and whenever one of them has another version."""
        return self._revisions.get(namespace, 0)

    def used(self, namespace: str) -> Amounts:
        """The requests of the namespace's pods, in the current trial if there is one. Valid until the next change."""
        return self._used.get(namespace, NOTHING)

    def settled(self, namespace: str) -> Amounts:
        """The requests of these pods outside of all trials. Valid until the next change."""
        used, tried = self._used.get(namespace, NOTHING), self._tried.get(namespace)
        if tried is None:
            return used
        sums = {name: used.get(name, 0) - tried.get(name, 0) for name in used.keys() | tried.keys()}
        return {name: amount for name, amount in sums.items() if amount}

    def removed(self, namespace: str) -> Amounts:
        """The requests of its pods that the current trial has removed. Valid until the next change."""
        return self._removed.get(namespace, NOTHING)

    @property
    def any_removed(self) -> bool:
        """Whether the current trial has removed pods that were there before."""
        return bool(self._gone)

    @property
    def added(self) -> Set[str]:
        """The UIDs of the pods that the current trial has added. Valid until the next change."""
        return self._added

    def namespaces(self) -> Mapping[str, Amounts]:
        """The usage of each namespace that has pods with nodes."""
        return self._used

    def take_changed(self) -> Iterable[str]:
        """The namespaces whose usage has changed since the last call, in trials too, in the order of the changes."""
        if not self._changed:
            return ()
        changed, self._changed = self._changed, {}
        return changed

    def _forget(self, pod: PodInfo) -> None:
        pods = self._pods[pod.namespace]
        del pods[pod.uid]
        if pods:
            self._moved(pod.namespace)
        else:
            del self._pods[pod.namespace], self._revisions[pod.namespace]

    def _moved(self, namespace: str) -> None:
        self._moves += 1
        self._revisions[namespace] = self._moves

    def _follow_trial(self, pod: PodInfo, by: int) -> None:
        """Keep which pods a trial has removed, and which it has added: undoing it leaves none of either."""
        uid, requests = pod.uid, pod.signature.requests
        tried = self._tried.setdefault(pod.namespace, {})
        for resource, amount in (*requests.items(), (PODS, 1)):
            tried[resource] = tried.get(resource, 0) + by * amount
        if not any(tried.values()):
            del self._tried[pod.namespace]
        before, now = (self._gone, self._added) if by > 0 else (self._added, self._gone)
        is_back = uid in before
        if is_back:
            before.discard(uid)
        else:
            now.add(uid)
        if is_back == (by > 0):
            _add(self._removed, pod.namespace, requests, -by)


def _add(sums: dict[str, dict[str, int]], namespace: str, requests: Amounts, by: int) -> None:
    found = sums.get(namespace)
    if found is None:
        found = sums[namespace] = {}
    found[PODS] = found.get(PODS, 0) + by
    for resource, amount in requests.items():
        if amount:
            left = found.get(resource, 0) + by * amount
            if left:
                found[resource] = left
            else:
                del found[resource]
    if not found[PODS]:
        del sums[namespace]

"""Event handlers: they pass what informers report to the cache and the queue, and derive cluster events from it.

The operator's informers call them in the order of the watch. They keep the latest version of every pod that names one
of Muster's schedulers for failure handling: at the end of its attempt a pod may have been deleted, bound by another
client, or created anew.
"""

from __future__ import annotations

from collections.abc import Collection

from ..cache.cache import Cache
from ..contract.events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    NODE_DELETE,
    NODE_UPDATES,
    UNSCHEDULED_POD_ADD,
    UNSCHEDULED_POD_DELETE,
    Action,
    ClusterEvent,
    assigned_pod_update_events,
)
from ..contract.group import ObjectFollower, PodFollower
from ..contract.handle import WatchedKind
from ..contract.status import Status
from ..model.node import Node
from ..model.pod import Pod
from ..model.pod_info import PodInfo
from ..queue.scheduling_queue import SchedulingQueue
from ..runtime.plugin_calls import PluginCalls
from ..runtime.subjects import ObjectSubject
from ..runtime.waiting_pods import PodsAtPermit
from .engine_services import EngineServices
from .review import Review


class PodEventHandler:
    """The pod informer's handler."""

    def __init__(
        self,
        services: EngineServices,
        waiting_pods: PodsAtPermit,
        review: Review,
        followers: Collection[tuple[PodFollower, PluginCalls]],
    ) -> None:
        """`followers` are notified of all pods, each through its profile's calls."""
        self._cache = services.cache
        self._queue = services.queue
        self._nominator = services.nominator
        self._reports = services.reports
        self._known = services.known
        self._waiting_pods = waiting_pods
        self._review = review
        self._followers = tuple(followers)

    def on_add(self, pod: Pod) -> None:
        """A pod was added."""
        info = PodInfo(pod)
        if self._known.is_ours(pod):
            self._known.keep(info)
        self._notify(None, info)
        self._nominated(None, pod, info)
        if info.node_name:
            self._assigned(info)
        elif self._known.is_ours(pod):
            self._queue.add(info)
            self._queue.move_all(UNSCHEDULED_POD_ADD, None, info)

    def on_update(self, old: Pod, new: Pod) -> None:
        """A pod changed. The same name under another UID is a deletion and an addition."""
        if old.metadata.uid != new.metadata.uid:
            self.on_delete(old)
            self.on_add(new)
            return
        info = PodInfo(new)
        mine = self._known.is_ours(new)
        before = self._known.get(info.key) if mine else None
        if mine:
            self._known.keep(info)
        self._notify(before or self._cache.get(info.uid) or PodInfo(old), info)
        self._nominated(old, new, info)
        if info.node_name:
            if old.spec.node_name:
                self._reassigned(info)
            else:
                if mine:
                    self._queue.remove(info)
                self._assigned(info)
        elif mine and not self._cache.is_assumed(info.uid):
            self._queue.update(before or PodInfo(old), info)

    def on_delete(self, pod: Pod) -> None:
        """A pod was deleted, or has ended."""
        info = PodInfo(pod)
        known = self._known.get(info.key)
        if known is not None and known.uid == info.uid:
            self._known.drop(info.key)
            self._reports.forget(known)
            self._review.forget(known)
        counted = self._cache.get(info.uid)
        self._notify(known or counted or info, None)
        nominated = self._nominator.clear(info.uid)
        if info.node_name:
            if counted is not None:
                self._cache.remove_pod(info)
            self._queue.move_all(ASSIGNED_POD_DELETE, info, None)
        elif self._known.is_ours(pod):
            self._queue.remove(info)
            waiting = self._waiting_pods.get(info.uid)
            if waiting is not None:
                # Its binding task unreserves it and frees the node.
                waiting.fail(Status.unschedulable("removed"))
            elif counted is not None:
                # PreBind or Bind is in flight; when it is answered, the pod is ABSENT and the cache changes nothing.
                self._cache.remove_pod(info)
                self._queue.move_all(ASSIGNED_POD_DELETE, info, None)
            elif nominated:  # the capacity of its nomination is free again
                self._queue.move_all(ASSIGNED_POD_DELETE, info, None)
            self._queue.move_all(UNSCHEDULED_POD_DELETE, info, None)
        elif nominated:  # the nomination of another scheduler's pod
            self._queue.move_all(ASSIGNED_POD_DELETE, info, None)

    def expire(self, now: float) -> None:
        """Forget assumed pods whose time to live is over at `now`, seconds on the cache's clock."""
        for info in self._cache.expire(now):
            for follower, calls in self._followers:
                calls.notify(follower, info, follower.on_assumed_pod_expired, info)
            self._queue.move_all(ASSIGNED_POD_DELETE, info, None)

    def _nominated(self, old: Pod | None, new: Pod, info: PodInfo) -> None:
        """Follow the nomination in the pod's status.

        The status write may still be in flight, so an event that lacks a nomination of this process does not end it.
        The nomination ends when the API has reported it and then reports that it is gone.
        """
        if info.node_name or self._cache.is_assumed(info.uid):
            nominated = self._nominator.nominated_node(info.uid)
            if self._nominator.clear(info.uid) and old is not None and info.node_name not in ("", nominated):
                self._queue.move_all(ASSIGNED_POD_DELETE, PodInfo(old), None)
        elif new.status.nominated_node_name:
            gated = self._queue.contents.gated_since_added(info.uid)
            if gated or self._queue.contents.place_of(info.uid) is None:
                self._nominator.learn(info, new.status.nominated_node_name, gated=gated)
            else:
                self._nominator.nominate(info, new.status.nominated_node_name)
        elif old is not None and old.status.nominated_node_name:
            if self._nominator.clear(info.uid):
                self._queue.move_all(ASSIGNED_POD_DELETE, info, None, except_uid=info.uid)
        elif len(self._nominator) and (node_name := self._nominator.nominated_node(info.uid)):
            self._nominator.nominate(info, node_name)

    def _notify(self, old: PodInfo | None, new: PodInfo | None) -> None:
        """Notify followers, always before the queue: PreEnqueue has to find the pod counted as a member of its group.

        So the last member that a group lacks activates the group here, and then joins it when it is added to the queue.
        """
        pod = new or old
        if pod is not None:
            for follower, calls in self._followers:
                calls.notify(follower, pod, follower.on_pod, old, new)

    def _assigned(self, info: PodInfo) -> None:
        self._cache.add_pod(info)
        self._queue.move_all(ASSIGNED_POD_ADD, None, info)

    def _reassigned(self, info: PodInfo) -> None:
        before = self._cache.get(info.uid)
        self._cache.update_pod(info)
        if before is None:
            self._queue.move_all(ASSIGNED_POD_ADD, None, info)
            return
        for event in assigned_pod_update_events(before, info):
            self._queue.move_all(event, before, info)


class NodeEventHandler:
    """The node informer's handler."""

    def __init__(self, cache: Cache, queue: SchedulingQueue) -> None:
        self._cache = cache
        self._queue = queue

    def on_add(self, node: Node) -> None:
        """A node was added."""
        self._cache.set_node(node)
        self._queue.move_all(NODE_ADD, None, node)

    def on_update(self, old: Node, new: Node) -> None:
        """A node changed. A heartbeat, which changes nothing that the snapshot holds, causes no event."""
        changed = self._cache.set_node(new)
        if changed & Action.ADD:
            self._queue.move_all(NODE_ADD, None, new)
            return
        for event in NODE_UPDATES:
            if event.action & changed:
                self._queue.move_all(event, old, new)

    def on_delete(self, node: Node) -> None:
        """A node was deleted."""
        self._cache.remove_node(node.metadata.name)
        self._queue.move_all(NODE_DELETE, node, None)


class ObjectEventHandler:
    """The informer handler of a kind that only plugins read; changes of its objects may wake pods."""

    def __init__(
        self, queue: SchedulingQueue, kind: WatchedKind, followers: Collection[tuple[ObjectFollower, PluginCalls]]
    ) -> None:
        resource = kind.resource
        self._queue = queue
        self._resource = resource
        self._kind = kind.name
        self._followers = tuple(followers)
        self._add = ClusterEvent(resource, Action.ADD, f"{resource}Add")
        self._update = ClusterEvent(resource, Action.UPDATE_OTHER, f"{resource}Update")
        self._delete = ClusterEvent(resource, Action.DELETE, f"{resource}Delete")

    def on_add(self, obj: object) -> None:
        """An object was added."""
        self._happened(self._add, None, obj)

    def on_update(self, old: object, new: object) -> None:
        """An object changed."""
        self._happened(self._update, old, new)

    def on_delete(self, obj: object) -> None:
        """An object was deleted."""
        self._happened(self._delete, obj, None)

    def _happened(self, event: ClusterEvent, old: object | None, new: object | None) -> None:
        about = ObjectSubject(self._kind, old if new is None else new)
        for follower, calls in self._followers:
            calls.notify(follower, about, follower.on_object, self._resource, old, new)
        self._queue.move_all(event, old, new)

"""The cache under everything that can happen, in any order.

An API server, a scheduler with its bindings and the informers between them are simulated with no order imposed but that
of each watch. Nodes and pods are watched apart, so either may be ahead; a watch may break at any time and be relisted.
After every step the columns must follow from the objects, and every pod must be counted exactly once where it belongs.
"""

from collections import deque
from collections.abc import Iterable

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from muster.framework.cache.cache import Cache
from muster.framework.cache.recount import differences
from muster.framework.model.node import Node
from muster.framework.model.pod_info import PodInfo
from muster.framework.snapshot.snapshot import Snapshot
from tests.builders import make_node, make_pod
from tests.cache.objects import bound, content_of, node, pod

TTL = 10.0
NODES = ("a", "b", "c")
UIDS = tuple(f"pod-default-p{number}" for number in range(5))

node_names = st.sampled_from(NODES)
uids = st.sampled_from(UIDS)
cpus = st.sampled_from(("0", "100m", "1", "2500m"))


@st.composite
def node_objects(draw: st.DrawFn) -> Node:
    plain = make_node(draw(node_names), cpu=draw(cpus))
    if draw(st.booleans()):
        plain.zone(draw(st.sampled_from("xy")))
    if draw(st.booleans()):
        plain.taint("spot")
    if draw(st.booleans()):
        plain.image("web:1", size=draw(st.sampled_from((10, 20))))
    if draw(st.booleans()):
        plain.unschedulable()
    if draw(st.booleans()):
        plain.resources({"example.com/gpu": draw(st.sampled_from("012"))})
    return node(plain)


@st.composite
def pod_objects(draw: st.DrawFn, uid: str) -> PodInfo:
    """A pod under `uid`, with any of the things that count."""
    plain = make_pod(uid.removeprefix("pod-default-"))
    if draw(st.booleans()):
        plain.requests(cpu=draw(cpus))
    if draw(st.booleans()):
        plain.requests({"example.com/gpu": "1", "memory": "1Mi"})
    if draw(st.booleans()):
        plain.host_port(draw(st.sampled_from((80, 81))))
    if draw(st.booleans()):
        plain.labels(app=draw(st.sampled_from("xy")))
    return pod(plain)


class Interleavings(RuleBasedStateMachine):
    """`api_*` is what the API server holds, `seen_*` what informers have delivered, `counted` what should follow."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.cache = Cache(Snapshot(), lambda: self.now, TTL)
        self.cache.snapshot.usage()
        self.cache.snapshot.labels.column("topology.kubernetes.io/zone")
        self.api_nodes: dict[str, Node] = {}
        self.api_pods: dict[str, PodInfo] = {}
        self.seen_nodes: dict[str, Node] = {}
        self.seen_pods: dict[str, PodInfo] = {}
        self.node_watch: deque[tuple[str, Node | None]] = deque()
        self.pod_watch: deque[tuple[str, PodInfo | None]] = deque()
        self.counted: dict[str, str] = {}
        self.assumed: dict[str, float | None] = {}

    # What users, controllers and other schedulers do at the API server.

    @rule(new=node_objects())
    def node_is_written(self, new: Node) -> None:
        self.api_nodes[new.metadata.name] = new
        self.node_watch.append((new.metadata.name, new))

    @rule(name=node_names)
    def node_is_deleted(self, name: str) -> None:
        if self.api_nodes.pop(name, None) is not None:
            self.node_watch.append((name, None))

    @rule(data=st.data(), uid=uids)
    def pod_is_written(self, data: st.DataObject, uid: str) -> None:
        """Created, or changed in any way but its node."""
        new = data.draw(pod_objects(uid))
        old = self.api_pods.get(uid)
        if old is not None and old.node_name:
            new = bound(new, old.node_name)
        self._write_pod(new)

    @precondition(lambda self: self.api_pods)
    @rule(data=st.data())
    def only_the_status_of_a_pod_changes(self, data: st.DataObject) -> None:
        old = self.api_pods[self._any_of(data, self.api_pods)]
        status = msgspec.structs.replace(old.pod.status, phase="Running")
        self._write_pod(PodInfo(msgspec.structs.replace(old.pod, status=status)))

    @precondition(lambda self: self.api_pods)
    @rule(data=st.data(), name=st.sampled_from((*NODES, "unknown")))
    def pod_is_bound_by_somebody_else(self, data: st.DataObject, name: str) -> None:
        self._bind(self._any_of(data, self.api_pods), name)

    @precondition(lambda self: self.api_pods)
    @rule(data=st.data())
    def pod_is_deleted(self, data: st.DataObject) -> None:
        uid = self._any_of(data, self.api_pods)
        del self.api_pods[uid]
        self.pod_watch.append((uid, None))

    # What Muster does.

    @precondition(lambda self: self._waiting())
    @rule(data=st.data(), name=node_names)
    def pod_is_assumed(self, data: st.DataObject, name: str) -> None:
        uid = self._any_of(data, self._waiting())
        self.cache.assume(self.seen_pods[uid], name)
        self.counted[uid] = name
        self.assumed[uid] = None

    @precondition(lambda self: self.assumed)
    @rule(data=st.data(), answered=st.booleans())
    def assumed_pod_is_bound(self, data: st.DataObject, answered: bool) -> None:
        """The API server may refuse, and its answer may be lost."""
        uid = self._any_of(data, self.assumed)
        accepted = self._bind(uid, self.counted[uid])
        info = self.cache.get(uid)
        assert info is not None
        if accepted and answered:
            self.cache.finish_binding(info)
            self.assumed[uid] = self.now + TTL
        else:
            self._forget(info)

    @precondition(lambda self: self.seen_pods)
    @rule(data=st.data())
    def attempt_fails(self, data: st.DataObject) -> None:
        """Perhaps one whose pod was bound or reported meanwhile."""
        self._forget(self.seen_pods[self._any_of(data, self.seen_pods)])

    @rule(seconds=st.sampled_from((1.0, 9.0, 10.0)))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        late = {uid for uid, deadline in self.assumed.items() if deadline is not None and deadline <= self.now}
        assert {info.uid for info in self.cache.expire(self.now)} == late
        for uid in late:
            del self.counted[uid], self.assumed[uid]

    @rule(data=st.data())
    def plans_are_tried(self, data: st.DataObject) -> None:
        before = content_of(self.cache.snapshot)
        self._try(data, depth=2)
        assert content_of(self.cache.snapshot) == before

    # What the informers deliver.

    @precondition(lambda self: self.node_watch)
    @rule(burst=st.integers(1, 4))
    def node_events_arrive(self, burst: int) -> None:
        for _ in range(min(burst, len(self.node_watch))):
            self._see_node(*self.node_watch.popleft())

    @precondition(lambda self: self.pod_watch)
    @rule(burst=st.integers(1, 4))
    def pod_events_arrive(self, burst: int) -> None:
        for _ in range(min(burst, len(self.pod_watch))):
            self._see_pod(*self.pod_watch.popleft())

    @rule()
    def nodes_are_relisted(self) -> None:
        self.node_watch.clear()
        for name in self.seen_nodes.keys() - self.api_nodes.keys():
            self._see_node(name, None)
        for name, new in self.api_nodes.items():
            self._see_node(name, new)

    @rule()
    def pods_are_relisted(self) -> None:
        self.pod_watch.clear()
        for uid in self.seen_pods.keys() - self.api_pods.keys():
            self._see_pod(uid, None)
        for uid, new in self.api_pods.items():
            self._see_pod(uid, new)

    # What must hold after every step.

    @invariant()
    def every_pod_is_counted_exactly_once_where_it_belongs(self) -> None:
        found = [(uid, name) for name, pods in content_of(self.cache.snapshot)["pods"].items() for uid in pods]
        assert sorted(found) == sorted(self.counted.items())
        assert {info.uid: name for info, name in self.cache.placements()} == self.counted
        assert {uid for uid in UIDS if self.cache.is_assumed(uid)} == self.assumed.keys()
        assert (self.cache.pod_count, self.cache.assumed_count) == (len(self.counted), len(self.assumed))

    @invariant()
    def nodes_are_those_that_were_seen(self) -> None:
        known = {known.metadata.name: known for known in self.cache.snapshot.nodes if known is not None}
        assert known == self.seen_nodes
        assert self.cache.node_count == len(self.seen_nodes)

    @invariant()
    def the_columns_follow_from_the_objects(self) -> None:
        assert differences(self.cache) == []

    def teardown(self) -> None:
        """Once everything was delivered, what the API server holds is what counts, besides the pods still assumed."""
        while self.node_watch:
            self._see_node(*self.node_watch.popleft())
        while self.pod_watch:
            self._see_pod(*self.pod_watch.popleft())
        placed = {uid: info.node_name for uid, info in self.api_pods.items() if info.node_name}
        assert {uid: name for uid, name in self.counted.items() if uid not in self.assumed} == placed
        assert all(self.cache.node_of(uid) == name for uid, name in placed.items())
        assert self.seen_nodes == self.api_nodes
        assert differences(self.cache) == []

    def _any_of(self, data: st.DataObject, some: Iterable[str]) -> str:
        return data.draw(st.sampled_from(sorted(some)))

    def _waiting(self) -> set[str]:
        return {uid for uid, info in self.seen_pods.items() if not info.node_name} - self.counted.keys()

    def _write_pod(self, new: PodInfo) -> None:
        self.api_pods[new.uid] = new
        self.pod_watch.append((new.uid, new))

    def _bind(self, uid: str, name: str) -> bool:
        old = self.api_pods.get(uid)
        if old is None or old.node_name:
            return False
        self._write_pod(bound(old, name))
        return True

    def _forget(self, info: PodInfo) -> None:
        assert self.cache.forget(info) == (info.uid in self.assumed)
        if self.assumed.pop(info.uid, "not assumed") != "not assumed":
            del self.counted[info.uid]

    def _see_node(self, name: str, new: Node | None) -> None:
        if new is None:
            self.cache.remove_node(name)
            self.seen_nodes.pop(name, None)
        else:
            self.cache.set_node(new)
            self.seen_nodes[name] = new

    def _see_pod(self, uid: str, new: PodInfo | None) -> None:
        old = self.seen_pods.pop(uid, None)
        if new is not None:
            self.seen_pods[uid] = new
        gone = old if new is None or (old is not None and old.node_name and not new.node_name) else None
        if gone is not None:
            assert self.cache.remove_pod(gone) == (uid in self.assumed)
            self.counted.pop(uid, None)
            self.assumed.pop(uid, None)
        if new is not None and new.node_name:
            if old is not None and old.node_name:
                self.cache.update_pod(new)
            else:
                self.cache.add_pod(new)
            self.counted[uid] = new.node_name
            self.assumed.pop(uid, None)

    def _try(self, data: st.DataObject, depth: int) -> None:
        snapshot = self.cache.snapshot
        with snapshot.trial():
            for uid, again in data.draw(st.lists(st.tuples(uids, st.booleans()), max_size=4)):
                place = next((name for name in (*NODES, "unknown") if uid in self._pods_on(name)), None)
                if place is not None and not again:
                    snapshot.remove_pod(self._pods_on(place)[uid], place)
                elif place is None:
                    snapshot.add_pod(data.draw(pod_objects(uid)), data.draw(st.sampled_from((*NODES, "unknown"))))
                elif depth:
                    self._try(data, depth - 1)

    def _pods_on(self, name: str) -> dict[str, PodInfo]:
        row = self.cache.snapshot.row_of(name)
        return {} if row is None else self.cache.snapshot.pods[row]


TestInterleavings = Interleavings.TestCase
TestInterleavings.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)

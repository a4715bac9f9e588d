"""The whole engine under any interleaving of what users, informers, the API and time can do to it.

After every step the cache follows from its objects, every pod that waits for a node is somewhere, none is counted or
bound twice, and none is bound where it does not fit. In the end a scheduler that has just been started would find
nothing to do that this one has left.
"""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from muster.framework.cache.recount import differences
from muster.framework.contract import Status
from muster.framework.embedded.clock import VirtualClock
from muster.framework.model.pod_info import PodInfo
from muster.framework.scheduler.engine import Engine
from muster.framework.scheduler.ports import Ports
from muster.operator.kube.store import ResourceEventHandler
from muster.testing import engine_of
from tests.builders import NodeDict, PodDict
from tests.coscheduling.objects import make_group
from tests.coscheduling.world import configuration
from tests.scheduler.doorman import Doorman
from tests.scheduler.newcomers import GROUP, Newcomer, Unheeded, node_objects, pod_objects
from tests.scheduler.rival import Rival

pytestmark = pytest.mark.slow

MIN_MEMBERS = 2
LONG_AGO = "2026-01-01T00:00:00Z"

picks = st.integers(0, 10**6)


class Interleavings(Unheeded, RuleBasedStateMachine):
    """One scheduler on one API server."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = VirtualClock()
        self.tasks: set[asyncio.Task[None]] = set()
        self.misfits: list[str] = []

    @initialize(nodes=st.lists(node_objects(), max_size=3), grouped=st.booleans())
    def begin(self, nodes: list[NodeDict], grouped: bool) -> None:
        self.engine = self.start(self)
        [groups] = [handler for kind, handler in self.engine.object_handlers.items() if kind.resource == "PodGroup"]
        handlers: dict[str, ResourceEventHandler[Any]] = {
            "pods": self.engine.pod_handler,
            "nodes": self.engine.node_handler,
            "groups": groups,
        }
        self.api = Rival(handlers, self.loop)
        for node in nodes:
            self.api.put("nodes", node)
        if grouped:
            self.api.put("groups", make_group(GROUP, MIN_MEMBERS))
        for stream in self.api.streams.values():
            stream.relist()

    def start(self, outside: Any) -> Engine:
        """A scheduler that knows nothing yet."""
        ports = Ports(
            clock=self.clock,
            random=lambda: 1.0,
            spawn=outside.spawn,
            wake=lambda: None,
            binder=outside,
            conditions=outside,
            events=lambda name: outside,
        )
        return engine_of(configuration(more=("Doorman",)), [Doorman], ports)

    @property
    def doorman(self) -> Doorman:
        plugin = self.engine.algorithms["muster"].framework.plugins.plugins["Doorman"]
        assert isinstance(plugin, Doorman)
        return plugin

    # What users and other controllers do.

    @rule(pod=pod_objects())
    def create_a_pod(self, pod: PodDict) -> None:
        if f"default/{pod.name}" not in self.api.pods:
            self.api.put("pods", pod)

    @precondition(lambda self: self.api.pods)
    @rule(pick=picks)
    def delete_a_pod(self, pick: int) -> None:
        self.api.delete("pods", self.pick_pod(pick))

    @precondition(lambda self: self.api.pods)
    @rule(pick=picks, pod=pod_objects())
    def make_a_pod_anew(self, pick: int, pod: PodDict) -> None:
        key = self.pick_pod(pick)
        self.api.delete("pods", key)
        self.api.put("pods", PodDict(pod | {"metadata": {**pod["metadata"], "name": key.removeprefix("default/")}}))

    @precondition(lambda self: self.api.pods)
    @rule(pick=picks)
    def begin_to_delete_a_pod(self, pick: int) -> None:
        key = self.pick_pod(pick)
        pod = self.api.pods[key]
        self.api.store("pods", key, replace(pod, metadata=replace(pod.metadata, deletion_timestamp=LONG_AGO)))

    @precondition(lambda self: self.api.pods)
    @rule(pick=picks)
    def let_a_pod_end(self, pick: int) -> None:
        key = self.pick_pod(pick)
        pod = self.api.pods[key]
        if pod.spec.node_name:
            self.api.store("pods", key, replace(pod, status=replace(pod.status, phase="Succeeded")))

    @precondition(lambda self: self.api.pods)
    @rule(pick=picks)
    def open_the_gate_of_a_pod(self, pick: int) -> None:
        key = self.pick_pod(pick)
        pod = self.api.pods[key]
        self.api.store("pods", key, replace(pod, spec=replace(pod.spec, scheduling_gates=())))

    @precondition(lambda self: self.api.pods)
    @rule(pick=picks, label=st.sampled_from("12"))
    def label_a_pod(self, pick: int, label: str) -> None:
        key = self.pick_pod(pick)
        pod = self.api.pods[key]
        labels = {**pod.metadata.labels, "version": label}
        self.api.store("pods", key, replace(pod, metadata=replace(pod.metadata, labels=labels)))

    @precondition(lambda self: self.api.pods and self.api.nodes)
    @rule(pick=picks, node=picks)
    def another_scheduler_binds_a_pod(self, pick: int, node: int) -> None:
        key = self.pick_pod(pick)
        names = sorted(self.api.nodes)
        self.api.bind(key, self.api.pods[key].metadata.uid, names[node % len(names)])

    @rule(node=node_objects())
    def create_or_change_a_node(self, node: NodeDict) -> None:
        self.api.put("nodes", node)

    @precondition(lambda self: self.api.nodes)
    @rule(pick=picks)
    def delete_a_node(self, pick: int) -> None:
        names = sorted(self.api.nodes)
        self.api.delete("nodes", names[pick % len(names)])

    # What informers do.

    @precondition(lambda self: any(stream.watch for stream in self.api.streams.values()))
    @rule(kind=st.sampled_from(("pods", "pods", "nodes")), count=st.integers(1, 4))
    def deliver(self, kind: str, count: int) -> None:
        stream = self.api.streams[kind]
        for _ in range(min(count, len(stream.watch))):
            stream.deliver()
        self.breathe()

    @precondition(lambda self: any(stream.watch for stream in self.api.streams.values()))
    @rule()
    def deliver_everything(self) -> None:
        self.deliver_all()
        self.breathe()

    @rule(kind=st.sampled_from(("pods", "nodes")))
    def relist(self, kind: str) -> None:
        self.api.streams[kind].relist()
        self.breathe()

    # What the scheduler and its plugins do.

    @rule()
    def decide_once(self) -> None:
        self.engine.queue.flush(self.clock.now())
        self.engine.scheduler.step()
        self.breathe()

    @rule()
    def decide_while_there_is_something_to_decide(self) -> None:
        self.engine.queue.flush(self.clock.now())
        while self.engine.scheduler.step():
            self.breathe()

    @precondition(lambda self: self.api.requests)
    @rule(pick=picks)
    def carry_a_binding_out(self, pick: int) -> None:
        self.api.carry_out(pick % len(self.api.requests))

    @precondition(lambda self: self.api.requests)
    @rule(pick=picks)
    def answer_a_binding(self, pick: int) -> None:
        self.api.answer(pick % len(self.api.requests))
        self.breathe()

    @precondition(lambda self: self.api.requests)
    @rule(pick=picks)
    def refuse_a_binding(self, pick: int) -> None:
        self.api.refuse(pick % len(self.api.requests))
        self.breathe()

    @precondition(lambda self: bool(self.engine.waiting_pods))
    @rule(pick=picks, allowed=st.booleans())
    def settle_a_held_pod(self, pick: int, allowed: bool) -> None:
        waiting = list(self.engine.waiting_pods)
        chosen = waiting[pick % len(waiting)]
        if allowed:
            chosen.allow("Doorman")
        else:
            chosen.reject("Doorman", "go away")
        self.breathe()

    @rule(failures=st.integers(1, 2))
    def break_the_door(self, failures: int) -> None:
        self.doorman.failures = failures

    @rule(seconds=st.sampled_from((0.1, 1.0, 5.0, 31.0)))
    def let_time_pass(self, seconds: float) -> None:
        self.clock.move_to(self.clock.now() + seconds)
        self.breathe()

    # What must always be so.

    @invariant()
    def the_cache_follows_from_its_objects(self) -> None:
        if self.has_begun:
            assert differences(self.engine.cache) == []

    @invariant()
    def nothing_went_wrong_in_a_handler(self) -> None:
        if self.has_begun:
            assert [error for stream in self.api.streams.values() for error in stream.handler.errors] == []

    @invariant()
    def every_pod_that_waits_for_a_node_is_somewhere(self) -> None:
        if not self.has_begun:
            return
        for pod in self.api.streams["pods"].store.list():
            uid = pod.metadata.uid
            known = self.engine.queue.contents.get(uid) is not None, self.engine.cache.get(uid) is not None
            if pod.spec.node_name:
                assert known == (False, True), f"{uid} is bound"
            elif pod.metadata.deletion_timestamp is None:
                assert any(known), f"{uid} is lost"

    @invariant()
    def pods_that_are_gone_are_nowhere(self) -> None:
        if self.has_begun:
            alive = {pod.metadata.uid for pod in self.api.streams["pods"].store.list()}
            waiting = {line.uid for line in self.engine.queue.contents.dump()}
            held = {each.pod.uid for each in self.engine.waiting_pods}
            counted = {info.uid for info, _ in self.engine.cache.placements()}
            assert (waiting | counted) - alive - held == set()

    @invariant()
    def nobody_is_counted_or_bound_twice(self) -> None:
        if self.has_begun:
            for uids in (
                [uid for pods in self.engine.cache.snapshot.pods for uid in pods],
                [line.uid for line in self.engine.queue.contents.dump()],
                [uid for uid, _ in self.api.bound],
                [request.pod.uid for request in self.api.requests],
            ):
                assert [uid for uid, times in Counter(uids).items() if times > 1] == []

    @invariant()
    def nobody_is_bound_where_it_does_not_fit(self) -> None:
        assert self.misfits == []

    # What must be so in the end.

    def teardown(self) -> None:
        try:
            if self.has_begun:
                self.doorman.open, self.doorman.failures = True, 0
                for _ in range(40):
                    self.let_all_be_well()
                    self.clock.move_to(self.clock.now() + 1.0)
                    self.breathe()
                for check in (self.every_pod_that_waits_for_a_node_is_somewhere, self.nobody_is_counted_or_bound_twice):
                    check()
                assert self.engine.cache.assumed_count == 0
                assert len(self.engine.waiting_pods) == 0
                assert self.what_a_new_scheduler_would_do() == []
        finally:
            for task in self.tasks:
                task.cancel()
            self.breathe()
            self.loop.close()

    def let_all_be_well(self) -> None:
        """Deliver, decide, allow and answer whatever there is."""
        while True:
            self.deliver_all()
            for waiting in self.engine.waiting_pods:
                waiting.allow("Doorman")
            self.breathe()
            while self.api.requests:
                self.api.answer(0)
            self.breathe()
            self.engine.queue.flush(self.clock.now())
            if not self.engine.scheduler.step() and not any(stream.watch for stream in self.api.streams.values()):
                return
            self.breathe()

    def what_a_new_scheduler_would_do(self) -> list[tuple[str, str]]:
        """The bindings that a scheduler started on what the API has now would ask for."""
        other = Newcomer(self.loop)
        engine = self.start(other)
        plugin = engine.algorithms["muster"].framework.plugins.plugins["Doorman"]
        assert isinstance(plugin, Doorman)
        plugin.open = True
        [groups] = [handler for kind, handler in engine.object_handlers.items() if kind.resource == "PodGroup"]
        for kind, handler in (("groups", groups), ("nodes", engine.node_handler), ("pods", engine.pod_handler)):
            for obj in self.api.streams[kind].store.list():
                handler.on_add(obj)
        while engine.scheduler.step():
            self.breathe()
        self.breathe()
        return other.binds

    def deliver_all(self) -> None:
        """Tell the informers of all that has changed."""
        for stream in self.api.streams.values():
            while stream.watch:
                stream.deliver()

    # The outside of the engine.

    @property
    def has_begun(self) -> bool:
        return hasattr(self, "api")

    def pick_pod(self, pick: int) -> str:
        keys = sorted(self.api.pods)
        return keys[pick % len(keys)]

    def breathe(self) -> None:
        """Let tasks run as far as they come."""
        self.loop.run_until_complete(hops())

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self.loop.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.ended)

    def ended(self, task: "asyncio.Task[None]") -> None:
        self.tasks.discard(task)
        if not task.cancelled():
            task.result()

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        self.look_whether_it_fits(pod, node_name)
        return await self.api.ask_to_bind(pod, node_name)

    def look_whether_it_fits(self, pod: PodInfo, node_name: str) -> None:
        """Whether the node, as the scheduler knows it at this moment, has capacity for the pod among all others."""
        snapshot = self.engine.cache.snapshot
        row = snapshot.live_row_of(node_name)
        if row is None:
            self.misfits.append(f"{pod.key} on {node_name}, which is gone")
            return
        resources = snapshot.resources
        cpu = resources.index("cpu")
        if pod.signature.requests.get("cpu") and resources.requested[cpu, row] > resources.allocatable[cpu, row]:
            self.misfits.append(f"{pod.key} on {node_name}, which has no cpu left")
        if resources.pod_count[row] > resources.allowed_pods[row]:
            self.misfits.append(f"{pod.key} on {node_name}, which takes no more pods")
        ports = Counter(port for other in snapshot.pods[row].values() for port in other.signature.host_ports)
        if any(ports[port] > 1 for port in pod.signature.host_ports):
            self.misfits.append(f"{pod.key} on {node_name}, where its port is taken")


async def hops() -> None:
    for _ in range(12):
        await asyncio.sleep(0)


TestInterleavings = Interleavings.TestCase
TestInterleavings.settings = settings(max_examples=100, stateful_step_count=100)

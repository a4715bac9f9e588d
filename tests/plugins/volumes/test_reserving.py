"""VolumeBinding's reservations: what one pod was given no other gets, and what is given back is as it was before."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.framework.contract import CycleState, Status
from muster.framework.model.claims import BOUND_BY_CONTROLLER, SELECTED_NODE
from muster.plugins.volumes.binding import VolumeBinding
from muster.plugins.volumes.ledger import VolumeLedger
from tests.builders import PodDict, make_node, make_pod
from tests.plugins.cluster import Cluster, info
from tests.storage import make_claim, make_class, make_volume

LOCAL = make_class("local", provisioner="kubernetes.io/no-provisioner")


class World:
    """A cluster of nodes a and b, and the pods that were tried in it."""

    def __init__(self, *objects: Any) -> None:
        self.cluster = Cluster(make_node("a"), make_node("b"))
        self.cluster.keep(LOCAL, make_class("late"), *objects)
        self.plugin = self.cluster.plugin(VolumeBinding)
        self.states: dict[str, CycleState] = {}

    @property
    def ledger(self) -> VolumeLedger:
        return self.plugin._ledger

    def nodes_for(self, pod: PodDict) -> list[str]:
        """The nodes that can have the pod's volumes."""
        rejected = self.cluster.rejected(self.plugin, pod)
        return [name for name in ("a", "b") if name not in rejected]

    def reserve(self, pod: PodDict, node: str) -> Status | None:
        """Decides about the pod, and reserves."""
        nodes, state = self.cluster.view(), CycleState()
        assert self.plugin.pre_filter(state, info(pod), nodes) is None
        self.plugin.filter(state, info(pod), nodes)
        self.states[pod.name] = state
        return self.plugin.reserve(state, info(pod), node)

    def unreserve(self, pod: PodDict, node: str) -> None:
        self.plugin.unreserve(self.states[pod.name], info(pod), node)

    def assumed(self) -> tuple[object, object]:
        """Everything that is assumed."""
        return self.ledger.volumes.assumed(), self.ledger.claims.assumed()


def pod(name: str, *claims: str) -> PodDict:
    made = make_pod(name)
    for claim in claims or (name,):
        made.claim(claim)
    return made


def claims(*names: str, storage_class: str = "local") -> list[Any]:
    return [make_claim(name, storage_class=storage_class) for name in names]


def test_a_volume_is_given_to_one_pod_and_is_free_again_when_that_gives_it_back() -> None:
    world = World(*claims("p", "q"), make_volume("on-a", storage_class="local").on("a"))
    before = world.assumed()
    assert world.reserve(pod("p"), "a") is None
    volume = world.ledger.volumes.get("on-a")
    assert volume is not None
    assert volume.spec.claim_ref is not None
    assert (volume.spec.claim_ref.name, volume.spec.claim_ref.uid) == ("p", "claim-default-p")
    assert volume.metadata.annotations == {BOUND_BY_CONTROLLER: "yes"}
    assert world.nodes_for(pod("q")) == []
    assert world.nodes_for(pod("p")) == ["a"]

    world.unreserve(pod("p"), "a")
    assert world.assumed() == before
    assert world.nodes_for(pod("q")) == ["a"]
    world.unreserve(pod("p"), "a")
    assert world.nodes_for(pod("q")) == ["a"]


def test_a_volume_that_was_kept_for_the_claim_stays_the_users_own_doing() -> None:
    claim = make_claim("p", storage_class="local")
    world = World(claim, make_volume("kept", storage_class="local").kept_for(claim, uid=False))
    world.reserve(pod("p"), "a")
    volume = world.ledger.volumes.get("kept")
    assert volume is not None
    assert volume.spec.claim_ref is not None
    assert volume.spec.claim_ref.uid == "claim-default-p"
    assert volume.metadata.annotations == {}


def test_a_claim_is_made_for_the_first_pods_node_and_others_have_to_follow() -> None:
    world = World(*claims("data", storage_class="late"))
    assert world.reserve(pod("p", "data"), "b") is None
    claim = world.ledger.claims.get("default/data")
    assert claim is not None
    assert claim.metadata.annotations == {SELECTED_NODE: "b"}
    assert world.nodes_for(pod("q", "data")) == ["b"]
    world.unreserve(pod("p", "data"), "b")
    assert world.nodes_for(pod("q", "data")) == ["a", "b"]


def test_a_second_pod_holds_on_to_the_claim_when_the_first_gives_it_back() -> None:
    world = World(*claims("data", storage_class="late"))
    world.reserve(pod("p", "data"), "b")
    world.reserve(pod("q", "data"), "b")
    world.unreserve(pod("p", "data"), "b")
    assert world.nodes_for(pod("r", "data")) == ["b"]
    world.unreserve(pod("q", "data"), "b")
    assert world.nodes_for(pod("r", "data")) == ["a", "b"]
    assert world.assumed() == ({}, {})


def test_nothing_is_reserved_where_something_has_come_in_between() -> None:
    world = World(*claims("p", "q"), make_volume("on-a", storage_class="local").on("a"))
    nodes, late = world.cluster.view(), CycleState()
    assert world.plugin.pre_filter(late, info(pod("q")), nodes) is None
    world.reserve(pod("p"), "a")
    before = world.assumed()
    refused = Status.unschedulable("node(s) didn't find available persistent volumes to bind")
    assert world.plugin.reserve(late, info(pod("q")), "a") == refused
    assert world.assumed() == before


def test_a_claim_that_changed_meanwhile_is_not_assumed_and_neither_is_anything_else() -> None:
    world = World(*claims("here"), *claims("made", storage_class="late"))
    world.cluster.keep(make_volume("on-a", storage_class="local").on("a"))
    nodes, state, both = world.cluster.view(), CycleState(), pod("p", "here", "made")
    assert world.plugin.pre_filter(state, info(both), nodes) is None
    changed = make_claim("made", storage_class="late")
    changed["metadata"]["resourceVersion"] = "2"
    world.cluster.keep(changed)
    out_of_sync = Status.failure('"default/made" is out of sync (stored: 2, assume: 1)')
    assert world.plugin.reserve(state, info(both), "a") == out_of_sync
    assert world.assumed() == ({}, {})


def test_a_report_of_the_api_ends_an_assumption() -> None:
    world = World(*claims("p", "q"), make_volume("on-a", storage_class="local").on("a"))
    world.reserve(pod("p"), "a")
    volume = make_volume("on-a", storage_class="local").on("a")
    world.cluster.keep(volume)
    assert world.nodes_for(pod("q")) == []
    volume["metadata"]["resourceVersion"] = "2"
    world.cluster.keep(volume)
    assert world.nodes_for(pod("q")) == ["a"]
    world.unreserve(pod("p"), "a")
    assert world.nodes_for(pod("q")) == ["a"]
    assert world.assumed() == ({}, {})


def test_a_volume_that_goes_while_it_is_assumed_is_gone() -> None:
    volume = make_volume("on-a", storage_class="local").on("a")
    world = World(*claims("p", "q"), volume)
    world.reserve(pod("p"), "a")
    world.cluster.drop(volume)
    world.unreserve(pod("p"), "a")
    assert world.nodes_for(pod("q")) == []
    assert world.assumed() == ({}, {})


@pytest.mark.parametrize("node", ["a", "gone"])
def test_pods_that_leave_no_choice_reserve_nothing(node: str) -> None:
    world = World(make_claim("bound", volume="v"), make_volume("v"))
    assert world.reserve(pod("p", "bound"), node) is None
    assert world.plugin.pre_bind_pre_flight(world.states["p"], info(pod("p", "bound")), node) == Status.skip()
    assert world.plugin.reserve(CycleState(), info(make_pod("plain")), node) is None
    assert world.plugin.pre_bind_pre_flight(CycleState(), info(make_pod("plain")), node) == Status.skip()
    assert world.assumed() == ({}, {})


PODS = [pod(name, *mounts) for name, mounts in {"p": "x", "q": "y", "r": "xy", "s": "z", "t": "zx"}.items()]


@given(st.lists(st.tuples(st.sampled_from(PODS), st.sampled_from("ab")), max_size=12), st.randoms())
def test_reservations_that_are_given_back_in_any_order_leave_nothing_behind(
    steps: Sequence[tuple[PodDict, str]], random: Any
) -> None:
    volumes = [make_volume(f"{node}-{n}", storage_class="local").on(node) for node in "ab" for n in range(2)]
    world = World(*claims("x", "y"), *claims("z", storage_class="late"), *volumes)
    everywhere = {made.name: world.nodes_for(made) for made in PODS}
    held: dict[str, tuple[PodDict, str]] = {}
    for made, node in steps:
        if made.name in held:
            world.unreserve(*held.pop(made.name))
        elif node in world.nodes_for(made):
            assert world.reserve(made, node) is None
            held[made.name] = (made, node)
    leaving = list(held.values())
    random.shuffle(leaving)
    for made, node in leaving:
        world.unreserve(made, node)
    assert world.assumed() == ({}, {})
    assert {made.name: world.nodes_for(made) for made in PODS} == everywhere

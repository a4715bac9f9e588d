"""Results kept from pod to pod equal fresh ones, whatever happens to the cluster in between.

One search lives through all changes; after each of them it must answer like a search that has just been made. So the
oracle is the same code with nothing kept, which the tests of plugins and the recorded decisions hold to the rules.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from muster.framework.config import ResolvedProfile
from muster.framework.config.merge import PluginRef
from muster.framework.contract import Plugin, Status
from muster.framework.contract.plugin import POINTS
from muster.framework.model.pod_info import PodInfo
from muster.framework.runtime.attempt_state import AttemptState
from muster.framework.scheduler.algorithm import Algorithm
from muster.framework.snapshot.snapshot import Snapshot
from muster.plugins.catalog import DEFAULTS, IN_TREE
from tests.builders import NodeDict, PodDict, make_node, make_pod
from tests.plugins.cluster import info, typed
from tests.runtime.frameworks import algorithm_of
from tests.runtime.picky import Choosy, Crowded, Late, Moody, Overflowing, Relative

pytestmark = pytest.mark.slow

NODES = tuple(f"n{number}" for number in range(6))
PODS = (
    make_pod("plain"),
    make_pod("less").requests(cpu="500m"),
    make_pod("brown").requests(cpu="500m"),
    make_pod("big").requests(cpu="2", memory="4Gi"),
    make_pod("port").host_port(80),
    make_pod("tolerant").tolerate("spot").requests(cpu="1"),
    make_pod("zoned").prefer_nodes(30, {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["x"]}),
    make_pod("pinned").node_selector({"topology.kubernetes.io/zone": "y"}),
)


@dataclass(frozen=True)
class Chosen:
    """The plugins of a profile."""

    resolved: ResolvedProfile
    registry: Mapping[str, type[Plugin]]


def profile(*more: type[Plugin], sampled: int | None = None) -> Chosen:
    """The default plugins with `more` behind them, all of which score with weight 2."""
    classes = [*(IN_TREE[name] for name, _ in DEFAULTS), *more]
    weights = dict(DEFAULTS)
    points = {
        point: tuple(PluginRef(each.name, weights.get(each.name, 2)) for each in classes if issubclass(each, base))
        for point, base in POINTS.items()
    }
    resolved = ResolvedProfile("muster", sampled, points, {}, ())
    return Chosen(resolved, {each.name: each for each in classes})


def search_with(one: Chosen, snapshot: Snapshot) -> Algorithm:
    """A search that has kept nothing yet."""
    return algorithm_of(one.resolved, one.registry, snapshot)


def findings(search: Algorithm, snapshot: Snapshot, pod: PodInfo) -> tuple[object, ...]:
    """All that a search has to say of a pod."""
    state = AttemptState()
    found = search.find_nodes_that_fit(state, pod)
    reported: list[object] = [found.rows.tolist(), found.status, found.next_start]
    if found.filtered is not None:
        reported.append(list(found.filtered.diagnose(snapshot).statuses()))
    if found.diagnosis is not None:
        reported.append(found.diagnosis.unschedulable_plugins)
    if len(found.rows):
        scored = search.prioritize_nodes(state, pod, found.rows)
        if isinstance(scored, Status):
            reported.append(scored)
        else:
            reported.append({name: scores.tolist() for name, scores in scored.by_plugin.items()})
            reported.append(scored.totals.tolist())
    return tuple(reported)


@st.composite
def nodes(draw: st.DrawFn) -> NodeDict:
    node = make_node(draw(st.sampled_from(NODES)), cpu=draw(st.sampled_from(("1", "4"))))
    node.zone(draw(st.sampled_from("xyz")))
    if draw(st.booleans()):
        node.taint("spot", effect=draw(st.sampled_from(("NoSchedule", "PreferNoSchedule"))))
    if draw(st.booleans()):
        node.unschedulable()
    if draw(st.booleans()):
        node.image("pause:3.10", size=draw(st.sampled_from((100 << 20, 900 << 20))))
    return node


class Keeping(RuleBasedStateMachine):
    """Changes a cluster under two searches that keep what they can, and asks them about pods of every signature."""

    def __init__(self) -> None:
        super().__init__()
        self.snapshot = Snapshot()
        self.placed: dict[str, tuple[PodInfo, str]] = {}
        self.number = 0
        self.profiles = [
            profile(),
            profile(Moody, Relative),
            profile(Choosy, Late, Overflowing),
            profile(Crowded, Choosy),
        ]
        self.searches = [search_with(each, self.snapshot) for each in self.profiles]
        self.pods = [info(pod) for pod in PODS]

    def place(self, pod: PodDict, node: str) -> None:
        self.number += 1
        name = f"{pod.name}-{self.number}"
        placed = info(PodDict(pod | {"metadata": pod["metadata"] | {"name": name, "uid": name}}))
        self.snapshot.add_pod(placed, node)
        self.placed[name] = placed, node

    @rule(node=nodes())
    def set_node(self, node: NodeDict) -> None:
        self.snapshot.set_node(typed(node))

    @rule(name=st.sampled_from(NODES))
    def remove_node(self, name: str) -> None:
        self.snapshot.remove_node(name)

    @rule(pod=st.sampled_from(PODS), node=st.sampled_from(NODES))
    def add_pod(self, pod: PodDict, node: str) -> None:
        self.place(pod, node)

    @precondition(lambda self: self.placed)
    @rule(data=st.data())
    def remove_pod(self, data: st.DataObject) -> None:
        pod, node = self.placed.pop(data.draw(st.sampled_from(sorted(self.placed))))
        self.snapshot.remove_pod(pod, node)

    @rule(pods=st.lists(st.tuples(st.sampled_from(PODS), st.sampled_from(NODES)), min_size=1, max_size=3))
    def try_and_undo(self, pods: list[tuple[PodDict, str]]) -> None:
        before = dict(self.placed)
        with self.snapshot.trial():
            for pod, node in pods:
                self.place(pod, node)
            self.all_is_as_if_found_out_anew()
        self.placed = before

    @invariant()
    def all_is_as_if_found_out_anew(self) -> None:
        for kept, one in zip(self.searches, self.profiles, strict=True):
            for pod in self.pods:
                anew = search_with(one, self.snapshot)
                assert findings(kept, self.snapshot, pod) == findings(anew, self.snapshot, pod)


Keeping.TestCase.settings = settings(max_examples=15, stateful_step_count=15, deadline=None)
TestKeeping = Keeping.TestCase


def test_many_pods_and_few_changes_leave_what_is_kept_right() -> None:
    random, snapshot = Random(7), Snapshot()
    for number in range(200):
        snapshot.set_node(typed(make_node(f"n{number}").zone("xyz"[number % 3])))
    one = profile(Relative)
    kept, pods = search_with(one, snapshot), [info(pod) for pod in PODS]
    for number in range(300):
        pod = random.choice(PODS)
        uid = f"{pod.name}-{number}"
        snapshot.add_pod(info(PodDict(pod | {"metadata": pod["metadata"] | {"uid": uid}})), f"n{random.randrange(200)}")
        asked = random.choice(pods)
        assert findings(kept, snapshot, asked) == findings(search_with(one, snapshot), snapshot, asked)


def test_a_score_that_has_become_invalid_is_refused_and_counts_again_when_it_is_right() -> None:
    snapshot = Snapshot()
    for name in "abcdefgh":
        snapshot.set_node(typed(make_node(name)))
    search, pod = search_with(profile(Overflowing), snapshot), info(make_pod("asked"))
    first, second, third = (info(make_pod(name)) for name in ("first", "second", "third"))

    def rank() -> object:
        state = AttemptState()
        scored = search.prioritize_nodes(state, pod, search.find_nodes_that_fit(state, pod).rows)
        return scored.message if isinstance(scored, Status) else scored.by_plugin["Overflowing"].tolist()[:3]

    assert rank() == [0, 0, 0]
    snapshot.add_pod(first, "a")
    assert rank() == [120, 0, 0]
    snapshot.add_pod(second, "a")
    refusal = (
        'applying score defaultWeights on Score plugins: plugin "Overflowing" returns an invalid score 120, '
        "it should in the range of [0, 100] after normalizing"
    )
    assert rank() == refusal
    assert rank() == refusal
    snapshot.add_pod(third, "b")
    assert rank() == refusal
    snapshot.remove_pod(second, "a")
    assert rank() == [120, 120, 0]


def test_the_list_of_passing_nodes_stays_the_same_array_while_it_is_right() -> None:
    snapshot = Snapshot()
    for name in ("a", "b"):
        snapshot.set_node(typed(make_node(name, cpu="1")))
    search, pod = search_with(profile(), snapshot), info(make_pod("asked").requests(cpu="500m"))
    rows = search.find_nodes_that_fit(AttemptState(), pod).rows
    snapshot.add_pod(info(make_pod("first").requests(cpu="500m")), "a")
    assert search.find_nodes_that_fit(AttemptState(), pod).rows is rows
    snapshot.add_pod(info(make_pod("second").requests(cpu="500m")), "a")
    assert search.find_nodes_that_fit(AttemptState(), pod).rows.tolist() == [1]
    np.testing.assert_array_equal(rows, [0, 1])


@pytest.mark.parametrize("sampled", [5, 0, None])
def test_a_share_of_the_nodes_is_ranked_as_if_anew(sampled: int | None) -> None:
    snapshot = Snapshot()
    for number in range(150):
        snapshot.set_node(typed(make_node(f"n{number:03}")))
    one = profile(sampled=sampled)
    kept, anew, pod = search_with(one, snapshot), search_with(one, snapshot), info(make_pod("p").requests(cpu="1"))
    for number in range(20):
        anew_found, kept_found = (
            anew.find_nodes_that_fit(AttemptState(), pod),
            kept.find_nodes_that_fit(AttemptState(), pod),
        )
        assert kept_found.rows.tolist() == anew_found.rows.tolist()
        snapshot.add_pod(info(make_pod(f"x{number}").requests(cpu="4")), f"n{number * 7:03}")
        kept.prioritize_nodes(AttemptState(), pod, kept_found.rows)

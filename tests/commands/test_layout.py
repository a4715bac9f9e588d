"""Tables: kubectl's plain columns, at the width of a terminal and in a pipe the same."""

from datetime import UTC, datetime

import msgspec
import pytest

from muster.framework.contract import Status
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.scheduler.explain import Explanation
from muster.operator.explain.group_trial import TriedGroup
from muster.operator.explain.group_views import view_of
from muster.operator.explain.groups import group_row, render_group
from muster.operator.explain.layout import lines
from muster.operator.explain.live import Explained
from muster.operator.explain.tables import render
from muster.operator.simulate.evictions import Evicted
from muster.plugins.coscheduling.api import PodGroup
from muster.plugins.coscheduling.kind import POD_GROUP_KIND
from tests.builders import make_pod

_WHY = (
    "pod group team-of-nine/first-gang is unschedulable, 0 of the 3 members that it needs fit: "
    "0/5 nodes are available: 5 Insufficient cpu."
)
_NOW = datetime(2026, 11, 21, 9, 5, tzinfo=UTC).timestamp()
_DOCUMENT = {
    "metadata": {"name": "first-gang", "namespace": "team-of-nine"},
    "spec": {"minMember": 3},
    "status": {
        "phase": "Scheduling",
        "scheduleStartTime": "2026-11-21T09:00:00Z",
        "conditions": [{"type": "Scheduled", "status": "False", "reason": "Unschedulable", "message": _WHY}],
    },
}
_GROUP = msgspec.json.decode(msgspec.json.encode(_DOCUMENT), type=PodGroup)


def test_columns_are_three_spaces_apart_and_no_line_has_trailing_space() -> None:
    rows = [("a", "Pending", ""), ("a-much-longer-name", "Running", "on the way")]
    assert list(lines(("NAME", "PHASE", "MESSAGE"), rows)) == [
        "NAME                 PHASE     MESSAGE",
        "a                    Pending",
        "a-much-longer-name   Running   on the way",
    ]


def test_nothing_that_a_cluster_says_reaches_the_terminal_as_a_control_sequence() -> None:
    *_, line = lines(("NAME",), [("red \x1b[31m\nand a second line",)])
    assert line == r"red \x1b[31m\nand a second line"


def _member(name: str, message: str = "", *, node: str = "") -> Pod:
    pod = make_pod(name)
    pod["spec"]["nodeName"] = node
    condition = {"type": "PodScheduled", "status": "False", "message": message}
    pod["status"] = {"phase": "Running" if node else "Pending", "conditions": [] if node else [condition]}
    return msgspec.convert(dict(pod), Pod)


def _trial(reason: str) -> TriedGroup:
    return TriedGroup(reason, [], "", "", "", (), None, None, False, [], [], place=1, ahead=(), waiting=0)


def _group_lines(*members: Pod, wide: bool = False) -> list[str]:
    return list(render_group(view_of(POD_GROUP_KIND, _GROUP, members), now=_NOW, wide=wide))


def test_each_member_of_a_group_has_a_line_with_whole_names_and_messages_where_the_output_is_wide() -> None:
    assert _group_lines(_member("first-gang-worker-0", _WHY), wide=True) == [
        "team-of-nine/first-gang needs 3 pods, 1 exists, 0 have nodes",
        f"Unschedulable: {_WHY}",
        "It has waited for 5m.",
        "",
        "POD                   PHASE     NODE     MESSAGE",
        f"first-gang-worker-0   Pending   <none>   {_WHY}",
    ]


def test_like_members_of_a_group_have_one_line_whatever_names_their_messages_have() -> None:
    waiting = [_member(f"w-{number:03}", f"pre-filter pod w-{number:03} waits") for number in range(198)]
    placed = [_member(f"p-{number}", node=f"node-{number}") for number in range(2)]
    assert _group_lines(*waiting, *placed)[3:] == [
        "",
        "PODS   PHASE     NODES            WHICH                              MESSAGE",
        "2      Running   node-0, node-1   p-0, p-1",
        "198    Pending   <none>           w-000, w-001, w-002 and 195 more   pre-filter pod w-000 waits",
    ]


@pytest.mark.parametrize(
    ("message", "brief"),
    [
        ("pod group team-of-nine/first-gang is unschedulable, 0 of the 3 members fit", "0 of the 3 members fit"),
        ("pod group team-of-nine/first-gang has been held by ann", "has been held by ann"),
        ("pod group team-of-nine/other is unschedulable, so", "pod group team-of-nine/other is unschedulable, so"),
        ("1 of 3 pods exists", "1 of 3 pods exists"),
    ],
)
def test_the_message_in_a_list_of_groups_does_not_repeat_the_group_and_its_state(message: str, brief: str) -> None:
    condition = {"type": "Scheduled", "status": "False", "reason": "Unschedulable", "message": message}
    document = {**_DOCUMENT, "status": {"conditions": [condition]}}
    group = view_of(POD_GROUP_KIND, msgspec.json.decode(msgspec.json.encode(document), type=PodGroup), [])
    assert group_row(group, everywhere=False, wide=False, now=_NOW)[-2:] == ("Unschedulable", brief)


def test_a_message_that_the_group_or_the_trial_has_already_is_not_repeated() -> None:
    same = _trial(_WHY)
    shown = list(render_group(view_of(POD_GROUP_KIND, _GROUP, [_member("a", _WHY)]), same, now=_NOW))
    assert shown[3:] == [
        "Tried now: the same.",
        "",
        "PODS   PHASE     NODES    WHICH   MESSAGE",
        "1      Pending   <none>   a       as above",
    ]
    other = list(render_group(view_of(POD_GROUP_KIND, _GROUP, [_member("a", "it")]), _trial("it"), now=_NOW))
    assert (other[3], other[-1]) == ("Tried now: it", "1      Pending   <none>   a       as above")


def test_members_with_another_message_have_a_line_of_their_own() -> None:
    shown = _group_lines(_member("a", "waits for a pod b"), _member("b", "waits for a"), _member("c", "waits for a"))
    assert [line.split()[0] for line in shown[5:]] == ["1", "2"]


def test_one_of_a_kind_is_reported_in_the_singular() -> None:
    document = {**_DOCUMENT, "spec": {"minMember": 1}}
    group = msgspec.json.decode(msgspec.json.encode(document), type=PodGroup)
    [first, *_] = render_group(view_of(POD_GROUP_KIND, group, [_member("a", node="one")]), now=_NOW)
    assert first == "team-of-nine/first-gang needs 1 pod, 1 exists, 1 has a node"


def test_a_group_without_a_minimum_does_not_report_that_it_needs_0_pods() -> None:
    group = msgspec.json.decode(msgspec.json.encode({**_DOCUMENT, "spec": {}}), type=PodGroup)
    [first, *_] = render_group(view_of(POD_GROUP_KIND, group, []), now=_NOW)
    assert first == "team-of-nine/first-gang needs no number of pods, 0 exist, 0 have nodes"


def test_the_scores_of_the_best_nodes_fit_a_terminal_and_none_is_lost() -> None:
    plugins = [f"{name}Plugin" for name in ("NodeResources", "InterPodAffinity", "PodTopologySpread", "ImageLocality")]
    scores = {f"node-of-a-pool-{n}": {plugin: n + at for at, plugin in enumerate(plugins)} for n in range(2)}
    for name in scores:
        scores[name] |= {f"SaysTheSame{number}": 100 for number in range(4)}
    found = Explanation(tuple(scores), {}, scores, dict(zip(scores, (9, 8), strict=True)), chosen="node-of-a-pool-0")
    pod = PodInfo(msgspec.convert(dict(make_pod("web")), Pod))
    shown = list(render(Explained(pod, "muster", 2, found, "", "", ())))[3:]
    assert shown == [
        "NODE               TOTAL   NodeResourcesPlugin   InterPodAffinityPlugin",
        "node-of-a-pool-0   9       0                     1",
        "node-of-a-pool-1   8       1                     2",
        "",
        "NODE               PodTopologySpreadPlugin   ImageLocalityPlugin",
        "node-of-a-pool-0   2                         3",
        "node-of-a-pool-1   3                         4",
        "",
        "The same on each of them: SaysTheSame0 100, SaysTheSame1 100, SaysTheSame2 100,",
        "SaysTheSame3 100",
    ]
    assert max(map(len, shown)) <= 80
    [_, wide, *_] = "\n".join(render(Explained(pod, "muster", 2, found, "", "", ()), wide=True)).split("\n\n")
    assert wide.splitlines()[0].split() == ["NODE", "TOTAL", *scores["node-of-a-pool-0"]]


def test_a_table_says_which_plugin_a_score_is_of_and_why_nodes_are_rejected() -> None:
    plugins = ["NodeResourcesFit", "NodeResourcesBalancedAllocation"]
    scores = {"node-1": dict.fromkeys(plugins, 1)}
    rejected = {f"n{index}": Status.unschedulable(_WHY).by("Own") for index in range(5)}
    found = Explanation(("node-1",), rejected, scores, {"node-1": 5}, chosen="node-1")
    pod = PodInfo(msgspec.convert(dict(make_pod("web")), Pod))
    shown = list(render(Explained(pod, "muster", 6, found, "", "", ())))
    assert shown[3:] == [
        f"REJECTED   PLUGIN   {'REASON'.ljust(len(_WHY))}   WHICH",
        f"5          Own      {_WHY}   n0, n1, n2 and 2 more",
        "",
        "NODE     TOTAL   NodeResourcesFit   NodeResourcesBalancedAllocation",
        "node-1   5       1                  1",
    ]
    assert "n0, n1, n2, n3, n4" in "\n".join(render(Explained(pod, "muster", 6, found, "", "", ()), wide=True))


def test_why_shows_which_pods_a_pod_would_evict_where_and_which_budget_forbids_it() -> None:
    web = PodInfo(msgspec.convert(make_pod("web"), Pod))
    evicted = [
        Evicted("default/guarded", 5, "one", "default/web", group=False, budget="default/db"),
        Evicted("default/free", 0, "one", "default/web", group=False, budget=""),
    ]
    explained = Explained(web, "muster", 1, Explanation(feasible=()), gated="", group="", evicted=evicted)
    assert list(render(explained))[1:] == [
        "For default/web would be evicted: default/guarded (priority 5) on one, default/free (priority 0) on one",
        "PodDisruptionBudget default/db does not let default/guarded go, and is overruled",
    ]

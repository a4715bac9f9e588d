"""Tables: kubectl's plain columns, at the width of a terminal and in a pipe the same."""

from datetime import UTC, datetime

import msgspec

from muster.framework.contract import Status
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.scheduler.explain import Explanation
from muster.operator.explain.group_views import view_of
from muster.operator.explain.groups import render_group
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


def test_a_group_and_its_members_have_a_line_each_with_whole_names_and_messages() -> None:
    member = make_pod("first-gang-worker-0")
    member["status"] = {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "message": _WHY}],
    }
    told = list(render_group(view_of(POD_GROUP_KIND, _GROUP, [msgspec.convert(dict(member), Pod)]), now=_NOW))
    assert told == [
        "team-of-nine/first-gang needs 3 pods, 1 exist, 0 have nodes",
        f"Unschedulable: {_WHY}",
        "It has waited for 5m.",
        "",
        "POD                   PHASE     NODE     MESSAGE",
        f"first-gang-worker-0   Pending   <none>   {_WHY}",
    ]


def test_a_table_says_which_plugin_a_score_is_of_and_why_nodes_are_rejected() -> None:
    plugins = ["NodeResourcesFit", "NodeResourcesBalancedAllocation"]
    scores = {"node-1": dict.fromkeys(plugins, 1)}
    rejected = {f"n{index}": Status.unschedulable(_WHY).by("Own") for index in range(5)}
    found = Explanation(("node-1",), rejected, scores, {"node-1": 5}, chosen="node-1")
    pod = PodInfo(msgspec.convert(dict(make_pod("web")), Pod))
    told = list(render(Explained(pod, "muster", 6, found, "", "", ())))
    assert told[3:] == [
        f"REJECTED   PLUGIN   {'REASON'.ljust(len(_WHY))}   WHICH",
        f"5          Own      {_WHY}   n0, n1, n2 and 2 more",
        "",
        "NODE     TOTAL   NodeResourcesFit   NodeResourcesBalancedAllocation",
        "node-1   5       1                  1",
    ]
    assert "n0, n1, n2, n3, n4" in "\n".join(render(Explained(pod, "muster", 6, found, "", "", ()), wide=True))


def test_why_tells_whom_a_pod_would_evict_where_and_which_budget_forbids_it() -> None:
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

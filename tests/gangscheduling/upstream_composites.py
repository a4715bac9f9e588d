"""Cases of kube-scheduler's own integration tests of composite pod groups, written as in `upstream_cases`.

Besides: `composite job 2 prio=100` (minGroupCount, or `-` for a basic one), `parent=job` for its parts, `dissolve job`,
`budget app 2` (two pods with `label=app` may go), and `one zone p1 p2`: these pods are on nodes with one
value of the label. Those with topology constraints are in `upstream_composite_topology`.
"""

from typing import Final

P = "prio=100"


def parts(*names: str, parent: str = "root", count: str = "2", more: str = "") -> str:
    return "".join(f"group {name} {count} {P} parent={parent} {more}\n" for name in names)


def pods(group: str, *names: str, more: str = "") -> str:
    return f"pods {' '.join(names)} {P} group={group} {more}\n"


_ROOT = f"composite root 2 {P}\n"
TWO_PAIRS = pods("pg1", "p1", "p2") + pods("pg2", "p3", "p4")
ALL_4 = "p1 p2 p3 p4"
_BIG = "node n1 20\n"
_LOW_3 = "node n1 3\npods low-1 low-2 low-3 on=n1 prio=10\n"
_HIGH_3 = pods("pg1", "high-1", "high-2", "high-3")
_HOSTS = "node n1 2 rack=n1\nnode n2 2 rack=n2\n"
_VICTIMS = (
    "pods low-1 prio=10 group=pg1 on=n1\npods low-2 prio=10 group=pg1 on=n2\npods low-3 prio=10 group=pg2 on=n2\n"
)
_GUARDED = (
    "node n1 3\nbudget foo 0\npods guarded-1 guarded-2 on=n1 prio=10 group=pg1 label=foo\n"
    "pods free on=n1 prio=10 group=pg2\npods high prio=100\nbound high guarded-1 guarded-2\nevicted free"
)
_BIG_ONE = "pods high-1 cpu=2 prio=100 select=n1\nbound high-1\n"
SCHEDULING: Final = {
    "TestCPGHierarchicalScheduling": (
        f"{_BIG}{_ROOT}composite sub1 2 {P} parent=root\ncomposite sub2 - {P} parent=root\n"
        f"composite sub3 2 {P} parent=root\n"
        + parts("pg1", "pg2", "pg3", parent="sub1", count="3")
        + parts("pg4", parent="sub2", count="-")
        + parts("pg5", parent="sub2", count="3")
        + parts("pg6", "pg7", parent="sub3", count="3")
        + "".join(
            pods(f"pg{n}", *(f"{n}-{i}" for i in "abc"), more=f"cpu={100 if n in (3, 7) else 1}") for n in range(1, 8)
        )
        + "bound 1-a 1-b 1-c 2-a 2-b 2-c 4-a 4-b 4-c 5-a 5-b 5-c\nwaits 3-a 3-b 3-c 6-a 6-b 6-c 7-a 7-b 7-c"
    ),
    "TestCPGMinGroupCount": (
        f"{_BIG}{_ROOT}"
        + parts("pg1", "pg2", "pg3", count="3")
        + pods("pg1", "a", "b", "c")
        + pods("pg2", "d", "e", "f")
        + pods("pg3", "g", more="cpu=100")
        + pods("pg3", "h", "i")
        + "bound a b c d e f\nwaits g h i"
    ),
    "TestCPGBasicWithGangChildren": (
        f"{_BIG}composite root - {P}\n"
        + parts("pg1", "pg2", count="3")
        + pods("pg1", "a", "b", "c")
        + pods("pg2", "d", more="cpu=100")
        + pods("pg2", "e", "f")
        + "bound a b c\nwaits d e f"
    ),
    "TestCPGBasicWithBasicChildren": (
        f"{_BIG}composite root - {P}\n" + parts("pg1", "pg2", count="-") + TWO_PAIRS + f"bound {ALL_4}"
    ),
    "TestCPGGangWithBasicChildren": (
        f"node n1 8\n{_ROOT}"
        + parts("pg1", "pg2", "pg3", count="-")
        + pods("pg1", "a", "b", "c")
        + pods("pg2", "d", "e", "f")
        + pods("pg3", "g", "h", "i", more="cpu=10")
        + "bound a b c d e f\nwaits g h i"
    ),
    "TestCPGBasicWithUnschedulableBasicChildren": (
        f"{_BIG}composite root - {P}\n"
        + parts("pg1", "pg2", count="-")
        + pods("pg1", "a", "b", more="cpu=50")
        + pods("pg2", "c", "d", more="cpu=50")
        + "waits a b c d"
    ),
    "TestCPGDynamicChildAddition": (
        f"{_BIG}composite root - {P}\n"
        + parts("pg1", count="-")
        + pods("pg1", "a", "b")
        + "bound a b\n"
        + parts("pg2", count="-")
        + pods("pg2", "c", "d")
        + f"bound c d\ncomposite sub 2 {P} parent=root\n"
        + parts("s1", parent="sub", count="-")
        + pods("s1", "e", "f")
        + "waits e f\n"
        + parts("s2", parent="sub", count="-")
        + pods("s2", "g", "h")
        + "bound e f g h"
    ),
    "Incomplete CPG tree buffers pods and missing root CPG wakes them up": (
        "node n1 8\n"
        + parts("pg1", parent="mid")
        + f"composite mid 1 {P} parent=root\n"
        + pods("pg1", "p1", "p2", more="cpu=2")
        + f"waits p1 p2\ncomposite root 1 {P}\nbound p1 p2"
    ),
    "Node add triggers queueing hint for complete CPG tree from unschedulableQ": (
        f"composite root 1 {P}\ncomposite mid 1 {P} parent=root\n"
        + parts("pg1", parent="mid")
        + pods("pg1", "p1", "p2", more="cpu=2")
        + "waits p1 p2\nnode n1 8\nbound p1 p2"
    ),
    "PodGroup add triggers queueing hint for unschedulable CPG root": (
        f"node n1 8\n{_ROOT}" + parts("pg1") + TWO_PAIRS + f"waits {ALL_4}\n" + parts("pg2") + f"bound {ALL_4}"
    ),
    "Pod add triggers queueing hint for unschedulable CPG root": (
        f"node n1 8\n{_ROOT}"
        + parts("pg1", "pg2")
        + pods("pg1", "p1", "p2")
        + pods("pg2", "p3")
        + "waits p1 p2 p3\n"
        + pods("pg2", "p4")
        + f"bound {ALL_4}"
    ),
    "PodGroup update (reduce minCount) triggers queueing hint for unschedulable CPG tree": (
        f"node n1 8\ncomposite root 1 {P}\ncomposite mid 1 {P} parent=root\n"
        + parts("pg1", parent="mid")
        + pods("pg1", "p1")
        + "waits p1\nmin pg1 1\nbound p1"
    ),
}

_BASIC = f"composite root - {P}\n"
_PG3 = parts("pg1", count="3")
_ALL_GO = "bound high-1 high-2 high-3\nevicted low-1 low-2 low-3"
_NOBODY_GOES = "waits high-1 high-2 high-3\nevicted"
_FILLED_NODES = "node n1 2\nnode n2 2\n"
_PAIR = (
    "group victims 4 prio=10 parent=old\npods low-1 on=n1 prio=10 group=victims\n"
    "pods low-2 on=n2 prio=10 group=victims\n"
)
_HIGH_4 = pods("pg1", "high-1", "high-2", "high-3", "high-4")


def _disrupted(mode: str) -> str:
    groups = "group pg1 2 prio=10 parent=root\ngroup pg2 1 prio=10 parent=root\n"
    return f"{_HOSTS}composite root - prio=10 {mode}\n{groups}{_VICTIMS}"


_NEVER_GROUPS = f"composite root - {P} never\ngroup pg1 2 {P} parent=root never\n"
_LOWER_GROUPS = f"composite root - {P} lower\ngroup pg1 2 {P} parent=root lower\n"

PREEMPTION: Final = {
    "CPG Partial Preemption": (
        f"{_FILLED_NODES}pods low-1 cpu=2 on=n1 prio=10\npods low-2 on=n2 prio=10\n{_BASIC}{_PG3}{_HIGH_3}"
        "bound high-1 high-2 high-3 low-2\nevicted low-1"
    ),
    "CPG Victim Across Multiple Nodes, CPG DisruptionModeAll": (
        _disrupted("all") + _BIG_ONE + "evicted low-1 low-2 low-3"
    ),
    "CPG Victim Across Multiple Nodes, CPG DisruptionModeSingle": _disrupted("") + _BIG_ONE + "evicted low-1",
    "CPG Preemption aborted if victim yields insufficient resources": (
        "node n1 2\ncomposite root - prio=10\ngroup pg1 1 prio=10 parent=root\npods low on=n1 prio=10 group=pg1\n"
        "pods high cpu=3 prio=100\nwaits high\nevicted"
    ),
    "CPG Tie-Breaking: PodGroup chosen over CompositePodGroup": (
        "node n1 2\ncomposite root - prio=10 all\ngroup alone 1 prio=10\ngroup child 1 prio=10 parent=root\n"
        f"pods low-pg on=n1 prio=10 group=alone\npods low-cpg on=n1 prio=10 group=child\ngroup pg1 1 {P}\n"
        + pods("pg1", "high")
        + "bound high\nevicted low-pg"
    ),
    "Scheduler targets lower-priority CPG over higher-priority CPG": (
        "node n1 3\ncomposite low - prio=10\ncomposite mid - prio=20\ngroup pg1 1 prio=10 parent=low\n"
        "group pg2 1 prio=20 parent=mid\npods lower on=n1 prio=10 group=pg1\npods higher on=n1 prio=20 group=pg2\n"
        "pods high cpu=2 prio=100\nbound high higher\nevicted lower"
    ),
    "PDB Violation reprieves the entire CPG victim (DisruptionModeAll)": (
        "composite guarded - prio=10 all\ncomposite free - prio=10 all\ngroup pg1 2 prio=10 parent=guarded\n"
        f"group pg2 1 prio=10 parent=free\n{_GUARDED}"
    ),
    "PDB Violation reprieves only the child PG (DisruptionModeSingle)": (
        f"composite root - prio=10\ngroup pg1 2 prio=10 parent=root\ngroup pg2 1 prio=10 parent=root\n{_GUARDED}"
    ),
    "3-Level Nested CPG resolves DisruptionMode up to the grandparent": (
        f"{_HOSTS}composite top - prio=10 all\ncomposite mid - prio=10 parent=top\ngroup pg1 2 prio=10 parent=mid\n"
        f"group pg2 1 prio=10 parent=mid\n{_VICTIMS}{_BIG_ONE}evicted low-1 low-2 low-3"
    ),
    "Hierarchical DisruptionMode - Grandparent Single, Parent All": (
        f"{_HOSTS}composite top - prio=10\ncomposite mid - prio=10 parent=top all\ngroup pg1 2 prio=10 parent=mid\n"
        f"group pg2 1 prio=10 parent=top\n{_VICTIMS}{_BIG_ONE}evicted low-1 low-2"
    ),
    "CPG with default preemption policy performs preemption, with PodGroupPreemptionPolicy enabled": (
        f"{_LOW_3}{_BASIC}{_PG3}{_HIGH_3}{_ALL_GO}"
    ),
    "CPG with PreemptNever Policy": (
        f"{_LOW_3}{_NEVER_GROUPS}group pg2 1 {P} parent=root never\n"
        + pods("pg1", "high-1", "high-2", more="never")
        + pods("pg2", "high-3", more="never")
        + _NOBODY_GOES
    ),
    "CPG with PreemptLowerPriority Policy": (
        f"{_LOW_3}{_LOWER_GROUPS}group pg2 1 {P} parent=root lower\n"
        + pods("pg1", "high-1", "high-2")
        + pods("pg2", "high-3")
        + _ALL_GO
    ),
    "CPG PreemptionPolicy PreemptNever prevents preemption": (
        f"{_LOW_3}{_NEVER_GROUPS}"
        + pods("pg1", "high-1", more="never cpu=2")
        + pods("pg1", "high-2", more="never")
        + "waits high-1 high-2\nevicted"
    ),
    "CPG PreemptionPolicy PreemptLowerPriority allows preemption": (
        f"{_LOW_3}{_LOWER_GROUPS}"
        + pods("pg1", "high-1", more="cpu=2")
        + pods("pg1", "high-2")
        + "bound high-1 high-2\nevicted low-1 low-2 low-3"
    ),
    "CPG with PreemptNever preemption policy in all pods does not perform preemption, with PodGroupPreemptionPolicy "
    "disabled": f"{_LOW_3}{_BASIC}{_PG3}" + pods("pg1", "high-1", "high-2", "high-3", more="never") + _NOBODY_GOES,
    "CPG Gang scheduling: preemption with pod anti-affinity constraints": (
        f"{_HOSTS}pods initial cpu=250m on=n1 prio=10 anti\n{_BASIC}"
        + parts("pg1")
        + pods("pg1", "high-1", "high-2", more="cpu=1500m anti")
        + "bound high-1 high-2\nevicted initial"
    ),
    "CPG Gang scheduling: preemption with pod node port": (
        f"{_FILLED_NODES}pods initial cpu=250m on=n1 prio=10 port\n{_BASIC}"
        + parts("pg1")
        + pods("pg1", "high-1", "high-2", more="cpu=1500m port")
        + "bound high-1 high-2\nevicted initial"
    ),
    "Binding first before preemption for gang policy (CPG)": (
        f"{_FILLED_NODES}composite old 1 prio=10\n{_PAIR}composite root 1 {P}\n"
        + parts("pg1", count="4")
        + _HIGH_4
        + "bound high-1 high-2 high-3 high-4\nevicted low-1 low-2"
    ),
    "Binding first before preemption for CPG": (
        f"{_FILLED_NODES}composite old - prio=10\n{_PAIR}{_BASIC}"
        + parts("pg1", count="4")
        + _HIGH_4
        + "bound high-1 high-2 high-3 high-4\nevicted low-1 low-2"
    ),
    "CPG Missing Parent Reference Fallback": (
        "node n1 2\ncomposite old - prio=10\ngroup victims 2 prio=10 parent=old\n"
        f"pods low-1 low-2 on=n1 prio=10 group=victims\ndissolve old\n{_BASIC}"
        + parts("pg1")
        + pods("pg1", "high-1", "high-2")
        + "bound high-1 high-2\nevicted low-1 low-2"
    ),
}

COMPOSITES: Final = {**SCHEDULING, **PREEMPTION}

"""Cases of kube-scheduler's integration tests of composite pod groups in topology domains."""

from typing import Final

from tests.gangscheduling.upstream_composites import ALL_4, TWO_PAIRS, P, parts, pods

_ROOT_RACK = f"composite root 2 {P} rack\n"
_ROOT_ZONE = f"composite root 2 {P} zone\n"
_FOUR_PAIRS = TWO_PAIRS + pods("pg3", "p5", "p6") + pods("pg4", "p7", "p8")
_ALL_8 = f"{ALL_4} p5 p6 p7 p8"
_PAIRS_IN_RACKS = "one rack p1 p2\none rack p3 p4\n"
_FOUR_IN_RACKS = f"{_PAIRS_IN_RACKS}one rack p5 p6\none rack p7 p8\n"
_TWO_RACKS = "node n1 2 rack=r1\nnode n2 2 rack=r1\nnode n3 2 rack=r2\nnode n4 2 rack=r2\n"
_ZONES = "node n1 2 rack=r1 zone=z1\nnode n2 2 rack=r2 zone=z1\nnode n3 2 rack=r1 zone=z2\nnode n4 2 rack=r1 zone=z2\n"
_TAINTED = (
    "node n1 2 rack=r1 zone=z1 taint\nnode n2 2 rack=r2 zone=z1\nnode n3 2 rack=r3 zone=z1\n"
    "node n4 2 rack=r1 zone=z2\nnode n5 2 rack=r2 zone=z2\n"
    "pods e1 on=n5 prio=100\npods e2 on=n2 prio=100\npods e3 on=n3 prio=100\n"
)
_PREFERRING = (
    pods("pg1", "p1", "p2", more="tolerate") + pods("pg2", "p3", "p4", more="prefer=n4") + f"bound {ALL_4}\n"
    f"one zone {ALL_4}\none rack p1 p2"
)
_BEGUN = (
    "node n1 2 rack=r1 zone=z1\nnode n2 2 rack=r2 zone=z1\nnode n3 2 rack=r2 zone=z1\n"
    "node n4 2 rack=r1 zone=z2\nnode n5 2 rack=r1 zone=z2\n"
)
_BEGUN_GROUPS = _ROOT_ZONE + parts("pg1", "pg2", more="rack")
_REST = pods("pg1", "p1") + pods("pg2", "p2", "p3") + "bound p1 p2 p3\nin r1 p1\nin r2 p2 p3\none zone p1 p2 p3"
_BLOCKS = (
    "node n1 2 rack=r1 block=b1 zone=z1\nnode n2 2 rack=r2 block=b1 zone=z1\nnode n3 2 rack=r1 block=b2 zone=z1\n"
    "node n4 2 rack=r2 block=b2 zone=z1\nnode n5 2 rack=r1 block=b1 zone=z2\nnode n6 2 rack=r1 block=b1 zone=z2\n"
)
_FILLED = "".join(f"pods low-{number} cpu=2 on=n{number} prio=10\n" for number in (1, 2, 3, 4))


def _tree(outer: str, inner: str, leaf: str) -> str:
    subs = f"composite sub1 2 {P} parent=root {inner}\ncomposite sub2 2 {P} parent=root {inner}\n"
    leaves = parts("pg1", "pg2", parent="sub1", more=leaf) + parts("pg3", "pg4", parent="sub2", more=leaf)
    return f"composite root {outer}\n{subs}{leaves}"


_BLOCK_TREE = _tree(f"2 {P} zone", "block", "rack") + _FOUR_PAIRS
_IN_BLOCKS = f"bound {_ALL_8}\none zone {_ALL_8}\none block {ALL_4}\none block p5 p6 p7 p8\n{_FOUR_IN_RACKS}"
_MID = (
    _ROOT_ZONE
    + f"composite sub1 - {P} parent=root\ncomposite sub2 - {P} parent=root\n"
    + parts("pg1", parent="sub1", more="rack")
    + parts("pg2", parent="sub2", more="rack")
    + TWO_PAIRS
    + f"bound {ALL_4}\none zone {ALL_4}\n{_PAIRS_IN_RACKS}"
)
_MID_NODES = "node n1 2 rack=r1 zone=z1\nnode n2 2 rack=r2 zone=z1\nnode n3 2 rack=r1 zone=z2\n"
_TOP_TREE = _tree(f"- {P}", "zone", "rack") + _FOUR_PAIRS
_TOP_NODES = (
    "node n1 2 rack=r1 zone=z1\nnode n2 2 rack=r2 zone=z1\nnode n3 2 rack=r3 zone=z2\nnode n4 2 rack=r4 zone=z2\n"
)
_IN_ZONES = f"bound {_ALL_8}\none zone {ALL_4}\none zone p5 p6 p7 p8\n{_FOUR_IN_RACKS}"
_RACK_TREE = _tree(f"2 {P} zone", "rack", "")
_BOTTOM_NODES = (
    "node n1 2 rack=r1 zone=z1\nnode n2 2 rack=r1 zone=z1\nnode n3 2 rack=r2 zone=z1\nnode n4 2 rack=r2 zone=z1\n"
    "node n5 2 rack=r3 zone=z2\nnode n6 2 rack=r3 zone=z2\n"
)
_SUBS_IN_RACKS = f"bound {_ALL_8}\none zone {_ALL_8}\none rack {ALL_4}\none rack p5 p6 p7 p8"
_ANCHORED_NODES = (
    "node n1 2 rack=r1 zone=z1\nnode n2 2 rack=r1 zone=z1\nnode n3 2 rack=r2 zone=z1\nnode n4 2 rack=r2 zone=z1\n"
    "node n5 2 rack=r1 zone=z2\nnode n6 2 rack=r1 zone=z2\nnode n7 2 rack=r2 zone=z2\nnode n8 2 rack=r2 zone=z2\n"
)
_ANCHORED = (
    f"pods anchor {P} group=pg1 on=n5\n"
    + pods("pg1", "p1")
    + pods("pg2", "p2", "p3")
    + pods("pg3", "p4", "p5")
    + pods("pg4", "p6", "p7")
    + "bound p1 p2 p3 p4 p5 p6 p7\none zone anchor p1 p2 p3 p4 p5 p6 p7\nin r1 p1 p2 p3\nin r2 p4 p5 p6 p7"
)
COMPOSITE_TOPOLOGY: Final = {
    "parent CPG has topology constraints, children do not; schedules on a single rack": (
        f"{_TWO_RACKS}pods existing cpu=2 on=n4 prio=100\n{_ROOT_RACK}"
        + parts("pg1", "pg2")
        + TWO_PAIRS
        + f"bound {ALL_4}\nin r1 {ALL_4}"
    ),
    "parent CPG has topology constraints, children do not; preexisting pod belonging to the hierarchy determines the "
    "topology": (
        f"{_TWO_RACKS}pods existing {P} group=pg1 on=n4\n{_ROOT_RACK}"
        + parts("pg1", "pg2")
        + pods("pg1", "p1")
        + pods("pg2", "p2", "p3")
        + "bound p1 p2 p3\nin r2 p1 p2 p3"
    ),
    "parent CPG has topology constraints, children do not; remains pending when no single rack can fit all children": (
        f"node n1 2 rack=r1\nnode n2 2 rack=r2\npods e1 on=n1 prio=100\npods e2 on=n2 prio=100\n{_ROOT_RACK}"
        + parts("pg1", "pg2", count="-")
        + pods("pg1", "p1")
        + pods("pg2", "p2")
        + "waits p1 p2"
    ),
    "parent CPG and child PGs both have topology constraints (multi-level constraints: zone and rack)": (
        f"{_ZONES}pods existing on=n3 prio=100\n{_ROOT_ZONE}"
        + parts("pg1", "pg2", more="rack")
        + TWO_PAIRS
        + f"bound {ALL_4}\none zone {ALL_4}\n{_PAIRS_IN_RACKS}"
    ),
    "parent CPG and only one child PG has topology constraints; the other child uses parent's topology": (
        f"{_TAINTED}{_ROOT_ZONE}" + parts("pg1", more="rack") + parts("pg2") + _PREFERRING
    ),
    "parent CPG and all child PGs have topology constraints, preexisting pod group pods constrain the available "
    "topology domains": f"{_BEGUN}{_BEGUN_GROUPS}pods existing {P} group=pg1 on=n1\n{_REST}",
    "parent CPG has topology constraints, preexisting pod group pods are in conflicting domains across pod groups, "
    "fails to schedule any pod": (
        f"{_ZONES}{_BEGUN_GROUPS}pods e1 {P} group=pg1 on=n1\npods e2 {P} group=pg2 on=n3\n"
        + pods("pg1", "p1")
        + pods("pg2", "p2")
        + "waits p1 p2"
    ),
    "3-level CPG hierarchy: all levels have topology constraints (root=zone, sub=block, leaf=rack)": (
        f"{_BLOCKS}{_BLOCK_TREE}{_IN_BLOCKS}"
    ),
    "3-level CPG hierarchy: mid-level without topology constraints (root=zone, sub=none, leaf=rack)": (
        f"{_MID_NODES}{_MID}"
    ),
    "3-level CPG hierarchy: top level without topology constraint (root=none, sub=zone, leaf=rack)": (
        f"{_TOP_NODES}node n5 2 rack=r5 zone=z2\n{_TOP_TREE}{_IN_ZONES}"
    ),
    "3-level CPG hierarchy: bottom level without topology constraint (root=zone, sub=rack, leaf=none)": (
        f"{_BOTTOM_NODES}{_RACK_TREE}{_FOUR_PAIRS}{_SUBS_IN_RACKS}"
    ),
    "3-level CPG hierarchy: preexisting pod in leaf PodGroup determines topology for intermediate and root CPGs": (
        f"{_ANCHORED_NODES}{_RACK_TREE}{_ANCHORED}"
    ),
    "parent CPG has topology constraints, children do not; schedules on a single rack after preempting lower priority "
    "pods": (
        f"{_TWO_RACKS}pods low-1 cpu=2 on=n1 prio=10\npods low-2 cpu=2 on=n2 prio=10\n"
        f"pods existing cpu=2 on=n4 prio=100\n"
        f"{_ROOT_RACK}" + parts("pg1", "pg2") + TWO_PAIRS + f"bound {ALL_4}\nin r1 {ALL_4}"
    ),
    "parent CPG has topology constraints, children do not; schedules on a single rack after preempting lower priority "
    "pods, then cannot schedule additional pods": (
        f"{_TWO_RACKS}pods low-1 cpu=2 on=n1 prio=10\npods low-2 cpu=2 on=n2 prio=10\n"
        f"pods existing cpu=2 on=n4 prio=100\n"
        f"{_ROOT_RACK}"
        + parts("pg1", "pg2")
        + TWO_PAIRS
        + f"bound {ALL_4}\nin r1 {ALL_4}\n"
        + pods("pg1", "p5")
        + "waits p5"
    ),
    "parent CPG has topology constraints, children do not; preexisting pod belonging to the hierarchy determines "
    "topology and lower priority pods are preempted": (
        f"{_TWO_RACKS}pods existing {P} group=pg1 on=n4\npods low-1 cpu=2 on=n3 prio=10\npods low-2 on=n4 prio=10\n"
        f"{_ROOT_RACK}"
        + parts("pg1", "pg2")
        + pods("pg1", "p1")
        + pods("pg2", "p2", "p3")
        + "bound p1 p2 p3\nin r2 p1 p2 p3"
    ),
    "parent CPG has topology constraints, children do not; schedules on a rack after preempting lower priority pods": (
        "node n1 2 rack=r1\nnode n2 2 rack=r2\npods low-1 cpu=2 on=n1 prio=10\npods existing cpu=2 on=n2 prio=100\n"
        f"{_ROOT_RACK}"
        + parts("pg1", "pg2", count="-")
        + pods("pg1", "p1")
        + pods("pg2", "p2")
        + "bound p1 p2\nin r1 p1 p2"
    ),
    "parent CPG and child PGs both have topology constraints (multi-level constraints: zone and rack) "
    "with preemption": (
        f"{_ZONES}pods low-1 cpu=2 on=n1 prio=10\npods low-2 cpu=2 on=n2 prio=10\npods existing on=n3 prio=100\n"
        f"{_ROOT_ZONE}"
        + parts("pg1", "pg2", more="rack")
        + TWO_PAIRS
        + f"bound {ALL_4}\none zone {ALL_4}\n{_PAIRS_IN_RACKS}evicted low-1 low-2"
    ),
    "parent CPG and child PGs both have topology constraints (multi-level constraints: zone and rack), preemption does "
    "not help for subsequent": (
        "node n1 2 rack=r1 zone=z1\nnode n2 2 rack=r2 zone=z1\nnode n3 2 rack=r3 zone=z1\nnode n4 2 rack=r1 zone=z2\n"
        "node n5 2 rack=r1 zone=z2\npods low-1 cpu=2 on=n3 prio=10\npods low-2 cpu=2 on=n4 prio=10\n"
        f"{_ROOT_ZONE}"
        + parts("pg1", "pg2", more="rack")
        + TWO_PAIRS
        + f"bound {ALL_4}\n{_PAIRS_IN_RACKS}"
        + parts("pg3", more="rack")
        + pods("pg3", "p5", "p6")
        + f"bound p5 p6\none zone {ALL_4} p5 p6\none rack p5 p6\n"
        + parts("pg4", more="rack")
        + pods("pg4", "p7", "p8")
        + "waits p7 p8\nevicted low-1"
    ),
    "parent CPG and only one child PG has topology constraints; the other child uses parent's topology "
    "with preemption": (
        f"{_TAINTED}pods low-1 cpu=2 on=n1 prio=10\n{_ROOT_ZONE}"
        + parts("pg1", more="rack")
        + parts("pg2")
        + _PREFERRING
    ),
    "parent CPG and all child PGs have topology constraints, preexisting pod group pods constrain available topology "
    "domains with preemption": (
        f"{_BEGUN}{_BEGUN_GROUPS}pods existing {P} group=pg1 on=n1\npods low-1 on=n1 prio=10\n"
        f"pods low-2 cpu=2 on=n2 prio=10\npods low-3 cpu=2 on=n3 prio=10\n{_REST}"
    ),
    "3-level CPG hierarchy: all levels have topology constraints (root=zone, sub=block, leaf=rack) with preemption": (
        f"{_BLOCKS}{_FILLED}{_BLOCK_TREE}{_IN_BLOCKS}"
    ),
    "3-level CPG hierarchy: mid-level without topology constraints (root=zone, sub=none, leaf=rack) with preemption": (
        f"{_MID_NODES}pods low-1 cpu=2 on=n1 prio=10\npods low-2 cpu=2 on=n2 prio=10\n{_MID}"
    ),
    "3-level CPG hierarchy: top level without topology constraint (root=none, sub=zone, leaf=rack) with preemption": (
        f"{_TOP_NODES}{_FILLED}{_TOP_TREE}{_IN_ZONES}"
    ),
    "3-level CPG hierarchy: bottom level without topology constraint (root=zone, sub=rack, leaf=none) "
    "with preemption": (f"{_BOTTOM_NODES}{_FILLED}{_RACK_TREE}{_FOUR_PAIRS}{_SUBS_IN_RACKS}"),
    "3-level CPG hierarchy: preexisting pod in leaf PodGroup determines topology for intermediate and root CPGs with "
    "preemption": (
        f"{_ANCHORED_NODES}pods low-1 cpu=2 on=n6 prio=10\npods low-2 cpu=2 on=n7 prio=10\n{_RACK_TREE}{_ANCHORED}"
    ),
}

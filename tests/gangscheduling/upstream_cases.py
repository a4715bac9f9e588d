"""Cases of kube-scheduler's own integration tests of pod groups, by their names there, each as a short script.

A line is a verb, names, and settings: `node a 3 rack=r1`, `group pg 3 prio=100` (minCount, or `-` for a basic group),
`pods p1 p2 cpu=1 prio=100 group=pg on=a`, `claim data` (bound, for one pod alone), `delete p1`, `remove pg`,
`min pg 2`, `ungate p1`, `tick`, `inject p3 at=p1` (`p3` comes in the middle of the cycle that looks at `p1` first).
The others are what must be true once all is settled: `bound p1`, `waits p1`, `refused p1` (its condition says so),
`injected p3` (it has come), `started pg 2` (so many of a group's pods are bound), `evicted p1` (these, and nobody else
so far), `in r1 p1` (on nodes of that rack), `together pg` (in one rack), `apart pg` (each in another).
"""

from typing import Final

_LOW_3 = "node n1 3\npods low-1 low-2 low-3 prio=10\nbound low-1 low-2 low-3\n"
_HIGH_3 = "pods high-1 high-2 high-3 prio=100 group=pg1\n"
_ALL_GO = "bound high-1 high-2 high-3\nevicted low-1 low-2 low-3"
_NOBODY_GOES = "waits high-1 high-2 high-3\nevicted"
_FOUR = "node n1 1\nnode n2 1\nnode n3 1\nnode n4 1\n"
_FOUR_RUN = "pods p1 on=n1 prio=10\npods p2 on=n2 prio=10\npods p3 on=n3 prio=200\npods p4 on=n4 prio=200\n"
_GROUPS_RUN = (
    "group victim 2 prio=50 all\ngroup victim2 2 prio=200 all\n"
    "pods v1 on=n1 prio=50 group=victim\npods v2 on=n2 prio=50 group=victim\n"
    "pods v3 on=n3 prio=200 group=victim2\npods v4 on=n4 prio=200 group=victim2\n"
)
_ABC = "pods p-a p-b p-c prio=100 group=pg1\n"
_THREE = "node n1 1\nnode n2 1\nnode n3 1\n"
_VICTIMS_3 = (
    "group victim 1 prio=50 all\npods v1 on=n1 prio=50 group=victim\npods v2 on=n2 prio=50 group=victim\n"
    "pods v3 on=n3 prio=10\n"
)
_RACK_1 = "node n1 2 rack=r1\nnode n2 2 rack=r1\nnode n3 2 rack=r1\n"
_RACK_2 = "node m1 2 rack=r2\nnode m2 2 rack=r2\n"
_SMALL_RACK = "node k1 2 rack=r3\n"
_GANG_3 = "group pg1 3 prio=100 rack\npods p1 p2 p3 prio=100 group=pg1\n"
_BASIC_3 = "group pg1 - prio=100 rack\npods p1 p2 p3 prio=100 group=pg1\n"
_FOUR_RACKS = (
    "node n1 2 rack=r1\nnode n2 2 rack=r1\nnode m1 2 rack=r2\nnode m2 2 rack=r2\nnode m3 2 rack=r2\n"
    "node k1 2 rack=r3\nnode k2 2 rack=r3\nnode k3 2 rack=r3\nnode j1 2 rack=r4\n"
)
_INJECTED_GANG = "node n1 2\ngroup pg1 2 prio=100\ninject p3 at=p1 cpu=2 prio=100 group=pg1\n"
_INJECTED_BASIC = "node n1 2\ngroup pg1 - prio=100\ninject p3 at=p2 cpu=2 prio=100 group=pg1\n"
_CPU_4 = "node n1 4\n"
_GANG = "group pg1 3 prio=100\n"
_BASIC = "group pg1 - prio=100\n"

_SKEWED = (
    "node n1 16 rack=n1\nnode n2 16 rack=n2\npods initial on=n1 prio=10 spread\n{}"
    "pods p1 p2 prio=100 group=pg1 select=n1 spread\ngroup pg1 2 prio=100\nbound p1 p2{}\nevicted initial"
)

PREEMPTION: Final = {
    "Full PodGroup Preemption": f"{_LOW_3}{_HIGH_3}group pg1 3 prio=100\n{_ALL_GO}",
    "Full PodGroup Preemption for basic policy": f"{_LOW_3}{_HIGH_3}group pg1 - prio=100\n{_ALL_GO}",
    "Partial Preemption": (
        f"node n1 2\nnode n2 2\npods low-1 cpu=2 on=n1 prio=10\npods low-2 on=n2 prio=10\n{_HIGH_3}"
        "group pg1 3 prio=100\nbound high-1 high-2 high-3 low-2\nevicted low-1"
    ),
    "Multi-node Preemption": (
        "node n1 2\nnode n2 2\npods low-1 low-2 on=n1 prio=10\npods low-3 low-4 on=n2 prio=10\n"
        f"{_HIGH_3}pods high-4 prio=100 group=pg1\ngroup pg1 4 prio=100\n"
        "bound high-1 high-2 high-3 high-4\nevicted low-1 low-2 low-3 low-4"
    ),
    "Insufficient Resources (No Preemption)": (
        f"node n1 3\npods mid-1 prio=500\npods low-1 low-2 prio=10\nbound mid-1 low-1 low-2\n{_HIGH_3}"
        f"group pg1 3 prio=100\n{_NOBODY_GOES}"
    ),
    "Priority-based Victim Selection": (
        "node n1 3\npods mid-1 prio=50\npods low-1 low-2 prio=10\nbound mid-1 low-1 low-2\n"
        "pods high-1 high-2 prio=100 group=pg1\ngroup pg1 2 prio=100\nbound high-1 high-2 mid-1\nevicted low-1 low-2"
    ),
    "Preempt the whole PodGroup even if preempting a single Pod would suffice": (
        "node n1 3\ngroup pg2 3 prio=10 all\npods low-1 low-2 low-3 prio=10 group=pg2\nbound low-1 low-2 low-3\n"
        "pods high-1 prio=100 group=pg1\ngroup pg1 1 prio=100\nbound high-1\nevicted low-1 low-2 low-3"
    ),
    "Preempt the whole basic PodGroup with a PodGroup disruption mode": (
        "node n1 3\ngroup pg2 - prio=10 all\npods low-1 low-2 low-3 prio=10 group=pg2\nbound low-1 low-2 low-3\n"
        "pods high-1 prio=100 group=pg1\ngroup pg1 1 prio=100\nbound high-1\nevicted low-1 low-2 low-3"
    ),
    "Gang scheduling: schedule as many pods as possible without preempting higher priority pods, "
    "but still more than minCount": f"{_FOUR}{_FOUR_RUN}{_ABC}group pg1 1 prio=100\nstarted pg1 2\nevicted p1 p2",
    "Gang scheduling: do not reprieve victim pod group of lower priority": (
        f"{_THREE}{_VICTIMS_3}{_ABC}group pg1 3 prio=100\nbound p-a p-b p-c\nevicted v1 v2 v3"
    ),
    "Gang scheduling: preempt a pod group victim but do not schedule full pod group": (
        f"{_FOUR}{_GROUPS_RUN}{_ABC}group pg1 1 prio=100 all\nstarted pg1 2\nevicted v1 v2"
    ),
    "Basic scheduling: schedule as many pods as possible without preempting higher priority pods": (
        f"{_FOUR}{_FOUR_RUN}{_ABC}group pg1 - prio=100\nstarted pg1 2\nevicted p1 p2"
    ),
    "Basic scheduling: do not reprieve victim pod group of lower priority": (
        f"{_THREE}{_VICTIMS_3}{_ABC}group pg1 - prio=100\nbound p-a p-b p-c\nevicted v1 v2 v3"
    ),
    "Basic scheduling: preempt a pod group victim but do not schedule full pod group": (
        f"{_FOUR}{_GROUPS_RUN}{_ABC}group pg1 - prio=100 all\nstarted pg1 2\nevicted v1 v2"
    ),
    "PodGroup with PreemptNever preemption policy does not perform preemption, with PodGroupPreemptionPolicy enabled": (
        f"{_LOW_3}pods high-1 high-2 high-3 prio=100 group=pg1 never\ngroup pg1 3 prio=100 never\n{_NOBODY_GOES}"
    ),
    "PodGroup with PreemptLowerPriority preemption policy performs preemption, "
    "with PodGroupPreemptionPolicy enabled": f"{_LOW_3}{_HIGH_3}group pg1 3 prio=100 lower\n{_ALL_GO}",
    "PodGroup with PreemptNever preemption policy in all pods does not perform preemption, "
    "with PodGroupPreemptionPolicy disabled": (
        f"{_LOW_3}pods high-1 high-2 high-3 prio=100 group=pg1 never\ngroup pg1 3 prio=100\n{_NOBODY_GOES}"
    ),
    "PodGroup with default preemption policy performs preemption, with PodGroupPreemptionPolicy enabled": (
        f"{_LOW_3}group pg1 3 prio=100\n{_HIGH_3}{_ALL_GO}"
    ),
    "Gang scheduling: preemption with pod anti-affinity constraints": (
        "node n1 2 rack=r1\nnode n2 2 rack=r2\npods initial on=n1 prio=10 anti\n"
        "pods p1 p2 prio=100 group=pg1 anti\ngroup pg1 2 prio=100\nbound p1 p2\nevicted initial"
    ),
    "Gang scheduling: preemption with node resources": (
        "node n1 2\nnode n2 2\npods initial cpu=2 on=n1 prio=10\npods p1 p2 cpu=2 prio=100 group=pg1\n"
        "group pg1 2 prio=100\nbound p1 p2\nevicted initial"
    ),
    "Gang scheduling: preemption with node resources, prioritizes reprieval of higher priority pods": (
        "node n1 2 rack=r1\nnode n2 2 rack=r2\npods initial-1 on=n1 prio=5\npods initial-2 on=n1 prio=10\n"
        "pods p1 prio=100 group=pg1 select=r1\npods p2 prio=100 group=pg1 select=r2\ngroup pg1 2 prio=100\n"
        "bound p1 p2 initial-2\nevicted initial-1"
    ),
    "Gang scheduling: preemption with pod level resources": (
        "node n1 2\nnode n2 2\npods initial whole=2 on=n1 prio=10\npods p1 p2 whole=2 prio=100 group=pg1\n"
        "group pg1 2 prio=100\nbound p1 p2\nevicted initial"
    ),
    "Gang scheduling: preemption with pod topology spread constraints": _SKEWED.format("", ""),
    "Gang scheduling: preemption with pod topology spread constraints, single reprieve": (
        _SKEWED.format("pods initial-2 on=n2 prio=5 spread\n", " initial-2")
    ),
    "Gang scheduling: preemption with pod node port": (
        "node n1 2\nnode n2 2\npods initial on=n1 prio=10 port\npods p1 p2 prio=100 group=pg1 port\n"
        "group pg1 2 prio=100\nbound p1 p2\nevicted initial"
    ),
    "Topology-Aware Preemption: single topology domain": (
        "node n1 2 rack=r1\npods low cpu=2 on=n1 prio=10\npods p1 p2 prio=100 group=pg1\n"
        "group pg1 2 prio=100 rack\nbound p1 p2\nevicted low"
    ),
    "Topology-Aware Preemption: two topologies, only one eligible": (
        "node n1 2 rack=r1\nnode n2 2 rack=r2\npods low cpu=2 on=n1 prio=10\npods high cpu=2 on=n2 prio=500\n"
        "pods p1 p2 prio=100 group=pg1\ngroup pg1 2 prio=100 rack\nbound p1 p2\nevicted low\nin r1 p1 p2"
    ),
    "Topology-Aware Preemption: two topologies, both eligible, selects higher scored topology": (
        "node n1 1 rack=r1 score=0\nnode n2 1 rack=r1 score=0\nnode m1 1 rack=r2 score=100\n"
        "node m2 1 rack=r2 score=100\npods low-1 on=n1 prio=10\npods low-2 on=n2 prio=10\npods low-3 on=m1 prio=10\n"
        "pods low-4 on=m2 prio=10\npods p1 p2 prio=100 group=pg1\ngroup pg1 2 prio=100 rack\nbound p1 p2\n"
        "in r2 p1 p2\nevicted low-3 low-4"
    ),
    "Topology-Aware Preemption: insufficient capacity across all topologies, no preemption performed": (
        "node n1 1 rack=r1\nnode n2 1 rack=r2\npods low-1 on=n1 prio=10\npods low-2 on=n2 prio=10\n"
        "pods p1 p2 prio=100 group=pg1\ngroup pg1 2 prio=100 rack\nwaits p1 p2\nevicted"
    ),
}

TOPOLOGY: Final = {
    "gang schedules on a single rack, when only one feasible rack is available": (
        f"{_RACK_1}{_RACK_2}{_SMALL_RACK}pods old cpu=2 on=m1 prio=100\n{_GANG_3}bound p1 p2 p3\nin r1 p1 p2 p3"
    ),
    "gang remains pending when no feasible resources are found": (
        f"{_RACK_2}{_SMALL_RACK}group pg1 3 prio=100 rack\npods p1 p2 p3 cpu=2 prio=100 group=pg1\nwaits p1 p2 p3"
    ),
    "gang remains pending when resources are consumed by existing pods": (
        f"{_RACK_1}pods old-1 cpu=2 on=n1 prio=100\npods old-2 cpu=2 on=n2 prio=100\n{_GANG_3}waits p1 p2 p3\n"
        "delete old-1\nbound p1 p2 p3"
    ),
    "gang uses pod group preemption when resources are consumed by lower priority existing pods": (
        f"{_RACK_1}pods old-1 cpu=2 on=n1 prio=10\npods old-2 cpu=2 on=n2 prio=10\npods old-3 cpu=2 on=n3 prio=10\n"
        f"{_GANG_3}started pg1 3\ntogether pg1"
    ),
    "gang uses preemption and schedules on a single rack, choosing placement with the highest score": (
        "node n1 2 rack=r1\nnode n2 2 rack=r1\nnode m1 2 rack=r2\nnode m2 2 rack=r2\nnode m3 2 rack=r2\n"
        "node k1 2 rack=r3\npods low-1 cpu=2 on=n1 prio=10\npods low-2 cpu=2 on=m1 prio=10\n"
        "pods low-3 cpu=2 on=m2 prio=10\ngroup pg1 3 prio=200 rack\npods p1 p2 p3 prio=200 group=pg1\n"
        "bound p1 p2 p3\nin r1 p1 p2 p3\nevicted low-1"
    ),
    "gang uses preemption and schedules on a single rack, choosing placement with highest allocation percentage "
    "with pre-existing pods in cluster": (
        f"{_FOUR_RACKS}pods old-1 cpu=2 on=m1 prio=200\npods old-2 on=k3 prio=200\npods low-1 cpu=2 on=n1 prio=10\n"
        "pods low-2 cpu=2 on=m2 prio=10\npods low-3 cpu=2 on=k1 prio=10\npods low-4 on=k3 prio=10\n"
        "group pg1 3 prio=200 rack\npods p1 p2 p3 prio=200 group=pg1\nbound p1 p2 p3\nin r2 p1 p2 p3\nevicted low-2"
    ),
    "gang schedules on a single rack, choosing placement with highest allocation percentage "
    "(default placement scoring algorithm) with pre-existing pods in cluster": (
        f"{_FOUR_RACKS}pods old-1 cpu=2 on=m1 prio=100\npods old-2 on=k3 prio=100\n{_GANG_3}"
        "bound p1 p2 p3\nin r2 p1 p2 p3"
    ),
    "gang with minCount < pod count schedules on a single rack, choosing smaller rack": (
        f"{_RACK_1}{_RACK_2}{_SMALL_RACK}{_GANG_3}bound p1 p2 p3\npods p4 prio=100 group=pg1\nbound p4\n"
        "in r2 p1 p2 p3 p4\npods p5 prio=100 group=pg1\nrefused p5\nwaits p5"
    ),
    "gang schedules on a single rack, choosing placement with the highest score "
    "in default placement scoring algorithm": (
        f"{_RACK_1}{_RACK_2}{_SMALL_RACK}{_GANG_3}bound p1 p2 p3\nin r2 p1 p2 p3"
    ),
    "two gangs schedule consecutively, each on a separate rack": (
        f"{_RACK_1}{_RACK_2}group pg1 3 prio=100 rack\npods p1 p2 p3 cpu=2 prio=100 group=pg1\nbound p1 p2 p3\n"
        "group pg2 2 prio=100 rack\npods p4 p5 prio=100 group=pg2\nbound p4 p5\nin r1 p1 p2 p3\nin r2 p4 p5"
    ),
    "two gangs schedule consecutively, both on the same rack": (
        f"{_RACK_1}{_SMALL_RACK}group pg1 2 prio=100 rack\npods p1 cpu=2 prio=100 group=pg1\n"
        "pods p2 prio=100 group=pg1\nbound p1 p2\n"
        "group pg2 3 prio=100 rack\npods p3 p4 p5 prio=100 group=pg2\nbound p3 p4 p5\nin r1 p1 p2 p3 p4 p5"
    ),
    "two gangs schedule consecutively, different topology keys": (
        "node n1 2 rack=r1 zone=z1\nnode n2 2 rack=r1 zone=z1\nnode n3 2 rack=r2 zone=z1\n"
        "node m1 2 rack=r3 zone=z2\nnode m2 2 rack=r3 zone=z2\nnode m3 2 rack=r3 zone=z2\n"
        "group pg1 3 prio=100 rack\npods p1 p2 p3 cpu=2 prio=100 group=pg1\nbound p1 p2 p3\nin r3 p1 p2 p3\n"
        "group pg2 3 prio=100 zone\npods p4 p5 p6 cpu=2 prio=100 group=pg2\nbound p4 p5 p6"
    ),
    "two gangs schedule consecutively, only one fits in the cluster": (
        f"{_RACK_2}{_GANG_3}bound p1 p2 p3\ngroup pg2 2 prio=100 rack\npods p4 p5 prio=100 group=pg2\nwaits p4 p5"
    ),
    "gang with minCount < pod count schedules on a single rack": (
        "node n1 2 rack=r1\nnode n2 1 rack=r1\nnode m1 2 rack=r2\nnode m2 1 rack=r2\ngroup pg1 2 prio=100 rack\n"
        "pods p1 p2 p3 prio=100 group=pg1\nbound p1 p2 p3\ntogether pg1"
    ),
    "gang with minCount < pod count schedules on a single rack without preemption, "
    "additional pod triggers preemption on the same rack": (
        "node n1 3 rack=r1\nnode m1 2 rack=r2\npods low on=n1 prio=10\npods p1 p2 p3 prio=100 group=pg1\n"
        "pods other cpu=2 on=m1 prio=100\ngroup pg1 2 prio=100 rack\nbound p1 p2 p3\nin r1 p1 p2 p3\nevicted low"
    ),
    "gang does not schedule on a single rack when preemption could free up enough resources": (
        f"node n1 2 rack=r1\nnode n2 2 rack=r1\npods old cpu=2 on=n2 prio=100\n{_GANG_3}waits p1 p2 p3\nevicted"
    ),
    "basic podgroup schedules on a single rack, choosing placement with highest allocation percentage "
    "(default placement scoring algorithm)": (f"{_RACK_1}{_RACK_2}{_BASIC_3}bound p1 p2 p3\nin r2 p1 p2 p3"),
    "basic podgroup schedules on a single rack, choosing placement with highest allocation percentage "
    "with pre-existing pods": (
        f"{_RACK_1}{_RACK_2}node m3 2 rack=r2\nnode k1 2 rack=r3\nnode k2 2 rack=r3\nnode k3 2 rack=r3\n"
        "node k4 2 rack=r3\npods old-1 on=n1 prio=100\npods old-2 on=m2 prio=100\npods old-3 on=m3 prio=100\n"
        f"{_BASIC_3}bound p1 p2 p3\nin r2 p1 p2 p3"
    ),
    "basic podgroup schedules on a single rack, choosing best scoring placement that will not fit all podgroup": (
        f"{_RACK_1}node n4 2 rack=r1\n{_SMALL_RACK}pods old cpu=2 on=n1 prio=100\ngroup pg1 - prio=100 rack\n"
        "pods p1 prio=100 group=pg1\nbound p1\npods p2 p3 prio=100 group=pg1\nstarted pg1 2\ntogether pg1\nin r3 p1"
    ),
    "two basic podgroups schedule consecutively, different topology keys": (
        "node n1 2 rack=r1 zone=z1\nnode n2 2 rack=r2 zone=z1\nnode m1 2 rack=r3 zone=z2\n"
        "group pg1 - prio=100 rack\npods p1 p2 prio=100 group=pg1\nbound p1 p2\ntogether pg1\n"
        "group pg2 - prio=100 zone\npods p3 p4 prio=100 group=pg2\nbound p3 p4"
    ),
    "basic podgroup schedules on the only rack in the cluster": (f"{_RACK_2}{_BASIC_3}bound p1 p2 p3\nin r2 p1 p2 p3"),
    "basic podgroup schedules all pods on a single rack, when there are multiple racks fitting in the cluster": (
        f"{_RACK_1}{_RACK_2}pods p1 p2 p3 prio=100 group=pg1\ngroup pg1 - prio=100 rack\nbound p1 p2 p3\ntogether pg1"
    ),
    "basic podgroup cannot fit on a single rack, no pods get scheduled on a different rack": (
        "node n1 2 rack=r1\nnode m1 2 rack=r2\npods p1 p2 p3 prio=100 group=pg1\ngroup pg1 - prio=100 rack\n"
        "started pg1 2\ntogether pg1"
    ),
    "basic podgroup does not schedule at all when no pods fit": (
        f"{_RACK_2}group pg1 - prio=100 rack\npods p1 p2 cpu=3 prio=100 group=pg1\nwaits p1 p2"
    ),
    "basic podgroup schedules only some pods when others don't fit on any node": (
        f"{_RACK_2}group pg1 - prio=100 rack\npods p1 cpu=3 prio=100 group=pg1\npods p2 p3 prio=100 group=pg1\n"
        "waits p1\nbound p2 p3"
    ),
    "two basic podgroups schedule consecutively, each on a single rack": (
        f"{_RACK_1}{_RACK_2}pods p1 p2 p3 cpu=2 prio=100 group=pg1\ngroup pg1 - prio=100 rack\nbound p1 p2 p3\n"
        "pods p4 p5 prio=100 group=pg2\ngroup pg2 - prio=100 rack\nbound p4 p5\ntogether pg1\ntogether pg2"
    ),
    "two basic podgroups schedule consecutively on the only rack": (
        f"{_RACK_2}group pg1 - prio=100 rack\npods p1 p2 prio=100 group=pg1\nbound p1 p2\n"
        "group pg2 - prio=100 rack\npods p3 p4 prio=100 group=pg2\nbound p3 p4"
    ),
    "two basic podgroups schedule consecutively, one does not fit in the assigned rack": (
        f"{_RACK_2}{_BASIC_3}bound p1 p2 p3\ngroup pg2 - prio=100 rack\npods p4 p5 prio=100 group=pg2\nstarted pg2 1"
    ),
    "basic podgroup continues to schedule pods when more resources become available": (
        "node m1 2 rack=r2\npods p1 p2 p3 prio=100 group=pg1\ngroup pg1 - prio=100 rack\nstarted pg1 2\n"
        "node m2 2 rack=r2\nbound p1 p2 p3"
    ),
}

_TWICE_2 = "node n1 4\ngroup pg1 2 prio=0\n"

GROUPS: Final = {
    "Gang scheduling pod group member pod added mid-cycle is correctly buffered and retried "
    "after unschedulable attempt": (
        f"{_INJECTED_GANG}pods p1 p2 cpu=2 prio=100 group=pg1\nrefused p1 p2 p3\ninjected p3\nwaits p1 p2 p3\n"
        "node n2 6\nbound p1 p2 p3"
    ),
    "Gang scheduling pod group member pod added mid-cycle is correctly buffered and retried "
    "after schedulable attempt": (
        f"{_INJECTED_GANG}node n2 6\npods p1 p2 cpu=2 prio=100 group=pg1\nbound p1 p2 p3\ninjected p3"
    ),
    "Basic policy pod group member pod added mid-cycle is correctly buffered and retried after unschedulable attempt": (
        f"{_INJECTED_BASIC}pods p1 cpu=2 prio=100 group=pg1\nbound p1\npods p2 cpu=2 prio=100 group=pg1\n"
        "refused p2 p3\ninjected p3\nwaits p2 p3\nnode n2 6\nbound p1 p2 p3"
    ),
    "Basic policy pod group member pod added mid-cycle is correctly buffered and retried after schedulable attempt": (
        f"{_INJECTED_BASIC}node n2 6\npods p1 p2 cpu=2 prio=100 group=pg1\nbound p1 p2 p3\ninjected p3"
    ),
    "two pods sharing a ReadWriteOncePod PVC keep the group unschedulable": (
        "node n1 4\nclaim data\ngroup pg1 2 prio=0\npods p1 p2 prio=0 group=pg1 uses=data\nwaits p1 p2"
    ),
    "two pods with distinct ReadWriteOncePod PVCs are scheduled": (
        "node n1 4\nclaim one\nclaim two\ngroup pg1 2 prio=0\npods p1 prio=0 group=pg1 uses=one\n"
        "pods p2 prio=0 group=pg1 uses=two\nbound p1 p2"
    ),
    "Gang scheduling pod group member pod fails PreBind, is correctly retried and scheduled": (
        "node n1 4\ngroup pg1 2 prio=0\npods p1 prio=0 group=pg1 fails\npods p2 prio=0 group=pg1\nbound p1 p2"
    ),
    "Basic policy pod group member pod fails PreBind, is correctly retried and scheduled": (
        "node n1 4\ngroup pg1 - prio=0\npods p1 prio=0 group=pg1 fails\npods p2 prio=0 group=pg1\nbound p1 p2"
    ),
    "Single member gang pod group fails PreBind, is correctly retried and scheduled": (
        "node n1 4\ngroup pg1 1 prio=0\npods p1 prio=0 group=pg1 fails\nbound p1"
    ),
    "Single member basic policy pod group fails PreBind, is correctly retried and scheduled": (
        "node n1 4\ngroup pg1 - prio=0\npods p1 prio=0 group=pg1 fails\nbound p1"
    ),
    "Gang scheduling pod group member pod fails PreBind while other is unschedulable, "
    "is correctly retried and scheduled": (
        "node n1 2\npods p1 cpu=2 prio=0 group=pg1 fails\npods p2 cpu=4 prio=0 group=pg1\nwaits p1 p2\n"
        "group pg1 1 prio=0\nbound p1\nwaits p2\nnode n2 6\nbound p1 p2"
    ),
    "Basic policy pod group member pod fails PreBind while other is unschedulable, "
    "is correctly retried and scheduled": (
        "node n1 2\ngroup pg1 - prio=0\npods p1 cpu=2 prio=0 group=pg1 fails\npods p2 cpu=4 prio=0 group=pg1\n"
        "bound p1\nwaits p2\nnode n2 6\nbound p1 p2"
    ),
    "After successfully scheduling a podgroup and requeuing a remaining unscheduled pod, "
    "the next scheduling attempt prioritizes the higher priority pod": (
        f"{_TWICE_2}pods p1 p2 p3 cpu=2 prio=0 group=pg1\nstarted pg1 2\npods high cpu=4 prio=1000\nnode n2 4\n"
        "bound high\nstarted pg1 2\nevicted"
    ),
    "After successfully scheduling a podgroup and requeuing a remaining unscheduled pod, "
    "the next scheduling attempt prioritizes the old pod if priorities are equal": (
        f"{_TWICE_2}pods p1 p2 p3 cpu=2 prio=0 group=pg1\ntick\npods alone cpu=2 prio=0\nstarted pg1 2\nnode n2 2\n"
        "started pg1 3\nwaits alone"
    ),
    "After successfully scheduling a podgroup with a new pending pod added mid-cycle, "
    "an older individual pod in queue is prioritized if priorities are equal": (
        f"{_TWICE_2}pods p1 p2 cpu=2 prio=0 group=pg1\npods alone cpu=2 prio=0\ntick\n"
        "pods p3 cpu=2 prio=0 group=pg1\nnode n2 2\nbound p1 p2 alone\nwaits p3"
    ),
    "gang schedules when pod group and resources are available": (
        f"{_CPU_4}{_GANG}pods p1 p2 p3 prio=100 group=pg1\nbound p1 p2 p3"
    ),
    "any available pod group members get scheduled": (
        f"{_CPU_4}{_GANG}pods p1 p2 p3 p4 prio=100 group=pg1\nbound p1 p2 p3 p4"
    ),
    "gang waits for quorum to start, then schedules": (
        f"{_CPU_4}{_GANG}pods p1 p2 prio=100 group=pg1\nwaits p1 p2\npods p3 prio=100 group=pg1\nbound p1 p2 p3"
    ),
    "gang waits for pod group, then for resources, then schedules": (
        f"{_CPU_4}pods blocker cpu=2 prio=100\nbound blocker\npods p1 p2 p3 prio=100 group=pg1\nwaits p1 p2 p3\n"
        f"{_GANG}waits p1 p2 p3\ndelete blocker\nbound p1 p2 p3"
    ),
    "minCount is scheduled, but one pod from a gang remain unschedulable until the blocked resources are released": (
        f"{_CPU_4}pods blocker prio=100\nbound blocker\npods p1 p2 p3 p4 prio=100 group=pg1\n{_GANG}started pg1 3\n"
        "delete blocker\nbound p1 p2 p3 p4"
    ),
    "two gangs competing for the same resources shouldn't deadlock": (
        f"{_CPU_4}{_GANG}group pg2 3 prio=100\npods p1 prio=100 group=pg1\npods q1 prio=100 group=pg2\n"
        "pods p2 prio=100 group=pg1\npods q2 prio=100 group=pg2\npods p3 prio=100 group=pg1\n"
        "pods q3 prio=100 group=pg2\nbound p1 p2 p3\nwaits q1 q2 q3"
    ),
    "pod group interleaving with an individual pod shouldn't deadlock nor livelock, "
    "and the individual pod gets scheduled": (
        f"{_CPU_4}{_GANG}pods blocker cpu=2 prio=100\npods p1 p2 p3 prio=100 group=pg1\nbound blocker\nwaits p1 p2 p3"
    ),
    "basic group schedules when pod group and resources are available, without gang enforcement": (
        f"{_CPU_4}{_BASIC}pods p1 prio=100 group=pg1\nbound p1\npods p2 p3 prio=100 group=pg1\nbound p1 p2 p3"
    ),
    "basic group waits for pod group, part of it waits for resources, then schedules": (
        f"{_CPU_4}pods blocker cpu=2 prio=100\nbound blocker\npods p1 p2 p3 prio=100 group=pg1\nwaits p1 p2 p3\n"
        f"{_BASIC}started pg1 2\ndelete blocker\nbound p1 p2 p3"
    ),
    "basic group schedules with workload-aware preemption": (
        f"{_CPU_4}pods blocker cpu=2 prio=10\nbound blocker\n{_BASIC}pods p1 p2 p3 p4 prio=100 group=pg1\n"
        "bound p1 p2 p3 p4\nevicted blocker"
    ),
    "gang schedules with workload-aware preemption": (
        f"{_CPU_4}pods low-1 low-2 low-3 low-4 prio=10\nbound low-1 low-2 low-3 low-4\n{_GANG}"
        "pods p1 p2 p3 p4 prio=100 group=pg1\nbound p1 p2 p3 p4\nevicted low-1 low-2 low-3 low-4"
    ),
    "gang schedules with partial workload-aware preemption": (
        f"{_CPU_4}pods low-1 low-2 prio=10\npods lower-1 lower-2 prio=5\nbound low-1 low-2 lower-1 lower-2\n"
        "group mid 2 prio=50\npods m1 m2 prio=50 group=mid\nbound m1 m2 low-1 low-2\nevicted lower-1 lower-2"
    ),
    "tas gang with constraint uses workload preemption": (
        "node n1 4 rack=r1\npods low-1 low-2 prio=10\npods lower-1 lower-2 prio=5\n"
        "bound low-1 low-2 lower-1 lower-2\ngroup mid 2 prio=50 rack\npods m1 m2 prio=50 group=mid\n"
        "bound m1 m2 low-1 low-2\nevicted lower-1 lower-2"
    ),
    "gang pods are unschedulable due to lack of quorum, then scheduled when minCount is decreased": (
        f"{_CPU_4}group pg1 5 prio=100\npods p1 p2 p3 prio=100 group=pg1\nwaits p1 p2 p3\nmin pg1 3\nbound p1 p2 p3"
    ),
    "gang pods are unschedulable due to lack of space, then scheduled when minCount is decreased": (
        f"{_CPU_4}group pg1 5 prio=100\npods p1 p2 p3 p4 p5 prio=100 group=pg1\nwaits p1 p2 p3 p4 p5\nmin pg1 4\n"
        "started pg1 4"
    ),
    "gang pods are unschedulable due to lack of quorum, and remain unschedulable without triggering reschedule "
    "when minCount is increased": (
        f"{_CPU_4}group pg1 4 prio=100\npods p1 p2 p3 prio=100 group=pg1\nwaits p1 p2 p3\nmin pg1 5\nwaits p1 p2 p3"
    ),
    "Single gated pod blocks gang group from being scheduled until pod is ungated": (
        f"{_CPU_4}{_GANG}pods p1 p2 prio=100 group=pg1\npods p3 prio=100 group=pg1 gate\nwaits p1 p2 p3\nungate p3\n"
        "bound p1 p2 p3"
    ),
    "gang is scheduled, then pod group is deleted, "
    "and new enqueued pods belong to it end up in incompletePodGroupPods": (
        f"{_CPU_4}{_GANG}pods p1 p2 p3 prio=100 group=pg1\nbound p1 p2 p3\nremove pg1\npods p4 prio=100 group=pg1\n"
        "waits p4"
    ),
    "basic group is scheduled, then pod group is deleted, "
    "and new enqueued pods belong to it end up in incompletePodGroupPods": (
        f"{_CPU_4}{_BASIC}pods p1 p2 p3 prio=100 group=pg1\nbound p1 p2 p3\nremove pg1\npods p4 prio=100 group=pg1\n"
        "waits p4"
    ),
    "gang is partially scheduled, then pod group is deleted, unschedulable pods end up in incompletePodGroupPods": (
        f"node n1 3\npods p1 p2 p3 p4 prio=100 group=pg1\n{_GANG}started pg1 3\nremove pg1\nnode n2 3\nstarted pg1 3"
    ),
    "basic group is partially scheduled, then pod group is deleted, "
    "unschedulable pods end up in incompletePodGroupPods": (
        f"node n1 3\npods p1 p2 p3 p4 prio=100 group=pg1\n{_BASIC}started pg1 3\nremove pg1\nnode n2 3\nstarted pg1 3"
    ),
    "anti-affinity honored across the cycle on a multi-topology cluster": (
        "node n1 4 rack=r1\nnode n2 4 rack=r2\ngroup pg1 2 prio=100\npods p1 p2 prio=100 group=pg1 anti\nbound p1 p2\n"
        "apart pg1"
    ),
    "anti-affinity keeps the group unschedulable on a single-topology cluster": (
        "node n1 4 rack=r1\nnode n2 4 rack=r1\ngroup pg1 2 prio=100\npods p1 p2 prio=100 group=pg1 anti\nwaits p1 p2"
    ),
    "two gangs competing for the same resources shouldn't deadlock, reversed order": (
        f"{_CPU_4}group pg2 3 prio=100\n{_GANG}pods q1 q2 prio=100 group=pg2\npods p1 p2 prio=100 group=pg1\n"
        "pods q3 prio=100 group=pg2\ntick\npods p3 prio=100 group=pg1\nbound q1 q2 q3\nwaits p1 p2 p3"
    ),
    "gang is unschedulable, then pod group is deleted, unschedulable pods end up in incompletePodGroupPods": (
        f"node n1 2\n{_GANG}pods p1 p2 p3 prio=100 group=pg1\nwaits p1 p2 p3\nremove pg1\nnode n2 2\nwaits p1 p2 p3"
    ),
}

CASES: Final = {**PREEMPTION, **TOPOLOGY, **GROUPS}

"""Claimants: single pods and groups that wait for a node, and whether there is capacity for each, seen from outside.

The judge computes this from the API's objects and does not depend on how the engine does it: capacity is counted node
by node, domain by domain. In a simulation, all members of a group or tree request equal amounts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from muster.framework.model.times import parse_time
from muster.sandbox.kinds import NATIVE_POD_GROUPS, NODES, PODS
from muster.sandbox.objects import Object

from .acts import ZONE
from .amounts import SimulatedDevices, allocatable, cpu, has_ended, on_node, priority
from .members import group_of
from .pods import STRANGER
from .quotas import limit, used
from .server import EPOCH, SimulatedServer
from .traits import ANYWHERE, Rule, rule_of
from .trees import Trees


@dataclass(frozen=True, slots=True)
class Claimant:
    """A single pod or a group that waits for nodes.

    Attributes:
        name: of the pod, or of the group.
        pods: the waiting pods; of a group one or more, all alike.
        missing: how many of them need a node at once.
        is_group: whether it is a group.
        rule: where its members have to be.
        holding: for a group, the names of its members' nodes, one for each member with a node.
        started: whether it is a group that has its quorum, so that these are later members.
    """

    name: str
    pods: Sequence[Object]
    missing: int
    is_group: bool = False
    rule: Rule = ANYWHERE
    holding: Sequence[str] = ()
    started: bool = False

    @property
    def priority(self) -> int:
        """The highest priority of its pods."""
        return max(map(priority, self.pods))

    @property
    def since(self) -> float:
        """When the last of the pods that it needs was created, in seconds on the loop's clock."""
        created = sorted(parse_time(pod["metadata"]["creationTimestamp"]) for pod in self.pods)
        return created[self.missing - 1] - EPOCH

    def __str__(self) -> str:
        return f"{self.missing} of {len(self.pods)} members of {self.name}" if self.is_group else f"pod {self.name}"


Domain = tuple[str, ...]
"""The values of some labels."""


class Capacity:
    """The free capacity of usable nodes and of the quota.

    `counts` says which pods take some, `kept` what is reserved for others, `opened` which cordoned nodes are usable.
    """

    def __init__(
        self,
        server: SimulatedServer,
        counts: Callable[[Object], bool] = lambda pod: True,
        kept: Callable[[Object, str], int] = lambda pod, node: 0,
        opened: Collection[str] = (),
    ) -> None:
        self._kept = kept
        self._devices = SimulatedDevices(server)
        self._places = {node["metadata"]["name"]: node for node in server.objects(NODES)}
        self._nodes = _left(server, counts, opened)
        self._as_it_is = _left(server, lambda pod: True, opened)
        pods = server.objects(PODS)
        self._quota_left = limit(server) - used(pods)
        self._gone = [pod for pod in pods if not counts(pod)]

    def for_one(self, pod: Object) -> list[str]:
        """The nodes that would take a single pod."""
        return [
            name
            for node, left in self._nodes
            if left - self._kept(pod, name := node["metadata"]["name"]) >= cpu(pod)
            and self._quota_left + self._freed(name) >= cpu(pod)
            and _selects(pod, node)
            and self._devices.has(name, pod)
        ]

    def takes(self, claimant: Claimant) -> bool:
        """Whether the claimant could start. Not decided for slices of which members have nodes already."""
        if not claimant.is_group:
            return bool(self.for_one(claimant.pods[0]))
        rule, missing = claimant.rule, claimant.missing
        if self._in_all(claimant) < rule.in_all:
            return False
        if self._quota_left + self._freed() < missing * cpu(claimant.pods[0]):
            return False
        there = [self._places[node] for node in claimant.holding if node in self._places]
        within = {domain_of(node, rule.levels) for node in there} if rule.levels else set()
        if len(within) > 1 or None in within or (rule.slice_size and claimant.holding):
            return False
        parts: dict[Domain, Counter[Domain]] = defaultdict(Counter)
        for node, left in self._nodes:
            where, part = domain_of(node, rule.levels), domain_of(node, (rule.slice_level,) if rule.slice_size else ())
            if where is not None and part is not None and (not within or where in within):
                parts[where][part] += self._many_on(node, left, claimant)
        return any(_has_slices(found, missing, rule.slice_size or 1) for found in parts.values())

    def _freed(self, node: str = "") -> int:
        """How much of the quota is used by pods that take nothing, on a node if one is given."""
        return used(pod for pod in self._gone if not node or pod["spec"].get("nodeName") == node)

    def _many_on(self, node: Object, left: int, claimant: Claimant) -> int:
        """How many of its pods a node takes. Later members evict on the node that they get alone."""
        name, pods = node["metadata"]["name"], claimant.pods
        if claimant.started and self._quota_left + self._freed(name) < cpu(pods[0]):
            return 0
        places = max(0, left - self._kept(pods[0], name)) // cpu(pods[0])
        devices = self._devices.places(name, pods)
        return places if devices is None else min(places, devices)

    def _in_all(self, claimant: Claimant) -> int:
        """The free capacity for a group on all nodes, with that of its members, in thousandths of a CPU.

        Members that come later are let in when that is free, and neither evict nor reserve for it: it has to be as is.
        """
        pod = claimant.pods[0]
        nodes = self._as_it_is if claimant.started else self._nodes
        left = (max(0, left - self._kept(pod, node["metadata"]["name"])) for node, left in nodes)
        return sum(left) + len(claimant.holding) * cpu(pod)


def groups(server: SimulatedServer) -> dict[str, Object]:
    """The groups of both kinds by name."""
    kinds = (server.pod_groups, NATIVE_POD_GROUPS)
    return {group["metadata"]["name"]: group for kind in kinds for group in server.objects(kind)}


def minimum(group: Object) -> int:
    """The number of members that a group needs."""
    spec = group["spec"]
    found: int = spec["minMember"] if "minMember" in spec else spec["schedulingPolicy"]["gang"]["minCount"]
    return found


def bound_members(server: SimulatedServer) -> Counter[str]:
    """How many members of each group count for its quorum.

    One that has ended does so only in Kubernetes' own groups: of PodGroups by label a later run may come while pods of
    the run before are still there, and has to start whole.
    """
    return Counter(
        group
        for pod in server.objects(PODS)
        if pod["spec"].get("nodeName")
        and ("schedulingGroup" in pod["spec"] or not has_ended(pod))
        and (group := group_of(pod)) is not None
    )


def claimants(server: SimulatedServer) -> Iterator[Claimant]:
    """All waiting claimants that are complete: a group that lacks pods, or its own object, waits for these."""
    for pod in waiting(server):
        if group_of(pod) is None:
            yield Claimant(pod["metadata"]["name"], [pod], 1)
    trees, parts = Trees(server), dict[str, Claimant]()
    for name, gang in gangs(server).items():
        if trees.is_part(name):
            parts[name] = gang
        else:
            yield gang
    yield from _in_trees(trees, parts, groups(server), bound_members(server), holding=holders(server))


def gangs(server: SimulatedServer) -> dict[str, Claimant]:
    """The waiting groups that are complete by name, each by itself where it is a part of a tree."""
    members: dict[str, list[Object]] = defaultdict(list)
    for pod in waiting(server):
        of = group_of(pod)
        if of is not None:
            members[of].append(pod)
    known, bound, holding = groups(server), bound_members(server), holders(server)
    found: dict[str, Claimant] = {}
    for name, pods in members.items():
        group = known.get(name)
        missing = 0 if group is None else max(1, minimum(group) - bound[name])
        if group is not None and len(pods) >= missing:
            found[name] = Claimant(
                name,
                pods,
                missing,
                is_group=True,
                rule=rule_of(group),
                holding=[pod["spec"]["nodeName"] for pod in holding[name]],
                started=bound[name] >= minimum(group),
            )
    return found


def _in_trees(
    trees: Trees,
    parts: Mapping[str, Claimant],
    known: Mapping[str, Object],
    bound: Counter[str],
    *,
    holding: Mapping[str, Sequence[Object]],
) -> Iterator[Claimant]:
    """The claimants whose groups are parts of trees.

    Of a tree that has not got what it needs all that wait claim nodes together, in the narrowest domain that one of
    them asks for: where all of this fits what it needs does. Each part of a tree that has claims nodes for itself.
    """

    def has_started(name: str) -> bool:
        return bound[name] >= minimum(known[name])

    def may_start(name: str) -> bool:
        return name in parts or has_started(name)

    for root in trees.roots():
        leaves = [name for name in trees.that_count(root, may_start) if name in parts]
        nodes = [pod["spec"]["nodeName"] for name in trees.leaves(root) for pod in holding.get(name, ())]
        every = [*trees.composites(root)]
        levels = {level for each in every for level in trees.levels(each)}
        levels |= {level for name in leaves for level in parts[name].rule.levels}
        rule = Rule(tuple(sorted(levels)))
        if all(trees.has_enough(each, has_started) for each in every):
            for name in leaves:
                yield replace(parts[name], rule=rule, holding=nodes)
        elif leaves:
            pods = [pod for name in leaves for pod in parts[name].pods]
            yield Claimant(root, pods, len(pods), is_group=True, rule=rule, holding=nodes)


def holders(server: SimulatedServer) -> dict[str, list[Object]]:
    """The members of each group that have a node and have not ended."""
    found: dict[str, list[Object]] = defaultdict(list)
    for pod in server.objects(PODS):
        group = group_of(pod)
        if group is not None and pod["spec"].get("nodeName") and not has_ended(pod):
            found[group].append(pod)
    return found


def waiting(server: SimulatedServer) -> list[Object]:
    """The pods that wait for Muster."""
    pods = server.objects(PODS)
    return [pod for pod in pods if is_ours(pod) and not pod["spec"].get("nodeName") and not has_ended(pod)]


def is_ours(pod: Object) -> bool:
    """Whether the pod is Muster's to schedule."""
    return bool(pod["spec"]["schedulerName"] != STRANGER)


def domain_of(node: Object, levels: Sequence[str]) -> Domain | None:
    """The node's values of these labels; None if it lacks one."""
    labels = node["metadata"]["labels"]
    return tuple(labels[level] for level in levels) if all(level in labels for level in levels) else None


def _left(
    server: SimulatedServer, counts: Callable[[Object], bool], opened: Collection[str]
) -> list[tuple[Object, int]]:
    """The usable nodes, and the capacity that pods that count leave on each."""
    return [
        (node, allocatable(node) - sum(map(cpu, filter(counts, on_node(server, node["metadata"]["name"])))))
        for node in server.objects(NODES)
        if not node["spec"].get("unschedulable") or node["metadata"]["name"] in opened
    ]


def _has_slices(parts: Counter[Domain], wanted: int, size: int) -> bool:
    """Whether parts of a domain with this many places take whole slices and a smaller one."""
    whole, rest = divmod(wanted, size)
    full = sum(places // size for places in parts.values())
    return full > whole or (full == whole and any(places % size >= rest for places in parts.values()))


def _selects(pod: Object, node: Object) -> bool:
    wanted = (pod["spec"].get("nodeSelector") or {}).get(ZONE)
    return wanted is None or node["metadata"]["labels"].get(ZONE) == wanted

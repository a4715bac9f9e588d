"""Random histories of namespaces that place, borrow, claim and lose pods, each derived from a seed.

`python -m tests.capacityscheduling.histories 1-10000` plays so many and prints what happened in them. One node has all
capacity, so that quota alone decides; admission, claims and the ledger are the plugin's own. Between two changes from
outside (a pod or gang comes or ends, a quota changes) the history goes on until nothing can be placed any more. Then
the following must hold, or `Broken` says which does not:

1. A claim leaves the claimant's quota, or the one above it that claims, within its `min`, and its gang with a node.
2. The victims' side keeps exactly the pods that its `min` covers.
3. There are finitely many claims: each makes what is guaranteed larger.
4. Among equal priorities, without parents: what was evicted evicts nobody before the next change from outside, and a
   gang that has claimed is not evicted.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import cast

import msgspec

from muster.framework.contract import DisruptionUnit, Placed, PodInfo, PreemptionHandle
from muster.framework.model.times import rfc3339
from muster.framework.snapshot.snapshot import Snapshot
from muster.plugins.capacityscheduling.borrowing import is_within, need_of, rejection_of
from muster.plugins.capacityscheduling.claims import Claims
from muster.plugins.capacityscheduling.ledger import QuotaLedger
from muster.plugins.capacityscheduling.tree import Quota, QuotaTree, branch
from tests.builders import make_pod
from tests.cache.objects import node, pod
from tests.capacityscheduling.objects import quota

NODE = "node"
_MOST_STEPS = 400
"""The most placements between two changes from outside: each claim guarantees more, and there is only so much."""


class Broken(AssertionError):
    """What must hold does not."""


@dataclass(eq=False)
class Gang:
    """Pods that start together and go together; one alone is a gang of one."""

    name: str
    namespace: str
    pods: Sequence[PodInfo]
    priority: int

    def start(self, second: int) -> None:
        """Its pods run since this second."""
        self.pods = [
            PodInfo(
                msgspec.structs.replace(
                    each.pod, status=msgspec.structs.replace(each.pod.status, start_time=rfc3339(float(second)))
                )
            )
            for each in self.pods
        ]

    @property
    def uids(self) -> set[str]:
        """The UIDs of its pods."""
        return {each.uid for each in self.pods}


@dataclass
class _Handle:
    """As much of a handle as claims need: the snapshot, and which pods go together."""

    snapshot: Snapshot
    gang_of: dict[str, Gang] = field(default_factory=dict)

    @property
    def nominator(self) -> _Handle:
        return self

    def nominations(self) -> Iterator[tuple[PodInfo, str]]:
        """No nominations: victims go at once."""
        return iter(())

    def disruption_epoch(self) -> int:
        """No group changes while its pods run."""
        return 0

    def disruption_unit(self, found: PodInfo) -> DisruptionUnit | None:
        """The gang of a pod; None for a pod by itself."""
        gang = self.gang_of[found.uid]
        if len(gang.pods) == 1:
            return None
        return DisruptionUnit(gang.name, [Placed(each, NODE) for each in gang.pods], gang.priority, 0)


class History:
    """One history. `happened` counts what it was made of."""

    _weights: Mapping[str, str] = {}

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.happened: Counter[str] = Counter()
        self._numbers = iter(range(1, 1 << 30))
        self._snapshot = Snapshot()
        self._capacity = {"cpu": 1000 * self.random.randint(4, 16), "gpu": self.random.randint(2, 8)}
        self._snapshot.set_node(node(NODE))
        self._handle = _Handle(self._snapshot)
        self._ledger = QuotaLedger(self._snapshot.usage())
        self._claims = Claims(cast("PreemptionHandle", self._handle), lambda: self._ledger)
        self._waiting: list[Gang] = []
        self._running: list[Gang] = []
        self._namespaces = [f"ns{n}" for n in range(self.random.randint(2, 5))]
        self._parents = {name: "dept/quota" for name in self._namespaces[1:3] if self.random.random() < 0.3}
        self._priorities = self.random.choice(((0,), (0, 0, 5)))
        self._strict = not self._parents and self._priorities == (0,)
        self._mins = {name: self._some_min() for name in self._namespaces}
        self._plant()

    def play(self, steps: int) -> None:
        """Let so many things happen from outside, and after each all that follows."""
        for _ in range(steps):
            self._happen()
            self._settle()

    # What comes from outside.

    def _happen(self) -> None:
        kind = self.random.choices(("come", "end", "quota"), (6, 3, 1))[0]
        if kind == "end" and self._running:
            self._remove(self.random.choice(self._running))
        elif kind == "quota":
            self._mins[self.random.choice(self._namespaces)] = self._some_min()
            self._plant()
        else:
            self._waiting.append(self._some_gang())
        self.happened[kind] += 1

    def _some_min(self) -> Mapping[str, str]:
        some = self.random.randint
        return {"cpu": str(some(0, 6)), **({"gpu": str(some(0, 3))} if self.random.random() < 0.7 else {})}

    def _some_gang(self, namespace: str = "") -> Gang:
        """A gang of this namespace, or of any."""
        name, namespace = f"g{next(self._numbers)}", namespace or self.random.choice(self._namespaces)
        size = self.random.choice((1, 1, 1, 2, 3))
        requests = {"cpu": str(self.random.randint(0, 3)), "gpu": str(self.random.choice((0, 0, 1)))}
        priority = self.random.choice(self._priorities)
        pods = [
            pod(make_pod(f"{name}-{n}", namespace=namespace).requests(requests).priority(priority)) for n in range(size)
        ]
        gang = Gang(name, namespace, pods, priority)
        self._handle.gang_of.update((each.uid, gang) for each in pods)
        return gang

    def _plant(self) -> None:
        above = [quota("dept", min={"cpu": "4"})] if self._parents else []
        below = [
            quota(name, min=self._mins[name], parent=self._parents.get(name, ""), weight=self._weights.get(name, ""))
            for name in self._namespaces
        ]
        self._ledger.plant(QuotaTree.of([*above, *below]))

    # What follows.

    def _settle(self) -> None:
        """Place whoever can be placed, in a random order, until nobody can."""
        evicted: set[str] = set()
        claimed: set[str] = set()
        for _ in range(_MOST_STEPS):
            self.random.shuffle(self._waiting)
            if not any(self._place(gang, evicted, claimed) for gang in [*self._waiting]):
                return
        raise Broken("claims do not come to an end")

    def _place(self, gang: Gang, evicted: set[str], claimed: set[str]) -> bool:
        """Place a gang if quota lets it, in free capacity or by a claim; whether it was placed."""
        own, need = self._ledger.tree.by_namespace[gang.namespace], need_of(gang.pods)
        if rejection_of(own, need, self._ledger.used, self._ledger.tree.lent) is not None:
            return False
        victims = self._victims(gang, need)
        if victims is None:
            return False
        if victims:
            self._claim(gang, own, need, victims, evicted=evicted, claimed=claimed)
        gang.start(next(self._numbers))
        for each in gang.pods:
            self._snapshot.add_pod(each, NODE)
        self._waiting.remove(gang)
        self._running.append(gang)
        self.happened["placed"] += 1
        return True

    def _victims(self, gang: Gang, need: Mapping[str, int]) -> list[Gang] | None:
        """Gangs without which it fits: none if it fits at once; None if it cannot be made to fit."""
        free = self._free()
        if _fits(need, free):
            return []
        rule = self._claims.rule(gang.pods, len(gang.pods), gang.priority)
        claimable = set() if rule is None else {*rule.claimable}
        found = []
        for other in self.random.sample(self._running, len(self._running)):
            if other.uids <= claimable:
                found.append(other)
                freed = need_of(other.pods)
                free = {name: amount + freed.get(name, 0) for name, amount in free.items()}
                if _fits(need, free):
                    return found
            elif other.uids & claimable:
                raise Broken(f"a part of {other.name} may be evicted")
        return None

    def _claim(
        self,
        gang: Gang,
        own: Quota,
        need: Mapping[str, int],
        victims: Sequence[Gang],
        *,
        evicted: set[str],
        claimed: set[str],
    ) -> None:
        """Evict the victims, after a look at what must hold."""
        lent, used = self._ledger.tree.lent, self._ledger.used
        if not any(is_within(each, need, used, lent) for each in own.path[:-1]):
            raise Broken(f"{gang.name} claims beyond min")
        if self._strict and gang.name in evicted:
            raise Broken(f"{gang.name} was evicted and evicts in turn")
        before, sides = self._guaranteed(), set[Quota | None]()
        for victim in victims:
            if self._strict and victim.name in claimed:
                raise Broken(f"{victim.name} has claimed its place and loses it in turn")
            if victim.namespace == gang.namespace:
                raise Broken(f"{gang.name} claims from its own namespace")
            sides.add(branch(self._ledger.tree.by_namespace[victim.namespace], own))
            evicted.add(victim.name)
            self._remove(victim)
            self._waiting.append(victim)
            self.happened["evicted"] += 1
        after = self._guaranteed()
        for side in sides:
            if side is not None and after[side] != before[side]:
                raise Broken(f"{side.key} lost pods that its min covers")
        claimed.add(gang.name)
        self.happened["claims"] += 1

    def _guaranteed(self) -> dict[Quota, frozenset[str]]:
        """The pods that each quota guarantees, in plain arithmetic: units by priority and name, as far as they fit."""
        found: dict[Quota, frozenset[str]] = {}

        def covered(each: Quota) -> frozenset[str]:
            below = frozenset[str]().union(*(covered(child) for child in each.children))
            names = {part.namespace for part in each.subtree()}
            mine = [gang for gang in self._running if gang.namespace in names]
            left = {name: each.min.get(name, 0) for name in self._ledger.tree.lent}
            inside: set[str] = set()
            mine.sort(key=lambda gang: (not gang.uids & below, -gang.priority, gang.pods[0].pod.status.start_time))
            for gang in mine:
                need = need_of(gang.pods)
                if all(need.get(name, 0) <= amount for name, amount in left.items()):
                    left = {name: amount - need.get(name, 0) for name, amount in left.items()}
                    inside |= gang.uids
            found[each] = frozenset(inside)
            return found[each]

        for top in self._ledger.tree.root.children:
            covered(top)
        return found

    def _free(self) -> dict[str, int]:
        used = Counter[str]()
        for gang in self._running:
            used.update(need_of(gang.pods))
        return {name: amount - used[name] for name, amount in self._capacity.items()}

    def _remove(self, gang: Gang) -> None:
        self._running.remove(gang)
        for each in gang.pods:
            self._snapshot.remove_pod(each, NODE)


def _fits(need: Mapping[str, int], free: Mapping[str, int]) -> bool:
    return all(need.get(name, 0) <= amount for name, amount in free.items())


def play(seed: int, steps: int = 40) -> Counter[str]:
    """What happened in the history of this seed. Raises Broken with the seed."""
    history = History(seed)
    try:
        history.play(steps)
    except Broken as broken:
        raise Broken(f"seed {seed}: {broken}") from broken
    return history.happened


def main(arguments: Sequence[str]) -> int:
    """Play seeds, each a number or `FIRST-LAST`, and print what happened."""
    total, played = Counter[str](), 0
    for seeds in arguments:
        first, _, last = seeds.partition("-")
        for seed in range(int(first), int(last or first) + 1):
            total.update(play(seed))
            played += 1
    what = ", ".join(f"{number} {name}" for name, number in sorted(total.items()))
    print(f"{played} histories: {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

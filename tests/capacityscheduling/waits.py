"""Histories in time: how long anybody waits for a turn, and for a start.

`python -m tests.capacityscheduling.waits 1-1000` plays so many and prints the longest waits beside their bounds; it
ends with exit code 1 if a bound was exceeded. Each is a history as in `histories`, whose first two rules hold here,
too; but decisions take time, everything that was started ends, and more comes than fits. The order is that of the
product: its heap of tenants, and the turns of quotas.

In some histories pods without a quota, which go before all others, take every decision that they can get. The
bounds are:

1. A namespace with ready pods waits for its next attempt for `PATIENCE_SECONDS`, and an attempt of every other one.
2. If the first in line of a namespace stays within `min`, the namespace waits no longer for a start: it may evict.
3. If the first in line is a single pod within what its namespace is entitled to, and nobody floods the queue, the
   namespace starts something within twice the longest run and bound 1. After one run the namespace has the smallest
   share of all that borrow, because its own pods have ended; after the second all that others had borrowed is back.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from muster.framework.contract import PodInfo
from muster.framework.queue.tenants import PATIENCE_SECONDS, TenantHeap
from muster.plugins.capacityscheduling.borrowing import need_of, rejection_of
from muster.plugins.capacityscheduling.ledger import QuotaLedger
from muster.plugins.capacityscheduling.turns import Turns
from tests.builders import make_pod
from tests.cache.objects import pod
from tests.capacityscheduling.entitled import Terms, entitled
from tests.capacityscheduling.histories import Broken, Gang, History

SECONDS = 400.0
SLOWEST = 0.5
"""The longest decision."""
_CORE = 1000
_WAITING = 6
"""So many cores of work wait at least in a namespace that is loaded."""
_LOOK_SECONDS = 1.0
_CALM_SECONDS = 0.2
TURN, WITHIN_MIN, WITHIN_SHARE = "a turn", "a start within min", "a start within the entitled share"
"""What is waited for."""
FLOOD = "flood"
"""The namespace without a quota."""


@dataclass(eq=False)
class _Entry:
    """A gang in the queue, with its place within a namespace; the heap keeps `ticket` and `tenant`."""

    gang: Gang
    place: tuple[int, float, str]
    ticket: int = 0
    tenant: str = ""
    sort_key: tuple[Hashable, ...] = ()

    def __post_init__(self) -> None:
        self.sort_key = self.place


@dataclass
class Waits:
    """What was waited for.

    Attributes:
        longest: by kind the wait that came nearest to its bound, and that bound.
        noted: how many waits were compared with their bounds.
    """

    longest: dict[str, tuple[float, float]] = field(default_factory=dict)
    noted: Counter[str] = field(default_factory=Counter)

    def note(self, kind: str, seconds: float, bound: float) -> None:
        """Count a wait of so many seconds. Raises Broken beyond the bound."""
        if seconds > bound:
            raise Broken(f"a wait for {kind} of {seconds:.1f} s, which may take {bound:.1f} s")
        self.noted[kind] += 1
        before = self.longest.get(kind)
        if before is None or seconds * before[1] > before[0] * bound:
            self.longest[kind] = (seconds, bound)

    def add(self, other: Waits) -> None:
        """Count those of another history."""
        for kind, (seconds, bound) in other.longest.items():
            self.note(kind, seconds, bound)
            self.noted[kind] += other.noted[kind] - 1


class _Order:
    """The order of tenants, as the plugin gives it to the queue."""

    def __init__(self, ledger: QuotaLedger) -> None:
        self._ledger = ledger
        self._turns = Turns()

    def tenants_moved(self) -> Sequence[str] | None:
        return self._turns.moved(self._ledger)

    def tenant_of(self, namespace: str) -> str:
        return namespace if namespace in self._ledger.tree.by_namespace else ""

    def turn_of(self, tenant: str, pod: PodInfo) -> tuple[float, ...]:
        return self._turns.turn_of(tenant, pod, self._ledger)

    def placed(self, tenant: str) -> None:
        self._turns.placed((tenant,), self._ledger)


class TimedHistory(History):
    """One history in time. `waits` has the longest waits in it."""

    _spare, _most = 0, 1

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.waits = Waits()
        self._now = 0.0
        self._floods = self.random.random() < 0.3
        self._longest_run = self.random.choice((10.0, 20.0, 120.0))
        self._largest = self.random.choice((_CORE, 4 * _CORE))
        self._ranks = {name: self.random.choice(((0,), (0, 0, 5), (5,))) for name in self._namespaces}
        self._loaded = [name for name in self._namespaces if self.random.random() < 0.6]
        self._spare, self._most = self.random.choice((0, 0, 3 * _CORE)), self.random.choice((2, 8))
        self._mins = {name: self._some_min() for name in self._namespaces}
        self._weights = {name: self.random.choice(("", "2", "5")) for name in self._namespaces}
        self._plant()
        self._order = _Order(self._ledger)
        self._heap: TenantHeap[_Entry] = TenantHeap(self._order, lambda entry: entry.gang.pods[0])
        self._heap.moved(self._order.tenants_moved())
        self._entries: dict[str, _Entry] = {}
        self._ends: dict[str, float] = {}
        self._parked: dict[str, None] = {}
        self._ready: Counter[str] = Counter()
        self._ready_since: dict[str, float] = {}
        self._entitled_since: dict[tuple[str, str], float] = {}
        self._looked_at = 0.0

    @property
    def attempt_bound(self) -> float:
        """The longest wait for a turn: patience, and an attempt of each namespace."""
        return PATIENCE_SECONDS + SLOWEST * (len(self._namespaces) + 1)

    def run(self, seconds: float) -> None:
        """Let so much time pass."""
        while self._now < seconds:
            self._come_and_end()
            moved = self._order.tenants_moved()
            if moved is None or moved:
                self._heap.moved(moved)
            entry = self._heap.pop(self._now)
            if entry is None:
                self._now += _CALM_SECONDS
            else:
                self._attempt(entry)
            if self._now >= self._looked_at + _LOOK_SECONDS:
                self._looked_at = self._now
                self._look()

    # What the history is made of: cores alone, and no parents, so that plain arithmetic says who is entitled to what.

    def _some_min(self) -> Mapping[str, str]:
        return {"cpu": str(self.random.choice((0, self.random.randint(1, self._most))))}

    def _some_gang(self, namespace: str = "") -> Gang:
        self._priorities = self._ranks[namespace]
        gang = super()._some_gang(namespace)
        while not 0 < need_of(gang.pods).get("cpu", 0) <= self._largest:
            gang = super()._some_gang(namespace)
        return gang

    def _plant(self) -> None:
        self._parents, self._strict = {}, False
        super()._plant()
        least = sum(each.min.get("cpu", 0) for each in self._ledger.tree.by_namespace.values())
        self._capacity = {"cpu": least + self._spare, "gpu": 1 << 30}

    def _come_and_end(self) -> None:
        """More comes wherever too little waits; what has run for long enough ends; quotas change now and then."""
        if self._floods and not self._ready[""]:
            flooding = pod(make_pod(f"p{next(self._numbers)}", namespace=FLOOD))
            self._push(_Entry(Gang(flooding.key, FLOOD, [flooding], 10), (-10, self._now, flooding.key)))
        waiting = Counter[str]()
        for gang in self._waiting:
            waiting[gang.namespace] += need_of(gang.pods)["cpu"]
        for name in self._loaded:
            while waiting[name] < _WAITING * _CORE:
                gang = self._some_gang(name)
                waiting[name] += need_of(gang.pods)["cpu"]
                self._waiting.append(gang)
                self._enter(gang)
        for gang in [gang for gang in self._running if self._ends[gang.name] <= self._now]:
            self._remove(gang)
        if self.random.random() < 0.002:
            self._mins[self.random.choice(self._namespaces)] = self._some_min()
            self._plant()
            self._wake()

    def _enter(self, gang: Gang) -> None:
        entry = self._entries.get(gang.name)
        if entry is None:
            entry = self._entries[gang.name] = _Entry(gang, (-gang.priority, self._now, gang.name))
        self._push(entry)

    def _push(self, entry: _Entry) -> None:
        self._heap.push(entry.sort_key, entry)
        self._ready[entry.tenant] += 1
        self._ready_since.setdefault(entry.tenant, self._now)

    def _remove(self, gang: Gang) -> None:
        super()._remove(gang)
        del self._ends[gang.name]
        self._wake()

    def _wake(self) -> None:
        """Put those back whom quotas let in now."""
        tree = self._ledger.tree
        for name in [*self._parked]:
            entry = self._entries[name]
            own, need = tree.by_namespace[entry.gang.namespace], need_of(entry.gang.pods)
            if rejection_of(own, need, self._ledger.used, tree.lent) is None:
                del self._parked[name]
                self._push(entry)

    def _attempt(self, entry: _Entry) -> None:
        tenant, gang = entry.tenant, entry.gang
        self._heap.serve(entry, self._now)
        self._ready[tenant] -= 1
        self.waits.note(TURN, self._now - self._ready_since.pop(tenant), self.attempt_bound)
        self._now += self.random.uniform(0.05, SLOWEST)
        if self._ready[tenant]:
            self._ready_since[tenant] = self._now
        if gang.namespace == FLOOD:
            return
        waiting = {id(each) for each in self._waiting}
        if not self._place(gang, set(), set()):
            self._parked[gang.name] = None
            return
        self._order.placed(gang.namespace)
        self._ends[gang.name] = self._now + self.random.uniform(self._longest_run / 4, self._longest_run)
        self._entitled_since = {key: at for key, at in self._entitled_since.items() if key[1] != gang.namespace}
        for victim in [each for each in self._waiting if id(each) not in waiting]:
            self._enter(victim)

    # What must hold.

    def _look(self) -> None:
        """Each namespace that should have started something by now has."""
        for since in self._ready_since.values():
            self.waits.note(TURN, self._now - since, self.attempt_bound)
        due = {*self._due()}
        self._entitled_since = {key: self._entitled_since.get(key, self._now) for key in due}
        for (kind, _), since in self._entitled_since.items():
            runs = 0.0 if kind == WITHIN_MIN else 2 * (self._longest_run + SLOWEST)
            self.waits.note(kind, self._now - since, self.attempt_bound + runs + _LOOK_SECONDS)

    def _due(self) -> Iterator[tuple[str, str]]:
        """The namespaces whose first in line is to start, and why."""
        by_namespace, wanted, first = self._ledger.tree.by_namespace, Counter[str](), dict[str, Gang]()
        for gang in [*self._running, *self._waiting]:
            wanted[gang.namespace] += need_of(gang.pods)["cpu"]
        for gang in sorted(self._waiting, key=lambda gang: self._entries[gang.name].place):
            first.setdefault(gang.namespace, gang)
        least = {name: each.min.get("cpu", 0) for name, each in by_namespace.items()}
        terms = {
            name: Terms(least[name], wanted=wanted[name], weight=each.weight) for name, each in by_namespace.items()
        }
        shares = entitled(terms, sum(least.values()))
        for name, gang in first.items():
            after = self._ledger.used(by_namespace[name]).get("cpu", 0) + need_of(gang.pods)["cpu"]
            if after <= least[name]:
                yield WITHIN_MIN, name
            elif after <= shares[name] and need_of(gang.pods)["cpu"] == _CORE and not self._floods:
                yield WITHIN_SHARE, name


def play(seed: int, seconds: float = SECONDS) -> TimedHistory:
    """The history of this seed, after so many seconds. Raises Broken with the seed."""
    history = TimedHistory(seed)
    try:
        history.run(seconds)
    except Broken as broken:
        raise Broken(f"seed {seed}: {broken}") from broken
    return history


def main(arguments: Sequence[str]) -> int:
    """Play seeds, each a number or `FIRST-LAST`, and print the longest waits. Returns the exit code."""
    total, happened, played = Waits(), Counter[str](), 0
    for seeds in arguments:
        first, _, last = seeds.partition("-")
        for seed in range(int(first), int(last or first) + 1):
            try:
                history = play(seed)
            except Broken as broken:
                print(broken)
                return 1
            total.add(history.waits)
            happened.update(history.happened)
            played += 1
    what = ", ".join(f"{number} {name}" for name, number in sorted(happened.items()))
    print(f"{played} histories of {SECONDS:.0f} s: {what}")
    for kind, (seconds, bound) in sorted(total.longest.items()):
        print(f"longest of {total.noted[kind]} waits for {kind}: {seconds:.1f} s, bound {bound:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Drives both schedulers through the same random clusters, pod by pod, and compares what they decide.

Why it shows that Muster decides as kube-scheduler does: before each pod both worlds are equal, and each side decides
that one pod in its own. A refused pod must be refused by both, with the same reason and message in its condition and
in its event. A placed pod must be placed by both, each on one of the best nodes: kube-scheduler logs the final score of
every node that passed, so Muster's node is looked up in kube-scheduler's own scores; where it logs none, only one node
passed, and Muster must have chosen that. Then the worlds are made equal again: a refused pod goes, a pod for which each
side chose another of equally good nodes is moved to kube-scheduler's, and the next one comes.

Watches tell of different kinds in any order, so a first answer may rest on half of what was created. What is compared
is what each side says in the end, when its next attempts have seen all.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from tests.builders import PodDict
from tests.e2e.eventually import eventually
from tests.parity.clusters import make_cluster
from tests.parity.pods import make_pods
from tests.parity.preemption import make_full_cluster, make_preemptors
from tests.parity.world import Object, Outcome, World, mounts_claims, settled

T = TypeVar("T")

PROFILES: list[Object] = [
    {"schedulerName": "default"},
    {
        "schedulerName": "listed",
        "pluginConfig": [
            {
                "name": "PodTopologySpread",
                "args": {
                    "defaultingType": "List",
                    "defaultConstraints": [
                        {
                            "maxSkew": 1,
                            "topologyKey": "topology.kubernetes.io/zone",
                            "whenUnsatisfiable": "DoNotSchedule",
                        },
                        {"maxSkew": 2, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"},
                    ],
                },
            },
            {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}},
        ],
    },
]
"""Both sides answer to these names: all defaults, and default constraints of a list with the other scoring strategy."""
NAMES = [profile["schedulerName"] for profile in PROFILES]
PODS = 40

_SCORE = re.compile(r"Calculated node's final score for pod\" pod=\"([^\"]+)\" node=\"([^\"]+)\" score=(-?\d+)")
_AGREE_WITHIN_SECONDS = 15.0


@dataclass
class Tally:
    """What was compared, by kind, and each difference in words."""

    seen: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        compared = ", ".join(f"{count} {what}" for what, count in sorted(self.seen.items()))
        return f"{sum(self.seen.values())} decisions compared: {compared}; {len(self.differences)} differences"


class Worlds:
    """Both sides' worlds, in which everything happens at the same time."""

    def __init__(self, theirs: World, ours: World) -> None:
        self.theirs = theirs
        self.ours = ours
        self._threads = ThreadPoolExecutor(2)

    def both(self, act: Callable[[World], T]) -> tuple[T, T]:
        """The results of kube-scheduler's world and of Muster's."""
        theirs, ours = (self._threads.submit(act, world) for world in (self.theirs, self.ours))
        return theirs.result(), ours.result()

    def populate(self, objects: Iterable[Object], sentinel: PodDict) -> None:
        """Creates the objects, and returns when both schedulers know of them."""
        made = list(objects)
        self.both(lambda world: world.create(*made))
        sentinel.scheduler(NAMES[0])
        self.both(lambda world: world.create(sentinel))
        self.both(lambda world: eventually(lambda: _placed(world, sentinel)))
        self.forget(sentinel)

    def forget(self, pod: PodDict) -> None:
        """Removes the pod from both."""
        self.both(lambda world: world.forget(pod))

    def outcomes(self, pod: PodDict) -> tuple[Outcome | None, Outcome | None]:
        """What both sides say about the pod by now."""
        return self.both(lambda world: world.outcome(pod))

    def agreed(self, pod: PodDict, agree: Callable[[Outcome, Outcome], bool]) -> tuple[Outcome, Outcome]:
        """What both sides say when they agree, or in the end where they never do."""
        last: list[Outcome] = []

        def do_agree() -> bool:
            theirs, ours = self.outcomes(pod)
            if theirs is None or ours is None:
                return False
            last[:] = theirs, ours
            return agree(theirs, ours)

        settled(do_agree, within=_AGREE_WITHIN_SECONDS)
        return (last[0], last[1]) if last else (Outcome(reason="silent"), Outcome(reason="silent"))


class Comparison:
    """One run over many clusters."""

    def __init__(self, worlds: Worlds, tally: Tally) -> None:
        self._worlds = worlds
        self._tally = tally
        self._scores: dict[str, dict[str, int]] = {}

    def cluster(self, seed: int, pods: int = PODS) -> None:
        """Compare the decisions on all pods of one cluster."""
        cluster = make_cluster(seed)
        coming = make_pods(seed, make_cluster(seed), pods, NAMES)
        self._worlds.populate(cluster.objects, cluster.sentinel())
        for pod in coming:
            self._pod(pod)
        self._worlds.both(lambda world: world.clear())

    def full_cluster(self, seed: int) -> None:
        """Compare whom the pods of one full cluster evict, until the worlds part over nodes that are equally good."""
        cluster = make_full_cluster(seed)
        self._worlds.populate(cluster.objects, cluster.sentinel().tolerate())
        for pod in make_preemptors(seed, NAMES[0]):
            theirs, ours = self._decision(pod)
            if theirs.node != ours.node:
                break
            if not theirs.node and not theirs.nominated:
                self._worlds.forget(pod)
        self._worlds.both(lambda world: world.clear())

    def _pod(self, pod: PodDict) -> None:
        theirs, ours = self._decision(pod)
        if not theirs.node or theirs.node != ours.node or mounts_claims(pod):
            self._worlds.forget(pod)
        if theirs.node and theirs.node != ours.node and not _is_special(pod):
            self._worlds.both(lambda world: world.create(PodDict(pod).node(theirs.node)))

    def _decision(self, pod: PodDict) -> tuple[Outcome, Outcome]:
        """What both say about one more pod, noted in the tally."""
        self._worlds.both(lambda world: world.create(pod))
        theirs, ours = self._worlds.agreed(pod, lambda theirs, ours: self._differ(pod, theirs, ours) == "")
        if what := self._differ(pod, theirs, ours):
            self._tally.differences.append(f"{pod.name}: {what}\n  kube-scheduler: {theirs}\n  Muster: {ours}\n  {pod}")
        self._tally.seen[theirs.kind] += 1
        return theirs, ours

    def _differ(self, pod: PodDict, theirs: Outcome, ours: Outcome) -> str:
        """In which way the decisions are not the same; empty where they are."""
        if theirs.node and ours.node:
            best = self._best(pod) or {theirs.node}
            return "" if {theirs.node, ours.node} <= best else f"the best nodes are {sorted(best)}"
        return "" if theirs == ours else "not the same words"

    def _best(self, pod: PodDict) -> set[str]:
        """The nodes that kube-scheduler scored best when it last decided about the pod."""
        for line in self._worlds.theirs.new_log_lines():
            if found := _SCORE.search(line):
                self._scores.setdefault(found[1], {})[found[2]] = int(found[3])
        scores = self._scores.get(f"{pod['metadata']['namespace']}/{pod.name}", {})
        return {node for node, score in scores.items() if score == max(scores.values())}


def _is_special(pod: PodDict) -> bool:
    """Whether the pod has claims, which would have to be moved as well."""
    return mounts_claims(pod) or "resourceClaims" in pod["spec"] or "annotations" in pod["metadata"]


def _placed(world: World, pod: PodDict) -> bool:
    outcome = world.outcome(pod)
    return outcome is not None and bool(outcome.node)

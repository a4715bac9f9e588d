"""Drives both schedulers through the same random clusters, pod by pod, and compares what they decide.

Why it shows that Muster decides as kube-scheduler does: before each pod both worlds are equal, and each side decides
that one pod in its own. What each did and said has to be the same in all, see `verdict`. Then the worlds are made equal
again: a refused pod goes, a pod for which each side chose another of equally good nodes is moved to kube-scheduler's,
and the next one comes.

Watches report different kinds in any order, so a first answer may rest on half of what was created. What is compared
is what each side says in the end, when its next attempts have seen all.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tests.builders import PodDict
from tests.e2e.eventually import eventually
from tests.parity.choices import SchedulerLog
from tests.parity.clusters import make_cluster
from tests.parity.pods import make_pods
from tests.parity.preemption import make_full_cluster, make_preemptors
from tests.parity.verdict import difference, is_tie
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
CHANGED = "changed"
"""A label that every node gets when all nodes are known; no pod of a cluster asks for it."""

_AGREE_WITHIN_SECONDS = 15.0


@dataclass
class Tally:
    """What was compared.

    Attributes:
        clusters: how many were played.
        seen: decisions by kind.
        details: of these, how many had a score, were a tie, or named victims.
        cut: how many chains of preemptions ended early, as each side had chosen another of equally good nodes.
        differences: each in words.
        seconds: how long it took.
    """

    clusters: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    details: Counter[str] = field(default_factory=Counter)
    cut: int = 0
    differences: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        compared = ", ".join(f"{count} {what}" for what, count in sorted(self.seen.items()))
        details = ", ".join(f"{count} {what}" for what, count in sorted(self.details.items()))
        return (
            f"{self.clusters} clusters, {sum(self.seen.values())} decisions compared: {compared} ({details}); "
            f"{self.cut} chains cut short; {len(self.differences)} differences"
        )

    @property
    def data(self) -> dict[str, Any]:
        """As a result that is kept."""
        return {
            "clusters": self.clusters,
            "decisions": sum(self.seen.values()),
            **{what.replace(" ", "_"): count for what, count in sorted((self.seen + self.details).items())},
            "cut_short": self.cut,
            "differences": len(self.differences),
        }


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
        self._await(sentinel)
        # kube-scheduler counts the nodes that have an image when it takes a node into its snapshot, and again only when
        # that node has changed. An attempt at the sentinel may have come before some nodes.
        nodes = [each for each in made if each["kind"] == "Node"]
        self.both(lambda world: world.label(CHANGED, nodes))
        self._await(sentinel.node_selector({CHANGED: "true"}))

    def _await(self, sentinel: PodDict) -> None:
        """Creates the pod, and removes it when both schedulers have placed it."""
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
        """What both sides say when they agree, or in the end where they never do.

        Of a pod that waits for a claim to be made neither ever says anything.
        """
        last: list[Outcome] = []

        def do_agree() -> bool:
            theirs, ours = self.outcomes(pod)
            last[:] = theirs or Outcome(), ours or Outcome()
            return theirs is not None and ours is not None and agree(theirs, ours)

        settled(do_agree, within=_AGREE_WITHIN_SECONDS)
        return last[0], last[1]


class Comparison:
    """One run over many clusters."""

    def __init__(self, worlds: Worlds, tally: Tally) -> None:
        self._worlds = worlds
        self._tally = tally

    def cluster(self, seed: int, pods: int = PODS) -> None:
        """Compare the decisions on all pods of one cluster."""
        cluster = make_cluster(seed)
        coming = make_pods(seed, make_cluster(seed), pods, NAMES)
        self._worlds.populate(cluster.objects, cluster.sentinel())
        for pod in coming:
            self._pod(pod)
        self._tally.clusters += 1
        self._worlds.both(lambda world: world.clear())

    def full_cluster(self, seed: int) -> None:
        """Compare which pods are evicted in one full cluster, until the worlds part over nodes that are equally good.

        The worlds part for good then: victims are not given back.
        """
        cluster = make_full_cluster(seed)
        self._worlds.populate(cluster.objects, cluster.sentinel().tolerate())
        for pod in make_preemptors(seed, NAMES[0]):
            theirs, ours = self._decision(pod)
            if theirs.node != ours.node:
                self._tally.cut += 1
                break
            if not theirs.node and not theirs.nominated:
                self._worlds.forget(pod)
        self._tally.clusters += 1
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
        self._tally.details["scored"] += theirs.choice is not None
        self._tally.details["ties"] += is_tie(theirs, ours)
        self._tally.details["victims"] += len(theirs.victims)
        return theirs, ours

    def _differ(self, pod: PodDict, theirs: Outcome, ours: Outcome) -> str:
        log = self._worlds.theirs.choices
        assert isinstance(log, SchedulerLog)
        return difference(theirs, ours, log.scores(f"{pod['metadata']['namespace']}/{pod.name}", theirs.node))


def _is_special(pod: PodDict) -> bool:
    """Whether the pod has claims, which would have to be moved as well."""
    return mounts_claims(pod) or "resourceClaims" in pod["spec"] or "annotations" in pod["metadata"]


def _placed(world: World, pod: PodDict) -> bool:
    outcome = world.outcome(pod)
    return outcome is not None and bool(outcome.node)

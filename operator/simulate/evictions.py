"""The evictions of a rehearsal: the evicted pods, their nodes and preemptors, and the budgets that are overruled.

A plugin that follows decisions and records their victims is added to every profile of a rehearsal. `Rehearsal` makes it
part of its engine and returns its records, which `simulate` and `why` show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from muster.framework.config import PluginRef, ResolvedProfile
from muster.framework.contract import (
    CycleState,
    DecisionFollower,
    GroupDecision,
    Plugin,
    PodDecision,
    PodInfo,
    PostBindPlugin,
)
from muster.framework.contract.decision import Evictions
from muster.operator.process.settings import Assembly

_NAME = "Spectator"
_POINT = "postBind"


@dataclass(frozen=True, slots=True)
class Evicted:
    """A pod that would be evicted.

    Attributes:
        pod: its `namespace/name`.
        priority: its priority.
        node: its node.
        preemptor: the `namespace/name` of the pod or PodGroup for which it is evicted.
        group: whether the preemptor is a PodGroup.
        budget: the PodDisruptionBudget (`namespace/name`) that forbids the eviction and is overruled; "" for none.
    """

    pod: str
    priority: int
    node: str
    preemptor: str
    group: bool
    budget: str


class Spectator(PostBindPlugin, DecisionFollower):
    """Records the pods that each decision evicts. It implements PostBind without effect, so that it is created."""

    name = _NAME

    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Do nothing."""

    def on_pod_decision(self, decision: PodDecision) -> None:
        """Record a pod's victims."""
        found = decision.state.get(Evictions.KEY)
        if isinstance(found, Evictions):
            self._write_down(evicted_for(found, decision.pod.key))

    def on_group_decision(self, decision: GroupDecision) -> None:
        """Record a group's victims."""
        if decision.evictions is not None:
            self._write_down(evicted_for(decision.evictions, _named(decision), group=True))

    def _write_down(self, evicted: Sequence[Evicted]) -> None:
        seen: list[Evicted] = self.handle.shared(_NAME, list)
        seen += evicted


def evicted_for(evictions: Evictions | None, preemptor: str, *, group: bool = False) -> Sequence[Evicted]:
    """The pods that a decision evicts for a pod, or for a `group`."""
    if evictions is None:
        return ()
    return [
        Evicted(
            pod.key,
            pod.priority,
            evictions.nodes.get(pod.uid, ""),
            preemptor,
            group,
            evictions.forbidden_by.get(pod.uid, ""),
        )
        for pod in evictions.victims
    ]


def _named(decision: GroupDecision) -> str:
    """The name of the group for users; for a tree, the PodGroup of the first waiting pod."""
    first = decision.waiting[0].uid
    leaves = (leaf for leaf, pods in decision.waiting_in.items() if any(pod.uid == first for pod in pods))
    return next(leaves, decision.group)


def followed_by(assembly: Assembly, *followers: type[Plugin]) -> Assembly:
    """The assembly with these plugins in every profile."""

    def followed(profile: ResolvedProfile) -> ResolvedProfile:
        after = (*profile.points.get(_POINT, ()), *(PluginRef(each.name, 0) for each in followers))
        return replace(profile, points=MappingProxyType({**profile.points, _POINT: after}))

    profiles = tuple(followed(profile) for profile in assembly.profiles)
    registry = {**assembly.registry, **{each.name: each for each in followers}}
    return replace(assembly, profiles=profiles, registry=registry)


def evicted_in(shared: Mapping[str, object]) -> Sequence[Evicted]:
    """The evictions that an engine's spectators recorded, from the values that its plugins share."""
    seen = shared.get(_NAME, [])
    assert isinstance(seen, list)
    return tuple(seen)


def sentences(evicted: Sequence[Evicted]) -> Iterator[str]:
    """Sentences for users: one for each preemptor, then one for each overruled budget."""
    by_preemptor: dict[str, list[Evicted]] = {}
    for each in evicted:
        preemptor = f"pod group {each.preemptor}" if each.group else each.preemptor
        by_preemptor.setdefault(preemptor, []).append(each)
    for preemptor, victims in by_preemptor.items():
        named = ", ".join(f"{each.pod} (priority {each.priority}) on {each.node}" for each in victims)
        yield f"For {preemptor} would be evicted: {named}"
        for each in victims:
            if each.budget:
                yield f"PodDisruptionBudget {each.budget} does not let {each.pod} go, and is overruled"

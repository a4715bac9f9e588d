"""The running pods that may be moved, in units that are moved together, and the reasons why the others stay.

The planner calls `survey` once for each picture of a cluster. A pod may be moved if a controller replaces it elsewhere,
and if nothing protects it: its own annotations, a PodDisruptionBudget, or a minimum run time. The members of a gang are
moved together or not at all. Pure, apart from the questions to the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, isinf

from muster.framework.contract import DisruptionUnit, GroupId, Placed
from muster.framework.model.pod import Pod
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.times import rfc3339
from muster.plugins.catalog import DisruptionBudgets

_MIRROR = "kubernetes.io/config.mirror"
_OF_THE_NODE = ("DaemonSet", "Node")
_NEVER = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false", "karpenter.sh/do-not-disrupt": "true"}
"""The annotations by which autoscalers leave a pod alone too."""


@dataclass(frozen=True, slots=True)
class MovableUnit:
    """Running pods that are moved together: one pod, or the members of a group.

    Attributes:
        name: the `namespace/name` of the pod or of the group.
        group: whether it is a group.
        pods: its pods, by name.
    """

    name: str
    group: bool
    pods: tuple[Placed, ...]

    @property
    def weight(self) -> int:
        """The number of pods that are moved with it."""
        return len(self.pods)

    @property
    def priority(self) -> int:
        """The highest priority of its pods."""
        return max(placed.pod.priority for placed in self.pods)

    @property
    def nodes(self) -> frozenset[str]:
        """The nodes of its pods."""
        return frozenset(placed.node_name for placed in self.pods)


@dataclass(frozen=True, slots=True)
class MoveSurvey:
    """All running pods, by whether they may be moved.

    Attributes:
        units: the units that may be moved, those of the lowest priority first.
        node_bound: the pods that leave a node with it, as a DaemonSet's do, by UID.
        staying: for each other pod, by its `namespace/name`, why it may not be moved.
        budgets: the budgets of the cluster.
    """

    units: tuple[MovableUnit, ...]
    node_bound: frozenset[str]
    staying: Mapping[str, str]
    budgets: DisruptionBudgets

    def permits(self, units: Iterable[MovableUnit]) -> bool:
        """Whether the budgets permit that all pods of these units are evicted now."""
        return not self.budgets.forbidding(placed.pod for unit in units for placed in unit.pods)


@dataclass(frozen=True, slots=True)
class MoveRules:
    """The engine's and the API's rules about evictions.

    Attributes:
        unit_of: running pods that need a pod, see `DisruptionUnits`.
        protected_until: when a pod's minimum run time ends, in seconds since the epoch; 0.0 if nothing protects it.
        gang_of: the gang of a pod; None for a pod of no gang.
        budgets: the budgets of the cluster.
    """

    unit_of: Callable[[PodInfo], DisruptionUnit | None]
    protected_until: Callable[[PodInfo], float]
    gang_of: Callable[[Pod], GroupId | None]
    budgets: DisruptionBudgets


def survey(running: Iterable[Pod], rules: MoveRules, *, own: Collection[GroupId] = ()) -> MoveSurvey:
    """Which of these pods may be moved; the groups in `own`, for which others are moved, stay."""
    infos = [PodInfo(pod) for pod in running]
    bound = frozenset(info.uid for info in infos if _is_bound_to_node(info.pod))
    members: dict[GroupId, list[Placed]] = {}
    for info in infos:
        gang = rules.gang_of(info.pod)
        if gang is not None:
            members.setdefault(gang, []).append(Placed(info, info.node_name))
    staying: dict[str, str] = {}
    units: list[MovableUnit] = []
    known = set(bound)
    for info in infos:
        if info.uid in known:
            continue
        gang = rules.gang_of(info.pod)
        unit = _unit(info, gang, members, rules)
        known.update(placed.pod.uid for placed in unit.pods)
        reason = "it belongs to what waits" if gang in own else _reason_to_stay(unit, bound, rules)
        if reason:
            staying.update((placed.pod.key, reason) for placed in unit.pods)
        else:
            units.append(unit)
    units.sort(key=lambda unit: (unit.priority, unit.name))
    return MoveSurvey(tuple(units), bound, staying, rules.budgets)


def _unit(
    info: PodInfo, gang: GroupId | None, members: Mapping[GroupId, Sequence[Placed]], rules: MoveRules
) -> MovableUnit:
    """The unit of a pod: its gang, and the running pods that need it. A group that is no gang spares single pods."""
    pods = {info.uid: Placed(info, info.node_name)}
    needing = rules.unit_of(info)
    if needing is not None and (gang is not None or not needing.spare):
        pods.update((placed.pod.uid, placed) for placed in needing.pods)
    if gang is not None:
        pods.update((placed.pod.uid, placed) for placed in members[gang])
    together = sorted(pods.values(), key=lambda placed: placed.pod.key)
    if len(together) == 1 and gang is None:
        return MovableUnit(info.key, False, tuple(together))
    return MovableUnit(_name(together, gang, needing), True, tuple(together))


def _name(pods: Sequence[Placed], gang: GroupId | None, needing: DisruptionUnit | None) -> str:
    """The gang's name, or that of the unit without its plugin."""
    if needing is not None and needing.composite:
        return needing.key.partition("/")[2]
    return pods[0].pod.key if gang is None else gang.key


def _reason_to_stay(unit: MovableUnit, bound: Collection[str], rules: MoveRules) -> str:
    """Why none of the unit's pods may be moved; "" if all may."""
    for placed in unit.pods:
        reason = _own_reason(placed.pod, bound, rules)
        if reason:
            return f"{placed.pod.key}: {reason}" if unit.weight > 1 else reason
    forbidding = rules.budgets.forbidding(placed.pod for placed in unit.pods)
    if forbidding:
        return f"PodDisruptionBudget {min(forbidding.values())} does not let it go"
    return ""


def _own_reason(info: PodInfo, bound: Collection[str], rules: MoveRules) -> str:
    meta = info.pod.metadata
    if info.terminating:
        return "it is being deleted"
    if info.uid in bound:
        return "it belongs to its node"
    if meta.controller is None:
        return "no controller would replace it"
    for key, value in _NEVER.items():
        if meta.annotations.get(key) == value:
            return f"its annotation {key} forbids it"
    until = rules.protected_until(info)
    if until:
        return (
            "its minimum run time never ends" if isinf(until) else f"its minimum run time ends {rfc3339(ceil(until))}"
        )
    return ""


def _is_bound_to_node(pod: Pod) -> bool:
    """Whether the pod was made for its node, by a DaemonSet or by the kubelet, and is gone when the node is."""
    controller = pod.metadata.controller
    if _MIRROR in pod.metadata.annotations or (controller is not None and controller.kind in _OF_THE_NODE):
        return True
    return any(owner.kind == "Node" for owner in pod.metadata.owner_references)

"""The PreFilter phase: one look at the pod before nodes are looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..contract.cycle_state import CycleState
from ..contract.plugin import PreFilterPlugin, PreFilterResult
from ..contract.status import Code, Status
from ..model.pod_info import PodInfo
from ..snapshot.view import NodeView
from .errors import error_in
from .timing import Timing


@dataclass(frozen=True, slots=True)
class PreFiltered:
    """What PreFilter came to.

    Attributes:
        status: why the pod is turned away as a whole; None when it goes on.
        node_names: the only nodes that may pass; None for no restriction.
        absent: the status of nodes outside `node_names`.
        skipped: plugins whose Filter is left out.
        rejectors: the plugins behind `status`, or behind an empty set of nodes.
    """

    status: Status | None = None
    node_names: frozenset[str] | None = None
    absent: Status | None = None
    skipped: frozenset[str] = frozenset()
    rejectors: frozenset[str] = frozenset()


def run_pre_filter(
    plugins: Iterable[PreFilterPlugin], state: CycleState, pod: PodInfo, nodes: NodeView, timing: Timing
) -> PreFiltered:
    """Ask the plugins in order and join their answers."""
    skipped: set[str] = set()
    narrowed: frozenset[str] | None = None
    narrowing: list[str] = []
    rejection: Status | None = None
    for plugin in plugins:
        since = timing.sample(state)
        answer = plugin.pre_filter(state, pod, nodes)
        timing.plugin(plugin.name, "PreFilter", answer if isinstance(answer, Status) else None, since)
        timing.evaluated(plugin.name, "PreFilter")
        if answer is None:
            continue
        if isinstance(answer, PreFilterResult):
            narrowed = answer.node_names if narrowed is None else narrowed & answer.node_names
            narrowing.append(plugin.name)
            if not narrowed:
                return PreFiltered(
                    status=Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (_unsatisfied(narrowing, empty=True),)),
                    rejectors=frozenset(narrowing),
                )
            continue
        if answer.code is Code.SKIP:
            skipped.add(plugin.name)
            continue
        status = answer.by(plugin.name)
        if status.code is Code.UNSCHEDULABLE:
            rejection = status
        elif status.rejected:
            return PreFiltered(status=status, rejectors=frozenset({plugin.name}))
        elif status.code is not Code.SUCCESS:
            return PreFiltered(status=error_in(f'running PreFilter plugin "{plugin.name}"', status))
    if rejection is not None:
        return PreFiltered(status=rejection, rejectors=frozenset({rejection.plugin, *narrowing}))
    absent = Status.unresolvable(_unsatisfied(narrowing, empty=False)) if narrowed is not None else None
    return PreFiltered(node_names=narrowed, absent=absent, skipped=frozenset(skipped), rejectors=frozenset(narrowing))


def _unsatisfied(plugins: Sequence[str], *, empty: bool) -> str:
    names = " ".join(sorted(plugins))
    if not empty:
        return f"node(s) didn't satisfy plugin(s) [{names}]"
    if len(plugins) == 1:
        return f"node(s) didn't satisfy plugin {names}"
    return f"node(s) didn't satisfy plugin(s) [{names}] simultaneously"

"""Which rows members of a group could take now, and which they perhaps could after evictions.

Members of one signature may differ in their labels and claims, so they are asked about one after another, until there
is no row left about which another answer is possible. A row that a filter excludes by the pod's signature is excluded
for all of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np

from ..contract.status import Code
from ..contract.verdicts import Mask
from ..model.pod_info import PodInfo
from ..runtime.attempt_state import AttemptState
from ..snapshot.view import Rows
from ..work import checkpoint
from .algorithm import Algorithm


class _Answer(NamedTuple):
    """The answer about one member: bool, shape (height,).

    Attributes:
        now: rows that could take it now.
        perhaps: rows that perhaps could after evictions.
        excluded: rows that could take no member of its signature.
    """

    now: Mask
    perhaps: Mask
    excluded: Mask


class MemberRows:
    """Finds rows for members of groups of one profile, on the snapshot as it is.

    Attributes:
        depend_on_cluster: whether a Filter plugin reads pods beyond each node for one of the pods asked about.
    """

    def __init__(self, algorithm: Algorithm) -> None:
        self.depend_on_cluster = False
        self._algorithm = algorithm
        self._snapshot = algorithm.snapshot

    def of(self, pods: Iterable[PodInfo]) -> tuple[Rows, Rows]:
        """The rows that could take one of these pods, of one signature, now; and those that perhaps could."""
        now, perhaps, excluded = (np.zeros(self._snapshot.height, np.bool_) for _ in range(3))
        asked: set[Hashable] = set()
        for pod in pods:
            kind = _kind(pod)
            if kind not in asked:
                asked.add(kind)
                answer = self._ask(pod)
                now |= answer.now
                perhaps |= answer.perhaps
                excluded |= answer.excluded
                checkpoint()
                if (now | perhaps | excluded)[self._snapshot.live_rows()].all():
                    break
        return np.flatnonzero(now), np.flatnonzero(perhaps & ~now)

    def _ask(self, pod: PodInfo) -> _Answer:
        snapshot, algorithm = self._snapshot, self._algorithm
        now, perhaps, excluded = (np.zeros(snapshot.height, np.bool_) for _ in range(3))
        state = AttemptState()
        found = algorithm.find_nodes_that_fit(state, pod, nominated_first=False)
        self.depend_on_cluster |= algorithm.framework.filtering.depends_on_cluster(state)
        if found.filtered is None:
            perhaps[snapshot.live_rows()] = True
            return _Answer(now, perhaps, excluded)
        now[found.filtered.feasible] = True
        diagnosis = algorithm.diagnose(state, pod, found.pre_filtered, found.filtered)
        rows = found.filtered.listed
        perhaps[rows] = diagnosis.with_code(Code.UNSCHEDULABLE)
        kept = algorithm.framework.filtering.kept(state)
        by_signature = [number for number, name in enumerate(diagnosis.plugins, start=1) if name in kept]
        excluded[rows] = np.isin(diagnosis.rejector, by_signature)
        return _Answer(now, perhaps, excluded)


def _kind(pod: PodInfo) -> Hashable:
    """Equal for pods of one signature about which the answers are equal. Claims that are made for a pod are its own."""
    spec = pod.pod.spec
    own = any(volume.ephemeral is not None for volume in spec.volumes) or any(
        claim.resource_claim_template_name is not None for claim in spec.resource_claims
    )
    return pod.label_set, spec.volumes, spec.resource_claims, pod.uid if own else ""

"""The details of a decision, node by node, for a log of the highest verbosity: kube-scheduler's lines at -v 10.

The scheduling cycle calls it. At a lower verbosity it computes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from ..contract.verdicts import Diagnosis
from ..model.pod_info import PodInfo
from ..runtime.results import Scored
from ..snapshot.snapshot import Snapshot
from ..snapshot.view import Rows

log = logging.getLogger(__name__)

_VERBOSITY = logging.INFO - 10


def rejections(pod: PodInfo, diagnose: Callable[[], Diagnosis]) -> None:
    """A line for each node that cannot run the pod; kube-scheduler's are those of the plugins themselves."""
    if not log.isEnabledFor(_VERBOSITY):
        return
    for name, status in diagnose().statuses():
        if status is not None:
            _line("Plugin rejected node for pod", pod, plugin=status.plugin, node=name, status=status.message)


def scores(pod: PodInfo, rows: Rows, scored: Scored, snapshot: Snapshot) -> None:
    """A line for each plugin and node, then one for each node (prioritizeNodes)."""
    if not log.isEnabledFor(_VERBOSITY):
        return
    names = [snapshot.names[row] for row in rows.tolist()]
    for plugin, values in scored.by_plugin.items():
        for name, value in zip(names, values.tolist(), strict=True):
            _line("Plugin scored node for pod", pod, plugin=plugin, node=name, score=value)
    for name, total in zip(names, scored.totals.tolist(), strict=True):
        _line("Calculated node's final score for pod", pod, node=name, score=total)


def _line(message: str, pod: PodInfo, **pairs: object) -> None:
    log.log(_VERBOSITY, message, extra={"pairs": {"pod": pod.key, **pairs}})

"""The explanation of one row of `muster top`, in the words of `muster why`.

`session` asks for it when a row is opened, and again when its `version_of` has changed. The followed cluster decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muster.framework.contract import GroupId, GroupView
from muster.framework.model.pod import Pod
from muster.framework.model.times import human_duration
from muster.operator.explain.group_trial import TriedGroup
from muster.operator.explain.group_views import scheduling_message
from muster.operator.explain.groups import render_group
from muster.operator.explain.live import Explained
from muster.operator.explain.tables import render
from muster.operator.web.cluster import FollowedCluster, LeaderDecision, Unavailable

from .rows import QueueSummary, RowId


async def reasons(cluster: FollowedCluster, summary: QueueSummary, row: RowId, *, now: float) -> list[str]:
    """The lines to show; `now` is in seconds since the epoch."""
    if isinstance(row, GroupId):
        group = summary.groups.get(row)
        if group is None:
            return [f"There is no group {row.key} any more."]
        trial = await cluster.try_group(row) if group.place else None
        return [*_of_group(group, trial, now)]
    pod = cluster.pod(row)
    if pod is None:
        return [f"There is no pod {row} any more, or it has ended."]
    return [*_of_pod(pod, await cluster.explain(pod), now)]


def version_of(cluster: FollowedCluster, summary: QueueSummary, row: RowId) -> Sequence[str]:
    """A version of the pod, or of the group and its members, that differs once any of them has changed."""
    if isinstance(row, GroupId):
        group = summary.groups.get(row)
        found = [] if group is None else [group.metadata, *(pod.metadata for pod in group.members)]
    else:
        pod = cluster.pod(row)
        found = [] if pod is None else [pod.metadata]
    return [f"{each.uid}/{each.resource_version}" for each in found]


def _of_group(group: GroupView, trial: TriedGroup | Unavailable | None, now: float) -> Iterator[str]:
    if isinstance(trial, Unavailable):
        yield trial.reason
        trial = None
    yield from render_group(group, trial, now=now)


def _of_pod(pod: Pod, answer: Explained | LeaderDecision | Unavailable, now: float) -> Iterator[str]:
    if isinstance(answer, Explained):
        yield from render(answer)
        return
    yield pod.metadata.key
    if isinstance(answer, Unavailable):
        yield from (sentence for sentence in (scheduling_message(pod), answer.reason) if sentence)
    else:
        yield answer.message or f"It has its node, {answer.node}."
        yield f"Decided by the leader {human_duration(now - answer.wall)} ago."

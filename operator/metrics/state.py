"""Metrics that are read from the scheduler's state at a scrape, so that they cannot drift from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from muster.framework.metrics import EntityType, Family, GaugeFunc


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The sources of metrics. Each is called once per scrape, on the event loop, and should not iterate over all pods.

    Attributes:
        pending_pods: pods by part of the queue: active, backoff, unschedulable, gated, incomplete, pending.
        queued_entities: entries by part of the queue (active, backoff, unschedulable, gated) and by what they are.
        cache_size: how many nodes, pods and assumed_pods the cache holds.
        waiting_at_permit: how many pods have a node and wait at Permit.
        leading: whether this process holds a lease, by the lease's name.
        waiting_groups: how many pod groups with members lack their quorum.
        reserved_shares: which share of what nodes offer is reserved, by resource.
        quotas: amounts of quotas, by quota, resource and kind (used, min, max, borrowed).
        unmet_quotas: the number of pods within the min of their quota that lack a node, by quota.
        oldest_waiting_group: the longest wait of a waiting group in seconds; 0 if none waits.
        tasks: the number of asyncio tasks of the process.
    """

    pending_pods: Callable[[], Mapping[str, int]]
    queued_entities: Callable[[], Mapping[tuple[str, EntityType], int]]
    cache_size: Callable[[], Mapping[str, int]]
    leading: Callable[[], Mapping[str, bool]]
    waiting_at_permit: Callable[[], int] = lambda: 0
    waiting_groups: Callable[[], int] = lambda: 0
    oldest_waiting_group: Callable[[], float] = lambda: 0.0
    reserved_shares: Callable[[], Mapping[str, float]] = dict
    quotas: Callable[[], Mapping[tuple[str, str, str], float]] = dict
    unmet_quotas: Callable[[], Mapping[str, float]] = dict
    tasks: Callable[[], int] = lambda: 0


class StateMetrics:
    """The gauges that show a `State`."""

    def __init__(self, state: State) -> None:
        self._families = (
            GaugeFunc(
                "scheduler_pending_pods",
                "[STABLE] Pods waiting to be scheduled, by part of the queue.",
                ("queue",),
                lambda: _labelled(state.pending_pods()),
            ),
            GaugeFunc(
                "scheduler_queued_entities",
                "[ALPHA] Entries of the queue, single pods or pod groups, by part of the queue.",
                ("queue", "type"),
                lambda: {tuple(key): value for key, value in state.queued_entities().items()},
            ),
            GaugeFunc(
                "scheduler_cache_size",
                "[ALPHA] Nodes, pods and assumed pods in the scheduler's cache.",
                ("type",),
                lambda: _labelled(state.cache_size()),
            ),
            GaugeFunc(
                "muster_pods_waiting_at_permit",
                "[ALPHA] Pods with a node that wait at Permit; they are in no part of the queue.",
                (),
                lambda: {(): state.waiting_at_permit()},
            ),
            GaugeFunc(
                "muster_waiting_podgroups",
                "[ALPHA] Pod groups with members that lack their quorum.",
                (),
                lambda: {(): state.waiting_groups()},
            ),
            GaugeFunc(
                "muster_oldest_waiting_podgroup_seconds",
                "[ALPHA] Longest time that a waiting pod group has waited for its quorum; 0 if none waits.",
                (),
                lambda: {(): state.oldest_waiting_group()},
            ),
            GaugeFunc(
                "muster_reserved_share",
                "[ALPHA] Reserved share of a resource's capacity on all nodes.",
                ("resource",),
                lambda: _labelled(state.reserved_shares()),
            ),
            *_of_quotas(state),
            GaugeFunc(
                "muster_tasks",
                "[ALPHA] Asyncio tasks of this process; a number that only grows is a leak.",
                (),
                lambda: {(): state.tasks()},
            ),
            GaugeFunc(
                "leader_election_master_status",
                "[ALPHA] 1 if this process holds the lease of that name, 0 if it stands by.",
                ("name",),
                lambda: _labelled(state.leading()),
            ),
        )

    def families(self) -> Iterator[Family]:
        """Every family, in the order above."""
        yield from self._families


def _of_quotas(state: State) -> Iterator[GaugeFunc]:
    yield GaugeFunc(
        "muster_quota",
        "[ALPHA] Amount of a resource under an ElasticQuota, by type: used, min, max or borrowed.",
        ("quota", "resource", "type"),
        lambda: {tuple(key): value for key, value in state.quotas().items()},
    )
    yield GaugeFunc(
        "muster_quota_unmet_pods",
        "[ALPHA] Pods that are within the min of their ElasticQuota and lack capacity on nodes.",
        ("quota",),
        lambda: _labelled(state.unmet_quotas()),
    )


def _labelled(values: Mapping[str, float]) -> dict[tuple[str, ...], float]:
    return {(label,): value for label, value in values.items()}

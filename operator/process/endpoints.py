"""The HTTP endpoints on the process's port: health, metrics, configuration. `web` has the pages for people."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from aiohttp import web

from muster.framework.scheduler.reports import LastDecision
from muster.operator.metrics.exposition import blocks, registry_of
from muster.operator.metrics.pod_resources import pod_resource_blocks
from muster.operator.metrics.state import State, StateMetrics
from muster.operator.serving import PageSources, Unknown, application
from muster.operator.versions import KUBERNETES, own, python
from muster.plugins.catalog import QUOTAS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from muster.framework.config import KubeSchedulerConfiguration
    from muster.framework.queue.contents import QueuePosition
    from muster.operator.serving import Authorizer, Check

    from .process import Process


_NO_PODS = dict.fromkeys(("active", "backoff", "unschedulable", "gated", "incomplete", "pending"), 0)
"""The parts of kube-scheduler's queue: each has a series, even parts that Muster does not use."""


def liveness(path: str, missing: Check) -> web.Application:
    """The application that answers kopf's liveness probe, with the kinds that are not synced yet."""

    async def scheduling(_: web.Request) -> web.Response:
        return web.json_response({"scheduling": missing() or "synced"})

    app = web.Application()
    app.router.add_get(path or "/", scheduling)
    return app


def status_of(began: datetime) -> dict[str, str]:
    """The text of /statusz for a process that `began` then, in the order of kube-scheduler's page."""
    return {
        "Started": began.strftime("%a %b %e %H:%M:%S UTC %Y"),
        "Up": f"{(datetime.now(UTC) - began).total_seconds():.0f} s",
        "Python version": python(),
        "Binary version": own(),
        "Emulation version": KUBERNETES,
    }


@dataclass(frozen=True, slots=True)
class Why(LastDecision):
    """The last decision about a pod, with the pod's position in the queue if it waits there."""

    queue: QueuePosition | None


def why_of(process: Process, namespace: str, name: str) -> Why | Unknown:
    """The last decision about a pod, and when it is tried next, or why that is unknown."""
    last = last_decision(process, namespace, name)
    if isinstance(last, Unknown):
        return last
    return Why(**asdict(last), queue=process.engine.queue.position_of(last.uid))


def last_decision(process: Process, namespace: str, name: str) -> LastDecision | Unknown:
    """The last decision about a pod, or why it is unknown."""
    key = f"{namespace}/{name}"
    pod, decision = process.informers.pods.get(key), process.engine.scheduler.reports.last(key)
    if pod is None:
        return Unknown(f"there is no pod {key}")
    if pod.spec.scheduling_gates:
        gates = ", ".join(gate.name for gate in pod.spec.scheduling_gates)
        return Unknown(f"pod {key} is not looked at before its scheduling gates are gone: {gates}")
    if decision is None or decision.uid != pod.metadata.uid:
        return Unknown(f"nothing has been decided for pod {key} lately")
    return decision


def endpoints(
    process: Process,
    configuration: KubeSchedulerConfiguration,
    authorizer: Authorizer | None,
    flags: Mapping[str, str] = MappingProxyType({}),
) -> web.Application:
    """The application over a process started with `flags`; without an authorizer everyone may read everything."""
    began = datetime.now(UTC)
    queue, cache, leadership = process.engine.queue, process.engine.cache, process.leadership
    books = process.engine.books().values()

    def waiting_groups() -> int:
        return sum(len(groups.waits()) for groups in books)

    def oldest_waiting_group() -> float:
        return max((seconds for groups in books for seconds in groups.waits()), default=0.0)

    def cache_size() -> Mapping[str, int]:
        return {"nodes": cache.node_count, "pods": cache.pod_count, "assumed_pods": cache.assumed_count}

    state = State(
        pending_pods=lambda: {**_NO_PODS, **queue.contents.counts()},
        queued_entities=queue.contents.entity_counts,
        cache_size=cache_size,
        waiting_at_permit=lambda: len(process.engine.waiting_pods),
        waiting_groups=waiting_groups,
        oldest_waiting_group=oldest_waiting_group,
        reserved_shares=process.engine.reserved_shares,
        quotas=lambda: QUOTAS.amounts(process.engine.shared),
        unmet_quotas=lambda: QUOTAS.unmet(process.engine.shared),
        tasks=lambda: len(asyncio.all_tasks()),
        leading=lambda: {leadership.name: leadership.may_write()} if leadership.name else {},
    )
    registry = registry_of(process.metrics, StateMetrics(state), process.process_metrics)

    sources = PageSources(
        livez={"ping": lambda: None, "scheduling": process.loop_stopped},
        healthz={"leaderElection": leadership.trouble},
        readyz={
            "leaderElection": leadership.trouble,
            "shutdown": process.ending,
            "sched-handler-sync": process.informers.missing,
            "scheduling": process.loop_stalled,
        },
        metrics=lambda: blocks(registry),
        resources=lambda: pod_resource_blocks(process.informers.pods.list) if leadership.may_write() else (),
        config=lambda: {"kubescheduler.config.k8s.io": configuration.model_dump(mode="json", by_alias=True)},
        why=lambda namespace, name: why_of(process, namespace, name),
        leads=leadership.may_write,
        statusz=lambda: status_of(began),
        flagz=lambda: flags,
    )
    return application(sources, authorizer)

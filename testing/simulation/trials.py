"""Whether trials leave no trace: the state on which a decision is tried is compared before and after, to the byte.

The judge watches the trials of each process, those of preemption and of groups as well as those of single pods, and
compares the same state when a user asks why a pod waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from muster.framework.scheduler.engine import Engine
from muster.plugins.dynamicresources.plugin import DynamicResources
from muster.plugins.dynamicresources.shared import SharedDRAManager


def state_of(engine: Engine) -> tuple[object, ...]:
    """All state that decisions read. The order of nodes, and of the pods on a node, does not count."""
    cache, nominator = engine.cache, engine.nominator
    snapshot, columns = cache.snapshot, cache.snapshot.resources
    nodes = {
        name: (
            dict(snapshot.pods[row]),
            columns.requested[:, row].tobytes(),
            columns.nonzero[:, row].tobytes(),
            int(columns.pod_count[row]),
            frozenset(pod.uid for pod in nominator.nominated_pods(name)),
        )
        for row, name in enumerate(snapshot.names)
        if snapshot.row_of(name) == row
    }
    devices = engine.shared.get(DynamicResources.name)
    return (
        (devices.inventory.use.everything(), devices.claims.under_way())
        if isinstance(devices, SharedDRAManager)
        else (),
        nodes,
        dict(snapshot.priorities),
        engine.queue.contents.dump(),
        len(nominator),
        cache.generation,
        cache.assumed_count,
        cache.pod_count,
    )


def watch_trials(engine: Engine, blame: Callable[[str], None]) -> None:
    """Compare the state before and after each trial from now on; a nested trial is a part of its outer one."""
    snapshot = engine.cache.snapshot
    trial, under_way = snapshot.trial, False

    @contextmanager
    def watched() -> Iterator[None]:
        nonlocal under_way
        if under_way:
            with trial():
                yield
            return
        under_way, before = True, state_of(engine)
        try:
            with trial():
                yield
        finally:
            under_way = False
        if state_of(engine) != before:
            blame("a trial has left something behind")

    snapshot.trial = watched  # type: ignore[method-assign]  # whoever tries anything asks this very snapshot

"""The states that a pod goes through in the cache, as a table.

                assume                  confirm, update
    +--------+ --------> +---------+ -----------------> +-------+
    | ABSENT |           | ASSUMED | <-+ finish         | BOUND | <-+ update, forget,
    +--------+ <-------- +---------+ --+ binding        +-------+ --+ finish binding
       |   ^    forget,                                   |   ^
       |   |    remove,                                   |   |
       |   |    expire                                    |   |
       |   +------------------- remove -------------------+   |
       +--------------------- confirm, update ----------------+

ABSENT stays ABSENT on forget, remove and finish binding. Every other pair of state and event is a bug of the caller and
raises IllegalTransition.

The table rests on these properties of the API and of the callers:

1. A pod is identified by its UID. A pod that is recreated under the same name has a new UID; the informer reports it as
   the removal of one pod and the addition of another.
2. Informers report a pod here only while it has a node: confirm first, then updates, and remove last. A report
   overrides what was assumed: afterwards, the pod is BOUND to the node in the report. An update of a pod that is not
   BOUND can only follow a report that failed, and repairs it.
3. The API never moves a bound pod to another node, and no report arrives before the pod is bound. A pod that is
   confirmed or updated on another node than assumed was bound by another client; the cache logs that and follows the
   report.
4. Only one attempt to schedule a pod is in flight at a time, so no pod is assumed that is assumed or bound already.
5. The response to a binding races with the informer's report of it. The pod may be BOUND or deleted before its binding
   is finished, or before it is forgotten because the response was lost. So forget and finish binding change nothing
   unless the pod is ASSUMED.
6. The removal of a pod may be reported although its addition never was, because that report failed. So remove may be
   repeated.
7. An assumed pod stays until it is confirmed, forgotten or removed, as in kube-scheduler. With a time to live, it also
   expires that long after its binding has finished, in case the informer never reports it, but never before.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from ..model.pod_info import PodInfo


class PodState(IntEnum):
    """The cache's knowledge of a pod."""

    ABSENT = 0
    """Nothing."""
    ASSUMED = 1
    """Placed on a node by this scheduler; no informer has reported it there yet."""
    BOUND = 2
    """An informer has reported it on a node."""


class PodEvent(IntEnum):
    """The events of a pod in the cache; values are in the order of the cache's methods."""

    ASSUME = 0
    FORGET = 1
    FINISH_BINDING = 2
    CONFIRM = 3
    UPDATE = 4
    REMOVE = 5
    EXPIRE = 6


TRANSITIONS: Mapping[PodEvent, Mapping[PodState, PodState]] = {
    PodEvent.ASSUME: {PodState.ABSENT: PodState.ASSUMED},
    PodEvent.FORGET: {
        PodState.ABSENT: PodState.ABSENT,
        PodState.ASSUMED: PodState.ABSENT,
        PodState.BOUND: PodState.BOUND,
    },
    PodEvent.FINISH_BINDING: {
        PodState.ABSENT: PodState.ABSENT,
        PodState.ASSUMED: PodState.ASSUMED,
        PodState.BOUND: PodState.BOUND,
    },
    PodEvent.CONFIRM: {
        PodState.ABSENT: PodState.BOUND,
        PodState.ASSUMED: PodState.BOUND,
    },
    PodEvent.UPDATE: {
        PodState.ABSENT: PodState.BOUND,
        PodState.ASSUMED: PodState.BOUND,
        PodState.BOUND: PodState.BOUND,
    },
    PodEvent.REMOVE: {
        PodState.ABSENT: PodState.ABSENT,
        PodState.ASSUMED: PodState.ABSENT,
        PodState.BOUND: PodState.ABSENT,
    },
    PodEvent.EXPIRE: {PodState.ASSUMED: PodState.ABSENT},
}


class IllegalTransition(RuntimeError):
    """The event cannot happen to a pod in this state: a bug of the caller."""

    def __init__(self, info: PodInfo, state: PodState, event: PodEvent) -> None:
        super().__init__(f"cannot {_words(event)} pod {info.key} (UID {info.uid}): it is {_words(state)} in the cache")


def next_state(info: PodInfo, state: PodState, event: PodEvent) -> PodState:
    """The state of the pod after `event`.

    Raises IllegalTransition when the table has none.
    """
    after = TRANSITIONS[event].get(state)
    if after is None:
        raise IllegalTransition(info, state, event)
    return after


def _words(member: IntEnum) -> str:
    return member.name.lower().replace("_", " ")

"""Places in the queue and the moves between them: the table that the queue executes.

`Places.move` looks up each move in the table before it changes anything, so no entity moves in a way that the table
does not name; tests walk the table. `TABLE` is keyed by the trigger of the move and the current place. Exactly one of
the conditions listed there holds, and determines the target:

    add ──► ACTIVE ──pop──► IN_FLIGHT ──done──► (left)
     │       ▲   ▲              │
     │       │   │ backoff over │ attempt failure
     │       │   │ (or idle)    ├─ error, or helped meanwhile ──► (ERROR_)BACKOFF ─┐
     │       │   └──────────────┼──────────────────────────────────────────────────┘
     │       │ helped, or       └─ rejected ──► UNSCHEDULABLE
     │       │ waited too long                        │
     │       └────────────────────────────────────────┴─► BACKOFF, if it is not over
     └─► GATED, or ERROR_BACKOFF when a plugin fails ──admitted──► ACTIVE

1. A popped entity no longer belongs to the queue: its pods, whether they are done or not, return in new entities from
   IN_FLIGHT. A pod that leaves its entity keeps the place that it had there.
2. A pod that joins the entity of its group waits in that entity's place.
3. A large group on its way to ACTIVE or a BACKOFF is UNSCHEDULABLE until plugins have been called for its members, and
   then moves on with its original cause (`Moves.settle`).
4. Pods in a batch are UNSCHEDULABLE. An event that helps the first pod moves it to a BACKOFF if it backs off; otherwise
   the event wakes the batch without moving its pods, and when the batch's turn comes, `pop` moves the first pod to
   ACTIVE, with the event as the cause (`Batching`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from ..contract.events import FORCE_ACTIVATE, UNSCHEDULABLE_TIMEOUT, UNSCHEDULED_POD_ADD, ClusterEvent


class Place(Enum):
    """Where in the queue a pod is. It is in exactly one place from its addition until it is done or deleted.

    Attributes:
        label: the name for users.
        queue: the name in metrics.
    """

    NOWHERE = "not in the queue", ""
    """Not in the queue yet, or no longer."""
    ACTIVE = "active", "active"
    """activeQ: ready to be tried."""
    BACKOFF = "backoff", "backoff"
    """backoffQ: was rejected by a plugin and waits for its backoff; tried earlier if nothing is ready."""
    ERROR_BACKOFF = "error backoff", "backoff"
    """backoffQ: failed with an error and waits for its backoff, even if nothing is ready; an activation may end it."""
    UNSCHEDULABLE = "unschedulable", "unschedulable"
    """unschedulablePods: waits for an event that one of its rejecting plugins registered for."""
    GATED = "gated", "gated"
    """unschedulablePods: a PreEnqueue plugin gates it."""
    IN_FLIGHT = "in flight", ""
    """Was popped; its attempt is not over."""

    __hash__ = object.__hash__  # in C: looked up with each move

    def __init__(self, label: str, queue: str) -> None:
        self.label = label
        self.queue = queue


class Trigger(Enum):
    """The triggers of moves."""

    POD_ADD = "a new pod"
    ATTEMPT_FAILURE = "a failed attempt"
    CLUSTER_EVENT = "an event in the cluster"
    FORCE_ACTIVATE = "activation"
    BACKOFF_COMPLETE = "the end of backoff"
    UNSCHEDULABLE_TIMEOUT = "the time limit"
    REVIEW = "a review"
    JOINED_GROUP = "joining a group"
    POP = "a pop"
    CALL_OFF = "the lack of capacity for its batch"
    REFILE = "a change of its pods"
    REMOVE = "the removal of its last pod"

    __hash__ = object.__hash__


class When(Enum):
    """A condition on an entity that is to move; `Moves` and `Places` evaluate it."""

    ALWAYS = "whatever holds"
    READY = "when it does not back off"
    BACKING_OFF = "while its backoff lasts"
    BACKING_OFF_AFTER_ERROR = "while its backoff after an error lasts"
    NOT_HELPED = "when nothing has helped it"
    LARGE = "when it is a large group"
    GATED = "when PreEnqueue rejects it"
    FAILED = "when a plugin fails at PreEnqueue or QueueSort"

    __hash__ = object.__hash__


class Cause(NamedTuple):
    """The cause of a move: the trigger, and the event of the metric `queue_incoming_pods`."""

    trigger: Trigger
    label: str

    @classmethod
    def of(cls, event: ClusterEvent) -> Cause:
        """The cause of a move by an event in the cluster."""
        return cls(Trigger.CLUSTER_EVENT, event.label)


POD_ADD = Cause(Trigger.POD_ADD, UNSCHEDULED_POD_ADD.label)
ATTEMPT_FAILURE = Cause(Trigger.ATTEMPT_FAILURE, "ScheduleAttemptFailure")
ACTIVATE = Cause(Trigger.FORCE_ACTIVATE, FORCE_ACTIVATE.label)
BACKOFF_COMPLETE = Cause(Trigger.BACKOFF_COMPLETE, "BackoffComplete")
TIMEOUT = Cause(Trigger.UNSCHEDULABLE_TIMEOUT, UNSCHEDULABLE_TIMEOUT.label)
REVIEW = Cause(Trigger.REVIEW, "Review")
JOINED_GROUP = Cause(Trigger.JOINED_GROUP, "JoinedGroup")
POP = Cause(Trigger.POP, "PopFromBackoffQ")
"""A pop from activeQ is not counted, so its label never appears."""
CALL_OFF = Cause(Trigger.CALL_OFF, "")
REFILE = Cause(Trigger.REFILE, "")
REMOVE = Cause(Trigger.REMOVE, "")

_Targets = Mapping[When, Place]

_READY: _Targets = {When.READY: Place.ACTIVE, When.FAILED: Place.ERROR_BACKOFF}
_ENTER: _Targets = {**_READY, When.GATED: Place.GATED}
_ERROR: _Targets = {When.BACKING_OFF_AFTER_ERROR: Place.ERROR_BACKOFF}
_BACKOFF: _Targets = {When.BACKING_OFF: Place.BACKOFF, **_ERROR}
_LARGE: _Targets = {When.LARGE: Place.UNSCHEDULABLE}
_STAY: _Targets = {When.NOT_HELPED: Place.UNSCHEDULABLE}
_FAILED: _Targets = {When.FAILED: Place.ERROR_BACKOFF}

TABLE: Mapping[tuple[Trigger, Place], _Targets] = {
    (Trigger.POD_ADD, Place.NOWHERE): _ENTER,
    (Trigger.ATTEMPT_FAILURE, Place.IN_FLIGHT): {**_ENTER, **_BACKOFF, **_LARGE, **_STAY},
    # Pods that failed join siblings that wait.
    (Trigger.ATTEMPT_FAILURE, Place.UNSCHEDULABLE): {**_ENTER, **_BACKOFF, **_LARGE, **_STAY},
    (Trigger.ATTEMPT_FAILURE, Place.BACKOFF): {**_READY, **_LARGE},
    (Trigger.ATTEMPT_FAILURE, Place.ERROR_BACKOFF): {**_READY, **_LARGE},
    # From ACTIVE and the BACKOFFs, an event moves a pod that joins another group, or a group that a sibling joins.
    (Trigger.CLUSTER_EVENT, Place.UNSCHEDULABLE): {**_ENTER, **_BACKOFF, **_LARGE},
    (Trigger.CLUSTER_EVENT, Place.GATED): {**_ENTER, **_BACKOFF},
    (Trigger.CLUSTER_EVENT, Place.ACTIVE): _ENTER,
    (Trigger.CLUSTER_EVENT, Place.BACKOFF): {**_ENTER, **_LARGE},
    (Trigger.CLUSTER_EVENT, Place.ERROR_BACKOFF): {**_ENTER, **_ERROR},
    (Trigger.FORCE_ACTIVATE, Place.UNSCHEDULABLE): {**_ENTER, **_LARGE},
    (Trigger.FORCE_ACTIVATE, Place.GATED): _ENTER,
    (Trigger.FORCE_ACTIVATE, Place.ACTIVE): _ENTER,
    (Trigger.FORCE_ACTIVATE, Place.BACKOFF): {**_ENTER, **_LARGE},
    (Trigger.FORCE_ACTIVATE, Place.ERROR_BACKOFF): {**_ENTER, **_LARGE},
    # PreEnqueue ran before backoff, except for pods that a plugin's error kept out.
    (Trigger.BACKOFF_COMPLETE, Place.BACKOFF): {**_READY, **_LARGE},
    (Trigger.BACKOFF_COMPLETE, Place.ERROR_BACKOFF): {**_ENTER, **_LARGE},
    (Trigger.BACKOFF_COMPLETE, Place.UNSCHEDULABLE): _READY,
    (Trigger.UNSCHEDULABLE_TIMEOUT, Place.UNSCHEDULABLE): {**_ENTER, **_BACKOFF, **_LARGE},
    (Trigger.UNSCHEDULABLE_TIMEOUT, Place.GATED): {**_ENTER, **_BACKOFF},
    (Trigger.REVIEW, Place.UNSCHEDULABLE): {**_ENTER, **_BACKOFF, **_LARGE},
    # A pod that was about to be popped alone joins the group that it now belongs to.
    (Trigger.JOINED_GROUP, Place.ACTIVE): _READY,
    (Trigger.JOINED_GROUP, Place.BACKOFF): _READY,
    (Trigger.JOINED_GROUP, Place.UNSCHEDULABLE): {**_ENTER, **_BACKOFF, **_LARGE},
    (Trigger.POP, Place.ACTIVE): {When.ALWAYS: Place.IN_FLIGHT},
    (Trigger.POP, Place.BACKOFF): {When.ALWAYS: Place.IN_FLIGHT},
    (Trigger.CALL_OFF, Place.ACTIVE): {When.ALWAYS: Place.UNSCHEDULABLE, **_FAILED},
    (Trigger.CALL_OFF, Place.BACKOFF): {When.ALWAYS: Place.UNSCHEDULABLE, **_FAILED},
    (Trigger.REFILE, Place.ACTIVE): {When.ALWAYS: Place.ACTIVE, **_FAILED},
    (Trigger.REFILE, Place.BACKOFF): {When.ALWAYS: Place.BACKOFF, **_FAILED},
    (Trigger.REFILE, Place.UNSCHEDULABLE): {When.ALWAYS: Place.UNSCHEDULABLE},
    (Trigger.REMOVE, Place.ACTIVE): {When.ALWAYS: Place.NOWHERE},
    (Trigger.REMOVE, Place.BACKOFF): {When.ALWAYS: Place.NOWHERE},
    (Trigger.REMOVE, Place.ERROR_BACKOFF): {When.ALWAYS: Place.NOWHERE},
    (Trigger.REMOVE, Place.UNSCHEDULABLE): {When.ALWAYS: Place.NOWHERE},
    (Trigger.REMOVE, Place.GATED): {When.ALWAYS: Place.NOWHERE},
}


class Transition(NamedTuple):
    """A row of the table.

    Attributes:
        target: where the entity goes.
        counted_as: the queue that its pods count as entering in the metric `queue_incoming_pods`; "" for none.
    """

    target: Place
    counted_as: str


class IllegalMove(RuntimeError):
    """The table has no such move: a bug in the queue."""


def _counted_as(trigger: Trigger, source: Place, when: When, target: Place) -> str:
    """The sub-queue under which kube-scheduler counts the move; "" for none."""
    if trigger in (Trigger.CALL_OFF, Trigger.REFILE, Trigger.REMOVE) or when is When.LARGE:
        return ""
    if target is Place.IN_FLIGHT:
        return Place.ACTIVE.queue if source is Place.BACKOFF else ""
    return Place.UNSCHEDULABLE.queue if target is Place.GATED else target.queue


_ROWS = {
    (trigger, source, when): Transition(target, _counted_as(trigger, source, when, target))
    for (trigger, source), targets in TABLE.items()
    for when, target in targets.items()
}


def transition(entity: str, trigger: Trigger, source: Place, when: When) -> Transition:
    """Where an entity, named by its key, goes from `source`. Raises IllegalMove."""
    row = _ROWS.get((trigger, source, when))
    if row is None:
        raise IllegalMove(f"{entity} is {source.label}: {trigger.value} does not move it {when.value}")
    return row

"""The events of a recording: all inputs of an engine, in order, and its decisions.

An engine with the same events makes the same decisions, because it has no clock, randomness or I/O of its own. For this
to hold to the last byte, its time stands still within an event and advances with the next one: `at` is seconds on that
clock. Each event is a line of JSON in the file; fields may be added, and a reader ignores fields that it does not know.
"""

from __future__ import annotations

from typing import Any

import msgspec

FORMAT = 1
"""Increased when a reader of the previous format would misunderstand a recording."""


class Event(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="event", gc=False):
    """The base of all events."""


class Began(Event, frozen=True, tag="began"):
    """The head of a file.

    Attributes:
        format: see `FORMAT`.
        muster: the version that decided.
        at, wall: one moment on the engine's clock and since the epoch.
        seed: the seed of the engine's randomness.
        configuration: the KubeSchedulerConfiguration, as far as decisions depend on it.
        kinds: the followed kinds, by the engine's names.
        assumed_ttl: the time for which an assumed pod is kept that the API never reports.
        whole: whether the file begins with an empty engine; otherwise it begins with the known objects.
        part: the number of this file of the recording, from 1.
        anonymous: whether the names are replaced.
    """

    format: int
    muster: str
    at: float
    wall: float
    seed: int
    configuration: dict[str, Any]
    kinds: tuple[str, ...]
    assumed_ttl: float | None = None
    whole: bool = True
    part: int = 1
    anonymous: bool = False


class OfObject(Event, frozen=True):
    """An event about an object of a `kind`, which is identified by its namespace and name."""

    at: float
    kind: str
    object: msgspec.Raw


class ObjectAdded(OfObject, frozen=True, tag="added"):
    """An object was seen for the first time."""


class ObjectChanged(OfObject, frozen=True, tag="changed"):
    """An object changed."""


class ObjectGone(OfObject, frozen=True, tag="gone"):
    """An object was deleted."""


class ObjectKnown(OfObject, frozen=True, tag="known"):
    """An object that was known when the file began, if an earlier file precedes it."""


class MemberEnding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A member of a group that has ended."""

    pod_group: str = msgspec.field(name="podGroup")
    succeeded: bool = False


class MemberEnded(Event, frozen=True, tag="memberEnded"):
    """A member of a group has ended, or an ended one was deleted.

    Attributes:
        books: the key under which the group's plugin keeps its books.
        uid: the UID of the pod.
        was, now: the previous and the new knowledge of its end.
    """

    at: float
    books: str
    uid: str
    was: MemberEnding | None = None
    now: MemberEnding | None = None


class Flushed(Event, frozen=True, tag="flushed"):
    """The queue was flushed at this time."""

    at: float


class Stepped(Event, frozen=True, tag="stepped"):
    """The scheduler took the next entity from the queue. Its decisions follow."""

    at: float


class TimerEnded(Event, frozen=True, tag="timer"):
    """The `number`-th timer fired."""

    at: float
    number: int


class TaskWentOn(Event, frozen=True, tag="task"):
    """The `number`-th task continued.

    A task may take its step after changes that were reported since it was ready, and a binding cycle then finds another
    state of its node. Without these events, a replay that runs ready tasks in FIFO order after every other event
    repeats the random histories of `tests/recording/test_replay.py`, but keeps the pod on the node that is cordoned
    there before the binding cycle begins, which the recorded scheduler gave back.
    """

    at: float
    number: int


class Expired(Event, frozen=True, tag="expired"):
    """Expired assumed pods were removed."""

    at: float


class Answered(Event, frozen=True, tag="answered"):
    """The answer to a call of the engine, or a report that has arrived.

    Attributes:
        call: the name of the call, which several tasks may make at once.
        task: the number of the calling task.
        result: the answer without secrets; a text is a body.
        failed: the error, if there is no answer.
    """

    at: float
    call: str
    task: int = 0
    result: str = ""
    failed: Failure | None = None


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """An error of the API, or of a binding."""

    message: str
    status: int = 0
    reason: str = ""
    retry_after: float | None = None


class Ranking(msgspec.Struct, frozen=True, omit_defaults=True):
    """The rank of the chosen node.

    Attributes:
        total: its score.
        by_plugin: the weighted score of each plugin.
        among: the number of feasible nodes.
        equals: the number of feasible nodes with the same score, itself included.
    """

    total: int
    by_plugin: dict[str, int]
    among: int
    equals: int


class Decided(Event, frozen=True, tag="decided"):
    """The result of a pod's attempt.

    Attributes:
        pod: `namespace/name`.
        node: the node on which it was placed; "" for none.
        ranking: the rank of the node; None if there was no choice.
        code, message, plugin: the status, if it was not placed.
        group: the group with which it was tried.
        given_back: whether the pod had the node, and lost it before it was bound.
    """

    pod: str
    uid: str
    node: str = ""
    ranking: Ranking | None = None
    code: str = ""
    message: str = ""
    plugin: str = ""
    group: str = ""
    given_back: bool = False


class GroupDecided(Event, frozen=True, tag="groupDecided"):
    """The result of a group's trial, followed by the results of its members."""

    group: str
    placed: int
    missing: int
    code: str = ""
    message: str = ""


class Ended(Event, frozen=True, tag="ended"):
    """The end of a file: the process ended, or the next file continues."""

    at: float


Decision = Decided | GroupDecided
AnyEvent = (
    Began
    | ObjectAdded
    | ObjectChanged
    | ObjectGone
    | ObjectKnown
    | MemberEnded
    | Flushed
    | Stepped
    | TimerEnded
    | TaskWentOn
    | Expired
    | Answered
    | Decided
    | GroupDecided
    | Ended
)

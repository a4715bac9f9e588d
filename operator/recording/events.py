"""The events of a recording: all inputs of an engine, in order, and its decisions.

An engine with the same events makes the same decisions, because it has no clock, randomness or I/O of its own. For this
to hold to the last byte, its time stands still within an event and advances with the next one: `at` is seconds on that
clock. Each event is a line of JSON in the file; fields may be added, and a reader ignores fields that it does not know.
"""

from __future__ import annotations

from typing import Any

import msgspec

FORMAT = 1
"""Goes up when a reader of the format before would misunderstand a recording."""


class Event(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="event", gc=False):
    """Base of all events."""


class Began(Event, frozen=True, tag="began"):
    """The head of a file.

    Attributes:
        format: see `FORMAT`.
        muster: the version that decided.
        at, wall: one moment on the engine's clock and since the epoch.
        seed: of the engine's randomness.
        configuration: the KubeSchedulerConfiguration, as far as it decides.
        kinds: what was followed, as the engine names it.
        assumed_ttl: how long an assumed pod is kept that the API never reports.
        whole: whether the engine knew nothing before; else what it knew comes first, and it is decided from there on.
        part: which file of the recording this is, from 1 on.
        anonymous: whether the names are not those of the cluster.
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
    """Something about an object of a `kind`, which is known by its namespace and name."""

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
    """An object that was known when the file began, though the recording had begun before."""


class MemberEnding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A member of a group that has ended."""

    pod_group: str = msgspec.field(name="podGroup")
    succeeded: bool = False


class MemberEnded(Event, frozen=True, tag="memberEnded"):
    """A member of a group has ended, or an ended one was deleted.

    Attributes:
        books: whose members are counted: the key under which the group's plugin keeps its books.
        uid: of the pod.
        was, now: what was known of its end, and is.
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
    """The scheduler took the next from the queue. What it decided follows."""

    at: float


class TimerEnded(Event, frozen=True, tag="timer"):
    """The timer that was set as the `number`-th called back."""

    at: float
    number: int


class TaskWentOn(Event, frozen=True, tag="task"):
    """The task that was started as the `number`-th continued.

    A task may take its step after changes that were reported since it was ready, and a binding cycle then finds another
    state of its node. Without these events, a replay that runs ready tasks in FIFO order after every other event
    repeats the random histories of `tests/recording/test_replay.py`, but keeps the pod on the node that is cordoned
    there before the binding cycle begins, which the recorded scheduler gave back.
    """

    at: float
    number: int


class Expired(Event, frozen=True, tag="expired"):
    """Assumed pods whose time was over were looked for."""

    at: float


class Answered(Event, frozen=True, tag="answered"):
    """An answer to a question that the engine asked, or a report that has arrived.

    Attributes:
        call: what was asked; the same question may be asked by several tasks at once.
        task: the number of the task that asked.
        result: the answer without secrets; a text is a body.
        failed: why there is none.
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
        by_plugin: what each plugin gave to it, weighted.
        among: how many nodes could run the pod.
        equals: how many of them had the same score, itself included.
    """

    total: int
    by_plugin: dict[str, int]
    among: int
    equals: int


class Decided(Event, frozen=True, tag="decided"):
    """The result of a pod's attempt.

    Attributes:
        pod: `namespace/name`.
        node: where it was placed; "" for nowhere.
        ranking: why there; None where there was no choice.
        code, message, plugin: why nowhere.
        group: the group that it was tried with.
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
    """The result of a group's trial. The results of its members follow."""

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

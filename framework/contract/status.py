"""Status: the answer of a plugin. A rejection is a value; an exception is a bug.

Plugins create statuses, the runtime adds the plugin's name, and the cycles act on the code. `None` means success
wherever a status may be returned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

LONGEST = 1 << 12
"""Characters of a text in a message: a pod may ask for thousands of things that no node has."""


def cut(text: str) -> str:
    """The text, or its beginning where it is too long for a message."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def text_of(error: BaseException) -> str:
    """Its text, or its type where it has none; what is too long is cut. Raises nothing but KeyboardInterrupt."""
    try:
        return cut(str(error)) or type(error).__name__
    except KeyboardInterrupt:
        raise
    except BaseException:
        return type(error).__name__


class Code(IntEnum):
    """kube-scheduler's status codes. Each says how the pod comes back to the queue.

    Attributes:
        wire_name: the name kube-scheduler prints, e.g. `UnschedulableAndUnresolvable`.
        rejected: whether the pod was turned away, rather than let through or struck by an error.
    """

    wire_name: str
    rejected: bool

    SUCCESS = 0
    """The pod goes on."""
    ERROR = 1
    """Something broke. The pod is retried after backoff, whatever happens in the cluster."""
    UNSCHEDULABLE = 2
    """Not now; other pods leaving may help. The pod waits for an event that its rejecting plugins asked for."""
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    """Not now, and no pod's leaving helps. The pod waits like UNSCHEDULABLE; preemption passes the node over."""
    WAIT = 4
    """Permit holds the pod until it is allowed, rejected or its time is up. Plugins answer `Wait` instead."""
    SKIP = 5
    """The plugin has nothing to do for this pod: its Filter, Score or Bind is left out."""
    PENDING = 6
    """Waiting for something outside; when the event comes the pod is retried at once, without backoff."""


for _code in Code:  # plain attributes, as they are read several times for each pod
    _code.wire_name = "".join(word.capitalize() for word in _code.name.split("_"))
    _code.rejected = _code in (Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING)


@dataclass(frozen=True, slots=True)
class Status:
    """A code with its reasons.

    Attributes:
        code: what the cycle does next.
        reasons: texts for people; each is counted on its own in the FailedScheduling message.
        plugin: who said it; the runtime fills it in.
        error: the exception behind an ERROR, if there was one.
    """

    code: Code
    reasons: tuple[str, ...] = ()
    plugin: str = ""
    error: BaseException | None = None

    @classmethod
    def unschedulable(cls, *reasons: str) -> Status:
        """UNSCHEDULABLE with these reasons."""
        return cls(Code.UNSCHEDULABLE, reasons)

    @classmethod
    def unresolvable(cls, *reasons: str) -> Status:
        """UNSCHEDULABLE_AND_UNRESOLVABLE with these reasons."""
        return cls(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)

    @classmethod
    def pending(cls, *reasons: str) -> Status:
        """PENDING with these reasons."""
        return cls(Code.PENDING, reasons)

    @classmethod
    def wait(cls, *reasons: str) -> Status:
        """WAIT with these reasons: a pod that Permit holds. A plugin answers `Wait`, which has the time, too."""
        return cls(Code.WAIT, reasons)

    @classmethod
    def skip(cls) -> Status:
        """SKIP; always the same object."""
        return SKIP

    @classmethod
    def failure(cls, *reasons: str, error: BaseException | None = None) -> Status:
        """ERROR with these reasons."""
        return cls(Code.ERROR, reasons, "", error)

    @property
    def rejected(self) -> bool:
        """Whether the code turns the pod away (see `Code.rejected`)."""
        return self.code.rejected

    @property
    def message(self) -> str:
        """The error's text and the reasons, joined by a comma and a space."""
        texts = self.reasons if self.error is None else (text_of(self.error), *self.reasons)
        return ", ".join(texts)

    def by(self, plugin: str) -> Status:
        """This status, stamped with the plugin that gave it."""
        return self if self.plugin == plugin else replace(self, plugin=plugin)

    def checked(self) -> Status:
        """This status, with each reason cut that is too long for a message.

        Raises TypeError for one that was made of anything but a code, texts and an exception.
        """
        if not isinstance(self.code, Code):
            raise TypeError(f"its status has code {self.code!r}, which is no Code")
        if type(self.reasons) is not tuple or not all(isinstance(reason, str) for reason in self.reasons):
            raise TypeError("its status has reasons that are no tuple of texts")
        if not isinstance(self.error, BaseException | None):
            raise TypeError("its status has an error that is no exception")
        if all(len(reason) <= LONGEST for reason in self.reasons):
            return self
        return replace(self, reasons=tuple(map(cut, self.reasons)))


SKIP = Status(Code.SKIP)

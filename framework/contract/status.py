"""Status: the answer of a plugin. A rejection is a value; an exception is a bug.

Plugins create statuses, the runtime adds the plugin's name, and the cycles act on the code. `None` means success
wherever a status may be returned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

LONGEST = 1 << 12
"""The maximal length of a text in a message: a pod may request thousands of things that no node has."""


def cut(text: str) -> str:
    """The text, cut at the maximal length of a message."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def text_of(error: BaseException) -> str:
    """The error's text, or its type if it has none; a long text is cut. Raises nothing but KeyboardInterrupt."""
    try:
        return cut(str(error)) or type(error).__name__
    except KeyboardInterrupt:
        raise
    except BaseException:
        return type(error).__name__


class Code(IntEnum):
    """kube-scheduler's status codes. Each one determines how the pod returns to the queue.

    Attributes:
        wire_name: the name kube-scheduler prints, e.g. `UnschedulableAndUnresolvable`.
        rejected: whether the code rejects the pod, as opposed to success and error.
    """

    wire_name: str
    rejected: bool

    SUCCESS = 0
    """The attempt continues."""
    ERROR = 1
    """Something broke. The pod is retried after backoff, whatever happens in the cluster."""
    UNSCHEDULABLE = 2
    """Not feasible now; the end or eviction of other pods may help. It waits for an event of a rejecting plugin."""
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    """Not feasible now, and no eviction helps. The pod waits as with UNSCHEDULABLE; preemption skips the node."""
    WAIT = 4
    """The pod waits at Permit until it is allowed or rejected, or its time is up. Plugins answer `Wait` instead."""
    SKIP = 5
    """The plugin has nothing to do for this pod: its Filter, Score or Bind is skipped."""
    PENDING = 6
    """The pod waits for something outside; when the event occurs, it is retried at once, without backoff."""


for _code in Code:  # plain attributes, as they are read several times for each pod
    _code.wire_name = "".join(word.capitalize() for word in _code.name.split("_"))
    _code.rejected = _code in (Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING)


@dataclass(frozen=True, slots=True)
class Status:
    """A code with its reasons.

    Attributes:
        code: determines the next step of the cycle.
        reasons: texts for users; each is counted separately in the FailedScheduling message.
        plugin: the plugin that answered; the runtime sets it.
        error: the exception behind an ERROR, if there was one.
        condition_reason: the reason of the condition PodScheduled, if it is to be another than Unschedulable.
    """

    code: Code
    reasons: tuple[str, ...] = ()
    plugin: str = ""
    error: BaseException | None = None
    condition_reason: str = ""

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
        """WAIT with these reasons, for a pod that waits at Permit. A plugin answers `Wait`, which also has the time."""
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
        """Whether the code rejects the pod (see `Code.rejected`)."""
        return self.code.rejected

    @property
    def message(self) -> str:
        """The error's text and the reasons, joined by a comma and a space."""
        texts = self.reasons if self.error is None else (text_of(self.error), *self.reasons)
        return ", ".join(texts)

    def by(self, plugin: str) -> Status:
        """This status with the name of its plugin."""
        return self if self.plugin == plugin else replace(self, plugin=plugin)

    def with_reasons(self, *reasons: str) -> Status:
        """This status with these reasons in place of its own, and without an exception."""
        return replace(self, reasons=reasons, error=None)

    def with_condition_reason(self, reason: str) -> Status:
        """This status with the reason of the condition, if it is a rejection that has none."""
        return (
            replace(self, condition_reason=reason) if reason and self.rejected and not self.condition_reason else self
        )

    def checked(self) -> Status:
        """This status, with each reason cut at the maximal length of a message.

        Raises TypeError if it consists of anything but a code, texts and an exception.
        """
        if not isinstance(self.code, Code):
            raise TypeError(f"its status has code {self.code!r}, which is no Code")
        if type(self.reasons) is not tuple or not all([isinstance(reason, str) for reason in self.reasons]):
            raise TypeError("its status has reasons that are no tuple of texts")
        if not isinstance(self.error, BaseException | None):
            raise TypeError("its status has an error that is no exception")
        if not isinstance(self.condition_reason, str):
            raise TypeError("its status has a reason of the condition that is no text")
        if max(map(len, self.reasons), default=0) <= LONGEST:
            return self
        return replace(self, reasons=tuple(map(cut, self.reasons)))


SKIP = Status(Code.SKIP)

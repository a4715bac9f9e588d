"""The state that the plugin's instances of all profiles share: devices, claims and holders, classes, and answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cachetools import LRUCache

from muster.framework.contract import Handle
from muster.framework.model.devices import (
    DeviceClaim,
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceSlice,
)

from .answers import OutcomesByRow
from .classes import DeviceClasses
from .consumers import Consumers
from .inventory import Inventory
from .problem import problem_key, problem_of
from .tracker import ClaimTracker

_MAX_PROBLEMS = 64
"""Problems whose answers are kept. One takes four bytes a node and what its distinct outcomes take."""
_USUAL_LENGTH = 4_096
_MOST_BYTES = _MAX_PROBLEMS * _USUAL_LENGTH
"""The maximal size of the claims behind cached problems; the largest is as large as an object may be."""


class _Kept(NamedTuple):
    answers: OutcomesByRow
    bytes: int


class SharedDRAManager:
    """The state of devices and of claims for them.

    Each change may be reported several times, once for each profile; all but the first report change nothing.
    """

    def __init__(self, handle: Handle) -> None:
        self.inventory = Inventory(handle.snapshot)
        self.claims = ClaimTracker(self.inventory.use)
        self.consumers = Consumers(handle)
        self.classes = DeviceClasses()
        self.snapshot = handle.snapshot
        self._answers: LRUCache[tuple[int, bytes], _Kept] = LRUCache(_MOST_BYTES, getsizeof=lambda kept: kept.bytes)

    def answers_for(self, claims: Sequence[DeviceClaim]) -> OutcomesByRow:
        """The outcome of these claims on each node."""
        key = self.classes.revision, problem_key(claims)
        known = self._answers.get(key)
        if known is None:
            answers = OutcomesByRow(problem_of(claims, self.classes), self.inventory, self.snapshot)
            known = self._answers[key] = _Kept(answers, min(max(len(key[1]), _USUAL_LENGTH), _MOST_BYTES))
        return known.answers

    def changed(self, old: object | None, new: object | None) -> None:
        """An object came (`old` is None), changed, or went (`new` is None)."""
        found = old if new is None else new
        gone = new is None
        match found:
            case ResourceClaim():
                (self.claims.lost if gone else self.claims.saw)(found)
            case DeviceClass():
                (self.classes.lost if gone else self.classes.saw)(found)
            case ResourceSlice():
                (self.inventory.lost_slice if gone else self.inventory.saw_slice)(found)
            case DeviceTaintRule():
                (self.inventory.lost_rule if gone else self.inventory.saw_rule)(found)

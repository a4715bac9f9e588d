"""The sources of time, uids and generated names.

The sources are injected, so that a test or a simulation can run twice and see the same. The clock counts seconds since
the epoch.
"""

import random
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""The characters at the end of generated names: no vowels, so no words, and none that look alike."""


def _random_uid() -> str:
    return str(uuid.uuid4())


def _random_suffix() -> str:
    return "".join(random.choices(_LETTERS, k=5))


@dataclass(frozen=True, slots=True)
class Generators:
    """`clock` counts seconds since the epoch, `uid` makes a new uid, `suffix` five characters for `generateName`."""

    clock: Callable[[], float] = time.time
    uid: Callable[[], str] = _random_uid
    suffix: Callable[[], str] = _random_suffix


REAL = Generators()
"""The machine's clock, and uids and names that no one can foresee."""

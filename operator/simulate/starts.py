"""The latest starts of pods without capacity, as plugins that reserve capacity forecast them in a rehearsal.

`Rehearsal` runs their forecasters; `simulate` and `why` print the sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from muster.framework.contract.reservation import CapacityReserver, Start, StartForecaster

if TYPE_CHECKING:
    from muster.operator.process.settings import Assembly

_NAMES_SHOWN = 3


def forecasters(assembly: Assembly) -> Iterator[type[StartForecaster[Any]]]:
    """The forecasters among the plugins that the profiles run."""
    for name in assembly.enabled():
        plugin = assembly.registry[name]
        if issubclass(plugin, CapacityReserver) and plugin.forecaster is not None:
            yield plugin.forecaster


def sentences(starts: Iterable[Start]) -> Iterator[str]:
    """Sentences for users, one for each start."""
    for each in starts:
        kind = "composite pod group " if each.composite else "pod group " if each.group else ""
        who = f"{kind}{each.waiting}"
        more = len(each.after) - _NAMES_SHOWN
        names = ", ".join(each.after[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
        have = "has" if len(each.after) == 1 else "have"
        yield f"With capacity reserved for it {who} would start by {each.by} at the latest, when {names} {have} ended."

"""The judge's count of reserved capacity: on the node of its own reservation a pod comes before younger ones."""

from math import inf
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from muster.framework.scheduler.engine import Engine
from muster.plugins.reservation.reserved_capacity import ReservedCapacity
from muster.testing.simulation import reserved
from muster.testing.simulation.reserved import Reserved


def capacity(holder: str, row: int, *, start: float = inf, members: int = 1) -> ReservedCapacity:
    """A CPU on a node for each of the members `holder-0`, `holder-1` and so on."""
    names = [f"{holder}-{number}" for number in range(members)]
    pods = np.array([members], np.int64)
    return ReservedCapacity(holder, holder, 0, names, start, np.array([row], np.intp), pods, {"cpu": pods * 1000})


RESERVED = (
    capacity("oldest", 0),
    capacity("old", 0),
    capacity("gang", 0, members=2),
    capacity("soon", 0, start=60.0),
    capacity("other", 1),
)


@pytest.mark.parametrize(
    ("uid", "on_node_0"),
    [("oldest-0", 1000), ("old-0", 2000), ("gang-0", 3000), ("soon-0", 4000), ("other-0", 5000), ("nobody-0", 5000)],
)
def test_conflicting_reservations(uid: str, on_node_0: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Older ones are, and those needed earlier; where a pod has none of its own all are. Of a gang all others are."""
    monkeypatch.setattr(reserved, "reserved_in", lambda shared: RESERVED)
    cache = SimpleNamespace(snapshot=SimpleNamespace(names=["node-0", "node-1"]))
    found = Reserved(cast("Engine", SimpleNamespace(shared={}, cache=cache)))
    assert found.against_all({uid}, 0, "node-0") == on_node_0
    assert found.against_all({uid}, 1, "node-0") == 0

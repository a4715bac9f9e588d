"""Changes of a diagnosis after the Filter plugins have answered: nominated pods and extenders reject nodes too.

The runtime and the algorithm own a `Diagnosis` until PostFilter receives it; nothing else changes one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..contract.status import Status
from ..contract.verdicts import Diagnosis, NodeRejection, StatusTable


def replace_rejections(diagnosis: Diagnosis, positions: Sequence[int], rejections: Iterable[NodeRejection]) -> None:
    """Give each node at these positions its own of `rejections` in place of the one before."""
    known = {each: index for index, each in enumerate(zip(diagnosis.plugins, diagnosis.tables, strict=True), start=1)}
    rejectors, codes = [], []
    for plugin, table, code in rejections:
        if (plugin, table) not in known:
            diagnosis.plugins, diagnosis.tables = [*diagnosis.plugins, plugin], [*diagnosis.tables, table]
            known[plugin, table] = len(diagnosis.plugins)
        rejectors.append(known[plugin, table])
        codes.append(code)
    diagnosis.rejector[positions], diagnosis.codes[positions] = rejectors, codes


def reject_nodes(diagnosis: Diagnosis, statuses: Mapping[str, Status], by: str) -> None:
    """Reject nodes that passed so far with these statuses, by node name, in the name of `by`."""
    table = StatusTable()
    diagnosis.plugins, diagnosis.tables = [*diagnosis.plugins, by], [*diagnosis.tables, table]
    for position in np.flatnonzero(diagnosis.rejector == 0).tolist():
        status = statuses.get(diagnosis.node_names[position])
        if status is not None:
            diagnosis.rejector[position], diagnosis.codes[position] = len(diagnosis.plugins), table.number(status)

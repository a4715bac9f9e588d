"""The sizes of nodes: which requests of a pod no node of the cluster could meet, even if it were empty.

The scheduler's message says that nodes have too little free, not that waiting is in vain. `simulate`, `why` and the web
pages show this sentence for a pod that finds no node.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from muster.framework.model.node import Node
from muster.framework.model.pod_info import PodInfo
from muster.framework.model.requests import amounts, quantity


def size_sentence(pod: PodInfo, reasons: Iterable[str], nodes: Sequence[Node]) -> str:
    """For people: the requests that exceed every node, with the largest amount of a node; "" if there are none.

    Of a resource that no node was short of, according to `reasons`, nothing is said: something else may provide it.
    """
    said = dict.fromkeys(reasons)
    short = [name for name in sorted(pod.signature.requests) if any(_is_short(name, reason) for reason in said)]
    if not short:
        return ""
    offered = [amounts(node.status.allocatable) for node in nodes]
    sentences = []
    for name in short:
        asked, largest = pod.signature.requests[name], max((each.get(name, 0) for each in offered), default=0)
        if not largest:
            sentences.append(f"No node has {name}.")
        elif asked > largest:
            sentences.append(f"No node has {quantity(name, asked)} {name}: the largest has {quantity(name, largest)}.")
    return " ".join(sentences)


def _is_short(resource: str, reason: str) -> bool:
    return re.search(rf"Insufficient {re.escape(resource)}(?![\w/-]|\.\w)", reason) is not None

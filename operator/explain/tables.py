"""An explanation for people: why each group of nodes is rejected, and how the best nodes score."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from muster.framework.scheduler.explain import Explanation

from .layout import table
from .live import Explained

_NAMES_SHOWN = 3
_BEST_SHOWN = 10


def render(explained: Explained) -> Iterator[RenderableType]:
    """What to print, top to bottom."""
    pod, explanation = explained.pod, explained.explanation
    where = f"on {pod.node_name}" if pod.node_name else "not on a node"
    yield Text.assemble((pod.key, "bold"), f" ({where}), {_decided_by(explained)}")
    if explained.gated:
        yield Text(explained.gated, style="red")
        return
    if explanation.prefilter is not None:
        yield Text(f"{explanation.prefilter.plugin}: {explanation.prefilter.message}", style="red")
    if explanation.rejected:
        yield _rejections(explanation)
    if explanation.totals:
        yield _scores(explanation)
        yield Text(
            f"{len(explanation.feasible)} of {explained.nodes} nodes can run the pod; best: {explanation.chosen}"
        )
    if explanation.message:
        yield Text(explanation.message)
    if explained.group:
        yield Text(explained.group, style="red")


def _decided_by(explained: Explained) -> str:
    wanted = explained.pod.pod.spec.scheduler_name
    if wanted == explained.profile:
        return f"decided by profile {wanted}"
    return f"names scheduler {wanted}; decided as if by profile {explained.profile}"


def _rejections(explanation: Explanation) -> Table:
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, status in explanation.rejected.items():
        groups[status.plugin, status.message].append(name)
    rejected = table("Nodes", "Plugin", "Reason", "Which", whole=("Nodes", "Plugin"), title="Rejected")
    for (plugin, reason), names in sorted(groups.items(), key=lambda group: -len(group[1])):
        shown = ", ".join(sorted(names)[:_NAMES_SHOWN])
        more = len(names) - _NAMES_SHOWN
        rejected.add_row(str(len(names)), plugin, reason, f"{shown} and {more} more" if more > 0 else shown)
    return rejected


def _scores(explanation: Explanation) -> Table:
    best = sorted(explanation.totals, key=lambda name: (-explanation.totals[name], name != explanation.chosen, name))
    plugins = list(explanation.scores[best[0]])
    ranking = table("Node", *plugins, "Total", whole=("Node", "Total"), title="Best nodes")
    for name in best[:_BEST_SHOWN]:
        scores = explanation.scores[name]
        ranking.add_row(name, *(str(scores[plugin]) for plugin in plugins), str(explanation.totals[name]))
    return ranking

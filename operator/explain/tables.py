"""An explanation for users: why each set of nodes is rejected, and how the best nodes score."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterator

from muster.framework.scheduler.explain import Explanation
from muster.operator.simulate import evictions, starts

from .layout import TERMINAL, blocks, lines, shortened
from .live import Explained

_BEST_SHOWN = 10
_AGAIN = "It has its node. If it were to be placed again now:"


def render(explained: Explained, *, wide: bool = False) -> Iterator[str]:
    """The lines for users; `wide` names every node."""
    pod, explanation = explained.pod, explained.explanation
    where = f"on {pod.node_name}" if pod.node_name else "not on a node"
    if explained.unanswered:
        yield f"{pod.key} ({where}): {explained.unanswered}"
        yield f"Decided as if by profile {explained.profile}:"
    else:
        yield f"{pod.key} ({where}), {_decided_by(explained)}"
    if explained.gated:
        yield explained.gated
        return
    if pod.node_name:
        yield _AGAIN
    if explained.group:
        yield explained.group
    if explained.at_permit and explained.at_permit != explained.group:
        yield explained.at_permit
    yield from explained.verdict
    if explained.size:
        yield explained.size
    if explained.member:
        yield explained.member
    yield from evictions.sentences(explained.evicted)
    yield from starts.sentences(explained.starts)
    if explanation.totals:
        on = f"{len(explanation.feasible)} of {explained.nodes} nodes can run the pod; best: {explained.best}"
        yield f"Alone: {on}" if explained.group else on
    yield from explained.quota
    if explained.selector:
        yield explained.selector
    if explanation.rejected:
        yield from ("", *_rejections(explanation, wide=wide))
    if explanation.totals:
        yield from ("", *_scores(explanation, wide=wide))


def _decided_by(explained: Explained) -> str:
    wanted = explained.pod.pod.spec.scheduler_name
    if wanted == explained.profile:
        return f"decided by profile {wanted}"
    return f"names scheduler {wanted}; decided as if by profile {explained.profile}"


def _rejections(explanation: Explanation, *, wide: bool) -> Iterator[str]:
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, status in explanation.rejected.items():
        groups[status.plugin, status.message].append(name)
    rows = []
    for (plugin, reason), names in sorted(groups.items(), key=lambda group: -len(group[1])):
        rows.append((str(len(names)), plugin, reason, shortened(sorted(names), whole=wide)))
    return lines(("REJECTED", "PLUGIN", "REASON", "WHICH"), rows)


def _scores(explanation: Explanation, *, wide: bool) -> Iterator[str]:
    """The best nodes with their scores by plugin; unless `wide`, plugins with equal scores for all share a line."""
    ranked = explanation.ranked()
    best, plugins = ranked if wide else ranked[:_BEST_SHOWN], list(explanation.scores[ranked[0]])
    scores = {plugin: [explanation.scores[name][plugin] for name in best] for plugin in plugins}
    alike = [plugin for plugin in plugins if len({*scores[plugin]}) == 1 and len(best) > 1 and not wide]
    shown = [plugin for plugin in plugins if plugin not in alike]
    rows = [
        (name, str(explanation.totals[name]), *(str(scores[plugin][at]) for plugin in shown))
        for at, name in enumerate(best)
    ]
    titles = ("NODE", "TOTAL", *shown)
    yield from lines(titles, rows) if wide else blocks(titles, rows)
    if alike:
        same = f"The same on each of them: {', '.join(f'{plugin} {scores[plugin][0]}' for plugin in alike)}"
        yield from ("", *textwrap.wrap(same, TERMINAL))

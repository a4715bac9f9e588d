"""Which statuses each method may answer, as data.

The runtime checks answers against it: any other status is an ERROR that names the plugin and the point. Each method's
docstring and the page for authors name the same statuses; tests compare them.
"""

from __future__ import annotations

from collections.abc import Mapping

from .status import Code

REJECTIONS = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING})
_ERROR = frozenset({Code.ERROR})
_SUCCESS_OR_ERROR = frozenset({Code.SUCCESS, Code.ERROR})
_SKIP = frozenset({Code.SKIP})

LEGAL_STATUSES: Mapping[str, frozenset[Code]] = {
    "pre_enqueue": _SUCCESS_OR_ERROR | REJECTIONS,
    "pre_filter": _SUCCESS_OR_ERROR | REJECTIONS | _SKIP,
    "add_pod": _SUCCESS_OR_ERROR,
    "remove_pod": _SUCCESS_OR_ERROR,
    "filter": _ERROR | REJECTIONS,
    "filter_node": _SUCCESS_OR_ERROR | REJECTIONS,
    "post_filter": _SUCCESS_OR_ERROR | REJECTIONS,
    "pod_group_post_filter": _SUCCESS_OR_ERROR | REJECTIONS,
    "pre_score": _SUCCESS_OR_ERROR | _SKIP,
    "reserve": _SUCCESS_OR_ERROR | REJECTIONS,
    "permit": _SUCCESS_OR_ERROR | REJECTIONS,
    "pre_bind_pre_flight": _SUCCESS_OR_ERROR | _SKIP,
    "pre_bind": _SUCCESS_OR_ERROR | REJECTIONS,
    "bind": _SUCCESS_OR_ERROR | REJECTIONS | _SKIP,
    "reject_group": _ERROR | REJECTIONS,
    "reject_trial": _ERROR | REJECTIONS,
    "reject_member": _ERROR | REJECTIONS,
    "reject_part": _ERROR | REJECTIONS,
}
"""By the name of the method. SUCCESS is what None stands for, ERROR also what an exception stands for.

Of `filter` these are the statuses of its table; a node that passes has none. A method that is not listed answers no
status.
"""

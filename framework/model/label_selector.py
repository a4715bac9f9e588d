"""Label selectors of API objects: which sets of labels they pick.

Affinity terms, spread constraints and controllers carry them. The rules, and what is wrong with a selector in
kube-scheduler's words, are those of `metav1.LabelSelectorAsSelector`.
"""

from __future__ import annotations

import msgspec

from .meta import Wire


class LabelSelectorRequirement(Wire):
    """One expression over a set of labels."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Wire):
    """Labels and expressions that must all hold. One without any picks everything, none at all picks nothing."""

    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()

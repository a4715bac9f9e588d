"""FitError: the text that says of a pod how many nodes turned it away for which reason.

The scheduler tells it in events and conditions; a PostFilter plugin tells the outcome of its own search the same way.
"""

from __future__ import annotations

import numpy as np

from .status import Status
from .verdicts import Diagnosis

NO_NODES = "no nodes available to schedule pods"
LONGEST = 1 << 12
"""Characters of the reasons that are told; a pod may ask for thousands of things that no node has."""


def fit_error(diagnosis: Diagnosis) -> str:
    """kube-scheduler's FitError: `0/5 nodes are available: 1 Insufficient cpu, 4 node(s) had untolerated taint(s).`"""
    text = f"0/{len(diagnosis.node_names)} nodes are available:"
    if diagnosis.prefilter_message:
        text += f" {_cut(diagnosis.prefilter_message)}."
    else:
        reasons: dict[str, int] = {}
        for status, count in diagnosis.counts().items():
            for reason in status.reasons:
                reasons[reason] = reasons.get(reason, 0) + count
        parts = sorted(f"{count} {reason}" for reason, count in reasons.items())
        if parts:
            text += f" {_cut(', '.join(parts))}."
    return with_post_filter(text, diagnosis.postfilter_message)


def with_post_filter(text: str, message: str) -> str:
    """The text of a diagnosis with what PostFilter said after it was written."""
    return f"{text} {message}" if message else text


def _cut(reasons: str) -> str:
    return reasons if len(reasons) <= LONGEST else f"{reasons[:LONGEST]} ..."


def fit_error_of_one(status: Status) -> str:
    """The text for a pod that was turned away after a node had been chosen: `0/1 nodes are available: 1 <reason>.`"""
    none = np.zeros(1, np.int32)
    return fit_error(Diagnosis([""], none, none, absent=status))

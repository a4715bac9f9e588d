"""The contents of the plugin's objects and arguments in a recording."""

from __future__ import annotations

from muster.framework.contract.recorded import MapContent, RecordedContents, Renamer, SpelledOutError, TextKind

from .api import (
    READ,
    NamedAmount,
    NamedText,
    NodeResourceTopology,
    TopologyMeta,
    TopologyZone,
    ZoneResource,
    zone_number,
)
from .args import ReportMatching, ZoneScoring
from .fingerprint import PREFIX, fingerprint

_OF_NO_POD = fingerprint(())


def renamed(text: str, words: Renamer) -> str:
    """A text of a report with other names, except what decisions read. Raises SpelledOutError."""
    if text in READ or text == _OF_NO_POD or zone_number(text) is not None:
        return text
    if text.startswith(PREFIX):
        raise SpelledOutError("its fingerprint is made of the names of pods, and a copy has other names")
    return words.name(text)


RECORDED = RecordedContents(
    fields={
        NodeResourceTopology: {"topologyPolicies": renamed},
        TopologyZone: {"name": renamed, "type": renamed},
        ZoneResource: {
            "name": TextKind.RESOURCE,
            "allocatable": TextKind.KEPT,
            "available": TextKind.KEPT,
        },
        NamedAmount: {"name": renamed},
        NamedText: {"name": renamed, "value": renamed},
        TopologyMeta: {"annotations": MapContent(TextKind.KEY, renamed)},
        ZoneScoring: {"type": TextKind.KEPT},
        ReportMatching: {
            "foreignPodsDetect": TextKind.KEPT,
            "resyncMethod": TextKind.KEPT,
            "informerMode": TextKind.KEPT,
            "resyncScope": TextKind.KEPT,
        },
    }
)

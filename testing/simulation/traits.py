"""Traits of groups: what they ask for besides a number of members, as a history draws it and an object says it.

A trait is a pair of texts, so that acts stay plain data: the name of an annotation of Muster's, without its prefix, and
its value. Kubernetes' own groups say the same in fields of their spec where they have one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from muster.framework.contract.annotations import PREFIX
from muster.sandbox.objects import Object

from .acts import RACK, ZONE
from .trees import levels_of

Traits = tuple[tuple[str, str], ...]
"""Pairs of a trait's name and its value."""

REQUIRED, PREFERRED = "required-topology", "preferred-topology"
SLICE_LEVEL, SLICE_SIZE = "slice-topology", "slice-size"
_PLAIN = 0.5
"""The share of groups that may be anywhere."""
_TOPOLOGIES: tuple[Traits, ...] = (
    ((REQUIRED, ZONE),),
    ((REQUIRED, ZONE),),
    ((REQUIRED, RACK),),
    ((REQUIRED, f"{ZONE},{RACK}"),),
    ((REQUIRED, ZONE), (PREFERRED, RACK)),
    ((PREFERRED, ZONE),),
    ((PREFERRED, f"{ZONE},{RACK}"),),
    ((SLICE_LEVEL, RACK), (SLICE_SIZE, "2")),
    ((SLICE_LEVEL, ZONE), (SLICE_SIZE, "2")),
    ((REQUIRED, ZONE), (SLICE_LEVEL, RACK), (SLICE_SIZE, "2")),
)


@dataclass(frozen=True, slots=True)
class Rule:
    """Where the members of a group have to be.

    Attributes:
        levels: labels of nodes on which all have to agree.
        slice_level, slice_size: one more on which so many of them have to agree, 0 for no slices.
    """

    levels: tuple[str, ...] = ()
    slice_level: str = ""
    slice_size: int = 0


ANYWHERE = Rule()


def traits_of(seed: str, name: str, native: bool) -> Traits:
    """The traits of a group; one of Kubernetes' own names one label at most."""
    random = Random(f"{seed}/traits of {name}")
    if random.random() < _PLAIN:
        return ()
    return ((REQUIRED, random.choice((ZONE, RACK))),) if native else random.choice(_TOPOLOGIES)


def annotations_of(traits: Traits) -> dict[str, str]:
    """The annotations of a PodGroup of scheduling.x-k8s.io."""
    return {PREFIX + name: value for name, value in traits}


def rule_of(group: Object) -> Rule:
    """Where the members of a group of either kind have to be."""
    said: Mapping[str, str] = group["metadata"].get("annotations") or {}
    required = said.get(PREFIX + REQUIRED)
    return Rule(
        levels_of(group) or tuple(required.split(",") if required else ()),
        said.get(PREFIX + SLICE_LEVEL, ""),
        int(said.get(PREFIX + SLICE_SIZE, 0)),
    )

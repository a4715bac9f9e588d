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
from .members import URGENT
from .trees import PARENT, levels_of

Traits = tuple[tuple[str, str], ...]
"""Pairs of a trait's name and its value."""

REQUIRED, PREFERRED = "required-topology", "preferred-topology"
HEALING = "healing-policy"
_HEALED = 0.3
"""The share of groups that heal."""
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


def healing_of(seed: str, name: str) -> Traits:
    """What becomes of a group that loses a member, if it says so."""
    random = Random(f"{seed}/healing of {name}")
    return ((HEALING, random.choice(("Restart", "Restart", "Shrink"))),) if random.random() < _HEALED else ()


def native_spec(policy: Object, level: str, parent: str, urgent: bool) -> Object:
    """The spec of a group of Kubernetes' own, of pods or of groups."""
    spec: Object = {"schedulingPolicy": policy}
    if level:
        spec["schedulingConstraints"] = {"topology": [{"key": level}]}
    if parent:
        spec[PARENT] = parent
    if urgent:
        spec["priorityClassName"] = URGENT
    return spec


def annotations_of(traits: Traits, native: bool) -> dict[str, str]:
    """The annotations of a PodGroup; one of Kubernetes' own says the rest in its spec."""
    return {PREFIX + name: value for name, value in traits if not native or name == HEALING}


def annotation_of(group: Object, name: str) -> str | None:
    """What an object says in an annotation of Muster's, by its name without the prefix."""
    said: str | None = (group["metadata"].get("annotations") or {}).get(PREFIX + name)
    return said


def rule_of(group: Object) -> Rule:
    """Where the members of a group of either kind have to be."""
    said: Mapping[str, str] = group["metadata"].get("annotations") or {}
    required = said.get(PREFIX + REQUIRED)
    return Rule(
        levels_of(group) or tuple(required.split(",") if required else ()),
        said.get(PREFIX + SLICE_LEVEL, ""),
        int(said.get(PREFIX + SLICE_SIZE, 0)),
    )

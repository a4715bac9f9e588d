"""Traits of groups: their requirements besides a number of members, as a history draws them and an object states them.

A trait is a pair of strings, so that acts stay plain data: the name of one of Muster's annotations, without its prefix,
and its value. Kubernetes' own groups have fields of their spec for some of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from muster.framework.model.names import PREFIX
from muster.framework.model.quantity import milli_value, nanos
from muster.sandbox.objects import Object

from .acts import RACK, ZONE
from .members import URGENT
from .trees import PARENT, levels_of

Traits = tuple[tuple[str, str], ...]
"""Pairs of a trait's name and its value."""

REQUIRED, PREFERRED = "required-topology", "preferred-topology"
HEALING = "healing-policy"
HELD = "hold"
TIMES = ("preemption-delay-seconds", "min-run-seconds")
"""The traits of times around preemption."""
MIN_RESOURCES = "minResources"
"""The trait of a minimum of CPU, a field of PodGroups of scheduling.x-k8s.io."""
_HEALED = 0.3
_SUMMED = 0.25
"""The shares of groups that heal, and that have `minResources`."""
SLICE_LEVEL, SLICE_SIZE = "slice-topology", "slice-size"
_PLAIN = 0.5
"""The share of groups without a topology."""
_TOPOLOGIES: tuple[Traits, ...] = (
    ((REQUIRED, ZONE),),
    ((REQUIRED, ZONE),),
    ((REQUIRED, RACK),),
    ((REQUIRED, f"{ZONE},{RACK}"),),
    ((REQUIRED, ZONE), (PREFERRED, RACK)),
    ((PREFERRED, ZONE),),
    ((PREFERRED, f"{ZONE},{RACK}"),),
    ((SLICE_LEVEL, RACK),),
    ((SLICE_LEVEL, ZONE),),
    ((REQUIRED, ZONE), (SLICE_LEVEL, RACK)),
)
_SLICES = ("2", "2", "3")


@dataclass(frozen=True, slots=True)
class Rule:
    """The topology that a group requires of its members' nodes.

    Attributes:
        levels: labels of nodes on which all members have to agree.
        in_all: how much CPU has to be free in total, including its members' own, in thousandths.
        slice_level, slice_size: a further label on which so many of them have to agree, 0 for no slices.
    """

    levels: tuple[str, ...] = ()
    slice_level: str = ""
    slice_size: int = 0
    in_all: int = 0


ANYWHERE = Rule()


def traits_of(seed: str, name: str, native: bool) -> Traits:
    """The traits of a group; a native one names one label at most."""
    random = Random(f"{seed}/traits of {name}")
    if random.random() < _PLAIN:
        return ()
    if native:
        return ((REQUIRED, random.choice((ZONE, RACK))),)
    topology = random.choice(_TOPOLOGIES)
    return (*topology, (SLICE_SIZE, random.choice(_SLICES))) if SLICE_LEVEL in dict(topology) else topology


def healing_of(seed: str, name: str) -> Traits:
    """The healing policy of a group, if it has one."""
    random = Random(f"{seed}/healing of {name}")
    return ((HEALING, random.choice(("Restart", "Restart", "Shrink"))),) if random.random() < _HEALED else ()


def native_spec(policy: Object, level: str, parent: str, urgent: bool) -> Object:
    """The spec of a native group, of pods or of groups."""
    spec: Object = {"schedulingPolicy": policy}
    if level:
        spec["schedulingConstraints"] = {"topology": [{"key": level}]}
    if parent:
        spec[PARENT] = parent
    if urgent:
        spec["priorityClassName"] = URGENT
    return spec


def min_resources_of(seed: str, name: str, asked: int) -> Traits:
    """The `minResources` of a group by the total request of its needed members, in thousandths of a CPU."""
    random = Random(f"{seed}/minResources of {name}")
    if random.random() >= _SUMMED:
        return ()
    return ((MIN_RESOURCES, f"{random.choice((asked, asked, asked + 1000, asked + 4000))}m"),)


def labelled_spec(minimum: int, traits: Traits) -> Object:
    """The spec of a PodGroup of scheduling.x-k8s.io."""
    in_all = dict(traits).get(MIN_RESOURCES)
    return {"minMember": minimum} | ({"minResources": {"cpu": in_all}} if in_all else {})


def annotations_of(traits: Traits, native: bool) -> dict[str, str]:
    """The annotations of a PodGroup; a native one has the rest in its spec."""
    said = (HEALING, HELD, *TIMES) if native else [name for name, _ in traits if name != MIN_RESOURCES]
    return {PREFIX + name: value for name, value in traits if name in said}


def annotation_of(group: Object, name: str) -> str | None:
    """The value of one of Muster's annotations, by its name without the prefix."""
    said: str | None = (group["metadata"].get("annotations") or {}).get(PREFIX + name)
    return said


def rule_of(group: Object) -> Rule:
    """The topology that a group of either kind requires."""
    said: Mapping[str, str] = group["metadata"].get("annotations") or {}
    required = said.get(PREFIX + REQUIRED)
    return Rule(
        levels_of(group) or tuple(required.split(",") if required else ()),
        said.get(PREFIX + SLICE_LEVEL, ""),
        int(said.get(PREFIX + SLICE_SIZE, 0)),
        milli_value(nanos(group["spec"].get("minResources", {}).get("cpu", "0"))),
    )

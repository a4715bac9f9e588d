"""The default plugins of kube-scheduler 1.37 with their points and weights, as facts for `resolve`."""

from typing import Any

from muster.framework.config import ResolvedProfile, resolve
from tests.config.texts import configuration

_POINTS = {
    "E": "preEnqueue",
    "Q": "queueSort",
    "p": "preFilter",
    "F": "filter",
    "O": "postFilter",
    "G": "podGroupPostFilter",
    "s": "preScore",
    "S": "score",
    "L": "placementScore",
    "R": "reserve",
    "b": "preBind",
    "B": "bind",
}
_PLUGINS = {
    "SchedulingGates": ("E", 0),
    "PrioritySort": ("Q", 0),
    "NodeName": ("pF", 0),
    "NodeUnschedulable": ("pF", 0),
    "TaintToleration": ("pFsS", 3),
    "NodeAffinity": ("pFsS", 2),
    "NodePorts": ("pF", 0),
    "NodeResourcesFit": ("pFsSL", 1),
    "VolumeRestrictions": ("pF", 0),
    "NodeVolumeLimits": ("pF", 0),
    "VolumeBinding": ("pFsSRb", 0),
    "VolumeZone": ("pF", 0),
    "PodTopologySpread": ("pFsS", 2),
    "InterPodAffinity": ("pFsS", 2),
    "DynamicResources": ("EpFOGSRb", 2),
    "DefaultPreemption": ("EOG", 0),
    "NodeResourcesBalancedAllocation": ("sS", 1),
    "ImageLocality": ("S", 1),
    "DefaultBinder": ("B", 0),
    "NodeDeclaredFeatures": ("pF", 0),
}

DEFAULTS = tuple((name, weight) for name, (_, weight) in _PLUGINS.items())
EXTENDS = {name: frozenset(_POINTS[letter] for letter in letters) for name, (letters, _) in _PLUGINS.items()}


def resolved(body: str = "", **options: Any) -> tuple[ResolvedProfile, ...]:
    """The profiles of a file with `body`; `options` go before the default plugins."""
    return resolve(configuration(body), **{"defaults": DEFAULTS, "extends": EXTENDS, **options})


def names(profile: ResolvedProfile, point: str) -> list[str]:
    """The plugins of a point by name, in calling order."""
    return [plugin.name for plugin in profile.points[point]]


def weights(profile: ResolvedProfile, point: str = "score") -> dict[str, int]:
    """The weights at a point, in calling order."""
    return {plugin.name: plugin.weight for plugin in profile.points[point]}

"""Arguments of the plugins that do not concern node resources, and their validation.

The names, defaults and messages are those of kube-scheduler's `kubescheduler.config.k8s.io/v1`.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated, Any

from pydantic import ValidationInfo, field_validator

from muster.framework.config.args.selectors import AddedAffinity
from muster.framework.config.durations import format_duration
from muster.framework.config.fields import Bool, ConfigModel, Int32, Int64, Seconds, Text, unless_zero
from muster.framework.config.problems import Problem, duplicate, forbidden, invalid, required, unsupported
from muster.framework.model.names import label_key_faults


class PluginArgs(ConfigModel):
    """Arguments of one plugin. Absent fields hold kube-scheduler's defaults."""

    def problems(self, path: str) -> Iterator[Problem]:
        """The problems with the values; `path` is where the arguments stand. Nothing unless a model says so."""
        yield from ()


_NODE_SCORE_FOR_ONE = 10


class UtilizationShapePoint(ConfigModel):
    """`score` (0 to 10) at `utilization` (0 to 100 percent)."""

    utilization: Int32 = 0
    score: Int32 = 0


def shape_problems(shape: Sequence[UtilizationShapePoint], path: str) -> Iterator[Problem]:
    """Points must exist, ascend in utilization (the first that does not is named) and lie within their ranges."""
    if not shape:
        yield required(path, "at least one point must be specified")
        return
    for index, (before, point) in enumerate(pairwise(shape), start=1):
        if before.utilization >= point.utilization:
            detail = "values must be sorted in increasing order"
            yield invalid(f"{path}[{index}].utilization", point.utilization, detail)
            break
    for index, point in enumerate(shape):
        if not 0 <= point.utilization <= 100:
            yield invalid(f"{path}[{index}].utilization", point.utilization, "not in valid range [0, 100]")
        if not 0 <= point.score <= 10:
            yield invalid(f"{path}[{index}].score", point.score, "not in valid range [0, 10]")


def scores_by_percent(shape: Sequence[UtilizationShapePoint]) -> list[int]:
    """The function's values at 0, 1, ... 100 per cent, on the scale of node scores (0 to 100)."""
    points = [(point.utilization, point.score * _NODE_SCORE_FOR_ONE) for point in shape]
    return [_interpolate(points, percent) for percent in range(101)]


def _interpolate(points: Sequence[tuple[int, int]], percent: int) -> int:
    if percent <= points[0][0]:
        return points[0][1]
    for (left, low), (right, high) in pairwise(points):
        if percent <= right:
            rise = (high - low) * (percent - left)
            return low + (rise // (right - left) if rise >= 0 else -(-rise // (right - left)))
    return points[-1][1]


class NodeAffinityArgs(PluginArgs):
    """Node affinity that every pod of the profile has besides its own, in the API's shape; None for none."""

    added_affinity: dict[str, Any] | None = None

    @field_validator("added_affinity", mode="before")
    @classmethod
    def _in_form(cls, value: Any, info: ValidationInfo) -> Any:
        shape = _shape(value, info.context)
        return shape.model_dump(mode="json", by_alias=True, exclude_unset=True)

    def problems(self, path: str) -> Iterator[Problem]:
        if self.added_affinity is not None:
            yield from _shape(self.added_affinity).problems(f"{path}.addedAffinity")


class InterPodAffinityArgs(PluginArgs):
    """How InterPodAffinity scores by what existing pods want."""

    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: Bool = False

    def problems(self, path: str) -> Iterator[Problem]:
        if not 0 <= self.hard_pod_affinity_weight <= 100:
            place = f"{path}.hardPodAffinityWeight"
            yield invalid(place, self.hard_pod_affinity_weight, "not in valid range [0, 100]")


def _shape(value: Any, context: object = None) -> AddedAffinity:
    return AddedAffinity.model_validate(value, by_alias=True, by_name=False, context=context)


class DynamicResourcesArgs(PluginArgs):
    """How long to search a node for devices (0: without limit), and to wait for devices to become ready."""

    filter_timeout: Seconds = 10.0
    binding_timeout: Seconds = 600.0

    def problems(self, path: str) -> Iterator[Problem]:
        if self.filter_timeout < 0:
            yield invalid(f"{path}.filterTimeout", format_duration(self.filter_timeout), "must be zero or positive")
        if self.binding_timeout < 1:
            yield invalid(f"{path}.bindingTimeout", format_duration(self.binding_timeout), "must be at least 1 second")


class DefaultPreemptionArgs(PluginArgs):
    """How many candidate nodes to look for: the larger of a percentage of all nodes and an absolute number."""

    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100

    def problems(self, path: str) -> Iterator[Problem]:
        percentage, absolute = self.min_candidate_nodes_percentage, self.min_candidate_nodes_absolute
        percentage_path, absolute_path = f"{path}.minCandidateNodesPercentage", f"{path}.minCandidateNodesAbsolute"
        if not 0 <= percentage <= 100:
            yield invalid(percentage_path, percentage, "not in valid range [0, 100]")
        if absolute < 0:
            yield invalid(absolute_path, absolute, "not in valid range [0, inf)")
        if percentage == 0 and absolute == 0:
            both, detail = (percentage_path, absolute_path), "cannot be zero at the same time as"
            yield invalid(percentage_path, 0, f"{detail} minCandidateNodesAbsolute", compared=both)
            yield invalid(absolute_path, 0, f"{detail} minCandidateNodesPercentage", compared=both)


MOST_FREE_FIRST = (UtilizationShapePoint(utilization=0, score=10), UtilizationShapePoint(utilization=100, score=0))


class VolumeBindingArgs(PluginArgs):
    """How long (seconds) to wait for volumes to be bound, and the score of a node by the use of its volumes."""

    bind_timeout_seconds: Int64 = 600
    shape: Annotated[tuple[UtilizationShapePoint, ...], unless_zero(MOST_FREE_FIRST)] = MOST_FREE_FIRST

    def problems(self, path: str) -> Iterator[Problem]:
        if self.bind_timeout_seconds < 0:
            detail = "invalid BindTimeoutSeconds, should not be a negative value"
            yield invalid(f"{path}.bindTimeoutSeconds", self.bind_timeout_seconds, detail)
        yield from shape_problems(self.shape, f"{path}.shape")


SYSTEM_DEFAULTING = "System"
LIST_DEFAULTING = "List"
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")


class DefaultConstraint(ConfigModel):
    """A constraint as in a pod's spec; here it must come without a label selector."""

    max_skew: Int32 = 0
    topology_key: Text = ""
    when_unsatisfiable: Text = ""
    label_selector: Any = None
    min_domains: Int32 | None = None
    node_affinity_policy: Text | None = None
    node_taints_policy: Text | None = None
    match_label_keys: tuple[Text, ...] = ()

    def problems(self, path: str) -> Iterator[Problem]:
        """The problems with the constraint at `path`."""
        if self.max_skew <= 0:
            yield invalid(f"{path}.maxSkew", self.max_skew, "not in valid range (0, inf)")
        if not self.topology_key:
            yield required(f"{path}.topologyKey", "can not be empty")
        else:
            faults = label_key_faults(self.topology_key)
            yield from (invalid(f"{path}.topologyKey", self.topology_key, fault) for fault in faults)
        if not self.when_unsatisfiable:
            yield required(f"{path}.whenUnsatisfiable", "can not be empty")
        elif self.when_unsatisfiable not in _ACTIONS:
            yield unsupported(f"{path}.whenUnsatisfiable", self.when_unsatisfiable, _ACTIONS)
        if self.label_selector is not None:
            detail = "constraint must not define a selector, as they deduced for each pod"
            yield forbidden(f"{path}.labelSelector", detail)


class PodTopologySpreadArgs(PluginArgs):
    """Constraints for pods that have none: kube-scheduler's own (`System`) or `default_constraints` (`List`)."""

    default_constraints: tuple[DefaultConstraint, ...] = ()
    defaulting_type: Annotated[Text, unless_zero(SYSTEM_DEFAULTING)] = SYSTEM_DEFAULTING

    def problems(self, path: str) -> Iterator[Problem]:
        yield from self._defaulting_problems(f"{path}.defaultingType")
        seen = set()
        for index, constraint in enumerate(self.default_constraints):
            place = f"{path}.defaultConstraints[{index}]"
            yield from constraint.problems(place)
            key = (constraint.topology_key, constraint.when_unsatisfiable)
            if key in seen:
                yield duplicate(place, f"{{{key[0]}, {key[1]}}}")
            seen.add(key)

    def _defaulting_problems(self, path: str) -> Iterator[Problem]:
        if self.defaulting_type not in (SYSTEM_DEFAULTING, LIST_DEFAULTING):
            yield unsupported(path, self.defaulting_type, (SYSTEM_DEFAULTING, LIST_DEFAULTING))
        elif self.defaulting_type == SYSTEM_DEFAULTING and self.default_constraints:
            detail = "when .defaultConstraints are not empty"
            yield invalid(
                path, self.defaulting_type, detail, compared=(path, f"{path.rpartition('.')[0]}.defaultConstraints")
            )

"""Arguments of PodTopologySpread."""

from collections.abc import Iterator
from typing import Annotated, Any

from muster.framework.config.args.base import PluginArgs
from muster.framework.config.fields import ConfigModel, Int32, Text, unless_zero
from muster.framework.config.problems import Problem, duplicate, forbidden, invalid, required, unsupported
from muster.framework.model.names import label_key_faults

SYSTEM_DEFAULTING = "System"
LIST_DEFAULTING = "List"
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")


class TopologySpreadConstraint(ConfigModel):
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
        """What is wrong with the constraint at `path`."""
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

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
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
            yield invalid(path, self.defaulting_type, "when .defaultConstraints are not empty")

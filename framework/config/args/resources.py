"""Arguments of NodeResourcesFit and NodeResourcesBalancedAllocation."""

from collections.abc import Iterator
from typing import Annotated

from muster.framework.config.args.models import PluginArgs, UtilizationShapePoint, shape_problems
from muster.framework.config.fields import ConfigModel, Int64, Text, unless_zero
from muster.framework.config.problems import Problem, duplicate, forbidden, invalid, required, unsupported
from muster.framework.model.names import label_key_faults

LEAST_ALLOCATED = "LeastAllocated"
MOST_ALLOCATED = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"
STRATEGIES = (LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)


class ResourceSpec(ConfigModel):
    """A resource to score by and its weight among the others; a weight of 0 means 1."""

    name: Text = ""
    weight: Annotated[Int64, unless_zero(1)] = 1


CPU_AND_MEMORY = (ResourceSpec(name="cpu"), ResourceSpec(name="memory"))
Resources = Annotated[tuple[ResourceSpec, ...], unless_zero(CPU_AND_MEMORY)]


class RequestedToCapacityRatioParam(ConfigModel):
    """The score function of RequestedToCapacityRatio."""

    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategy(ConfigModel):
    """How NodeResourcesFit scores. `type` is one of STRATEGIES and has no default inside of a given strategy."""

    type: Text = ""
    resources: Resources = CPU_AND_MEMORY
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None

    def problems(self, path: str) -> Iterator[Problem]:
        """The problems with the strategy at `path`."""
        if self.type not in STRATEGIES:
            yield unsupported(f"{path}.type", self.type, STRATEGIES)
        for index, resource in enumerate(self.resources):
            if not 0 < resource.weight <= 100:
                detail = f"resource weight of {resource.name} not in valid range (0, 100]"
                yield invalid(f"{path}.resources[{index}].weight", resource.weight, detail)
        yield from self._ratio_problems(f"{path}.requestedToCapacityRatio")

    def _ratio_problems(self, path: str) -> Iterator[Problem]:
        ratio = self.requested_to_capacity_ratio
        if self.type != REQUESTED_TO_CAPACITY_RATIO:
            if ratio is not None:
                yield forbidden(path, f"must be nil when type is not {REQUESTED_TO_CAPACITY_RATIO}")
        elif ratio is None:
            yield required(path, f"must be specified when type is {REQUESTED_TO_CAPACITY_RATIO}")
        else:
            yield from shape_problems(ratio.shape, f"{path}.shape")


class NodeResourcesFitArgs(PluginArgs):
    """The resources that NodeResourcesFit ignores, and its scoring strategy."""

    ignored_resources: tuple[Text, ...] = ()
    ignored_resource_groups: tuple[Text, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy(type=LEAST_ALLOCATED)

    def problems(self, path: str) -> Iterator[Problem]:
        for index, name in enumerate(self.ignored_resources):
            yield from _key_problems(name, f"{path}.ignoredResources[{index}]")
        for index, group in enumerate(self.ignored_resource_groups):
            place = f"{path}.ignoredResourceGroups[{index}]"
            if "/" in group:
                yield invalid(place, group, "resource group name can't contain '/'")
            yield from _key_problems(group, place)
        yield from self.scoring_strategy.problems(f"{path}.scoringStrategy")


class NodeResourcesBalancedAllocationArgs(PluginArgs):
    """The resources whose use NodeResourcesBalancedAllocation evens out."""

    resources: Resources = CPU_AND_MEMORY

    def problems(self, path: str) -> Iterator[Problem]:
        seen = set()
        for index, resource in enumerate(self.resources):
            place = f"{path}.resources[{index}]"
            if resource.name in seen:
                yield duplicate(f"{place}.name", resource.name)
            seen.add(resource.name)
            if resource.weight != 1:
                yield invalid(f"{place}.weight", resource.weight, "must be 1")


def _key_problems(name: str, path: str) -> Iterator[Problem]:
    yield from (invalid(path, name, fault) for fault in label_key_faults(name))

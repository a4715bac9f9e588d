"""Arguments of NodeAffinity and InterPodAffinity."""

from collections.abc import Iterator
from typing import Any

from pydantic import field_validator

from muster.framework.config.args.base import PluginArgs
from muster.framework.config.args.selectors import NodeAffinity
from muster.framework.config.fields import Bool, Int32
from muster.framework.config.problems import Problem, invalid


class NodeAffinityArgs(PluginArgs):
    """Node affinity that every pod of the profile has besides its own, in the API's shape; None for none."""

    added_affinity: dict[str, Any] | None = None

    @field_validator("added_affinity", mode="before")
    @classmethod
    def _in_form(cls, value: Any) -> Any:
        shape = _shape(value)
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


def _shape(value: Any) -> NodeAffinity:
    return NodeAffinity.model_validate(value, by_alias=True, by_name=False)

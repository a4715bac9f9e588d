"""The rights of PreemptionTiming in the chart: there only where a configuration enables it."""

from typing import Any

import pytest

from muster.plugins.preemptiontiming.plugin import PreemptionTiming
from tests.deploy.audit import Right, granted
from tests.deploy.helm import Helm, pick

NAME = PreemptionTiming.name
WATCHED = {Right(kind.group, kind.plural, verb) for kind in PreemptionTiming.watches for verb in ("list", "watch")}


def rights(helm: Helm, values: dict[str, Any]) -> set[Right]:
    return granted(pick(helm.template(values), "ClusterRole/muster")["rules"])


def test_priority_classes_are_not_read_by_default(helm: Helm) -> None:
    assert rights(helm, {}) & WATCHED == set()


@pytest.mark.parametrize(
    "values",
    [
        {"plugins": {"enabled": ["Coscheduling", NAME]}},
        {"config": {"profiles": [{"schedulerName": "a", "plugins": {"multiPoint": {"enabled": [{"name": NAME}]}}}]}},
    ],
    ids=["by a value", "in a configuration"],
)
def test_a_configuration_that_enables_the_plugin_may_read_priority_classes(helm: Helm, values: dict[str, Any]) -> None:
    assert rights(helm, values) == rights(helm, {"plugins": {"enabled": ["Coscheduling"]}}) | WATCHED

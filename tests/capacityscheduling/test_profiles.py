"""Profiles written for scheduler-plugins run as they are, and what they mean is what runs."""

import json
from typing import Any

import pytest

from muster.framework.config import ResolvedProfile, load
from muster.operator.process.settings import assemble

CAPACITY, PREEMPTION = "CapacityScheduling", "DefaultPreemption"


def resolved(**plugins: Any) -> ResolvedProfile:
    """The only profile of a configuration with these plugin sets."""
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "muster", "plugins": plugins}],
    }
    [profile] = assemble(load(json.dumps(configuration), "test")).profiles
    return profile


def names(profile: ResolvedProfile, point: str) -> list[str]:
    return [plugin.name for plugin in profile.points[point]]


def listed(*enabled: str, disabled: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "enabled": [{"name": name} for name in enabled],
        "disabled": [{"name": name} for name in disabled],
    }


@pytest.mark.parametrize("disabled", [("*",), (PREEMPTION,), ()])
def test_default_preemption_evicts_where_capacity_scheduling_is_listed_for_it(disabled: tuple[str, ...]) -> None:
    profile = resolved(
        preFilter=listed(CAPACITY),
        postFilter=listed(CAPACITY, disabled=disabled),
        reserve=listed(CAPACITY),
    )
    assert names(profile, "postFilter").count(PREEMPTION) == 1
    assert CAPACITY not in [*names(profile, "postFilter"), *names(profile, "reserve")]
    assert names(profile, "preFilter").count(CAPACITY) == names(profile, "filter").count(CAPACITY) == 1
    assert PREEMPTION in profile.args


def test_a_profile_that_lists_it_at_all_points_and_in_place_of_preemption_runs_both_once() -> None:
    profile = resolved(multiPoint=listed(CAPACITY), postFilter=listed(CAPACITY, disabled=("*",)))
    assert names(profile, "postFilter") == [PREEMPTION]
    assert names(profile, "preFilter").count(CAPACITY) == names(profile, "filter").count(CAPACITY) == 1


def test_preemption_that_a_profile_lists_already_is_not_listed_twice() -> None:
    profile = resolved(postFilter=listed(CAPACITY, PREEMPTION, disabled=("*",)))
    assert names(profile, "postFilter") == [PREEMPTION]


@pytest.mark.parametrize("plugins", [{}, {"multiPoint": listed(CAPACITY)}, {"preFilter": listed(CAPACITY)}])
def test_quotas_run_whether_a_profile_lists_them_or_not(plugins: dict[str, Any]) -> None:
    assert resolved(**plugins).points == resolved().points

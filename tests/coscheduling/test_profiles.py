"""Profiles that list Coscheduling by extension points, as those written for scheduler-plugins may."""

import json
from collections.abc import Sequence

import pytest

from muster.framework.config import ResolvedProfile, load
from muster.operator.process.settings import assemble

NAME = "Coscheduling"
BY_POINT = ("preFilter", "postFilter", "permit")
FOLLOWED = ("preEnqueue", "reserve", "postBind")


def resolved(points: Sequence[str]) -> ResolvedProfile:
    """The only profile of a configuration that lists Coscheduling at these points, and as the queue sort."""
    listed = {"enabled": [{"name": NAME}]}
    plugins = {**dict.fromkeys(points, listed), "queueSort": {**listed, "disabled": [{"name": "*"}]}}
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "muster", "plugins": plugins}],
    }
    [profile] = assemble(load(json.dumps(configuration), "test")).profiles
    return profile


def where(profile: ResolvedProfile) -> list[str]:
    """The points at which Coscheduling runs, with a point for each time that it is listed there."""
    return sorted(point for point, refs in profile.points.items() for each in refs if each.name == NAME)


@pytest.mark.parametrize("points", [BY_POINT, (*BY_POINT, "reserve"), (*BY_POINT, *FOLLOWED), ["multiPoint"]])
def test_coscheduling_follows_its_members_in_each_profile_that_lets_them_wait_at_permit(points: Sequence[str]) -> None:
    assert where(resolved(points)) == sorted([*BY_POINT, *FOLLOWED, "queueSort"])


def test_a_profile_that_only_sorts_by_groups_follows_no_members() -> None:
    assert where(resolved(())) == ["queueSort"]

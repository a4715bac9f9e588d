"""A member that waits for its group's domain is retried in a moment when the members that fixed the domain are gone."""

from collections.abc import Callable
from typing import Any

import pytest

from muster.testing import VirtualScheduler, configuration_of
from tests.builders import PodDict, make_node, make_pod
from tests.coscheduling.objects import make_group, make_member
from tests.gangscheduling.world import COMPOSITE_KIND, KIND, make_composite
from tests.gangscheduling.world import make_group as make_native_group
from tests.gangscheduling.world import make_members as make_native_members

RACK = "example.com/rack"
IN_ONE_RACK: dict[str, Any] = {"schedulingConstraints": {"topology": [{"key": RACK}]}}
AT_ONCE = 1.0


def coscheduled(scheduler: VirtualScheduler) -> tuple[PodDict, PodDict]:
    annotations = {"muster-scheduler.io/required-topology": RACK}
    scheduler.api.put("podgroups", make_group("g", 1, annotations=annotations))
    return make_member("g-0", "g"), make_member("g-1", "g", cpu="3")


def native(scheduler: VirtualScheduler) -> tuple[PodDict, PodDict]:
    scheduler.api.put(KIND, make_native_group("g", 1, **IN_ONE_RACK))
    return make_native_members("g", 2)[0], make_native_members("g", 2, cpu="3")[1]


def in_a_tree(scheduler: VirtualScheduler) -> tuple[PodDict, PodDict]:
    scheduler.api.put(COMPOSITE_KIND, make_composite("tree", 1, **IN_ONE_RACK))
    scheduler.api.put(KIND, make_native_group("g", 1, parentCompositePodGroupName="tree"))
    return make_native_members("g", 2)[0], make_native_members("g", 2, cpu="3")[1]


@pytest.mark.parametrize("group", [coscheduled, native, in_a_tree])
@pytest.mark.parametrize("ends", [False, True], ids=["deleted", "failed"])
async def test_a_member_that_does_not_fit_in_the_domain_gets_another_when_the_domain_is_free(
    group: Callable[[VirtualScheduler], tuple[PodDict, PodDict]], ends: bool
) -> None:
    """The rack has no room for it after the first member has ended either."""
    scheduler = VirtualScheduler(configuration=configuration_of(["Coscheduling"]))
    scheduler.add_nodes(*(make_node(name, cpu="4").labels({RACK: name}) for name in ("a", "b")))
    first, second = group(scheduler)
    scheduler.add(first.node_selector({RACK: "a"}))
    await scheduler.run(5)
    assert scheduler.node_of("default/g-0") == "a"
    scheduler.add(make_pod("other").requests(cpu="3").node("a"), second)
    await scheduler.run(30)
    assert not scheduler.node_of("default/g-1")

    if ends:
        scheduler.set_phase("default/g-0", "Failed")
    else:
        scheduler.delete("default/g-0")
    await scheduler.run(AT_ONCE)
    assert scheduler.node_of("default/g-1") == "b"
    await scheduler.kill()

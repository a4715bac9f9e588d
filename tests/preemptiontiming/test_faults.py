"""Times that cannot be read: reported on groups and on pods of a PriorityClass, and refused in arguments."""

import pytest

from muster.framework.config import Problem
from muster.framework.groups import MIN_RUN, PREEMPTION_DELAY, seconds_in, timing_faults
from muster.plugins.coscheduling.api import problems
from muster.plugins.preemptiontiming.args import PreemptionTimingArgs
from tests.coscheduling.objects import make_group
from tests.preemptiontiming.world import TimingWorld, high

FAULT = (
    f'metadata.annotations[{MIN_RUN}]: Invalid value: "{{}}": must be a whole number of seconds from 0 to 2147483647'
)


@pytest.mark.parametrize("text", ["", "soon", "-1", "1.5", " 1", "2147483648", "9" * 5000, "٣"])
def test_a_time_that_is_no_number_of_seconds_is_a_fault_and_counts_as_absent(text: str) -> None:
    assert timing_faults({MIN_RUN: text}) == [FAULT.format(text)]
    assert seconds_in(MIN_RUN, [{MIN_RUN: text}, {MIN_RUN: "7"}]) == 7


@pytest.mark.parametrize("text", ["0", "60", "2147483647"])
def test_a_number_of_seconds_is_none(text: str) -> None:
    assert timing_faults({MIN_RUN: text, PREEMPTION_DELAY: text}) == []
    assert seconds_in(MIN_RUN, [{}, {MIN_RUN: text}]) == int(text)


def test_admission_refuses_a_group_with_such_a_time() -> None:
    assert problems(make_group("gang", 1, annotations={MIN_RUN: "soon"})) == [FAULT.format("soon")]
    assert problems(make_group("gang", 1, annotations={MIN_RUN: "60", PREEMPTION_DELAY: "5"})) == []


def test_arguments_that_are_out_of_range_are_refused_by_their_fields() -> None:
    wrong: list[Problem] = [*PreemptionTimingArgs(delay_seconds=-1, min_run_seconds=2**31).problems("args")]
    assert [(each.path, str(each)) for each in wrong] == [
        ("args.delaySeconds", "args.delaySeconds: Invalid value: -1: " + FAULT.rpartition(": ")[2]),
        ("args.minRunSeconds", "args.minRunSeconds: Invalid value: 2147483648: " + FAULT.rpartition(": ")[2]),
    ]
    assert [*PreemptionTimingArgs(delay_seconds=0, min_run_seconds=2**31 - 1).problems("args")] == []


async def test_a_fault_of_a_priority_class_is_reported_on_one_pod_that_names_it() -> None:
    world = TimingWorld()
    world.nodes("one")
    world.priority_class("batch", min_run="soon", **{"muster-scheduler.io/min-run": "5"})
    keys = world.add(*(high(name, cpu="1").priority_class("batch") for name in "abc"), high("other", cpu="1"))
    await world.run(5)
    found = [(key, reason, note) for key, reason, note in world.events if reason.endswith("Annotation")]
    assert [(key, reason) for key, reason, _ in found] == [
        (keys[0], "InvalidAnnotation"),
        (keys[0], "UnknownAnnotation"),
    ]
    assert found[0][2] == f"priority class batch: {FAULT.format('soon')}"
    assert f'did you mean "{MIN_RUN}"?' in found[1][2]
    world.priority_class("batch", min_run="later")
    world.add(high("d", cpu="1").priority_class("batch"))
    await world.run(5)
    found = [(key, reason, note) for key, reason, note in world.events if reason.endswith("Annotation")][2:]
    assert found == [("default/d", "InvalidAnnotation", f"priority class batch: {FAULT.format('later')}")]


async def test_a_process_that_does_not_lead_reports_none_and_a_deleted_pod_leaves_it_to_the_next() -> None:
    world = TimingWorld()
    world.may_report = lambda: False
    world.priority_class("batch", min_run="soon")
    first, second = world.add(*(high(name).priority_class("batch") for name in "ab"))
    await world.run(5)
    world.delete(first)
    world.started(second)
    world.may_report = lambda: True
    await world.run(5)
    assert [(key, reason) for key, reason, _ in world.events if reason.endswith("Annotation")] == [
        (second, "InvalidAnnotation")
    ]

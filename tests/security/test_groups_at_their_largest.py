"""PodGroups of both kinds at the API's limits of size: bounded work, and nothing left when they are gone.

As with pods and nodes, see `test_objects_at_their_largest`. Each group comes with members that wait and are decided.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.framework.cache.recount import differences
from muster.framework.contract import WatchedKind
from muster.plugins.coscheduling import topology
from muster.plugins.coscheduling.api import POD_GROUPS
from muster.plugins.gangscheduling import api as native
from muster.plugins.gangscheduling.composite_api import COMPOSITE_POD_GROUPS
from tests.coscheduling.objects import make_group, make_member
from tests.gangscheduling.world import make_composite
from tests.gangscheduling.world import make_group as make_native
from tests.gangscheduling.world import make_members as make_native_members
from tests.security.test_objects_at_their_largest import change_a_node, cluster, decide, held, typed
from tests.security.work import bounded

Group = dict[str, Any]
_MOST_BYTES: Final = 1 << 18
"""Of all annotations of an object together."""


def _annotated(name: str, text: Callable[[float], str]) -> Callable[[Group, float], None]:
    def add(group: Group, share: float) -> None:
        group["metadata"].setdefault("annotations", {})[name] = text(share)

    return add


def _keys(share: float) -> str:
    return ",".join(f"{number:x}" for number in range(int(_MOST_BYTES * share / 6)))


def _resources(group: Group, share: float) -> None:
    names = {f"example.com/r-{number}": str(number + 1) for number in range(int(20_000 * share))}
    group["spec"]["minResources"] = names


def _labels(group: Group, share: float) -> None:
    group["metadata"]["labels"] = {f"example.com/k-{number}": "x" for number in range(int(20_000 * share))}


def _numbers(group: Group, share: float) -> None:
    group["spec"]["minMember"] = group["spec"]["scheduleTimeoutSeconds"] = 2**31 - 1


SHAPES: Mapping[str, Callable[[Group, float], None]] = {
    "minResources": _resources,
    "labels": _labels,
    "numbers": _numbers,
    "annotations": lambda group, share: (
        group["metadata"]
        .setdefault("annotations", {})
        .update({f"example.com/k-{number}": "x" for number in range(int(10_000 * share))})
    ),
    "required topology": _annotated(topology.REQUIRED, _keys),
    "preferred topology": _annotated(topology.PREFERRED, _keys),
    "topology of the most levels": _annotated(
        topology.REQUIRED, lambda share: ",".join(f"example.com/{n}{'k' * 60}" for n in range(8))
    ),
    "slices": _annotated(topology.SLICE_SIZE, lambda share: "9" * int(_MOST_BYTES * share)),
}
"""What makes a PodGroup of scheduling.x-k8s.io large."""


def _constraints(group: Group, share: float) -> None:
    keys = [{"key": f"example.com/t-{number}"} for number in range(int(30_000 * share))]
    group["spec"]["schedulingConstraints"] = {"topology": keys}


def _min_count(group: Group, share: float) -> None:
    group["spec"]["schedulingPolicy"] = {"gang": {"minCount": 2**31 - 1}}


NATIVE_SHAPES: Mapping[str, Callable[[Group, float], None]] = {
    "topology": _constraints,
    "count": _min_count,
    "labels": _labels,
    "parent": lambda group, share: group["spec"].update(parentCompositePodGroupName="p" * int(60_000 * share)),
}
"""What makes a PodGroup of scheduling.k8s.io large."""


COMPOSITE_SHAPES: Mapping[str, Callable[[Group, float], None]] = {
    "topology": _constraints,
    "count": lambda group, share: group["spec"].update(schedulingPolicy={"gang": {"minGroupCount": 2**31 - 1}}),
    "labels": _labels,
    "parent": NATIVE_SHAPES["parent"],
}
"""What makes a CompositePodGroup large."""


def hold_a_large_group(
    kind: WatchedKind, group: Group, members: list[Any], parts: Mapping[WatchedKind, Sequence[Group]] = {}
) -> None:
    """It comes before its members, they are decided, others come and go, it changes, and all of it goes."""
    engine = cluster({each: [msgspec.convert(part, each.type) for part in of] for each, of in parts.items()})
    before, handler = held(engine), engine.object_handlers[kind]
    known, pods = msgspec.convert(group, kind.type), [typed(pod) for pod in members]
    bounded("the group comes", lambda: handler.on_add(known))
    for pod in pods:
        bounded("a member comes", partial(engine.pod_handler.on_add, pod))
    bounded("they are decided", lambda: decide(engine))
    change_a_node(engine)
    bounded("they are decided again", lambda: decide(engine))
    plain = msgspec.convert({**group, "metadata": {"name": "large", "namespace": "default"}}, kind.type)
    bounded("it changes", lambda: handler.on_update(known, plain))
    for pod in pods:
        bounded("a member goes", partial(engine.pod_handler.on_delete, pod))
    bounded("the group goes", lambda: handler.on_delete(plain))
    assert differences(engine.cache) == []
    assert held(engine) == before


def large(shapes: Mapping[str, Callable[[Group, float], None]], names: list[str], share: float, group: Group) -> Group:
    for name in names:
        shapes[name](group, share / len(names))
    return group


@pytest.mark.usefixtures("own_objects_alone")
@pytest.mark.parametrize("shape", SHAPES)
def test_a_group_at_its_largest_costs_bounded_work_and_leaves_nothing(shape: str) -> None:
    members = [make_member(f"m-{number}", "large") for number in range(3)]
    hold_a_large_group(POD_GROUPS, large(SHAPES, [shape], 1.0, make_group("large", 3)), members)


@pytest.mark.usefixtures("own_objects_alone")
@pytest.mark.parametrize("shape", NATIVE_SHAPES)
def test_a_native_group_at_its_largest_costs_bounded_work_and_leaves_nothing(shape: str) -> None:
    group = large(NATIVE_SHAPES, [shape], 1.0, make_native("large", 3))
    hold_a_large_group(native.POD_GROUPS, group, make_native_members("large", 3))


@pytest.mark.usefixtures("own_objects_alone")
@pytest.mark.parametrize("shape", COMPOSITE_SHAPES)
def test_a_group_of_groups_at_its_largest_costs_bounded_work_and_leaves_nothing(shape: str) -> None:
    group = large(COMPOSITE_SHAPES, [shape], 1.0, make_composite("large", 2))
    parts = [make_native(name, 2, parentCompositePodGroupName="large") for name in ("a", "b")]
    members = [member for part in ("a", "b") for member in make_native_members(part, 2)]
    hold_a_large_group(COMPOSITE_POD_GROUPS, group, members, {native.POD_GROUPS: parts})


@settings(max_examples=8, deadline=None)
@given(st.lists(st.sampled_from(sorted(SHAPES)), min_size=2, max_size=3, unique=True), st.floats(0.05, 1.0))
def test_any_mixture_that_is_as_large_costs_no_more(shapes: list[str], share: float) -> None:
    members = [make_member(f"m-{number}", "large") for number in range(3)]
    hold_a_large_group(POD_GROUPS, large(SHAPES, shapes, share, make_group("large", 3)), members)


def test_an_annotation_that_is_too_long_is_shortened_in_the_message() -> None:
    text = ",".join(map(str, range(50_000)))
    with pytest.raises(topology.AnnotationError) as raised:
        topology.topology_of({topology.REQUIRED: text})
    assert str(raised.value).endswith("must be no more than 4096 characters")
    assert len(str(raised.value)) < 300

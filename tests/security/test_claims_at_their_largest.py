"""Claims for devices and for volumes at the API's limits of size: bounded work, and nothing left when they are gone.

As with pods and nodes, see `test_objects_at_their_largest`. Each claim comes with a pod that names it and waits.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import msgspec
import pytest

from muster.framework.cache.recount import differences
from muster.framework.contract import WatchedKind
from muster.framework.scheduler.engine import Engine
from muster.operator.process.settings import assemble, muster_configuration
from tests.builders import PodDict, make_pod
from tests.dynamicresources.objects import device, exactly, first_of, make_claim, make_class, make_slice
from tests.security.test_objects_at_their_largest import (
    LARGEST_OBJECT,
    change_a_node,
    cluster,
    decide,
    held,
    typed,
)
from tests.security.work import bounded
from tests.storage import make_claim as make_volume_claim
from tests.storage import make_class as make_storage_class
from tests.storage import make_volume

Object = dict[str, Any]
_REQUESTS: Final = 32
_SELECTORS: Final = 32
_EXPRESSION: Final = 10 * 1024
"""The API takes so many requests, so many selectors of each, and so many characters."""


def _knowing(*objects: Object) -> Engine:
    """The engine of a cluster with these objects, which have come at a bounded cost each."""
    assembly = assemble(muster_configuration())
    known = {
        kind: [msgspec.convert(each, kind.type) for each in objects if kind.describes(each["apiVersion"], each["kind"])]
        for kind in assembly.watched()
    }
    engine = cluster(known)
    for kind, each in _each_of(known):
        bounded(f"{kind.resource} goes", partial(engine.object_handlers[kind].on_delete, each))
        bounded(f"{kind.resource} comes", partial(engine.object_handlers[kind].on_add, each))
    return engine


def _each_of(known: Mapping[WatchedKind, list[Any]]) -> Iterator[tuple[WatchedKind, Any]]:
    return ((kind, each) for kind, objects in known.items() for each in objects)


def _long(number: int, length: int) -> str:
    term = f'device.driver != "d{number}"'
    return " && ".join([term] * (length // (len(term) + 4)))


def _long_selectors() -> Object:
    count = LARGEST_OBJECT // _EXPRESSION - 10
    each = count // _REQUESTS
    return make_claim(
        "large",
        *(exactly(1, *(_long(_REQUESTS * n + m, _EXPRESSION) for m in range(each))) for n in range(_REQUESTS)),
    )


def _many_selectors() -> Object:
    return make_claim(
        "large", *(exactly(1, *(_long(_SELECTORS * n + m, 400) for m in range(_SELECTORS))) for n in range(_REQUESTS))
    )


def _alternatives() -> Object:
    requests = [first_of(*(exactly(1, _long(8 * n + m, 400)) for m in range(8))) for n in range(_REQUESTS)]
    return make_claim("large", *requests)


def _constraints() -> Object:
    constraints = [{"requests": [], "matchAttribute": f"example.com/a{n}"} for n in range(32)]
    return make_claim("large", *(exactly(1) for _ in range(_REQUESTS)), constraints=constraints)


def _labels() -> Object:
    claim = make_claim("large", exactly(1))
    claim["metadata"]["labels"] = {f"example.com/k-{n}": "x" for n in range(20_000)}
    return claim


DEVICE_CLAIMS: Mapping[str, Callable[[], Object]] = {
    "long selectors": _long_selectors,
    "many selectors": _many_selectors,
    "alternatives": _alternatives,
    "constraints": _constraints,
    "labels": _labels,
}


@pytest.mark.usefixtures("own_objects_alone")
@pytest.mark.parametrize("shape", DEVICE_CLAIMS)
def test_a_pod_with_a_large_claim_for_devices_costs_bounded_work_and_leaves_nothing(shape: str) -> None:
    slices = [make_slice(f"s{n}", device("d0", a="x"), device("d1", a="y"), node=f"n{n}") for n in range(8)]
    engine = _knowing(make_class("gpu"), *slices, DEVICE_CLAIMS[shape]())
    pod = make_pod("large")
    pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "large"}]
    _come_and_go(engine, pod)


def _selector(claim: Object) -> None:
    claim["spec"]["selector"] = {"matchLabels": {f"example.com/k-{n}": "x" for n in range(20_000)}}


def _expressions(claim: Object) -> None:
    expressions = [{"key": f"example.com/k-{n}", "operator": "Exists"} for n in range(15_000)]
    claim["spec"]["selector"] = {"matchExpressions": expressions}


def _annotations(claim: Object) -> None:
    claim["metadata"]["annotations"] = {f"example.com/k-{n}": "x" for n in range(8_000)}


VOLUME_CLAIMS: Mapping[str, Callable[[Object], None]] = {
    "selector": _selector,
    "expressions": _expressions,
    "annotations": _annotations,
}


@pytest.mark.usefixtures("own_objects_alone")
@pytest.mark.parametrize("shape", VOLUME_CLAIMS)
def test_a_pod_with_a_large_claim_for_a_volume_costs_bounded_work_and_leaves_nothing(shape: str) -> None:
    claim = make_volume_claim("large", storage_class="wait")
    VOLUME_CLAIMS[shape](claim)
    volumes = [make_volume(f"v{n}", storage_class="wait") for n in range(20)]
    engine = _knowing(make_storage_class("wait"), *volumes, claim)
    _come_and_go(engine, make_pod("large").claim("large"))


TOO_MUCH = {
    "long selectors": "too many characters in selectors of the resource claims: at most 10240",
    "many selectors": "too many characters in selectors of the resource claims: at most 10240",
    "alternatives": "too many characters in selectors of the resource claims: at most 10240",
    "selector": "too many labels and values in selectors of persistent volume claims: 20000, at most 2000",
    "expressions": "too many labels and values in selectors of persistent volume claims: 15000, at most 2000",
}


@pytest.mark.parametrize("shape", TOO_MUCH)
def test_a_pod_whose_claims_have_too_much_gets_a_reason(shape: str) -> None:
    if shape in DEVICE_CLAIMS:
        slices = [make_slice("s0", device("d0", a="x"), node="n0")]
        engine = _knowing(make_class("gpu"), *slices, DEVICE_CLAIMS[shape]())
        pod = make_pod("large")
        pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "large"}]
    else:
        claim = make_volume_claim("large", storage_class="wait")
        VOLUME_CLAIMS[shape](claim)
        engine = _knowing(make_storage_class("wait"), claim)
        pod = make_pod("large").claim("large")
    engine.pod_handler.on_add(typed(pod))
    decide(engine)
    decision = engine.scheduler.reports.last("default/large")
    assert decision is not None
    assert TOO_MUCH[shape] in decision.message


def _come_and_go(engine: Engine, plain: PodDict) -> None:
    """The pod comes, is decided beside another, its nodes change, and it goes."""
    before = held(engine)
    pod, other = typed(plain), typed(make_pod("other"))
    bounded("the pod comes", lambda: engine.pod_handler.on_add(pod))
    bounded("it is decided", lambda: decide(engine))
    bounded("another comes", lambda: engine.pod_handler.on_add(other))
    bounded("the other is decided", lambda: decide(engine))
    engine.pod_handler.on_delete(other)
    change_a_node(engine)
    bounded("it is decided again", lambda: decide(engine))
    bounded("the pod goes", lambda: engine.pod_handler.on_delete(pod))
    assert differences(engine.cache) == []
    assert held(engine) == before

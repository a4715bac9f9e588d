"""Any bytes are understood, or refused by the error that is meant for it; nothing else is raised."""

import copy
import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muster.framework.config import ConfigurationError, load
from muster.framework.model.node import Node
from muster.framework.model.pod import Pod
from muster.operator.kube.credentials import load_connection
from muster.operator.kube.errors import CredentialsError, error_from_response
from muster.operator.kube.frames import Decoder, GarbageError, Lines
from muster.testing import make_node, make_pod

KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "here", "cluster": {"server": "https://localhost:6443"}}],
    "users": [{"name": "me", "user": {"token": "secret"}}],
    "contexts": [{"name": "it", "context": {"cluster": "here", "user": "me", "namespace": "shop"}}],
    "current-context": "it",
}
CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "leaderElection": {"leaderElect": True, "leaseDuration": "15s"},
    "clientConnection": {"qps": 50, "burst": 100},
    "profiles": [
        {
            "schedulerName": "muster",
            "plugins": {"multiPoint": {"enabled": [{"name": "Coscheduling", "weight": 1}]}},
            "pluginConfig": [{"name": "NodeResourcesFit", "args": {"ignoredResources": ["example.com/foo"]}}],
        }
    ],
}
POD = make_pod("web").requests(cpu="500m").labels(app="web").host_port(80)
NODE = make_node("node").zone("east").taint("spot")

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8), st.just("1e9999999")
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FEW = 60
MANY = settings(
    max_examples=settings().max_examples if settings.get_current_profile_name() == "nightly" else FEW,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in a document."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for step, inner in steps for place in places(inner, (*path, step)))]


@st.composite
def changed(draw: st.DrawFn, document: Any) -> Any:
    """The document with something else in one to three places."""
    whole: dict[str, Any] = {"root": copy.deepcopy(json.loads(json.dumps(document)))}
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from(places(whole)[1:]))
        inner: Any = whole
        for step in way:
            inner = inner[step]
        inner[last] = draw(VALUES)
    return whole["root"]


def encoded(document: Any) -> bytes:
    return json.dumps(document).encode()


@pytest.mark.parametrize(("kind", "document"), [(Pod, POD), (Node, NODE)], ids=["pod", "node"])
def test_lists_and_watches(kind: type[Any], document: dict[str, Any]) -> None:
    decoder: Decoder[Any] = Decoder(kind)

    def attempt(read: Callable[[bytes], object], data: bytes) -> None:
        with suppress(GarbageError):
            read(data)

    @MANY
    @given(changed({"type": "MODIFIED", "object": document}), changed({"metadata": {}, "items": [document]}))
    def objects(frame: Any, page: Any) -> None:
        attempt(decoder.frame, encoded(frame))
        attempt(decoder.page, encoded(page))

    @MANY
    @given(st.binary(max_size=60), st.integers(0, 400))
    def bytes_of_any_kind(data: bytes, at: int) -> None:
        whole = encoded({"type": "ADDED", "object": document})
        for line in Lines().feed(whole[:at] + data + whole[at:] + b"\n"):
            attempt(decoder.frame, line)
        attempt(decoder.page, data)

    objects()
    bytes_of_any_kind()


@MANY
@given(
    st.integers(300, 599),
    st.binary(max_size=80) | changed({"code": 1, "details": {"retryAfterSeconds": 1}}).map(encoded),
    st.text(max_size=5),
)
def test_refusals(status: int, body: bytes, retry_after: str) -> None:
    error = error_from_response(status, body, retry_after)
    assert str(error)
    assert error.status == status


@MANY
@given(changed(CONFIGURATION).map(yaml.safe_dump) | st.text(max_size=60))
def test_a_configuration(text: str) -> None:
    with suppress(ConfigurationError):
        load(text, "scheduler.yaml")


@MANY
@given(changed(KUBECONFIG).map(yaml.safe_dump).map(str.encode) | st.binary(max_size=60))
def test_a_kubeconfig(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config"
        path.write_bytes(data)
        with suppress(CredentialsError):
            load_connection(path, environ={})

"""The sandbox's fields of built-in kinds are those that a real API server publishes."""

from typing import Any

import msgspec
import pytest

from muster.sandbox import schema
from muster.sandbox.kinds import CONFIG_MAPS, KINDS, PODS
from muster.sandbox.published import condensed
from tests.controlplane.plane import ControlPlane


@pytest.fixture(scope="module")
def published(control_plane: ControlPlane) -> Any:
    """The OpenAPI document of the control plane."""
    with control_plane.api() as api:
        return api.get("/openapi/v2")


def test_the_fields_equal_the_real_apis(published: Any) -> None:
    fresh = condensed(published, KINDS)

    kept = msgspec.to_builtins(schema.document())
    assert fresh["kinds"].items() <= kept["kinds"].items()
    assert {name: kept["structs"].get(name) for name in fresh["structs"]} == fresh["structs"]
    assert set(fresh["atomic"]) <= set(kept["atomic"])


def test_a_path_names_fields_only() -> None:
    port = schema.type_at(PODS, ("spec", "containers", "ports"))

    assert port is not None
    assert (port.name, port.merge_key, port.keys) == ("[", "containerPort", ("containerPort", "protocol"))
    assert schema.is_atomic_map(PODS, ("spec", "nodeSelector"))
    assert not schema.is_atomic_map(CONFIG_MAPS, ("data",))

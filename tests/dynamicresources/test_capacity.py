"""Consumable capacity: how much a share takes, as the claim's status says it, and amounts that cannot be had."""

from typing import Any

import msgspec
import pytest

from muster.framework.model.devices import Device
from muster.framework.model.quantity import nanos
from muster.plugins.dynamicresources.capacity import CapacityError, consumed_text, consumption, has_room

IN_STEPS = {"default": "1Gi", "validRange": {"min": "1Gi", "max": "6Gi", "step": "2Gi"}}
IN_VALUES = {"default": "1500M", "validValues": ["1500M", "3G"]}
IN_MILLIS = {"default": "1", "validRange": {"min": "500m", "max": "2", "step": "500m"}}


def gpu(value: str, policy: Any = None) -> Device:
    capacity = {"value": value} if policy is None else {"value": value, "requestPolicy": policy}
    return msgspec.convert({"name": "a", "allowMultipleAllocations": True, "capacity": {"memory": capacity}}, Device)


@pytest.mark.parametrize(
    ("asked", "policy", "text"),
    [
        (None, None, "10Gi"),
        ("2048Mi", None, "2Gi"),
        ("3e9", None, "3e9"),
        (None, IN_STEPS, "1Gi"),
        ("1", IN_STEPS, "1Gi"),
        ("1500Mi", IN_STEPS, "3Gi"),
        ("3000000000", IN_STEPS, "3Gi"),
        ("2G", IN_VALUES, "3G"),
        ("600m", IN_MILLIS, "1"),
        ("1.1", IN_MILLIS, "1500m"),
    ],
)
def test_consumed_capacity_has_the_format_of_its_source(asked: str | None, policy: Any, text: str) -> None:
    device, requests = gpu("10Gi", policy), {} if asked is None else {"memory": asked}
    [amount] = consumption(requests, device).values()
    assert consumed_text(amount, asked, device.capacity["memory"]) == text
    assert nanos(text) == amount


@pytest.mark.parametrize("asked", ["1.0001", "9223372036854775807"])
def test_a_request_that_thousandths_cannot_express_is_an_error(asked: str) -> None:
    with pytest.raises(CapacityError) as caught:
        has_room({"memory": asked}, gpu("10Gi", IN_MILLIS), {}, {})
    assert str(caught.value).endswith(f"request {asked} is not a representable milli value")

"""Devices as the search for an allocation sees them: an identity, and separately their interned contents.

Thousands of nodes have devices that differ only in name. A selector's result for one of them holds for all, and an
allocation that is possible on one node is possible on each node with equal devices in equal state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import msgspec

from muster.framework.model.devices import Device, DeviceAttribute, DeviceTaint, ResourceSlice
from muster.framework.model.node_selector import picks, well_formed
from muster.framework.model.pod import NodeSelector
from muster.framework.model.quantity import nanos

from .cel.errors import CompileError, EvaluationError
from .cel.values import DomainMaps, QuantityValue, parse_semver
from .selectors import compiled

_MAX_VERDICTS = 256
"""Verdicts kept of one kind of device, before they are forgotten."""
_STEPS_TO_BEGIN = 128
"""An expression is compiled, the device is made visible."""

Verdict = bool | CompileError | EvaluationError


class DeviceId(NamedTuple):
    """A device in the cluster."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return "/".join(self)


class DeviceKind:
    """The properties of a device that selectors see, and their verdicts. Equal devices of a driver share one.

    Attributes:
        driver: the device's driver.
        visible: the device as expressions see it, once there has been one.
        steps: the work that their evaluation took.
    """

    __slots__ = ("__weakref__", "_device", "_verdicts", "driver", "steps", "visible")

    def __init__(self, driver: str, device: Device) -> None:
        self.driver = driver
        self._device = device
        self._verdicts: dict[str, Verdict] = {}
        self.visible: Mapping[str, Any] | EvaluationError | None = None
        self.steps = 0

    def verdict(self, expression: str) -> Verdict:
        """The expression's verdict on the device, or how it failed."""
        known = self._verdicts.get(expression)
        if known is None:
            if len(self._verdicts) >= _MAX_VERDICTS:
                self._verdicts.clear()
            known = self._verdicts[expression] = self._evaluate(expression)
        return known

    def attribute(self, name: str) -> DeviceAttribute | None:
        """The attribute with this fully qualified name."""
        attributes = self._device.attributes
        found = attributes.get(name)
        domain, separator, plain = name.partition("/")
        return attributes.get(plain) if found is None and separator and domain == self.driver else found

    def _evaluate(self, expression: str) -> Verdict:
        self.steps += _STEPS_TO_BEGIN
        select = compiled(expression)
        if isinstance(select, CompileError):
            return select
        if self.visible is None:
            self.visible = _visible(self.driver, self._device)
        if isinstance(self.visible, EvaluationError):
            return self.visible
        try:
            return select(self.visible)
        except EvaluationError as error:
            return error.with_traceback(None)
        finally:
            self.steps += select.steps


class PoolDevice:
    """A device within a pool.

    Attributes:
        id: which one.
        device: the object, with the taints that rules add.
        kind: what selectors see.
        content: the same object for devices that differ in name alone.
    """

    __slots__ = ("content", "device", "id", "kind")

    def __init__(self, id_: DeviceId, device: Device) -> None:
        self.id = id_
        self.device = device
        self.kind = _kind(id_.driver, device)
        self.content = _content(id_.driver, device)


class Content:
    """Stands for everything about a device but its name."""

    __slots__ = ("__weakref__",)


class SliceDevices:
    """The devices of a slice, with the taints that rules add."""

    __slots__ = ("devices", "slice")

    def __init__(self, slice_: ResourceSlice, taints: Mapping[str, tuple[DeviceTaint, ...]]) -> None:
        self.slice = slice_
        spec = slice_.spec
        self.devices = tuple(
            PoolDevice(DeviceId(spec.driver, spec.pool.name, device.name), _tainted(device, taints))
            for device in spec.devices
        )

    @property
    def selects_nodes_itself(self) -> bool:
        """Whether the slice as a whole says which nodes it is for."""
        spec = self.slice.spec
        return bool(spec.node_name or spec.all_nodes or spec.node_selector is not None)


def node_matches(
    name: str, labels: Mapping[str, str], node_name: str | None, all_nodes: bool, *, selector: NodeSelector | None
) -> bool:
    """Whether a device or slice with these three fields is for the node."""
    if node_name:
        return node_name == name
    if all_nodes:
        return True
    return selector is not None and selects(selector, name, labels)


def selects(selector: NodeSelector, name: str, labels: Mapping[str, str]) -> bool:
    """Whether the selector picks the node."""
    return any(well_formed(term) and picks(term, labels, name) for term in selector.node_selector_terms)


def _tainted(device: Device, taints: Mapping[str, tuple[DeviceTaint, ...]]) -> Device:
    added = taints.get(device.name, ()) if taints else ()
    return msgspec.structs.replace(device, taints=(*device.taints, *added)) if added else device


def _visible(driver: str, device: Device) -> Mapping[str, Any] | EvaluationError:
    attributes, capacity = DomainMaps(), DomainMaps()
    try:
        for name, attribute in device.attributes.items():
            domain, plain = _qualified(name, driver)
            attributes.setdefault(domain, {})[plain] = _value(name, attribute)
    except EvaluationError as error:
        return error
    for name, offered in device.capacity.items():
        domain, plain = _qualified(name, driver)
        capacity.setdefault(domain, {})[plain] = QuantityValue(nanos(offered.value))
    return {
        "driver": driver,
        "allowMultipleAllocations": device.allow_multiple_allocations,
        "attributes": attributes,
        "capacity": capacity,
    }


def _qualified(name: str, driver: str) -> tuple[str, str]:
    domain, separator, plain = name.partition("/")
    return (domain, plain) if separator else (driver, name)


def _value(name: str, attribute: DeviceAttribute) -> object:
    for several in (attribute.ints, attribute.bools, attribute.strings):
        if several is not None:
            return list(several)
    try:
        if attribute.versions is not None:
            return [parse_semver(version) for version in attribute.versions]
        for one in (attribute.int_, attribute.bool_, attribute.string):
            if one is not None:
                return one
        if attribute.version is not None:
            return parse_semver(attribute.version)
    except EvaluationError as error:
        raise EvaluationError(f"attribute {name}: parse semantic version: {error}") from None
    raise EvaluationError(f"attribute {name}: unsupported attribute value")


_encode = msgspec.msgpack.Encoder(order="deterministic").encode
_kinds: WeakValueDictionary[bytes, DeviceKind] = WeakValueDictionary()
_contents: WeakValueDictionary[bytes, Content] = WeakValueDictionary()


def _kind(driver: str, device: Device) -> DeviceKind:
    key = _encode((driver, device.attributes, device.capacity, device.allow_multiple_allocations))
    kind = _kinds.get(key)
    if kind is None:
        kind = _kinds[key] = DeviceKind(driver, device)
    return kind


def _content(driver: str, device: Device) -> Content:
    key = _encode((driver, msgspec.structs.replace(device, name="")))
    content = _contents.get(key)
    if content is None:
        content = _contents[key] = Content()
    return content

"""From chosen devices to a claim's status: devices, configuration for their drivers, and nodes.

Reserve calls it for the chosen node. The results have the order in which the requests were met.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import NAMESPACE_OID, uuid5

import msgspec

from muster.framework.model.devices import (
    AllocationResult,
    Device,
    DeviceAllocationConfiguration,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
)
from muster.framework.model.node_selector import NAME_FIELD
from muster.framework.model.pod import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm

from .capacity import consumed_text
from .devices import PoolDevice, SliceDevices
from .problem import ClaimProblem, ResolvedRequest
from .search import ChosenDevice, Site


def allocation_of(
    claim: ResourceClaim, problem: ClaimProblem, choices: Sequence[ChosenDevice], site: Site
) -> AllocationResult:
    """The allocation of `claim` by these choices on the node."""
    picked = [(choice, *_at(choice, site)) for choice in choices]
    return AllocationResult(
        devices=DeviceAllocationResult(
            results=tuple(_result(claim, choice, device) for choice, _, device in picked),
            config=tuple(_configuration(problem, choices)),
        ),
        node_selector=_node_selector([(each, device) for _, each, device in picked], site.name),
    )


def _at(choice: ChosenDevice, site: Site) -> tuple[SliceDevices, PoolDevice]:
    pool, slice_at, device_at = choice.place
    found = site.pools[pool].slices[slice_at]
    return found, found.devices[device_at]


def _result(claim: ResourceClaim, choice: ChosenDevice, device: PoolDevice) -> DeviceRequestAllocationResult:
    wanted, api, consumed = choice.wanted, device.device, choice.consumed
    share = uuid5(NAMESPACE_OID, f"{claim.metadata.uid}/{wanted.name}/{device.id}") if consumed is not None else None
    return DeviceRequestAllocationResult(
        request=wanted.name,
        driver=device.id.driver,
        pool=device.id.pool,
        device=device.id.device,
        admin_access=True if wanted.admin else None,
        tolerations=wanted.tolerations,
        binding_conditions=api.binding_conditions,
        binding_failure_conditions=api.binding_failure_conditions,
        share_id=str(share) if share is not None else None,
        consumed_capacity={
            name: consumed_text(amount, wanted.capacity.get(name), api.capacity[name])
            for name, amount in consumed.items()
        }
        if consumed
        else None,
    )


def _configuration(problem: ClaimProblem, choices: Sequence[ChosenDevice]) -> list[DeviceAllocationConfiguration]:
    """First what classes say, once for each class, then what the claim says and concerns a request that was met."""
    met = {choice.wanted.request: choice.wanted for choice in choices}
    chosen = [met.get(alternatives[0].request, alternatives[0]) for alternatives in problem.requests]
    found = [
        *_of_classes(chosen),
        *(
            DeviceAllocationConfiguration("FromClaim", config.requests, config.opaque)
            for config in problem.spec.config
            if not config.requests or any(_names(config.requests, wanted) for wanted in chosen)
        ),
    ]
    return [
        msgspec.structs.replace(config, requests=())
        if config.requests and all(_names(config.requests, wanted) for wanted in chosen)
        else config
        for config in found
    ]


def _of_classes(chosen: Sequence[ResolvedRequest]) -> list[DeviceAllocationConfiguration]:
    requests: dict[str, list[str]] = {}
    classes = {}
    for wanted in chosen:
        if wanted.of_class is not None:
            classes[wanted.class_name] = wanted.of_class
            requests.setdefault(wanted.class_name, []).append(wanted.name)
    return [
        DeviceAllocationConfiguration("FromClass", tuple(requests[name]), config.opaque)
        for name, of_class in classes.items()
        for config in of_class.spec.config
    ]


def _names(requests: Sequence[str], wanted: ResolvedRequest) -> bool:
    return wanted.request in requests or wanted.name in requests


def _node_selector(picked: Sequence[tuple[SliceDevices, PoolDevice]], node: str) -> NodeSelector | None:
    """Where the devices can be used: on this node alone as soon as one of them is tied to it."""
    fields: list[NodeSelectorRequirement] = []
    expressions: list[NodeSelectorRequirement] = []
    for each, device in picked:
        spec = each.slice.spec
        tied: str | None
        selector: NodeSelector | None
        tied, selector = (
            (device.device.node_name, device.device.node_selector)
            if spec.per_device_node_selection
            else (spec.node_name, spec.node_selector)
        )
        if tied is not None or _binds(device.device):
            only = NodeSelectorRequirement(key=NAME_FIELD, operator="In", values=(node,))
            return NodeSelector((NodeSelectorTerm(match_fields=(only,)),))
        for term in selector.node_selector_terms[:1] if selector is not None else ():
            _add(term.match_fields, fields)
            _add(term.match_expressions, expressions)
    if not fields and not expressions:
        return None
    return NodeSelector((NodeSelectorTerm(tuple(expressions), tuple(fields)),))


def _binds(device: Device) -> bool:
    return device.binds_to_node


def _add(found: Sequence[NodeSelectorRequirement], to: list[NodeSelectorRequirement]) -> None:
    """Add the requirements that are not there yet; the order of values does not count."""
    for each in found:
        if all(_key(each) != _key(known) for known in to):
            to.append(each)


def _key(requirement: NodeSelectorRequirement) -> tuple[object, ...]:
    return requirement.key, requirement.operator, frozenset(requirement.values)
